#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Traces of PyTorch's profiler, written by hand: forms of times, streams of several GPUs, and the
# arguments that describe a collective.
cd "$(dirname "$0")/../.." || exit 2
# shellcheck source=tests/check.sh
. tests/check.sh
cd "$scratch" || exit 2

# has COUNT PATTERN: that many lines of the results match the pattern
has() {
	found=$(grep -c -e "$2" "$scratch.out")
	[ "$found" = "$1" ] || complain "$found lines with '$2', not $1"
}
event() { # CATEGORY NAME ts dur ARGS
	printf '{"ph":"X","cat":"%s","name":"%s","ts":%s,"dur":%s,"tid":1,"args":{%s}},\n' "$@"
}
# launch NAME ARGS: a call at each 10 us from 10 us on, and its kernel 2 us later on stream 20.
calls=0
launch() {
	calls=$((calls + 1))
	event cuda_runtime cudaLaunchKernel $((10 * calls)) 1 "\"correlation\":$calls"
	event kernel "$1" $((10 * calls + 2)) 1.5 "\"correlation\":$calls,\"stream\":20$2"
}
# trace RANK RANKS: a trace with the events of the standard input
trace() {
	echo "{\"distributedInfo\":{\"rank\":$1,\"world_size\":$2},\"traceEvents\":["
	cat
	echo '{"ph":"M"}]}'
}

# Decimals beyond nanoseconds are cut off. An exponent is allowed.
{
	event cuda_runtime cudaMalloc 1700000000000000.125 2.5009 '"correlation":1'
	event cuda_runtime cudaLaunchKernel 1700000000000010 1e1 '"correlation":2'
	event kernel gemm 1700000000000020.5 3.0019 '"correlation":"2","stream":"7"'
} | trace 0 1 >times.json
expect 0 'converted 2 calls of 1 threads' import kineto times.json
has 1 '"cudaMalloc","start_s":0.000000000,"end_s":0.000002500'
has 1 '"cudaLaunchKernel","start_s":0.000009875,"end_s":0.000019875,"stream":7,"kernel_s":0.000003001,'
refused() { # PATTERN ts dur
	{
		launch gemm
		event cuda_runtime cudaMalloc "$2" "$3" ''
	} | trace 0 1 >bad.json
	expect 2 "$1" import kineto bad.json
}
refused 'an event has no ts, or a negative one' 1e300 1
refused 'an event has no ts, or a negative one' -1 1
refused 'an event has no ts, or a negative one' 1 -1
refused 'an event has no ts, or a negative one' 9223372036854776 1
refused 'an event has no ts, or a negative one' 92233720368547758070 1
refused 'the ts or dur of an event is too large' 9223372036854775 1
refused 'the ts or dur of an event is too large' 1 1000000000000001
{
	launch other
	echo '"text",'
} | trace 0 1 >bad.json
expect 2 'each element of traceEvents must be a JSON object' import kineto bad.json
echo '"text"' >bad.json
expect 2 'bad.json:1: the file is not a trace, because it is neither a JSON object nor an array' import kineto bad.json
verdict import_kineto.times_are_in_whole_nanoseconds

# Values that are not numbers are ignored. A GPU beyond 1,023 does not change the stream.
# The text of a step must follow its name directly. A graph launch lasts from its first kernel to its last.
calls=0
{
	launch a ',"device":1023'
	launch b ',"device":1024'
	launch c ',"device":true'
	launch d ',"stream":null'
	event cuda_runtime cudaGraphLaunch 50 2 '"correlation":9'
	event kernel late 60 5 '"correlation":9,"stream":3'
	event kernel early 55 2 '"correlation":9,"stream":3'
	event kernel longest 58 22 '"correlation":9,"stream":3'
	event kernel inside 61 1 '"correlation":9,"stream":3'
	event kernel orphan 1 1 '"correlation":77,"stream":3'
	event cuda_sync 'Event Sync' 1 1 '"correlation":78,"stream":3'
	event gpu_memcpy 'Memcpy HtoD (Pinned -> Device)' 90 3 '"correlation":10,"stream":3,"bytes":1000.5'
	event cuda_runtime cudaMemcpyAsync 85 1 '"correlation":10'
	event gpu_memcpy 'Memcpy DtoH (Device -> Pageable)' 96 3 '"correlation":11,"stream":3,"bytes":7'
	event cuda_runtime cudaMemcpyAsync 95 1 '"correlation":11'
	event gpu_memcpy 'Memcpy Unknown' 98.5 2 '"correlation":13,"stream":3,"bytes":9'
	event cuda_runtime cudaMemcpyAsync 99 1 '"correlation":13'
	event gpu_memcpy 'Memcpy PtoP (Device -> Device)' 98 3 '"correlation":12,"stream":3,"bytes":8'
	event cuda_runtime cudaMemcpyPeerAsync 97 1 '"correlation":12'
} | trace 0 1 >streams.json
expect 0 '9 calls of 1 threads with 0 step marks .*; 24 events read, 23 used, 1 skipped$' import kineto streams.json
grep -q '^1 kernels and copies were left out because the trace does not contain their calls$' "$scratch.err" ||
	complain 'the orphan is not counted'
