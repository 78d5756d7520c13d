#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Imports logs of nccl-tests, nvbandwidth, perftest, iperf3, sockperf, fio and mbw, and traces of PyTorch, in the formats
# of their releases and options. The logs are made here after the tools' own formats. Invalid logs
# are refused.
cd "$(dirname "$0")/../.." || exit 2
# shellcheck source=tests/check.sh
. tests/check.sh
cd "$scratch" || exit 2

# samples LOG: imported as $kind, each point as "size ranks-or-streams pass sample,sample".
samples() {
	expect 0 '' import "$kind" "$1" -q
	sed -n 's/^{"test".*"size_B": \([0-9]*\)\(, "[a-z]*": \([0-9]*\)\)\{0,1\}}, "pass": \([0-9]*\).*"samples": \[\([^]]*\)\].*/\1 \3 \4 \5/p' \
		"$scratch.out" | sed 's/, /,/g; s/  / /' >got
}
is() { # lines that were expected
	printf '%s\n' "$@" >wanted
	cmp -s wanted got || complain "expected '$(tr '\n' ';' <wanted)', got '$(tr '\n' ';' <got)'"
}

kind=nccl-tests
ranks() { # a line for each of N ranks
	for rank in $(seq 0 $(($1 - 1))); do
		printf '#  Rank %2d Group  0 Pid  11 on  node%d device %2d [0x07] NVIDIA A100-SXM4-40GB\n' \
			"$rank" $((rank / 2)) $((rank % 2))
	done
}
# Version 2.0: no groups, no root, errors as "error"; two nodes; mpirun's tags before the lines.
{
	echo '# nThread 1 nGpus 1 minBytes 1024 maxBytes 1048576 step: 2(factor) warmup iters: 5 iters: 20 validation: 1'
	ranks 4 | sed 's/ Group  0//'
	echo '#       size         count    type   redop     time   algbw   busbw  error     time   algbw   busbw  error'
	echo '        1024           256   float     sum    20.00    0.05    0.08  4e-07    21.00    0.05    0.07  4e-07'
	echo '     1048576        262144    half     sum    100.0   10.49   15.73  0e+00    101.0   10.38   15.57  0e+00'
} >old
samples old
is '1024 4 0 2e-05' '1024 4 1 2.1e-05' '1048576 4 0 0.0001' '1048576 4 1 0.000101'
grep -q '"collective": "all_reduce"' "$scratch.out" || complain 'the collective is not all_reduce'
# Without an order of the ranks, there are as many.
awk '/Rank  1/ { held = $0; next } { print } /Rank  3/ { print held }' old >mixed
samples mixed
is '1024 4 0 2e-05' '1024 4 1 2.1e-05' '1048576 4 0 0.0001' '1048576 4 1 0.000101'
sed 's/^/[1,0]<stdout>: /' old >tagged
samples tagged
is '1024 4 0 2e-05' '1024 4 1 2.1e-05' '1048576 4 0 0.0001' '1048576 4 1 0.000101'
# Version 2.17 with -T and without a check; a second run with other ranks; zero bytes; N/A in place.
new_run() {
	echo "# Collective test starting: ${2}_perf"
	echo '# nThread 1 nGpus 1 minBytes 0 maxBytes 64 step: 2(factor) warmup iters: 1 iters: 20 agg iters: 1 validation: 0 graph: 0'
	ranks "$1"
	echo '#       size         count      type   redop    root     time   algbw   busbw  #wrong     time   algbw   busbw  #wrong           timestamp'
	echo '#        (B)    (elements)                               (us)  (GB/s)  (GB/s)             (us)  (GB/s)  (GB/s)         %Y-%m-%d %H:%M:%S'
	echo '           0             0     float     sum      -1     9.00    0.00    0.00     N/A     9.00    0.00    0.00     N/A   2026-01-02 03:04:05'
	echo '          64            16     float     sum      -1    10.00    0.01    0.01     N/A      N/A     N/A     N/A     N/A   2026-01-02 03:04:05'
	echo '# Out of bounds values : 0 OK'
}
{ new_run 2 all_reduce && new_run 4 all_reduce && new_run 4 all_reduce && new_run 4 alltoall; } >new
samples new
is '64 2 0 1e-05' '64 4 0 1e-05' '64 4 1 1e-05' '64 4 0 1e-05'
for program in './build/alltoall_perf -b 8 -e 1G' /opt/alltoall; do
	sed "s#: alltoall_perf#: $program#" new >named
	farwire import nccl-tests named
	grep -q '"collective": "alltoall"' "$scratch.out" || complain "$program: the collective is not alltoall"
