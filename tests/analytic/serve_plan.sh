#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# farwire plan of a case that serves requests: the search finds the layouts and loads that simulations
# of all of them show, states why others carry no load, and refuses wrong questions.
cd "$(dirname "$0")/../.." || exit 2
# shellcheck source=tests/check.sh
. tests/check.sh
data=$PWD
cd "$scratch" || exit 2

server="--topology dgx-h100 --model llama3-8b --engine vllm --draws 0 --quiet"
load="prompt=256,output=32,output_spread=0,requests=400,warmup=0.2,first_slo=100 ms,between_slo=12 ms"
# plan OPTIONS...: searches two GPUs
plan() {
	# shellcheck disable=SC2086 # a list of words
	"$FARWIRE" plan $server --gpus 2 --serve "$load" --format csv "$@"
}
# column NAME: the column of found.csv, without its heading
column() {
	tr -d '\r' <found.csv | sed 's/"[^"]*"/text/g' |
		awk -F, -v name="$1" 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == name) k = i; next } { print $k }'
}
# attains TENSOR PIPELINE COPIES PREFILL BATCH TOKENS RATE: the share that meets the objectives
attains() {
	# shellcheck disable=SC2086 # a list of words
	"$FARWIRE" sweep $server --copies "$3" --serve "$load,batch=$5,tokens=$6" --set "case.tensor=$1" \
		--set "case.pipeline=$2" --set "case.prefill=$4" --vary "serve.rate=$7" --format csv | tr -d '\r' |
		awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == "slo_attainment") k = i; next } { print $k }'
}

plan --vary serve.batch=8,64 --vary serve.tokens=512 -o found.csv || complain 'the search fails'
[ "$(wc -l <found.csv)" -eq 5 ] || complain 'two GPUs have not four layouts: tensors or stages on two, two replicas, one of them for prompts'
column requests_per_s_gpu >order
sort -rg order | cmp -s - order || complain 'the layouts are not in the order of their loads'
while read -r tensor pipeline copies prefill batch rate; do
	low=$(attains "$tensor" "$pipeline" "$copies" "$prefill" "$batch" 512 "$rate")
	awk -v x="$low" 'BEGIN { exit !(x >= 0.99) }' || complain "tensor=$tensor pipeline=$pipeline prefill=$prefill: $low meet the objectives at the load $rate"
	for other in 8 64; do
		high=$(attains "$tensor" "$pipeline" "$copies" "$prefill" "$other" 512 "$(echo "$rate" | awk '{ print 1.031 * $1 }')")
		awk -v x="$high" 'BEGIN { exit !(x < 0.99) }' || complain "tensor=$tensor pipeline=$pipeline prefill=$prefill batch=$other: a higher load than $rate is met"
	done
done <<END
$(for name in tensor pipeline replicas prefill_replicas batch load_per_s; do column $name >$name; done && paste -d' ' tensor pipeline replicas prefill_replicas batch load_per_s)
END
verdict 'serve_plan.loads_are_those_of_simulations_of_each_layout_and_batch'

# a chart shows all simulated loads, so no simulation ends early, and none takes the verdict of an equal one
for first in '100 ms' '1 us'; do
	plan --serve "first_slo=$first" --vary serve.batch=8,64 --vary serve.tokens=512 -o found.csv
	plan --serve "first_slo=$first" --vary serve.batch=8,64 --vary serve.tokens=512 -o whole.csv --plot whole.svg
	cmp found.csv whole.csv || complain "first_slo=$first: simulations that end early change the answer"
done
verdict 'serve_plan.early_ends_change_no_answer'

# Clients of a closed loop are whole numbers. The search doubles those that fill a replica (8) up to 16, and tries the whole
# part of each geometric mean. The other batch begins with the best number, and its last try is next to it.
closed() {
	plan --serve concurrency=1,requests=100 --set case.tensor=2 --set case.pipeline=1 --vary serve.tokens=512 "$@"
}
closed --vary serve.batch=8,64 --plot marks.svg -o found.csv || complain 'the search of clients fails'
[ "$(column batch) $(column clients)" = '64 20' ] || complain "clients: $(cat found.csv)"
tries=$(sed -n 's/.*<title>.*serve.batch=\([0-9]*\) .*serve.concurrency=\([0-9]*\)<.*/\1:\2/p' marks.svg | sort -t : -n -k 1,1 -k 2,2 | tr '\n' ' ')
[ "$tries" = '8:8 8:9 8:11 8:16 64:8 64:16 64:18 64:19 64:20 64:21 64:22 64:32 ' ] || complain "the clients that are tried: $tries"
closed --set serve.batch=8 --format table >found.txt
grep -q '1 carry a load, 0 do not, 4 simulations' found.txt || complain "one batch: $(head -n 1 found.txt)"
grep -q '^load of the first: 8 clients$' found.txt || complain "the clients have another unit: $(sed -n 2p found.txt)"
closed --set serve.batch=8 --serve first_slo=1us >found.csv
grep -q 'objectives are missed from 1 client on: 0 % of the requests' found.csv || complain "no clients: $(cat found.csv)"
verdict 'serve_plan.clients_of_a_closed_loop_are_searched_in_whole_numbers'