sed 's/"thread":0,"call"://;s/"start_s"//;s/"end_s"//;s/0\.0000//g' "$scratch.out" >got
cat >wanted <<'END'
{"format":"farwire-calls","version":1,"tool":"kineto","threads":1,"rank":0,"ranks":1}
{"cudaLaunchKernel",:00000,:01000,"stream":1072693268,"kernel_s":01500,"gpu_start_s":02000,"label":"a"}
{"cudaLaunchKernel",:10000,:11000,"stream":20,"kernel_s":01500,"gpu_start_s":12000,"label":"b"}
{"cudaLaunchKernel",:20000,:21000,"stream":20,"kernel_s":01500,"gpu_start_s":22000,"label":"c"}
{"cudaLaunchKernel",:30000,:31000,"stream":20,"kernel_s":01500,"gpu_start_s":32000,"label":"d"}
{"cudaGraphLaunch",:40000,:42000,"stream":3,"kernel_s":25000,"gpu_start_s":45000,"label":"early"}
{"cudaMemcpyAsync",:75000,:76000,"stream":3,"copy":"h2d","memory":"pinned","size_B":1000,"copy_s":03000,"gpu_start_s":80000}
{"cudaMemcpyAsync",:85000,:86000,"stream":3,"copy":"d2h","memory":"pageable","size_B":7,"copy_s":03000,"gpu_start_s":86000}
{"cudaMemcpyPeerAsync",:87000,:88000,"stream":3,"copy":"p2p","size_B":8,"copy_s":03000,"gpu_start_s":88000}
{"cudaMemcpyAsync",:89000,:90000,"stream":3,"copy":"d2d","size_B":9,"copy_s":02000,"gpu_start_s":88500}
{"end":true,"lines":9}
END
cmp -s got wanted || complain "the calls are $(diff got wanted)"
verdict import_kineto.streams_graphs_and_copies_have_the_listed_numbers

# A wait names the call that recorded its event, and the stream on which it did. The number of the event is that of this
# call. Without a call in the trace nothing is known.
{
	event cuda_runtime cudaEventRecord 10 1 '"correlation":3'
	event cuda_runtime cudaStreamWaitEvent 20 1 '"correlation":4'
	event cuda_sync 'Stream Wait Event' 20 1 '"correlation":4,"stream":8,"wait_on_cuda_event_record_corr_id":3,"wait_on_stream":7'
	event cuda_runtime cudaStreamWaitEvent 30 1 '"correlation":5'
	event cuda_sync 'Stream Wait Event' 30 1 '"correlation":5,"stream":8,"wait_on_cuda_event_record_corr_id":33,"wait_on_stream":7'
	event cuda_runtime cudaEventRecord 40 1 '"correlation":6'
	event cuda_event 'Event Record' 40 1 '"correlation":6,"stream":9'
} | trace 0 1 >events.json
farwire import kineto events.json
has 1 '"cudaEventRecord","start_s":0.000000000,"end_s":0.000001000,"stream":7,"event":3}'
has 1 '"cudaStreamWaitEvent","start_s":0.000010000,"end_s":0.000011000,"stream":8,"event":3}'
has 1 '"cudaStreamWaitEvent","start_s":0.000020000,"end_s":0.000021000,"stream":8}'
has 1 '"cudaEventRecord","start_s":0.000030000,"end_s":0.000031000,"stream":9,"event":6}'
verdict import_kineto.waits_name_the_call_that_recorded_their_event