done
sed 's#: alltoall_perf#: /opt/#' new >named
expect 2 'the log does not name the collective' import nccl-tests named
# Columns for each iteration after each result.
{
	new_run 2 all_reduce | head -n 4
	echo '# size count type redop root time algbw busbw #wrong i_min i_max i_p99 i_cv% time algbw busbw #wrong i_min i_max i_p99 i_cv%'
	echo '  64 16 float sum -1 10.00 0.01 0.01 0 8.0 14.0 13.0 2.0 11.00 0.01 0.01 0 8.0 14.0 13.0 2.0'
} >each
samples each
is '64 2 0 1e-05' '64 2 1 1.1e-05'
cat >json <<'END'
{"version":2,"args":["./build/all_reduce_perf","-b","8"],"env":["A=\"b\""],"nccl_version":22703,
"config":{"nthreads":1,"ngpus":2,"devices":[{"rank":0,"device_info":"NVIDIA H100"},{"rank":2,"device_info":"NVIDIA H100"}]},
"results":[{"size":64,"count":16,"type":"float","out_of_place":{"time":10.5,"alg_bw":0.006,"bus_bw":0.009,"nwrong":null},
"in_place":{"time":11.5,"nwrong":0},"actual_iterations":20},{"size":128,"out_of_place":null,"in_place":{"time":12.0}}],
"out_of_bounds":{"count":0,"okay":"true"}}
END
samples json
is '64 4 0 1.05e-05' '64 4 1 1.15e-05' '128 4 0 1.2e-05'
# two processes with three threads of two GPUs each
sed 's/"nthreads":1/"nthreads":3/' json >threads
samples threads
is '64 12 0 1.05e-05' '64 12 1 1.15e-05' '128 12 0 1.2e-05'
farwire import nccl-tests json
grep -q '"name": "NVIDIA H100"' "$scratch.out" || complain 'the name of the GPUs is missing'
farwire import nccl-tests old
grep -q '^4 points of nccl-tests' "$scratch.err" || complain "the message about points is $(cat "$scratch.err")"
verdict 'imports.logs_of_nccl_tests_become_samples'

# A run with fewer ranks after one with more. Old releases print nothing between runs but the ranks, from 0 again.
{ new_run 4 all_reduce && new_run 2 all_gather; } >fewer
samples fewer
is '64 4 0 1e-05' '64 2 0 1e-05'
{
	sed '$d' old
	ranks 2 | sed 's/A100-SXM4-40GB/V100/'
	echo '#       size         count    type   redop     time   algbw   busbw  error     time   algbw   busbw  error'
	echo '     1048576        262144    half     sum    100.0   10.49   10.49  0e+00    102.0   10.28   10.28  0e+00'
} >two
sed -i 's/ 0.05    0.08 / 1.00    1.50 /' two
samples two
is '1024 4 0 2e-05' '1024 4 1 2.1e-05' '1048576 2 0 0.0001' '1048576 2 1 0.000102'
grep -q '"name": "NVIDIA A100-SXM4-40GB"' "$scratch.out" || complain 'the GPU is not that of the first rank'
# Two files of JSON have their own ranks and names.
sed 's/all_reduce/reduce_scatter/' threads >scatter
expect 0 '^6 points of nccl-tests' import log json scatter
grep -c '"collective": "all_reduce".*"ranks": 4}' "$scratch.out" >got
grep -c '"collective": "reduce_scatter".*"ranks": 12}' "$scratch.out" >>got
is 3 3
verdict 'imports.runs_of_one_import_have_their_own_ranks'

# The ratio of the bandwidths identifies the collective of 8 ranks, whose part is 7 / 8. That of an all-reduce is 1.75, up to 6 %
# of 7 / 8 away. That of a reduce-scatter is 0.875, up to 4 % of it away. Those with a root have 1, up to 0.25 / 8 away.
collective() { # NAME OPERATION ROOT BUS-BANDWIDTH; the algorithm's is 100 GB/s
	{
		echo '# nThread 1 nGpus 1 minBytes 8 maxBytes 8 step: 2(factor) warmup iters: 5 iters: 20 validation: 1'
		ranks 8
		echo '# size count type redop root time algbw busbw #wrong time algbw busbw #wrong'
		echo "1048576 262144 float $2 $3 10.00 100.00 $4 0 11.00 90.00 90.00 0"
	} >ratio
	if [ "$1" = none ]; then
		expect 2 'the log does not name the collective' import nccl-tests ratio
	else
		expect 0 '' import nccl-tests ratio -q
		grep -q "\"collective\": \"$1\".*\"ranks\": 8}" "$scratch.out" || complain "a ratio of $4 is not $1: $(cat "$scratch.out")"
	fi
}
collective all_reduce sum -1 170
collective none sum -1 169.7
collective all_reduce sum -1 180.2
collective none sum -1 180.3
collective reduce_scatter sum -1 84.1
collective none sum -1 83.9
collective reduce sum 0 103.1
collective none sum 0 103.2
collective broadcast none 7 96.9
collective none none 0 96.8
# Without the lines of ranks, 2 (n - 1) / n of the largest bandwidth gives their number. 0.5 and 0.9 GB/s fit several.
unlisted() { # RANKS ROWS...
	{
		echo '# nThread 1 nGpus 1 minBytes 8 maxBytes 8 step: 2(factor) warmup iters: 5 iters: 20 validation: 1'
		echo '# size count type redop root time algbw busbw #wrong time algbw busbw #wrong'
		shift
		for row; do
			echo "1024 256 float sum -1 20.00 $row 0 21.00 $row 0"
		done
	} >unlisted
}
for rows in '0.50 0.90;10.00 17.50;100.00 175.00' '100.00 175.00;10.00 17.50;0.50 0.90'; do
	IFS=';'
	# shellcheck disable=SC2086
	unlisted 8 $rows
	unset IFS
	expect 0 '^6 points' import nccl-tests unlisted
	[ "$(grep -c '"collective": "all_reduce".*"ranks": 8}' "$scratch.out")" = 6 ] || complain "the ranks are not 8: $(cat "$scratch.out")"
