#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Results of benchmarks of model servers become datasets, whose loads and measured numbers are those
# of the files. Other files are refused.
cd "$(dirname "$0")/../.." || exit 2
# shellcheck source=tests/check.sh
. tests/check.sh
cd "$scratch" || exit 2

rows() { # FILE: "clients rate arrivals requests prompt spread output spread metric value" of each row
	expect 0 '' import bench "$1" -q
	sed -n 's/^\t\t, "test\\t\(.*\)"$/\1/p' "$scratch.out" | sed 's/\\t/,/g' |
		awk -F, '{ print $1, $4, $5, $6, $7, $8, $9, $10, $11, $14, $15 }' >got
}
is() {
	printf '%s\n' "$@" >wanted
	cmp -s wanted got || complain "expected '$(tr '\n' ';' <wanted)', got '$(tr '\n' ';' <got)'"
}
sums='"total_input_tokens": 40960, "total_output_tokens": 5120, "request_throughput": 2'
# 40960 / 40 = 1024 tokens, 5120 / 40 = 128. The statistics that a dataset lacks are skipped.
echo '{"backend": "vllm", "model_id": "x/y", "request_rate": "inf", "max_concurrency": 4, "completed": 40,
	'"$sums"', "mean_ttft_ms": 40, "median_ttft_ms": 30, "p99_tpot_ms": 9, "mean_e2el_ms": 1000, "p50_ttft_ms": 30}' >vllm.json
rows vllm.json
is 'vllm 4 1 1 40 1024 0 128 0 throughput 2' 'vllm 4 1 1 40 1024 0 128 0 first_token 40' \
	'vllm 4 1 1 40 1024 0 128 0 first_token_p50 30' 'vllm 4 1 1 40 1024 0 128 0 token_p99 9'
expect 0 'lengths are assumed to be equal' import bench vllm.json
grep -q '6 results read: 4 used, 2 skipped' "$scratch.err" || complain "summary: $(cat "$scratch.err")"
# Lengths 100 and 300 have a mean of 200 and a deviation of half of it. A gamma shape of 0.25 has a
# spread of 2. Without a limit of clients, requests come at their rate.
echo '{"backend": "vllm", "request_rate": 5, "burstiness": 0.25, "max_concurrency": null, "completed": 2,
	'"$sums"', "input_lens": [100, 300], "output_lens": [7, 7]}' >open.json
rows open.json
is 'vllm 0 5 2 2 200 0.5 7 0 throughput 2'
# Clients that cannot send at the rate are a closed loop. All requests at once are one, too.
sed 's/"max_concurrency": null/"max_concurrency": 1/' open.json >slow.json
rows slow.json
is 'vllm 1 5 2 2 200 0.5 7 0 throughput 2'
sed 's/"request_rate": 5/"request_rate": "inf"/' open.json >flood.json
rows flood.json
is 'vllm 2 1 2 2 200 0.5 7 0 throughput 2'
# Only two of 64 clients send a request.
sed 's/"max_concurrency": null/"max_concurrency": 64/' flood.json >idle.json
rows idle.json
is 'vllm 2 1 2 2 200 0.5 7 0 throughput 2'
# SGLang appends a line for each run. Lengths from a half of the longest on: 0.5 / sqrt(12) / 0.75.
for clients in 8 16; do
	echo '{"backend": "sglang", "request_rate": Infinity, "random_range_ratio": 0.5, "max_concurrency": '$clients', "completed": 40, '"$sums"', "p99_e2e_latency_ms": 12.5}'
done | sed 's/Infinity/"inf"/' >sglang.jsonl
rows sglang.jsonl
is 'sglang 8 1 1 40 1024 0.19245 128 0.19245 throughput 2' 'sglang 8 1 1 40 1024 0.19245 128 0.19245 latency_p99 12.5' \
	'sglang 16 1 1 40 1024 0.19245 128 0.19245 throughput 2' 'sglang 16 1 1 40 1024 0.19245 128 0.19245 latency_p99 12.5'
# Clients that keep up with 90 % of the rate do not limit it. Lengths below 1 and texts do not count. One
# output token has no time between tokens. Without a throughput there is no row for it.
echo '{"request_rate": 5, "max_concurrency": 1, "completed": 2, "total_input_tokens": 8, "total_output_tokens": 8,
	"request_throughput": 4.5, "input_lens": [100, 0, "x", 300], "output_lens": [1, 1], "mean_tpot_ms": 3, "mean_ttft_ms": 7}' >kept.json
