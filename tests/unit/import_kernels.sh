#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Tables of kernels are imported and fitted: planted constants are found, held-out rows judge them,
# a page shows both, and wrong tables are refused with their line.
cd "$(dirname "$0")/../.." || exit 2
# shellcheck source=tests/check.sh
. tests/check.sh
cd "$scratch" || exit 2

# planted KEY=VALUE...: predictions for an H100 with these constants, as rows "x y z seconds"
planted() {
	"$FARWIRE" sweep --topology dgx-h100 --draws 0 -q --format csv "$@" \
		--set kernels.hopper.product_half=0.7 --set 'kernels.hopper.fill=1.1 us' \
		--set 'kernels.hopper.load=90 GB/s' --set 'kernels.hopper.split=4 us' \
		--set kernels.hopper.operand=0.9 --set kernels.hopper.attention_forward=0.5 \
		--set 'kernels.hopper.attention_fill=2.5 us' --set 'kernels.hopper.attention_floor=6 us' \
		--set 'kernels.hopper.token_fill=1.5 us' --set 'kernels.hopper.token_floor=9 us' \
		--set 'kernels.hopper.token_load=25 GB/s' |
		tr -d '\r' | awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == "step_s") at = i; next }
			{ print $1, $2, $3, $at }'
}
planted --vary kernel.m=16,48,128,320,768,2048,5000,8192 --vary kernel.n=256,1000,4096,8192 \
	--vary kernel.k=128,512,2048,8192 | awk 'BEGIN { print "gpu,type,m,n,k,time_us" }
	{ printf "h100-sxm5,bf16,%s,%s,%s,%.6g\n", $1, $2, $3, 1e6 * $4 }' >gemm.csv
planted --set kernel.form=attention --set kernel.kv_heads=8 --vary kernel.queries=1,16,300,2048 \
	--vary kernel.keys=2048,5000,16384 --vary kernel.sequences=1,3,8,64 |
	awk 'BEGIN { OFS = "\t"; print "time_us", "gpu", "type", "sequences", "queries", "keys", "heads", "kv_heads", "head_size" }
	{ print sprintf("%.6g", 1e6 * $4), "h100-sxm5", "bf16", $3, $1, $2, 32, 8, 128 }' >attention.tsv