done
unlisted 0 '0.50 0.90'
expect 2 'no rank is listed, but a collective needs two or more' import nccl-tests unlisted
# The ratio of 1 of two ranks is also that of a reduction with a root; 1.999 fits no number of ranks below 2,000, and 1.2 none at
# all. Without a reduction the ratio does not give the ranks.
for row in '100.00 100.00' '10.00 19.99' '100.00 120.00'; do
	unlisted 0 "$row"
	expect 2 'no rank is listed, but a collective needs two or more' import nccl-tests unlisted
done
unlisted 0 '100.00 175.00'
sed -i 's/ sum / none /' unlisted
expect 2 'no rank is listed, but a collective needs two or more' import nccl-tests unlisted
# New releases do not check an alltoall in place. Without that column it may be an all_gather.
exchange() { # CELLS-AFTER-THE-FIRST-TIME CELLS-AFTER-THE-SECOND
	{
		echo '# nThread 1 nGpus 1 minBytes 8 maxBytes 8 step: 2(factor) warmup iters: 5 iters: 20 validation: 1'
		ranks 8
		echo "# size count type redop root time algbw busbw #wrong time algbw busbw${2:+ #wrong}"
		echo "1048576 262144 float none -1 10.00 100.00 87.50 $1 11.00 90.00 78.75 $2"
	} >exchange
}
exchange 0 N/A
expect 0 '' import nccl-tests exchange -q
[ "$(grep -c '"collective": "alltoall"' "$scratch.out")" = 2 ] || complain 'a run without a check in place is not an alltoall'
exchange 0 0
expect 0 '' import nccl-tests exchange -q
[ "$(grep -c '"collective": "all_gather"' "$scratch.out")" = 2 ] || complain 'a run with both checks is not an all_gather'
for cells in 'N/A N/A' '0 '; do
	exchange "${cells% *}" "${cells#* }"
	expect 2 'the log does not name the collective' import nccl-tests exchange
done
# A command names the collective, at the begin of its line, too. The first known name counts; another program has none.
for command in 'srun -n 8 ./build/alltoall_perf -b 8' 'alltoall_perf -b 8' 'hypercube_perf, then alltoall_perf'; do
	exchange 0 0
	{ echo "$command" | sed 's/, then /\n/' && cat exchange && echo 'all_gather_perf follows'; } >command
	expect 0 '' import nccl-tests command -q
	[ "$(grep -c '"collective": "alltoall"' "$scratch.out")" = 2 ] || complain "$command does not name the collective"
done
verdict 'imports.bandwidths_identify_the_collective_and_the_ranks'