# Groups with equal distances become "first + size x distance"; others are not simulated. A list that is cut off
# is ignored, and without a group only a collective of all 12 ranks is clear. Messages need their group and the other rank.
ar='"Collective name":"allreduce","dtype":"Float","In msg nelems":100'
send='"Collective name":"send","dtype":"Float","In msg nelems":100'
recv='"Collective name":"recv","dtype":"Float","In msg nelems":100'
calls=0
row() { # EXPECTED ARGS: EXPECTED is bytes, first, size, distance and peer with '-' where the call has none
	launch "ncclKernel_$((calls + 1))" ",$2"
	[ "$1" = none ] || echo "ncclKernel_$calls $1" >>wanted
}
: >wanted
odd='"Process Group Ranks":"[1, 3, 5]"'
{
	row '400 1 3 2 -' "$ar,$odd"
	row none "$ar,\"Process Group Ranks\":\"[1, 3, 4]\""
	row none "$ar,\"Process Group Ranks\":\"[3, 1]\""
	row none "$ar,\"Process Group Ranks\":\"[1, 1]\""
	row '400 - - - -' "$ar,\"Process Group Ranks\":\"[0, 2, ...]\",\"Group size\":12"
	row none "$ar,\"Process Group Ranks\":\"[0, 2, ...]\",\"Group size\":11"
	row none "$ar,\"Group size\":13"
	row '400 - - - -' "$ar"
	row '400 - - - -' "$ar,\"Process Group Ranks\":\"[]\""
	row '400 2 3 4 -' "$ar,\"Group size\":3,\"Global rank start\":2,\"Global rank stride\":4"
	row '400 - - - -' "$ar,\"Global rank start\":2,\"Global rank stride\":4"
	row '400 - - - -' "$ar,\"Group size\":12,\"Global rank start\":2,\"Global rank stride\":0"
	row '400 0 8 8192 -' "$ar,\"Group size\":8,\"Global rank start\":0,\"Global rank stride\":8192"
	row none "$ar,\"Group size\":8,\"Global rank start\":1,\"Global rank stride\":8192"
	row '400 1 3 2 5' "$send,$odd,\"Dst Rank\":2"
	row '400 1 3 2 1' "$recv,$odd,\"Src Rank\":0"
	row none "$send,$odd,\"Dst Rank\":-1"
	row none "$recv,$odd"
	row none "$send,\"Group size\":12,\"Dst Rank\":3"
	row '400 0 12 1 65535' "$send,\"Group size\":12,\"Global rank start\":0,\"Global rank stride\":1,\"Dst Rank\":70000"
	# Sizes are elements times the size of the type, up to 1 PB.
	all='"Collective name":"broadcast"'
	row '1000000000000000 - - - -' "$all,\"dtype\":\"Byte\",\"In msg nelems\":1e15"
	row none "$all,\"dtype\":\"Half\",\"In msg nelems\":1e15"
	row none "$all,\"dtype\":\"Byte\",\"In msg nelems\":1.1e15"
	row none "$all,\"dtype\":\"Byte\",\"In msg nelems\":0"
	row none "$all,\"dtype\":\"Nonsense\",\"In msg nelems\":8"
	row none "$all,\"dtype\":\"\",\"In msg nelems\":8"
	row '16 - - - -' "$all,\"dtype\":\"long int\",\"In msg nelems\":2"
	row '2 - - - -' "$all,\"dtype\":\"unsigned char\",\"In msg nelems\":2"
	row '2 - - - -' "$all,\"dtype\":\"signed char\",\"In msg nelems\":2"
	row '4 - - - -' "$all,\"dtype\":\"c10::BFloat16\",\"In msg nelems\":2"
	row '24 - - - -' "$all,\"Input type\":[\"Scalar\",[\"float\",\"double\"]],\"Input Dims\":[[2,3],null]"
	row '8 - - - -' '"Collective name":"Reduce Scatter_tensor_coalesced_of_a_long_name","dtype":"int8","Out msg nelems":8'
	row '8 - - - -' '"Collective name":"nccl:_all_to_all base","dtype":"int8","Out msg nelems":8'
	calls=$((calls + 1)) # the same of AMD's library
	event cuda_runtime hipLaunchKernel $((10 * calls)) 1 "\"correlation\":$calls"
	event kernel rcclKernel $((10 * calls + 2)) 1.5 "\"correlation\":$calls,\"stream\":20,$ar"
	echo 'rcclKernel 400 - - - -' >>wanted
	row none '"Collective name":"barrier","dtype":"int8","Out msg nelems":8'
} | trace 1 12 >args.json
expect 0 '^rank 1 of 12: 20 collectives with bytes and group; 15 without' import kineto args.json
grep -v '"cudaLaunchKernel"' "$scratch.out" | awk '
	function value(key) {
		return match($0, "\"" key "\":\"?[A-Za-z0-9_]+") ? substr($0, RSTART + length(key) + 3, RLENGTH - length(key) - 3) : "-"
	}
	/"label"/ {
		label = value("label")
		print substr(label, 2), value("size_B"), value("group_first"), value("group_size"), value("group_stride"), value("peer")
	}' >got
cmp -s got wanted || complain "got and wanted are $(diff got wanted)"
verdict import_kineto.arguments_give_the_bytes_and_the_group_of_a_collective