# the overhead of a batch of 32 images is not that of the batches of one that were simulated before
for batches in 1,32 32,1; do
	"$FARWIRE" plan --topology dgx-h100 --model resnet50 --draws 0 --quiet --gpus 1 --format csv --jobs 1 \
		--serve 'latency_slo=20 ms,batching=dynamic,delay=1 ms,requests=2000' --vary serve.batch=$batches -o found.csv
	column load_per_s
done >loads
awk '{ x[NR] = $1 } END { exit !(x[2] > 0 && x[1] == x[2]) }' loads ||
	complain "the load depends on the order of the batches: $(tr '\n' ' ' <loads)"
verdict 'serve_plan.batches_of_images_have_their_own_overhead'

# two GPUs of 3.60 currency units an hour take 10^6 / (3600 x tokens/s) hours for a million tokens
plan --set case.tensor=2 --set serve.batch=64 --set serve.tokens=512 --set 'gpu_cost.*.hour_price=3.6' -o found.csv ||
	complain 'a fixed layout fails'
[ "$(column tensor)" = 2 ] || complain 'a fixed layout is not kept'
price=$(column cost_per_million_tokens) tokens=$(column tokens_per_s_gpu)
awk -v p="$price" -v t="$tokens" 'BEGIN { exit !(p * t > 999.99 && p * t < 1000.01) }' ||
	complain "price $price is not 1000 / $tokens"
grep -q 'vllm serve llama3-8b --tensor-parallel-size 2 --max-num-seqs 64 --max-num-batched-tokens 512 --gpu-memory-utilization 0.9' found.csv ||
	complain 'the command line of vLLM is another one'
plan --vary serve.batch=64 --vary serve.tokens=512 --set case.prefill=1 --set case.tensor=1 --format json >pair.json
grep -q '1 x vllm serve.*kv_producer.*n1 x vllm serve.*kv_consumer' pair.json || complain 'servers of prompts and tokens have one command'
# each engine has its own words for numbers of one byte and for no cache of prompts
while read -r engine words; do
	plan --engine "$engine" --set case.tensor=2 --set serve.batch=8 --set serve.tokens=512 --format csv \
		--serve 'requests=40,weights=fp8,kv=fp8,prefix_cache=false' >found.csv
	grep -q -- "$words,ok" found.csv || complain "$engine: $(cat found.csv)"
done <<'END'
vllm 1 x vllm serve llama3-8b --tensor-parallel-size 2 --max-num-seqs 8 --max-num-batched-tokens 512 --gpu-memory-utilization 0.9 --quantization fp8 --kv-cache-dtype fp8 --no-enable-prefix-caching
sglang 1 x python -m sglang.launch_server --model-path llama3-8b --tp-size 2 --max-running-requests 8 --chunked-prefill-size 512 --mem-fraction-static 0.88 --quantization fp8 --kv-cache-dtype fp8_e4m3 --disable-radix-cache
tensorrt-llm 1 x trtllm-serve llama3-8b --tp_size 2 --max_batch_size 8 --max_num_tokens 512 --kv_cache_free_gpu_memory_fraction 0.9
END
verdict 'serve_plan.price_and_command_line_follow_from_the_layout'

# Two GPUs of one replica with experts: each engine has its own names for whole experts and for groups with their own requests
experts() {
	"$FARWIRE" plan --topology dgx-h100 --model qwen3-30b-a3b --gpus 2 --engine "$1" --draws 0 --quiet --format csv \
		--serve "$load" --set serve.batch=64 --set serve.tokens=512 --set case.pipeline=1 --set case.copies=1 -o found.csv
	grep -q -- "$2" found.csv || complain "$1 has no layout with: $2"
	grep -q -- "$3" found.csv || complain "$1 has no layout with: $3"
}
experts vllm '--tensor-parallel-size 2 --enable-expert-parallel --max-num-seqs 64' \
	'--data-parallel-size 2 --enable-expert-parallel --max-num-seqs 32'
experts sglang '--tp-size 2 --ep-size 2 --max' '--tp-size 2 --dp-size 2 --enable-dp-attention --ep-size 2 --max'
experts tensorrt-llm '--tp_size 2 --ep_size 2 --max' \
	'--tp_size 2 --extra_llm_api_options <(echo enable_attention_dp: true) --ep_size 2 --max_batch_size 32'
verdict 'serve_plan.experts_are_whole_or_split_in_the_words_of_each_engine'