# Without one column a size would be read as a count; a file cut inside a number would give another
# number. Both are refused.
sed 's/^ *1024 */  /' old >x
expect 2 '^x:7: the row has 11 columns, but the heading has 12' import nccl-tests x
sed 's/ time / cputime /g' new >x
expect 2 '^x:5: these are CPU times' import nccl-tests x
sed 's/Group  0/Group  1/' new >x
expect 2 '^x:3: the log has several groups' import nccl-tests x
head -c -60 old >x
expect 2 '^x:[78]: .*' import nccl-tests x
head -c -1 old >x
expect 2 '^x:8: the log ends in the middle of this row' import nccl-tests x
sed 's/"time":10.5/"cpu_time":10.5/' json >x
expect 2 '^x:3: these are CPU times' import nccl-tests x
sed 's/10\.5/NaN/' json >x
expect 2 '^x:3: ' import nccl-tests x
sed 's/ 20\.00/ 1e-30/' old >x
expect 2 '^x:7: a result of 1e-36 s' import nccl-tests x
sed 's/ 1024/ 1e25/' old >x
expect 2 '^x:7: size_B is 1e.25' import nccl-tests x
sed 's/ 1024/ 6.4/' old >x
expect 2 '^x:7: size_B is 6.4, but must be a whole number of bytes' import nccl-tests x
sed 's/ time / spent /g; s/ time / spent /g' old >x
expect 2 "^x:6: the heading has no column 'time'" import nccl-tests x
# Bandwidths that no collective can have: 0.05 and 0.01 for the same time.
sed 's/^\( *[0-9]* *[0-9]* *[a-z]* *[a-z]* *[0-9.]*\) .*/\1 0.05 0.01 0 9.0 0.05 0.01 0/' old >x
expect 2 '^x(:[0-9]+)?: the log does not name the collective \(nccl-tests .*add such a line above' import nccl-tests x
sed 's/"args":[^]]*\],//' json >x
expect 2 '^x(:[0-9]+)?: the log does not name the collective \(the first word of "args"' import nccl-tests x
sed 's/,{"rank":2[^}]*}//; s/"ngpus":2/"ngpus":1/' json >x
expect 2 '^x(:[0-9]+)?: there is one rank, but a collective needs two or more' import nccl-tests x
sed 's/"results":\[/&5,/' json >x
expect 2 '^x:3: an object is expected here' import nccl-tests x
sed 's/"out_of_place":null/"out_of_place":7/' json >x
expect 2 '^x:4: an object is expected here' import nccl-tests x
verdict 'imports.malformed_logs_of_nccl_tests_are_refused'

kind=nvbandwidth
cat >v <<'END'
nvbandwidth Version: v0.7
Process 0 (node1): device 0: NVIDIA GB200 (00000008:01:00)

Running host_to_device_memcpy_ce.
Waived:
Running device_to_host_memcpy_ce.
memcpy CE CPU(row) <- GPU(column) bandwidth (GB/s)
           0         1
 0     55.00     54.00
 1     53.00     N/A

SUM device_to_host_memcpy_ce 162.00
MIN device_to_host_memcpy_ce 53.00
END
samples v
is '536870912 0 55000000000,54000000000,53000000000'
grep -q '"name": "NVIDIA GB200"' "$scratch.out" || complain 'the name of the GPU is missing'
printf '\357\273\277' | cat - v | sed 's/$/\r/' >crlf # as Windows has it
samples crlf
is '536870912 0 55000000000,54000000000,53000000000'
cat v v >twice
samples twice
is '536870912 0 55000000000,54000000000,53000000000' '536870912 1 55000000000,54000000000,53000000000'
cat >json <<'END'
{
   "nvbandwidth" : {
      "CUDA Runtime Version" : 12080,
      "GPU Device list" : [ "0: NVIDIA H100 80GB HBM3 (00000000:01:00)" ],
      "testcases" : [
         { "bandwidth_matrix" : [ [ "55.63", "N/A" ] ], "name" : "host_to_device_memcpy_ce", "status" : "Passed", "sum" : 55.63 },
         { "name" : "device_to_host_memcpy_ce", "status" : "Waived" },
         { "bandwidth_matrix" : [ [ "9.0" ] ], "name" : "host_to_device_memcpy_sm", "status" : "Passed" }
      ],
      "version" : "v0.7"
   }
}
END
samples json
is '536870912 0 55630000000'
grep -q '"name": "NVIDIA H100 80GB HBM3"' "$scratch.out" || complain 'the name of the GPU is missing'
# Two GPUs and both directions: the name is that of the first GPU, and each direction has its own matrix.
cat >both <<'END'
nvbandwidth Version: v0.7
Device 0: NVIDIA A100 (00000000:01:00)
Device 1: NVIDIA H100 (00000000:02:00)

Running host_to_device_memcpy_ce.
memcpy CE CPU(row) -> GPU(column) bandwidth (GB/s)
           0         1
 0     25.00     50.00

Running device_to_host_memcpy_ce.
memcpy CE CPU(row) <- GPU(column) bandwidth (GB/s)
           0         1
 0     24.00     49.00

END
echo '{"nvbandwidth": {"GPU Device list": ["0: NVIDIA A100 (1)", "1: NVIDIA H100 (2)"], "testcases": [
	{"name": "host_to_device_memcpy_ce", "bandwidth_matrix": [["25.0", "50.0"]]}, {"name": "device_to_host_memcpy_ce", "bandwidth_matrix": [["24.0", "49.0"]]}]}}' >both.json
for log in both both.json; do
	samples $log
	is '536870912 0 25000000000,50000000000' '536870912 0 24000000000,49000000000'
	grep -q '"name": "NVIDIA A100"' "$scratch.out" || complain "$log has the name of another GPU"
	grep -q '"h2d".*\[25000000000' "$scratch.out" && grep -q '"d2h".*\[24000000000' "$scratch.out" || complain "$log has other directions"