rows kept.json
is 'vllm 0 5 1 2 200 0.5 1 0 throughput 4.5' 'vllm 0 5 1 2 200 0.5 1 0 first_token 7'
sed 's/4.5/4.49/' kept.json >late.json
rows late.json
is 'vllm 1 5 1 2 200 0.5 1 0 throughput 4.49' 'vllm 1 5 1 2 200 0.5 1 0 first_token 7'
sed 's/4.5/0/; s/"completed"/"model_id": "a\\"b\\\\c=d", "backend": "trt-llm", "completed"/' kept.json >model.json
expect 0 '' import bench model.json -q
grep -q 'test\\ttensorrt-llm\\ta?b?c?d\\t' "$scratch.out" || complain 'the name of the model cannot stand in a cell'
grep -q throughput'\\t0' "$scratch.out" && complain 'a throughput of 0 is a row'
printf '\357\273\277  ' | cat - kept.json | sed 's/"completed"/"model_id": "", "completed"/' >mark.json
expect 0 '' import bench mark.json -q
grep -q 'test\\tvllm\\tunknown\\t' "$scratch.out" || complain 'a model without a name has none'
verdict import_bench.loads_and_statistics_are_those_of_the_file

# 512 tokens at 1024/s take 500 ms, a token at 50/s 20 ms, 640 tokens at 320/s 2 s.
cat >llama.md <<'END'
| model           |     size |  params | backend | ngl | test            |              t/s |
| --------------- | -------: | ------: | ------- | --: | --------------: | ---------------: |
| llama 8B Q4_K_M | 4.58 GiB |  8.03 B | CUDA    |  99 |           pp512 |   1024.00 ± 3.66 |
| llama 8B Q4_K_M | 4.58 GiB |  8.03 B | CUDA    |  99 |   tg128 @ d4096 |     50.00 ± 0.50 |
| llama 8B Q4_K_M | 4.58 GiB |  8.03 B | CUDA    |  99 |  pp 512+tg 128  |    320.00 ± 0.50 |

build: 1a2b3c4 (6000)
END
rows llama.md
is 'llama-cpp-rpc 1 1 0 4 512 0 1 0 first_token 500' 'llama-cpp-rpc 1 1 0 4 4096 0 129 0 token 20' \
	'llama-cpp-rpc 1 1 0 4 512 0 129 0 latency_p50 2000'
expect 0 '' import bench llama.md -q
grep -q '\\tint4\\t.*\\t4096\\t4226\\ttoken' "$scratch.out" || complain 'weights, depth or sequence are wrong'
cp got table
echo '[{"model_type": "llama 8B Q4_K_M", "n_prompt": 512, "n_gen": 0, "n_depth": 0, "avg_ts": 1024.0},
 {"model_type": "llama 8B Q4_K_M", "n_prompt": 0, "n_gen": 128, "n_depth": 4096, "avg_ts": 50.0},
 {"model_type": "llama 8B Q4_K_M", "n_prompt": 512, "n_gen": 128, "n_depth": 0, "avg_ts": 320}]' >llama.json
rows llama.json
cmp -s got table || complain 'JSON and the table differ'
printf '%s\n' 'build_commit,cpu_info,model_type,n_prompt,n_gen,n_depth,avg_ts' '"1a","Xeon, 2.0 GHz","llama 8B Q4_K_M","512","0","0","1024"' \
	'"1a","Xeon, 2.0 GHz","llama 8B Q4_K_M","0","128","4096","50.0"' '"1a","Xeon, 2.0 GHz","llama 8B Q4_K_M","512","128","0","320"' >llama.csv
rows llama.csv
cmp -s got table || complain 'CSV and the table differ'
# Numbers of seven digits are not rounded.
echo '[{"model_type": "a", "n_prompt": 512, "n_gen": 0, "n_depth": 1048577, "avg_ts": 1024}]' >deep.json
expect 0 '' import bench deep.json -q
grep -q '\\t1049089\\t0\\t1\\t0\\t1048577\\t1049091\\tfirst_token' "$scratch.out" || complain 'a long prompt is rounded'
verdict import_bench.llama_bench_gives_the_same_rows_in_all_formats

# A result with the numbers of a prediction is predicted without error.
expect 0 '' run --topology dgx-h100 --model llama3-8b --engine vllm --serve \
	concurrency=4,requests=40,prompt=256,output=32,output_spread=0,warmup=0 --draws 0 -q --format csv
tr -d '\r' <"$scratch.out" | awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
	{ printf "{\"completed\": 40, \"max_concurrency\": 4, \"total_input_tokens\": 10240, \"total_output_tokens\": 1280,"
	printf "\"request_throughput\": %s, \"mean_ttft_ms\": %.9g, ", $at["throughput_samples_per_s"], 1e3 * $at["first_token_mean_s"]
	printf "\"p99_tpot_ms\": %.9g, \"p90_e2el_ms\": %.9g}\n", 1e3 * $at["token_p99_s"], 1e3 * $at["latency_p90_s"] }' >own.json
farwire import bench own.json -o own.cfg
expect 0 '' validate own.cfg --topology dgx-h100 --model llama3-8b --draws 0 -q
shows '^test rows: 4, absolute error: median 0.00 %, largest 0.00 %'
verdict import_bench.a_prediction_is_its_own_measurement