# A kernel without arguments takes the record of the innermost event of the host around its launch, of the same thread,
# up to the end of the event. The fourth event that begins before the launch is the last one that counts.
host() { # NAME ts dur THREAD ARGS
	printf '{"ph":"X","cat":"user_annotation","name":"%s","ts":%s,"dur":%s,"tid":%s,"args":{%s}},\n' "$@"
}
launches() { # FIRST COUNT: launches with the kernels of that number of collectives without arguments
	calls=$(($1 - 1))
	while [ "$calls" -lt $(($1 + $2 - 1)) ]; do launch ncclKernel; done
}
sizes() { # PATTERN WANTED: the bytes of the matching calls, in their order
	[ "$(sed -n "s/.*$1.*\"size_B\":\([0-9]*\).*/\1/p" "$scratch.out" | tr '\n' ' ')" = "$2" ] ||
		complain "the bytes of $1 are not $2: $(cat "$scratch.out")"
}
bytes='"dtype":"int8","In msg nelems"'
{
	launches 1 6
	host nccl:all_reduce 5 5 1 "$bytes:100"                          # ends when the launch at 10 us begins
	host nccl:all_reduce 18 10 1 "$bytes:200"                        # around the launch at 20 us
	host nccl:all_reduce 19 5 1 "$bytes:300"                         # the innermost one
	host nccl:all_reduce 19.5 5 2 "$bytes:400"                       # of another thread
	host nccl:all_reduce 30 5 1 "$bytes:500,\"Collective name\":\"allgather\"" # begins with the launch; the argument counts
	host nccl:all_reduce 38 10 1 "$bytes:600"
	host nccl:all_reduce 38.1 0.1 1 "$bytes:1"
	host nccl:all_reduce 38.2 0.1 1 "$bytes:2"
	host nccl:all_reduce 38.3 0.1 1 "$bytes:3"
	host nccl:all_reduce 49 0.5 1 "$bytes:700"
	host nccl:all_reduce 58 5 1 "$bytes:800"
	host nccl:all_reduce 58.1 0.1 1 "$bytes:1"
	host nccl:all_reduce 58.2 0.1 1 "$bytes:2"
	host nccl:all_reduce 58.3 0.1 1 "$bytes:3"
	host nccl:all_reduce 58.4 0.1 1 "$bytes:4"
	launch ncclKernel | sed '1s/"tid":1/"tid":3/' # at 70 us by a thread without events of the host
	host nccl:all_reduce 68 9 1 "$bytes:900"
} | trace 1 12 >spans.json
expect 0 '^rank 1 of 12: 4 collectives with bytes and group; 3 without' import kineto spans.json
sizes ncclAllReduce '100 300 600 '
sizes ncclAllGather '500 '
verdict import_kineto.launches_belong_to_the_innermost_event_around_them

# Steps of two threads, the later one first in the file. The first mark of a step counts, and the end of the last step is one
# more mark. Times begin with the first mark, which comes before all calls.
{
	host ProfilerStep#4 50 45 2 ''
	host ProfilerStep#3 5 40 1 ''
	host ProfilerStep#3 4 90 2 ''
	calls=0
	launch a
	calls=5
	launch b | sed '1s/"tid":1/"tid":2/'
} | trace 0 1 >steps.json
expect 0 '^converted 2 calls of 2 threads with 3 step marks; 8 events read, 6 used, 2 skipped$' import kineto steps.json
grep -e step -e cudaLaunch "$scratch.out" | sed 's/,"stream".*//; s/"end_s".*//' >got
cat >wanted <<'END'
{"step":3,"t_s":0.000000000,"thread":0}
{"thread":0,"call":"cudaLaunchKernel","start_s":0.000005000,
{"step":4,"t_s":0.000045000,"thread":1}
{"thread":1,"call":"cudaLaunchKernel","start_s":0.000055000,
{"step":5,"t_s":0.000090000,"thread":1}
END
cmp -s got wanted || complain "the steps are $(cat got)"
verdict import_kineto.steps_of_all_threads_become_marks

# A job has up to 65,536 ranks, and its rank is one of them. An all-gather of all ranks has the bytes of each one.
for job in '0 65536 1 524288' '0 65537 0 -' '2 2 0 16' '-1 2 0 16'; do
	set -- $job
	launches 1 1 | sed 's/"stream":20/&,"Collective name":"allgather","dtype":"int8","Input Dims":[[8]]/' |
		trace "$1" "$2" >job.json
	farwire import kineto job.json
	has "$3" "^{\"format\".*\"rank\":$1,\"ranks\":$2}"
	[ "$4" = - ] && has 0 ncclAllGather || sizes ncclAllGather "$4 "
done
verdict import_kineto.jobs_have_up_to_65536_ranks
