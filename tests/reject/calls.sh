#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Recorded programs on the command line: files that are not call files, and options that do not
# apply to them. (tests/unit/test_call_files.c tests the readers.)
cd "$(dirname "$0")/../.." || exit 2
# shellcheck source=tests/check.sh
. tests/check.sh
cd "$scratch" || exit 2
t320='--topology t320-same-esxi --draws 0'

head='{"format":"farwire-calls","version":1,"tool":"by hand"}'
launch='{"call":"cudaLaunchKernel","start_s":0.001,"end_s":0.001005,"stream":7,"kernel_s":0.0002}'
sync='{"call":"cudaDeviceSynchronize","start_s":0.00101,"end_s":0.0013}'
printf '%s\n' "$head" "$launch" "$sync" '{"end":true}' >good.jsonl
printf '%s\n' "$head" '{"step":1,"t_s":0}' "$launch" '{"end":true}' >one_mark.jsonl
printf '%s\n' "$head" "$launch" >cut.jsonl
head -c 120 good.jsonl >torn.jsonl
head -c 300000 /dev/zero | tr '\0' '[' >deep.jsonl
: >empty.jsonl

# shellcheck disable=SC2086 # a list of words
{
	expect 0 '' run $t320 --calls good.jsonl
	expect 2 '^nosuch\.jsonl: the file cannot be read' run $t320 --calls nosuch.jsonl
	expect 2 'empty\.jsonl:1: the file is empty' run $t320 --calls empty.jsonl
	expect 2 'cut\.jsonl:[0-9]+: the file has no end line' run $t320 --calls cut.jsonl
	expect 2 'torn\.jsonl:2: the line is not JSON: the file ends inside a text .the recording was cut off.' run $t320 --calls torn.jsonl
	expect 2 'deep\.jsonl:1: the line is not JSON: the text is nested too deeply' run $t320 --calls deep.jsonl
	expect 2 'has 0 complete steps' run $t320 --calls one_mark.jsonl
	printf '%s\n' "$head" '{"step":4,"t_s":0}' '{"step":5,"t_s":0.0005}' "$launch" "$sync" '{"end":true}' >idle.jsonl
	expect 2 '^--calls: step 4 of the recording contains no CUDA call .write another calls\.step' run $t320 --calls idle.jsonl
	expect 2 'so calls\.step is too large' run $t320 --calls good.jsonl --set calls.step=2
	expect 2 'calls cannot be combined with model' run $t320 --calls good.jsonl --model resnet50
	expect 2 'contains no collective whose size is known' run --topology dgx1-v100 --gpus 2 --calls good.jsonl
	expect 2 'calls\.kernel' run $t320 --calls good.jsonl --set calls.kernel=0
	# A synchronisation that surrounds a launch has no kernel before it. A step with one
	# must end.
	around=$(echo "$sync" | sed 's/0\.00101/0/')
	printf '%s\n' "$head" "$launch" "$around" '{"end":true}' >around.jsonl
	expect 0 '' run $t320 --calls around.jsonl
	copy='{"call":"cudaMemcpyAsync","start_s":0.001,"end_s":0.001005,"stream":7,"copy":"h2d","memory":"pinned","size_B":0.5,"copy_s":1e-5}'
	printf '%s\n' "$head" "$copy" "$sync" '{"end":true}' >half.jsonl
	expect 2 'half\.jsonl:2: size_B must be a whole number' run $t320 --calls half.jsonl
	sed 's/0\.5,/64,/; 1s/^/\xef\xbb\xbf/; s/$/\r/' half.jsonl >marked.jsonl # with a byte order mark and carriage returns
	expect 0 '' run $t320 --calls marked.jsonl
	expect 0 '' check good.jsonl
	shows '2 calls by 1 threads; 0 marked steps, all of it 300 us'
	expect 2 'cut off' check cut.jsonl
}
verdict 'calls.unusable_call_files_are_refused'

cat >both.cfg <<'END'
case = { topology = "t320-same-esxi"; calls = "good.jsonl"; runtime = "synchronous";
	clients = ( { name = "a"; model = "alexnet"; } ); };
END
expect 2 "^both\.cfg:2: client 'a': calls cannot be combined with model" run both.cfg --draws 0
verdict 'calls.client_with_calls_and_model_is_refused'

# A case can name a call file in its own folder. Kernels that take twice as long lengthen the
# step by their time.
mkdir cases
cp good.jsonl cases
printf 'case = { topology = "t320-same-esxi"; calls = "good.jsonl"; };\n' >cases/case.cfg
step() { # ARGS...: prints the step time in microseconds
	expect 0 '' run cases/case.cfg --draws 0 --set host.*.c_states=false --format json "$@"
	grep -A1 '"step"' "$scratch.out" | grep -oE '"value": [0-9.e-]+' | head -n 1 |
		awk '{ printf "%.0f\n", $2 * 1e6 }'
}
once=$(step)
twice=$(step --set calls.kernel=2)
[ "$((twice - once))" = 200 ] || complain "kernels that take 200 us more change the step from $once us to $twice us"
remote=$(step --runtime synchronous --program client)
[ "$remote" -gt "$once" ] || complain "the step takes $remote us with a remote GPU and $once us with a local one"
verdict 'calls.case_replays_a_file_in_its_folder'

printf '{"traceEvents":[{"ph":"X","cat":"cuda_runtime","name":"cudaFree",\n' >torn.json
printf '\037\213\010' >trace.json.gz
expect 2 'torn\.json:2: the file is not JSON' import kineto torn.json -o x.jsonl
expect 2 'cannot read .missing\.json' import kineto missing.json -o x.jsonl
expect 2 'trace\.json\.gz: the compressed file cannot be unpacked: it ends too early' import kineto trace.json.gz -o x.jsonl
expect 2 "no importer is called 'kinet' \(did you mean 'kineto'" import kinet torn.json
expect 2 'needs KIND FILE' import kineto
expect 2 'the file is not a trace' import kineto empty.jsonl
[ ! -e x.jsonl ] || complain 'import wrote a file after an error'
verdict 'calls.unusable_traces_are_refused'

# With two threads the output says that waits follow from gaps.
printf '%s\n' "$head" "$launch" '{"call":"cudaDeviceSynchronize","thread":1,"start_s":0.00101,"end_s":0.0013}' \
	'{"end":true}' >threads.jsonl
farwire run --topology t320-same-esxi --draws 0 --calls threads.jsonl
[ "$code" = 0 ] || complain "threads: ended with $code, $(cat "$scratch.err")"
shows 'the recording has 2 threads and does not state which ones wait for each other'
verdict 'calls.output_says_that_waits_of_threads_are_not_stated'