bad() { # MESSAGE TEXT
	printf '%s\n' "$2" >bad.json
	expect 2 "$1" import bench bad.json
}
bad '^bad.json:1: the file begins neither with JSON nor with a table of llama-bench' 'Successful requests: 40'
bad '^bad.json:1: the value is not a result of a known benchmark' '{"completed": 3}'
bad '^bad.json:1: an object is expected here' '[1]'
bad '^bad.json:1: a result has no completed requests' '{"completed": 0, "total_input_tokens": 1}'
bad '^bad.json:1: a result has an impossible load' '{"completed": 1, "total_input_tokens": 1e12, "total_output_tokens": 1}'
bad '^bad.json:1: random_range_ratio is not from 0 to 1' '{"completed": 1, "total_input_tokens": 1, "random_range_ratio": 7}'
load() { # CHANGE: the load of kept.json without its lengths and with this change is impossible
	bad '^bad.json:1: a result has an impossible load: no requests or tokens, or too many' \
		"$(tr '\n' ' ' <kept.json | sed 's/"input_lens": .[^]]*], "output_lens": .[^]]*], //; s/"max_concurrency": 1, //; '"$1")"
}
load 's/"completed": 2/"completed": 0.5/'
load 's/"completed": 2/"completed": 10000001/; s/_tokens": 8/_tokens": 1e9/g'
load 's/"total_input_tokens": 8/"total_input_tokens": 1/'
load 's/"total_output_tokens": 8/"total_output_tokens": 1/'
load 's/"request_rate": 5/"request_rate": 0/'
load 's/"request_rate": 5/"request_rate": 1.1e9/'
load 's/"request_rate": 5/"request_rate": "inf"/; s/"completed": 2/"completed": 1000001/; s/_tokens": 8/_tokens": 1e9/g'
bad '^bad.json:1: a result has an impossible load' '{"model_type": "a", "n_prompt": 5, "n_depth": -1, "avg_ts": 2}'
bad '^bad.json:1: random_range_ratio is not from 0 to 1' '{"completed": 1, "total_input_tokens": 1, "random_range_ratio": -0.1}'
bad '^bad.json:1: the value is not a result of a known benchmark' '{"avg_ts": 3, "total_input_tokens": 1}'
bad '^bad.json:1: an object is expected here' '[[]]'
bad '^bad.json:1: the value is not a result of a known benchmark' '[{"completed": 3}]'
for test in '"n_prompt": 5, "avg_ts": 0' '"n_prompt": 5, "n_gen": -1, "avg_ts": 2' '"n_prompt": 0, "avg_ts": 2'; do
	bad '^bad.json:1: a test of llama-bench lacks its tokens or its tokens/s' "{\"model_type\": \"a\", $test}"
done
printf 'build_commit,model_type,n_prompt,avg_ts\n\n1,a,512,inf\n' >bad.csv
expect 2 '^bad.csv:3: a test of llama-bench lacks its tokens' import bench bad.csv
sed 's/inf/1024/' bad.csv >blank.csv
rows blank.csv
is 'llama-cpp-rpc 1 1 0 4 512 0 1 0 first_token 500'
printf '| model | test | t/s |\n|:---|:--|--:|\n| a | pp512 | 1024 |\n' >marks.md
rows marks.md
is 'llama-cpp-rpc 1 1 0 4 512 0 1 0 first_token 500'
bad '^bad.json:1: the file begins neither' '| name | test | t/s |'
bad '^bad.json:2: a test of llama-bench lacks its tokens' "$(printf '| model | tests | t/s |\n| a | pp512 | 3 |')"
expect 2 "none.json" import bench none.json
awk 'BEGIN { for (i = 0; i < 2001; i++) print "{\"model_type\": \"a\", \"n_prompt\": 1, \"avg_ts\": 2}" }' >many.jsonl
expect 2 '^many.jsonl:2001: the files have more than 2000 results' import bench many.jsonl
sed 1d many.jsonl >fewer.jsonl
expect 0 '2000 used' import bench fewer.jsonl
bad 'the file is not JSON' '{"completed": 1,'
bad '^bad.json:2: the row has not as many cells as the heading' "$(printf '| model | test | t/s |\n| a | tg1 |')"
bad '^bad.json:2: a test of llama-bench lacks its tokens' "$(printf '| model | test | t/s |\n| a | tg1 | nan |')"
bad '^bad.json:1: the files have no results' '[]'
bad '^bad.json:1: a test of llama-bench lacks its tokens' '{"model_type": "a", "n_prompt": -5, "n_gen": 10, "avg_ts": 2}'
bad '^bad.json:1: llama-bench does not measure a server' "$(cat open.json llama.json)"
head -c 100000 /dev/zero >bad.json
expect 2 '^bad.json:1: the file begins neither' import bench bad.json
verdict import_bench.other_files_are_refused