done
sed 's/55\.63"/fast"/' json >x
expect 2 "^x:6: the table needs a number here, not 'fast'" import nvbandwidth x
head -n 8 json >x
expect 2 '^x:9: ' import nvbandwidth x
head -n 9 v | head -c -3 >x
expect 2 '^x:9: the log ends' import nvbandwidth x
verdict 'imports.logs_of_nvbandwidth_become_samples'

kind=perftest
title='                    RDMA_Write BW Test'
{
	echo "$title"
	echo ' #bytes     #iterations    BW peak[MiB/sec]    BW average[MiB/sec]   MsgRate[Mpps]'
	echo 'Conflicting CPU frequency values detected: 800.000000 != 3295.212000. CPU Frequency is not max.'
	echo ' 65536      5000             11000.00            10000.00		   0.160000'
	echo '---------------------------------------------------------------------------------------'
} >mib
samples mib
is '65536 0 10485760000'
# Service levels and CPU use; the older heading; Gb; a second run becomes a second pass.
{
	sed 's/#bytes /#bytes #sl/; s/MiB/MB/g; s/Mpps\]/Mpps]    CPU_Util[%]/; s/^ 65536/& 3/; s/160000$/& 4.5/' mib
	sed 's/MiB/Gb/g; s/10000\.00/80.0/' mib
} >wide
samples wide
is '65536 0 10485760000' '65536 1 10000000000'
{
	echo '                    RDMA_Read Latency Test'
	echo ' #bytes #iterations    t_min[usec]    t_max[usec]  t_typical[usec]'
	echo ' 2       1000          1.05           4.12         1.50'
} >old
samples old
is '2 0 1.5e-06'
{
	echo '                    Send Latency Test'
	echo ' #bytes        #iterations       t_avg[usec]    tps average'
	echo ' 2             100000            1.25           400000.00'
} >long
samples long
is '2 0 1.25e-06'
sed 's/RDMA_Write BW/RDMA_Write Bidirectional BW/' mib >x
expect 2 '^x:1: the log has the sum of both directions' import perftest x
sed 's/^ 65536 / /' mib >x
expect 2 '^x:4: the row has 4 columns, but the heading has 5' import perftest x
head -n 4 mib | head -c -25 >x
expect 2 '^x:4: ' import perftest x
sed 's/average\[MiB/best[MiB/' mib >x
expect 2 '^x:2: the heading has no' import perftest x
verdict 'imports.logs_of_perftest_become_samples'

kind=iperf3
cat >four <<'END'
[ ID] Interval           Transfer     Bandwidth       Retr  Cwnd
[  4]   0.00-1.00   sec   112 MBytes   940 Mbits/sec    0   1.55 MBytes       (omitted)
[  4]   0.00-1.00   sec   112 MBytes   300 Mbits/sec    0   1.55 MBytes
[  6]   0.00-1.00   sec   112 MBytes   500 Mbits/sec    0   1.55 MBytes
[SUM]   0.00-1.00   sec   112 MBytes   800 Mbits/sec    0
- - - - - - - - - - - - - - - - - - - - - - - - -
[SUM]   0.00-1.00   sec   112 MBytes   800 Mbits/sec    0             sender
[SUM]   0.00-1.04   sec   112 MBytes   790 Mbits/sec                  receiver
END
samples four
is '131072 2 0 100000000'
cat >udp <<'END'
[ ID] Interval           Transfer     Bitrate         Jitter    Lost/Total Datagrams
[  5]   0.00-1.00   sec   128 KBytes  1.05 Mbits/sec  0.012 ms  0/91 (0%)
END
expect 2 '^udp:1: this is a UDP test' import iperf3 udp
cat >both <<'END'
[ ID][Role] Interval           Transfer     Bitrate         Retr  Cwnd
[  5][TX-C]   0.00-1.00   sec  1.09 GBytes  9.41 Gbits/sec    0   1.55 MBytes
END
expect 2 '^both:2: the log has both directions' import iperf3 both
cat >two <<'END'
[  5]   0.00-1.00   sec  1.09 GBytes  9.41 Gbits/sec    0   1.55 MBytes
[  7]   0.00-1.00   sec  1.09 GBytes  9.41 Gbits/sec    0   1.55 MBytes
END
expect 2 '^two(:2)?: the log has several streams, but no lines with \[SUM\]' import iperf3 two
json='{"start":{"test_start":{"protocol":"TCP","num_streams":2,"blksize":65536}},"intervals":[{"sum":{"bits_per_second":8e9,"omitted":false}}],"end":{}}'
printf '\357\273\277\n%s\n' "$json" >json
samples json
is '65536 2 0 1000000000'
for change in 's/"TCP"/"UDP"/; this is a UDP' 's/}}\]/},"sum_bidir_reverse":{}}]/; both directions' 's/:2,/:null,/; a number is' \
	's/:2,/:-1,/; streams is -1' 's/65536/0/; size_B is 0' 's/8e9/1e300/; a result of' \
	's/"intervals".*/"error":"unable to connect"}/; iperf3 failed: unable to connect' 's/$/{}/; more than one'; do
	echo "$json" | sed "${change%; *}" >x
	expect 2 "^x(:[12])?: .*${change#*; }" import iperf3 x