near() { # FILE PATH WANTED PERCENT
	got=$(awk -v path="\"$2\"" 'index($0, path) { found = 1; next }
		found { sub(/.*value = "/, ""); print $1 + 0; exit }' "$1")
	awk -v got="$got" -v wanted="$3" -v percent="$4" 'BEGIN {
		off = 100 * (got / wanted - 1); exit !(got != "" && off < percent && off > -percent) }' ||
		complain "$2 is '$got', not within $4 % of $3"
}
farwire import kernels gemm.csv attention.tsv -o x.jsonl
grep -q '^176 points of kernels: 176 results read, 176 used, 0 skipped' "$scratch.err" || complain "import: $(cat "$scratch.err")"
farwire fit x.jsonl -o x.cfg --plot x.svg
[ "$code" = 0 ] || complain "fit: ended with $code, $(cat "$scratch.err")"
near x.cfg kernels.hopper.product_half 0.7 1
near x.cfg kernels.hopper.fill 1.1e-6 5
near x.cfg kernels.hopper.load 9e10 3
near x.cfg kernels.hopper.split 4e-6 3
near x.cfg kernels.hopper.operand 0.9 2
near x.cfg kernels.hopper.attention_forward 0.5 3
near x.cfg kernels.hopper.attention_fill 2.5e-6 3
near x.cfg kernels.hopper.attention_floor 6e-6 3
near x.cfg kernels.hopper.token_fill 1.5e-6 5
near x.cfg kernels.hopper.token_floor 9e-6 3
near x.cfg kernels.hopper.token_load 2.5e10 3
# The held-out rows follow the same law, so their error is that of the rounded times.
sed -n 's/.*geometric mean \([0-9.]*\) %, and \([0-9.]*\) %.*/\1 \2/p' "$scratch.out" |
	awk '!($1 < 0.5 && $2 > 5) { exit 1 } END { exit NR != 2 }' || complain "held out: $(grep geometric "$scratch.out")"
grep -q 'gemm bf16: rms error .* held out 0.* % in the geometric mean' x.cfg || complain 'the profile has no error of held-out rows'
expect 0 '' run --topology dgx-h100 --profile x.cfg --set kernel.m=4096 --draws 0 -q
farwire import kernels attention.tsv -o attention.jsonl
farwire report attention.jsonl -o x.html -q
for text in 'x.svg:Matrix products, measured and by the law' 'x.svg:gemm bf16 test (' 'x.html:Attention, measured and by the law' \
	'x.html:attention fit (' 'x.html:kernels.hopper.attention_floor'; do
	grep -qF "${text#*:}" "${text%%:*}" || complain "there is no '${text#*:}' in ${text%%:*}"
done
# The table beside the plot has the bytes of each call. Queries and outputs have 2 B for each of 2 x 32 x 128 numbers. Keys and
# values have 2 B, or 1 B in FP8, for each of 2 x 2048 x 8 x 128. There are 5 sequences.
{
	awk 'BEGIN { FS = OFS = "\t" } { print $0, NR == 1 ? "cache" : "bf16", NR == 1 ? "window" : 0 }' attention.tsv
	for row in 'bf16 0' 'fp8 0'; do
		printf '12\th100-sxm5\tbf16\t5\t1\t2048\t32\t8\t128\t%s\t%s\n' "${row% *}" "${row#* }"
	done
} >bytes.tsv
farwire import kernels bytes.tsv -o bytes.jsonl
farwire fit bytes.jsonl -o bytes.cfg --plot bytes.svg
for bytes in 42024960 21053440; do
	[ "$(grep -c "^attention,bytes,$bytes,1.2.*e-05,,," bytes.csv)" = 1 ] || complain "no call of $bytes B in $(grep -c attention bytes.csv) calls"
done
verdict import_kernels.planted_constants_are_found

points() { # FILE OPTION...: points as "test m-or-queries n-or-keys time held_out"
	expect 0 '' import kernels "$@" -q
	sed -n 's/^{"test": *"\([a-z]*\)".*"\(m\|queries\)": *\([0-9]*\), "\(n\|keys\)": *\([0-9]*\).*"samples": \[\([^]]*\)\].*"held_out": *\([a-z]*\)}/\1 \3 \5 \6 \7/p' "$scratch.out" >got
}
is() {
	printf '%s\n' "$@" >wanted
	cmp -s wanted got || complain "expected '$(tr '\n' ';' <wanted)', got '$(tr '\n' ';' <got)'"
}
# Columns in any order; a cell can have a unit; roles; comments; commas inside quotes.
printf '# comment\ntime,k,n,m,type,role,note\n11.5 us,64,32,16,bf16,test,"a,b"\n20 us,64,32,32,fp16,fit,\n10 us,8,8,8,fp32,report,\n' >a.csv
points a.csv --gpu h100-sxm5
is 'gemm 16 32 1.15e-05 true' 'gemm 32 32 2e-05 false'
grep -q '"name": "h100-sxm5"' "$scratch.out" || complain 'the GPU is not named'
# The columns of aiconfigurator's collector, and FP8 of vLLM, which quantises.
head='framework,version,device,op_name,kernel_source'
printf '%s\n' "$head,gemm_dtype,m,n,k,latency" 'VLLM,0.14,NVIDIA H200,gemm,vllm_default,fp8,1,2,3,0.01' \
	'VLLM,0.14,NVIDIA H200,gemm,vllm_default,nvfp4,1,2,3,0.01' >gemm_perf.txt
points gemm_perf.txt
# vLLM's benchmark uses six second matrices in turn, which decides what the L2 cache holds.
grep -q '"copies": "6"' "$scratch.out" || complain 'a row of vLLM has no copies'
is "$(sed -n '/"held_out": *true/s/.*/gemm 1 2 1e-05 true/p; /"gemm".*"held_out": *false/s/.*/gemm 1 2 1e-05 false/p' "$scratch.out")"
grep -q '"quantise": *"true"' "$scratch.out" || complain 'FP8 of vLLM is not quantised'
expect 0 'number type nvfp4' import kernels gemm_perf.txt
attention="$head,batch_size,isl,num_heads,num_key_value_heads,head_dim,beam_width,attn_dtype,kv_cache_dtype,step,latency"
row='flash,4,128,32,8,128,1,bfloat16,fp8,512,0.02'
printf '%s\n' "$attention" "VLLM,0.14,NVIDIA H200,context_attention,$row" >context.csv
printf '%s\n' "$attention" "VLLM,0.14,NVIDIA H200,generation_attention,$row" >generation.csv
points context.csv generation.csv gemm_perf.txt
sed 's/ [a-z]*$//' got >got.times && mv got.times got
is 'attention 128 640 2e-05' 'attention 1 640 2e-05' 'gemm 1 2 1e-05'
# Blank lines are not rows, and a column has a name of its own. Rows of an unknown cache are left out.
printf '%s\n' gpu,type,m,n,k,e,time_ms '' 'l40s,bf16,1,2,3,4,0.5' '  ' >blank.csv
points blank.csv
sed -i 's/ [a-z]*$//' got
is 'gemm 1 2 0.0005'
printf '%s\n' gpu,type,cache,queries,heads,head_size,time_s l40s,bf16,int4,8,6,64,1e-5 l40s,bf16,fp8,9,6,64,1e-5 >cache.csv
expect 0 '^1 points of kernels: 2 results read, 1 used, 1 skipped' import kernels cache.csv
grep -q '^1 skipped: the fit of a table has no constants of number type int4' "$scratch.err" || complain "the cache: $(cat "$scratch.err")"
# A recording of kernels.py.
printf '%s\n' '{"format": "farwire-kernels", "version": 1, "gpu": "NVIDIA H100 80GB HBM3"}' \
	'{"kind": "product", "type": "bf16", "layout": "nt", "m": 5, "n": 6, "k": 7, "s": 2e-6}' \
	'{"kind": "attention", "backend": "flash", "batch": 1, "length": 64, "heads": 2, "kv_heads": 2, "head_size": 64, "causal": false, "backward": false, "s": 3e-6}' \
	'{"kind": "attention", "backend": "cudnn", "batch": 1, "length": 64, "s": 3e-6}' >k.jsonl
points k.jsonl --gpu h100-sxm5
points k.jsonl
sed 's/ [a-z]*$//' got >got.times && mv got.times got
is 'gemm 5 6 2e-06' 'attention 64 64 3e-06'
# Only vLLM's products have six second matrices, and only its FP8 products are quantised. Windows of -1 and 0 mean that there is no window.
words() { # COLUMN-OF-TYPES LINES...: the words of each point, which follow the test
	printf '%s\n' "$@" >words.csv
	expect 0 '' import kernels words.csv -q
	sed -n 's/.*"is": {\(.*\)}, "x": {\([^}]*\)}.*/\1 \2/p' "$scratch.out" | tr -d '", ' >got
}
words "$head,gemm_dtype,m,n,k,latency" 'TRTLLM,1,l40s,gemm,trtllm,fp8,1,2,3,0.01' 'VLLM,1,l40s,gemm,vllm_default,bf16,1,2,3,0.01'
grep -v copies got | grep -q 'type:fp8' || complain "a product of another library has copies: $(cat got)"
grep -v quantise got | grep copies:6 | grep -q 'type:bf16' || complain "bf16 of vLLM is quantised or has no copies: $(cat got)"
words gpu,type,queries,keys,heads,head_size,window,time_s l40s,bf16,8,64,6,64,-1,1e-5 l40s,bf16,8,65,6,64,0,1e-5 l40s,bf16,8,66,6,64,32,1e-5
[ "$(grep -c window got)" = 1 ] || complain "windows: $(cat got)"
grep -q 'keys:66.*window:32$' got || complain "the window is not 32: $(cat got)"
# Each number stays in its column: sequences, queries, keys, heads, heads of keys and the size of a head.
words gpu,type,cache,queries,keys,heads,head_size,window,time_s,kv_heads,sequences l40s,bf16,fp8,8,66,6,64,32,1e-5,2,3
echo 'type:bf16cache:fp8sequences:3queries:8keys:66heads:6kv_heads:2head_size:64window:32' >wanted
cmp -s got wanted || complain "the columns are $(cat got)"
printf '%s\n' '{"format": "farwire-kernels", "version": 1, "gpu": "NVIDIA H100 80GB HBM3"}' \
	'{"kind": "product", "type": "bf16", "layout": "tn", "m": 5, "n": 6, "k": 7, "s": 2e-6}' \
	'{"kind": "product", "type": "bf16", "layout": "xy", "m": 15, "n": 6, "k": 7, "s": 2e-6}' \
	'{"kind": "product", "type": "bf16", "layout": "nt", "m": 25, "n": 6, "k": 7, "s": 2e-6, "failed": "memory"}' \
	'{"kind": "copy", "m": 35, "s": 2e-6}' \
	'{"kind": "attention", "backend": "flash", "batch": 1, "length": 64, "heads": 2, "kv_heads": 2, "head_size": 64, "causal": true, "backward": true, "s": 3e-6}' \
	'{"kind": "attention", "backend": "flash", "batch": 1, "length": 65, "heads": 2, "kv_heads": 2, "head_size": 64, "causal": true, "backward": false, "s": 3e-6}' >kinds.jsonl
expect 0 '^3 points of kernels: 5 results read, 3 used, 2 skipped' import kernels kinds.jsonl
grep -q '"layout": *"tn".*"m": *5,' "$scratch.out" && grep -q '"layout": *"nt".*"m": *15,' "$scratch.out" ||
	complain 'the layouts are not tn and nt'
grep -q 'causal' "$scratch.out" && complain 'causal attention has a word'
for why in 'a kernel that failed' 'attention backward, or not of FlashAttention'; do
	grep -q "1 skipped: $why" "$scratch.err" || complain "no '$why' in $(cat "$scratch.err")"
done
printf '%s\n' '{"format": "farwire-kernels", "version": 1, "gpu": "NVIDIA H100 80GB HBM3"}' \
	'{"kind": "product", "type": "fp16", "layout": "nn", "m": 5, "n": 6, "k": 7, "s": 2e-6}' \
	'{"kind": "attention", "backend": "flash", "batch": 3, "length": 65, "heads": 8, "kv_heads": 2, "head_size": 64, "causal": false, "s": 3e-6}' >both.jsonl
words "$(cat both.jsonl)"
printf '%s\n' 'type:fp16layout:nnm:5n:6k:7' 'type:bf16cache:bf16causal:falsesequences:3queries:65keys:65heads:8kv_heads:2head_size:64' >wanted
cmp -s got wanted || complain "the recorded numbers are $(cat got)"
verdict import_kernels.tables_and_recordings_become_points

bad() { # MESSAGE LINES...: the table with these lines is refused
	message=$1
	shift
	printf '%s\n' "$@" >bad.csv
	expect 2 "$message" import kernels bad.csv
}
bad '^bad.csv: the rows are of several GPUs: h100_sxm, l40s \(write --gpu h100_sxm' gpu,type,m,n,k,time h100_sxm,bf16,1,1,1,10us l40s,bf16,1,1,1,10us
expect 0 '1 skipped: a row of another GPU' import kernels bad.csv --gpu l40s
expect 2 "no file of topologies/gpus describes the GPU 'h100-sxm' \(write --gpu h100_sxm=h100-sxm5 if" import kernels bad.csv --gpu h100_sxm
expect 0 '' import kernels bad.csv --gpu h100_sxm=h100-sxm5 -q
expect 2 "no row is of the GPU 'a100' \(write --gpu with one of: h100_sxm, l40s" import kernels bad.csv --gpu a100
bad '^bad.csv: the file does not name its GPU \(write --gpu NAME' type,m,n,k,time bf16,1,1,1,10us
bad "^bad.csv:3: m is '1x', but must be a whole number of at least 1" gpu,type,m,n,k,time l40s,bf16,1,1,1,10us l40s,bf16,1x,1,1,10us
for number in 0 1.5 1.1e15; do
	bad "^bad.csv:2: m is '$number', but must be a whole number of at least 1" gpu,type,m,n,k,time "l40s,bf16,$number,1,1,10us"
done
for heading in gpu,type,m,k,time gpu,m,n,k,time gpu,type,m,n,k gpu,type,queries,head_size,time gpu,type,queries,heads,time; do
	bad '^bad.csv:1: the heading needs the columns time, and type, m, n, k or queries' "$heading" l40s,bf16,1,1,10us
done
bad '^bad.csv:2: the row has 5 columns, but the heading has 6' gpu,type,m,n,k,time l40s,bf16,1,1,1
bad "^bad.csv:2: the time 'soon' " gpu,type,m,n,k,time l40s,bf16,1,1,1,soon
bad "^bad.csv:2: the time 'soon' is not a number \(correct it, or remove the row\)\$" gpu,type,m,n,k,time_ms l40s,bf16,1,1,1,soon
bad '^bad.csv:2: the time is -1 s, but must be above 0' gpu,type,m,n,k,time_s l40s,bf16,1,1,1,-1
bad '^bad.csv:1: the heading needs the columns time, and type, m, n, k or' gpu,type,m,n,time l40s,bf16,1,1,10us
bad "^bad.csv:1: the heading has two columns for 'type'" gpu,type,gemm_dtype,m,n,k,time l40s,bf16,bf16,1,1,1,1
bad "^bad.csv:2: the role is 'judge', but must be fit, test or report" gpu,role,type,m,n,k,time l40s,judge,bf16,1,1,1,10us
bad '^bad.csv:1: this is a table of experts' gpu,moe_dtype,num_tokens,num_experts,latency l40s,bf16,1,8,1
bad '^bad.csv:2: 6 heads cannot share 4 heads of keys' gpu,type,queries,heads,kv_heads,head_size,time l40s,bf16,1,6,4,64,10us
bad '^bad.csv:2: 4 keys do not contain 8 new tokens' gpu,type,queries,keys,heads,head_size,time l40s,bf16,8,4,6,64,10us
bad '^bad.csv:2: neither a column phase nor the name' gpu,type,isl,step,heads,head_size,time l40s,bf16,8,4,6,64,10us
bad '^bad.csv:2: the product runs at 1.37e\+08 TFLOP/s, but no GPU exceeds 50000' gpu,type,m,n,k,time l40s,bf16,4096,4096,4096,1ns
bad '^bad.csv:2: no results of kernels were found' gpu,type,m,n,k,time l40s,int3,1,1,1,10us
printf 'gpu,type,m,n,k,time\na40,bf16,1,1,1,10us\n' >other.csv
printf 'gpu,type,m,n,k,time\nl40s,bf16,1,1,1,10us\n' >bad.csv
expect 2 '^other.csv: the file is of the GPU a40, but an earlier one is of l40s' import kernels bad.csv other.csv
expect 2 'import: --gpu chooses rows of `import kernels` only' import iperf3 bad.csv --gpu l40s
verdict import_kernels.wrong_tables_are_refused

gzip -c bad.csv >bad.csv.gz
expect 0 '' import kernels bad.csv -q
cp "$scratch.out" plain.jsonl
expect 0 '' import kernels bad.csv.gz -q
cmp -s "$scratch.out" plain.jsonl || complain 'a compressed table becomes another recording'
verdict import_kernels.compressed_tables_are_read