plan --set 'gpu.*.memory=12 GB' --vary serve.batch=64 --vary serve.tokens=512 >found.csv
grep -q '^1,1,1,2,0,.*out of GPU memory' found.csv || complain 'a layout that does not fit has no reason'
column requests_per_s_gpu | sed -n 1p | grep -q '[1-9]' || complain 'a layout that fits is not the first'
plan --serve 'first_slo=1 us' --vary serve.batch=64 --vary serve.tokens=512 >found.csv
grep -q 'objectives are missed from' found.csv || complain 'layouts that miss the objectives have no reason'
verdict 'serve_plan.layouts_without_a_load_state_the_reason'

# 32 tokens a request: without a limit of the load, all requests of a simulation meet an hour at any rate
plan --serve 'first_slo=3600 s,between_slo=1 s' --set case.tensor=1 --set case.pipeline=1 --set case.prefill=0 \
	--vary serve.batch=8 --vary serve.tokens=512 -o found.csv || complain 'generous objectives fail'
rate=$(column load_per_s) tokens=$(column tokens_per_s_gpu)
awk -v r="$rate" -v t="$tokens" 'BEGIN { x = r * 32 / (2 * t); exit !(x > 0.9 && x < 1.3) }' ||
	complain "the load $rate is not carried: $tokens tokens/s for each GPU"
verdict 'serve_plan.generous_objectives_do_not_hide_that_servers_fall_behind'

# the name of a network may contain the mark of a value, and an engine may have no command
sed 's/^\tname = "llama3-8b"/\tname = "{}"/' "$data/models/networks/llama3-8b.cfg" >braces.cfg
plan --model ./braces.cfg --set case.tensor=2 --set serve.batch=64 --set serve.tokens=512 >found.csv
grep -q 'vllm serve {} --tensor-parallel-size 2' found.csv || complain 'a name with {} is not kept in the command'
sed '/^command = /,/^};/d' "$data/models/engines/vllm.cfg" >engine.cfg
echo 'command = { };' >>engine.cfg
plan --engine ./engine.cfg --set case.tensor=2 --set serve.batch=64 --set serve.tokens=512 -o found.csv
[ -z "$(column command)" ] || complain "an engine without a command has '$(column command)'"
verdict 'serve_plan.command_lines_keep_names_and_may_be_missing'

# refuses MESSAGE OPTIONS...: the search ends with 2 and this message
refuses() {
	message=$1
	shift
	# shellcheck disable=SC2086 # a list of words
	"$FARWIRE" plan $server "$@" >/dev/null 2>errors
	[ $? -eq 2 ] && grep -q "$message" errors || complain "$*: not refused with '$message' but: $(cat errors)"
}
refuses 'no limit for the time to the first token' --serve 'between_slo=30 ms'
refuses 'is not a key of a layout' --serve "$load" --vary serve.rate=1,2
refuses 'no layout has at most 2 GPUs' --serve "$load" --gpus 2 --copies 4
refuses 'must be a whole number from 1 to 4096' --serve "$load" --gpus 2.5
refuses 'must be a whole number from 1 to 4096' --serve "$load" --gpus many
refuses "'case.tensor=0' must be a whole number from 1 on" --serve "$load" --gpus 2 --vary case.tensor=0,1
refuses "'case.tensor=many' must be a whole number from 1 on" --serve "$load" --gpus 2 --vary case.tensor=many,1
refuses 'case.prefill has 71 values' --serve "$load" --gpus 2 --set "case.prefill=$(seq -s, 0 70)"
refuses 'case.tensor = "many" is not a plain number' --serve "$load" --gpus 2 --set case.tensor=many
printf '0\t100\t10\n' >list.tsv
refuses 'serve.list or serve.stages leaves no load to search' --serve "$load,list=list.tsv"
refuses 'serve.list or serve.stages leaves no load to search' --serve "$load,stages=0:5"
verdict 'serve_plan.wrong_questions_are_refused_with_a_correction'

# Forty requests all fit into two replicas of 64, so each of them meets generous limits however fast they arrive. A rate
# of which less than half is served is not a load of the layout.
"$FARWIRE" plan --topology hgx-h100 --model qwen3-30b-a3b --engine vllm --gpus 2 --set case.tensor=2 --draws 0 --quiet \
	--vary case.expert=2 --vary case.prefill=0 --vary serve.batch=64 --vary serve.tokens=2048 --format csv \
	--serve prompt=256,output=16,requests=40,first_slo=1s,between_slo=50ms >burst.csv 2>errors ||
	complain "a short plan: $(cat errors)"
awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == "load_per_s") at = i } NR == 2 { good = $at > 1 && $at < 1000 } END { exit !good }' burst.csv ||
	complain "a short plan: $(cat burst.csv)"
verdict 'serve_plan.bursts_of_few_requests_are_no_load'