done
echo "$json" | sed 's/"end".*/"error":"interrupt - the client has terminated"}/' >stopped
samples stopped
is '65536 2 0 1000000000'
verdict 'imports.logs_of_iperf3_become_samples'

kind=sockperf
cat >pings <<'END'
------------------------------
test was performed using the following parameters: --mps=600000 --burst=1 --reply-every=1 --msg-size=64 --time=1
------------------------------
sockperf: ---> percentile 50.000 =    6.699
packet, txTime(sec), rxTime(sec), latency(usec)
0, 2.411650440, 2.411664440, 7.000
1, 2.411664471, 2.411678471, 7.000
END
farwire import sockperf pings
shows '"is": {"what": "roundtrip", "nagle": "off"}, "x": {"size_B": 64}, "pass": 0, "unit": "s", "samples": \[1\.4[0-9e.-]*, 1\.[34][0-9e.-]*\]'
{ cat pings; sed 's/size=64/size=1024/; s/^[01], 2.411/&5/' pings; cat pings; } >joined
farwire import log joined
[ "$(grep -c '"size_B": 64}, "pass": [01]' "$scratch.out")" = 2 ] || complain 'sockperf: a repeated size is not a second pass'
sed 's/--reply-every=1 /--reply-every=100 /' pings >load
expect 2 '^load:2: this is not a test in which each message is answered' import sockperf load
{ head -n 5 pings && yes '0, 2.000000000, 2.000014000, 7.000' | head -n 1003; } >many
farwire import sockperf many
grep -q '^3 skipped: a message after the first 1000' "$scratch.err" || complain "sockperf: $(cat "$scratch.err")"
for change in 's/--burst=1 /--burst=2 /' 's/--msg-size=64 //'; do
	sed "$change" pings >load
	expect 2 '^load:2: this is not a test in which each message is answered' import sockperf load
done
# For a link, the messages of a full log count, and not its summary: 14 us are 7 us one way, less 12 us of work.
expect 0 '2 results read: 2 used, 0 skipped' import log pings --link wire
grep -q 'a round trip of 14 us (median 14 us)' "$scratch.out" || complain "the link of a full log: $(cat "$scratch.out")"
verdict 'imports.logs_of_sockperf_become_round_trips'

# Latencies of qperf are half round trips, and only those of TCP count. Bits and bytes are decimal.
qperf() { # UNIT: a bandwidth of 4 of them
	printf 'rc_lat:\n    latency  =  5 us\ntcp_lat:\n    latency  =  %s\n    msg_rate  =  20 K/sec\ntcp_bw:\n    bw  =  4 %s\n    time  =  2 sec\n' "$2" "$1" >qperf.log
}
for row in 'KB/sec 4000' 'MB/sec 4000000' 'GB/sec 4000000000' 'Kb/sec 500' 'Mb/sec 500000' 'Gb/sec 500000000'; do
	qperf "${row% *}" '32 us'
	expect 0 '^2 points of qperf: 5 results read, 2 used, 3 skipped' import qperf qperf.log
	grep -q "\"x\": {\"size_B\": 65536, \"streams\": 1}.*\"samples\": \[${row#* }\]" "$scratch.out" || complain "$row: $(cat "$scratch.out")"
	grep -q '"x": {"size_B": 1}.*"samples": \[6.4e-05\]' "$scratch.out" || complain "the round trip is not 64 us: $(cat "$scratch.out")"
done
for row in '5000 ns:1e-05' '3 ms:0.006' '2 sec:4'; do
	qperf GB/sec "${row%:*}"
	expect 0 '2 used' import qperf qperf.log
	grep -q "\"samples\": \[${row#*:}\]" "$scratch.out" || complain "$row: $(cat "$scratch.out")"
done
qperf furlong/sec '32 us'
expect 2 '^qperf.log:7: a result of 0 B/s is impossible' import qperf qperf.log
qperf GB/sec '9e9 sec'
expect 2 '^qperf.log:4: a result of 1.8e\+10 s is impossible' import qperf qperf.log
verdict 'imports.logs_of_qperf_become_round_trips_and_rates'

kind=mbw
cat >copies <<'END'
Long uses 8 bytes. Allocating 2*1048576 elements = 16777216 bytes of memory.
0	Method: MEMCPY	Elapsed: 0.00100	MiB: 8.00000	Copy: 8000.000 MiB/s
1	Method: MEMCPY	Elapsed: 0.00200	MiB: 8.00000	Copy: 4000.000 MiB/s
AVG	Method: MEMCPY	Elapsed: 0.00150	MiB: 8.00000	Copy: 5333.333 MiB/s
0	Method: DUMB	Elapsed: 0.00100	MiB: 8.00000	Copy: 8000.000 MiB/s
END
farwire import mbw copies
shows '"test": "memcpy", "is": .*, "x": {"size_B": 8388608, "threads": 1}, "pass": 0, "unit": "s", "samples": \[0\.001, 0\.002\]'
grep -q '^1 skipped: a method other than MEMCPY' "$scratch.err" || complain "mbw: $(cat "$scratch.err")"
cat copies copies >joined
farwire import log joined
[ "$(grep -c '"size_B": 8388608, "threads": 1}, "pass": [01]' "$scratch.out")" = 2 ] || complain 'mbw: a repeated size is not a second pass'
sed 's/Copy: 4000/Copy: fast/' copies >damaged
expect 2 '^damaged:3: the line has no size and rate' import mbw damaged
sed 's/MiB: 8/MB: 8/' copies >damaged
expect 2 '^damaged:2: the line has no size and rate' import mbw damaged
# A log that begins in the middle of its rounds has a point, too; the next one begins with round 0.
{ sed -n 3p copies && sed -n 2,3p copies; } >middle
farwire import mbw middle
[ "$(sed -n 's/.*"pass": \([01]\).*"samples": \[\([^]]*\)\].*/\1 \2,/p' "$scratch.out" | tr '\n' ' ')" = '0 0.002, 1 0.001, 0.002, ' ] ||
	complain "mbw: the rounds are $(cat "$scratch.out")"
for size in 4 8 16 32 64; do
	echo "0 Method: MEMCPY Elapsed: 1 MiB: $size.00000 Copy: $((7900 + size)).000 MiB/s"
done >sizes
farwire import mbw sizes -o sizes.jsonl
farwire fit sizes.jsonl -q -o sizes.cfg
grep -A 1 'host\.\*\.copy_rate' sizes.cfg | grep -q 'value = "8\.[34]' || complain "mbw: the fit is $(cat sizes.cfg)"
verdict 'imports.logs_of_mbw_become_copies'

kind=fio
cat >disk <<'END'
{"fio version": "fio-3.33", "global options": {"direct": "1", "bs": "4k"}, "jobs": [
	{"jobname": "a", "groupid": 0, "job options": {"rw": "randread"}, "read": {"bw_bytes": 40960000}},
	{"jobname": "b", "groupid": 1, "job options": {"rw": "read", "bs": "1m", "numjobs": "2"}, "read": {"bw_bytes": 1e9}},
	{"jobname": "b", "groupid": 1, "job options": {"rw": "read", "bs": "1m", "numjobs": "2"}, "read": {"bw_bytes": 1e9}},
	{"jobname": "c", "groupid": 2, "job options": {"rw": "randread", "bs": "65536", "ioengine": "io_uring", "iodepth": "8"}, "read": {"bw_bytes": 1e9}},
	{"jobname": "e", "groupid": 4, "job options": {"rw": "randread", "bs": "16k", "ioengine": "libaio", "iodepth": "8", "numjobs": "3"}, "read": {"bw_bytes": 1e9}},
	{"jobname": "d", "groupid": 3, "job options": {"rw": "write"}, "read": {"bw_bytes": 0}}]}
END
farwire import log disk
shows '"what": "random"}, "x": {"size_B": 4096, "parallel": 1}, .*"samples": \[0\.0001\]'
shows '"what": "sequential"}, "x": {"size_B": 1048576, "parallel": 2}, .*"samples": \[0\.001048576\]'
shows '"what": "random"}, "x": {"size_B": 65536, "parallel": 8}, .*"samples": \[0\.000524288\]'
# three jobs with eight requests each: 24 x 16 KiB in the time of one request
shows '"x": {"size_B": 16384, "parallel": 24}, .*"samples": \[0\.000393216\]'
grep -q '^1 skipped: a job that does not only read' "$scratch.err" || complain "fio: $(cat "$scratch.err")"
for change in 's/"direct": "1"/"direct": "0"/; kernel.s cache' 's/"4k"/"4k,8k"/; no single size' 's/40960000/0/; lacks its bandwidth' \
	's/{"fio/x&/; invalid char in json'; do
	sed "${change%; *}" disk >x
	expect 2 "^x(:[0-9]+)?: .*${change#*; }" import fio x
done
verdict 'imports.logs_of_fio_become_reads'

# PyTorch 1.8: its own categories, texts for threads, values that are not numbers. 2.x: driver calls,
# decimals of microseconds, correlations of a long run, steps on GPU lines as well.
cat >k18 <<'END'
{ "schemaVersion": 1, "computeProperties": [ {} ],
  "traceEvents": [
  { "ph": "X", "cat": "Operator", "name": "ProfilerStep#2", "pid": 12, "tid": "12", "ts": 1000, "dur": 300, "args": { "Device": 12, "External id": 2 } },
  { "ph": "X", "cat": "Runtime", "name": "cudaLaunchKernel", "pid": 12, "tid": "12", "ts": 1010, "dur": 8, "args": { "cbid": 211, "correlation": 40, "external id": 7 } },
  { "ph": "X", "cat": "Kernel", "name": "void k<float>(int)", "pid": 0, "tid": "stream 7", "ts": 1020, "dur": 50, "args": { "queued": 0, "device": 0, "stream": 7, "correlation": 40, "warps per SM": -nan, "est. achieved occupancy %": inf } },
  { "ph": "f", "id": 40, "pid": 0, "tid": "stream 7", "ts": 1020, "cat": "async", "name": "launch", "bp": "e" },
  { "ph": "X", "cat": "Runtime", "name": "cudaMemcpyAsync", "pid": 12, "tid": "12", "ts": 1080, "dur": 30, "args": { "correlation": 41 } },
  { "ph": "X", "cat": "Memcpy", "name": "Memcpy DtoH (Device -> Pageable)", "pid": 0, "tid": "stream 7", "ts": 1085, "dur": 20, "args": { "stream": 7, "correlation": 41, "bytes": 4096 } }
] }
END
# A kernel without its call, and the number of points of a log, are reported unless -q is given.
sed 's/"correlation": 40, "warps/"correlation": 99, "warps/' k18 >orphan
farwire import kineto orphan
grep -q '^1 kernels and copies were left out because the trace does not contain their calls' "$scratch.err" ||
	complain "the message about a kernel without its call is $(cat "$scratch.err")"
cat >k2 <<'END'
{ "schemaVersion": 1, "deviceProperties": [ { "id": 0, "name": "NVIDIA H100 80GB HBM3" } ], "baseTimeNanoseconds": 1727000000000000000,
  "traceEvents": [
  { "ph": "X", "cat": "user_annotation", "name": "ProfilerStep#2", "pid": 12, "tid": 12, "ts": 6021459000000.125, "dur": 300.000, "args": { "Ev Idx": 0 } },
  { "ph": "X", "cat": "gpu_user_annotation", "name": "ProfilerStep#2", "pid": 0, "tid": 7, "ts": 6021459000020.125, "dur": 50.000, "args": { "stream": 7 } },
  { "ph": "X", "cat": "cuda_driver", "name": "cuLaunchKernelEx", "pid": 12, "tid": 12, "ts": 6021459000010.125, "dur": 8.000, "args": { "cbid": 652, "correlation": 4000000000 } },
  { "ph": "X", "cat": "kernel", "name": "sm90_gemm", "pid": 0, "tid": 7, "ts": 6021459000020.125, "dur": 50.000, "args": { "device": 0, "stream": 7, "correlation": 4000000000, "blocks per SM": 1.5 } },
  { "ph": "X", "cat": "cuda_runtime", "name": "cudaMemcpyAsync", "pid": 12, "tid": 12, "ts": 6021459000080.125, "dur": 30.000, "args": { "correlation": 4000000001 } },
  { "ph": "X", "cat": "gpu_memcpy", "name": "Memcpy DtoH (Device -> Pageable)", "pid": 0, "tid": 7, "ts": 6021459000085.125, "dur": 20.000, "args": { "stream": 7, "correlation": 4000000001, "bytes": 4096 } }
] }
END
for trace in k18 k2; do
	expect 0 '' import kineto $trace -q
	shows '"call":"cu(da)?LaunchKernel(Ex)?","start_s":0\.000010000,"end_s":0\.000018000,"stream":7,"kernel_s":0\.000050000'
	shows '"start_s":0\.000080000,"end_s":0\.000110000,"stream":7,"copy":"d2h","memory":"pageable","size_B":4096,"copy_s":0\.000020000'
	shows '^{"step":2,"t_s":0\.000000000'
done
verdict 'imports.traces_of_both_profilers_become_call_files'

# Windows consoles write UTF-16.
printf 'R\0u\0n\0' >wide
for kind in nccl-tests nvbandwidth perftest iperf3; do
	expect 2 '^wide:1: .*iconv' import $kind wide
done
verdict 'imports.utf_16_is_refused'
