#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# `farwire diagnose` of logs of one path, of a step time and of several jobs. The expected bandwidths
# are derived by hand.
cd "$(dirname "$0")/../.." || exit 2
# shellcheck source=tests/check.sh
. tests/check.sh
cd "$scratch" || exit 2

# A slot of PCIe generation 5 has 16 lanes x 32 GT/s x 128/130 / 8 = 63.02 GB/s. TLPs of 256 B have 24 B
# of overhead, which leaves 57.61 GB/s, of which a copy engine reaches 87 %: 50.12 GB/s. Eight lanes
# have half of it.
cells() { # CELL...: a matrix of nvbandwidth
	printf 'nvbandwidth Version: v0.5\nRunning host_to_device_memcpy_ce.\nmemcpy CE CPU(row) -> GPU(column) bandwidth (GB/s)\n'
	printf '           0  1  2  3  4  5  6  7\n 0 %s\n\nSUM host_to_device_memcpy_ce 1\n' "$*"
}
cells 50.12 50.12 50.12 25.06 50.12 50.12 50.12 50.12 >copies.log
expect 0 '' diagnose copies.log --topology dgx-h100 --draws 4 -q
shows '^copy to GPU 3: expected 50.1[12] GB/s .*, measured 25.06 GB/s .-50 %.'
shows '^1 of 8 results are outside the interval'
shows '^first suspect: link n0.slot3 .pcie, one of 8 alike. at half its rate'
shows '^link n0.up1 .*ruled out .*tried: it predicts 25.06 GB/s for copy to GPU 2, and 50.12 GB/s were measured'
cells 50.12 50.12 50.12 50.12 50.12 50.12 50.12 50.12 >copies.log
expect 0 '' diagnose copies.log --topology dgx-h100 --draws 4 -q
shows '^no suspect: the log agrees with the prediction'
verdict analytic.diagnose_paths.a_gpu_with_half_of_its_lanes_is_named

# 18 NVLinks of generation 4 have 26.5625 GB/s each. Packets of 256 B have 16 B of overhead, and a copy engine
# reaches 87 %: 478.1 x 256 / 272 x 0.87 = 391.5 GB/s, less 2 us for its start. The copies of GPU 5 have half of
# it. GPUs 0 and 1 do not copy over their PCIe switch, although that path has as few links as NVSwitch's.
awk -v peer=391 'BEGIN {
	print "nvbandwidth Version: v0.5\nRunning device_to_device_memcpy_read_ce.\nmemcpy CE GPU(row) -> GPU(column) bandwidth (GB/s)"
	print "   0 1 2 3 4 5 6 7"
	for (i = 0; i < 8; i++) {
		line = " " i
		for (k = 0; k < 8; k++)
			line = line " " (i == k ? "N/A" : i == 5 || k == 5 ? peer / 2 : peer)
		print line
	}
	print "\nSUM device_to_device_memcpy_read_ce 1"
}' >peers.log
expect 0 '' diagnose peers.log --topology dgx-h100 --draws 4 -q
shows '^copy between GPUs . and .: expected 39[01].[0-9] GB/s .*, measured 195.5 GB/s .-50 %.'
shows '^14 of 56 results are outside the interval'
shows '^first suspect: link n0.nv5 .nvlink, one of 8 alike. at half its rate'
verdict analytic.diagnose_paths.a_gpu_with_half_of_its_nvlinks_is_named

# NDR: 50 GB/s x 4096 / (4096 + 26) = 49.68 GB/s. At half of the rate it is 24.84 GB/s. perftest's MB are
# 2^20 B: 24.84e9 / 2^20 = 23690.
printf ' Mtu : 4096[B]\n RDMA_Write BW Test\n #bytes #iterations BW peak[MB/sec] BW average[MB/sec] MsgRate[Mpps]\n 8388608 5000 23690 23690 0.003\n' >rdma.log
expect 0 '' diagnose rdma.log --topology dgx-h100 --draws 4 -q
shows '^messages of 8 MiB over RDMA: expected 49.68 GB/s .*, measured 24.84 GB/s .-50 %.'
shows '^first suspect: link fabric.n0.nic0 .*at half its rate'
verdict analytic.diagnose_paths.an_adapter_at_half_its_rate_is_named

# 1 Gb/s Ethernet: 125 MB/s x 1448 / 1538 = 117.7 MB/s; a port of 100 Mb/s has a tenth of it.
stream() { # BITS_PER_SECOND
	printf '{"start":{"version":"iperf 3.9","test_start":{"protocol":"TCP","num_streams":1,"blksize":131072,"reverse":0}},"intervals":[{"sum":{"start":0,"end":1,"seconds":1,"bytes":1,"bits_per_second":%s,"omitted":false}}],"end":{"sum_sent":{"bits_per_second":%s},"sum_received":{"bits_per_second":%s}}}\n' "$1" "$1" "$1"
}
stream 94160000 >tcp.json
expect 0 '' diagnose tcp.json --topology cpu-ethernet --draws 4 -q
shows '^TCP, streams: 1: expected 117.7 MB/s .*, measured 11.77 MB/s .-90 %.'
shows '^first suspect: link fabric.n0.nic0 .*at a tenth of its rate'
stream 941000000 >tcp.json
expect 0 '' diagnose tcp.json --topology cpu-ethernet --draws 4 -q
shows '^no suspect: the log agrees with the prediction'
verdict analytic.diagnose_paths.a_port_at_a_tenth_of_its_rate_is_named

# Two machines at the ends of a wire.
pair() { # KIND OF THE WIRE, KEYS OF IT
	cat <<END
topology = { name = "pair";
	hosts = ( { name = "a"; }, { name = "b"; } );
	guests = ( { name = "ga"; host = "a"; kind = "bare"; }, { name = "gb"; host = "b"; kind = "bare"; } );
	gpus = ( { name = "a0"; host = "a"; profile = "v100-sxm2"; }, { name = "b0"; host = "b"; profile = "v100-sxm2"; } );
	links = ( { name = "sa"; kind = "pcie"; ends = ["a", "a0"]; generation = 3; lanes = 16; },
		{ name = "sb"; kind = "pcie"; ends = ["b", "b0"]; generation = 3; lanes = 16; },
		{ name = "wire"; kind = "$1"; ends = ["ga", "gb"]; $2 } ); };
END
}
# A message of 8 B takes 3 us on the wire, 0.3 us to post and 0.4 us to complete. perftest states half of
# the round trip of a write, and the whole one of a read.
pair infiniband 'bandwidth = "100 Gbit/s"; latency = "3 us";' >pair.cfg
latency() { # VERB US
	printf ' RDMA_%s Latency Test\n Mtu : 4096[B]\n #bytes #iterations t_min[usec] t_max[usec] t_typical[usec] t_avg[usec] t_stdev[usec] 99%% percentile[usec] 99.9%% percentile[usec]\n 8 1000 %s %s %s %s 0 %s %s\n' \
		"$1" "$2" "$2" "$2" "$2" "$2" "$2" >latency.log
}
latency Write 3.705
expect 0 '' diagnose latency.log --topology ./pair.cfg --draws 0 -q
shows '^latency of 8 B over RDMA: expected 3.70[0-9] us .*, measured 3.705 us .[+-]0 %.'
latency Read 7.41
expect 0 '' diagnose latency.log --topology ./pair.cfg --draws 0 -q
shows '^latency of 8 B over RDMA: expected 3.70[0-9] us .*, measured 3.705 us .[+-]0 %.'
# RoCE adds 82 B to 4096 B: 12.5 GB/s x 4096 / 4178 = 12.25 GB/s. A read flows back, at 40 Gbit/s.
pair roce 'bandwidth = "100 Gbit/s"; reverse_bandwidth = "40 Gbit/s"; latency = "3 us";' >pair.cfg
expect 0 '' diagnose rdma.log --topology ./pair.cfg --draws 0 -q
shows '^messages of 8 MiB over RDMA: expected 12.25 GB/s '
sed 's/RDMA_Write/RDMA_Read/' rdma.log >read.log
expect 0 '' diagnose read.log --topology ./pair.cfg --draws 0 -q
shows '^messages of 8 MiB over RDMA: expected 4.90[12] GB/s '
expect 0 '' diagnose rdma.log --topology ./pair.cfg --draws 0 -q --program gb --server ga
shows '^messages of 8 MiB over RDMA: expected 4.90[12] GB/s '
verdict analytic.diagnose_paths.messages_and_reads_have_their_times

# A window of 64 KiB in 10 ms is 6.55 MB/s for each stream. Back, the wire has half of 117.7 MB/s.
streams() { # NUMBER REVERSE
	stream 50000000 | sed "s/\"num_streams\":1/\"num_streams\":$1/; s/\"reverse\":0/\"reverse\":$2/" >tcp.json
}
pair ethernet 'bandwidth = "1 Gbit/s"; reverse_bandwidth = "500 Mbit/s"; latency = "20 us";' >pair.cfg
streams 1 1
expect 0 '' diagnose tcp.json --topology ./pair.cfg --draws 0 -q
shows '^TCP back, streams: 1: expected 58.8[0-9] MB/s '
pair ethernet 'bandwidth = "1 Gbit/s"; latency = "5 ms";' >pair.cfg
for number in 1:6.5 4:26; do
	streams "${number%:*}" 0
	expect 0 '' diagnose tcp.json --topology ./pair.cfg --draws 0 -q --set tcp.receive_buffer=64KiB --set tcp.send_buffer=64KiB
	shows "^TCP, streams: ${number%:*}: expected ${number#*:}[0-9.]* MB/s "
done
verdict analytic.diagnose_paths.streams_share_windows_and_have_a_direction

# The step time is that of the case with the fault, so its likelihood is the highest of all faults.
case='--topology c4140-m --model resnet50 --stack pytorch-amp --exchange ddp --gpus 8 --batch 32'
step_of() { # OPTION...: the step time of the case
	# shellcheck disable=SC2086
	expect 0 '' run $case --draws 0 -q --format csv "$@"
	tr -d '\r' <"$scratch.out" | sed 's/"[^"]*"/x/g' | awk -F, '
	NR == 1 { for (i = 1; i <= NF; i++) if ($i == "step_s") at = i }
	NR == 2 { print $at "s" }'
}
# shellcheck disable=SC2086
{
	slow=$(step_of --set stack.precision=fp32)
	ms=$(echo "$slow $(step_of)" | awk '{ printf "expected %.4g ms .*, measured %.4g ms", 1e3 * $2, 1e3 * $1 }')
	expect 0 '' diagnose --step "$slow" $case --draws 4 -q
	shows "^the step: $ms"
	shows '^first suspect: fp32 in place of tensor cores'
	shows '^half the batch .*ruled out .*tried: it predicts [0-9.]* ms for the step, and [0-9.]* ms were measured'
	expect 0 '' diagnose --step "$(step_of)" $case --draws 4 -q
	shows '^no suspect: the step time is inside the 90 % interval'
	expect 0 '' diagnose --step 1ms $case --draws 4 -q
	shows '^no suspect: the step is faster than predicted'
	grep -q ' suspect  ' "$scratch.out" && complain 'a fault is a suspect of a faster step'
}
verdict analytic.diagnose_paths.the_fault_of_a_step_time_is_the_first_suspect

# With two machines at a leaf, eight GPUs have one leaf and sixteen have two. The uplinks are one link of
# two cables. At a quarter of their rate they carry half of a cable's, which only the larger job shows.
machines='--topology c4140-m --exchange nccl-2.18 --set wiring.ports_per_leaf=2 --draws 4 -q'
log_of() { # GPUS OPTION...
	gpus=$1
	shift
	# shellcheck disable=SC2086
	expect 0 '' sweep $machines --gpus "$gpus" --collective all_reduce --draws 0 --format csv \
		--vary case.collective_size=1MiB,16MiB,256MiB "$@"
	tr -d '\r' <"$scratch.out" | sed 's/"[^"]*"/x/g' | awk -F, -v gpus="$gpus" '
	BEGIN {
		print "{\"format\": \"farwire-samples\", \"version\": 1, \"tool\": \"nccl-tests\", \"date\": \"x\", \"seed\": 0, \"mode\": \"import\", \"passes\": 1, \"host\": {\"cpu\": \"x\", \"kernel\": \"x\", \"hypervisor\": \"x\"}}"
		split("1048576 16777216 268435456", size_B, " ")
	}
	NR == 1 { for (i = 1; i <= NF; i++) if ($i == "time_s") at = i; next }
	{ printf "{\"test\": \"collective\", \"is\": {\"collective\": \"all_reduce\", \"library\": \"nccl\"}, \"x\": {\"size_B\": %d, \"ranks\": %d}, \"pass\": 0, \"unit\": \"s\", \"samples\": [%.9g], \"stop\": \"count\", \"held_out\": false}\n", size_B[NR - 1], gpus, $at }
	END { printf "{\"end\":true,\"lines\":%d,\"elapsed_s\":0,\"drift\":{}}\n", NR + 1 }'
}
log_of 8 >two.jsonl
log_of 16 --degrade leaf0-spine=0.25,leaf1-spine=0.25 >four.jsonl
# shellcheck disable=SC2086
expect 0 '' diagnose two.jsonl four.jsonl $machines --plot curves.svg
sed -n 1p "$scratch.out" >first
grep -q '^all_reduce of 256 MiB on 16 GPUs: expected .* bus bandwidth' first || complain "the first line is $(cat first)"
sed -n 2p "$scratch.out" >first
grep -q '^all_reduce of 256 MiB on 8 GPUs: expected .*[+-]0 %)$' first || complain "the second line is $(cat first)"
shows 'use 0.5 of 2 equal cables: flows collide .ECMP., or the network is oversubscribed'
grep -q 'bus bandwidth' curves.svg || complain 'the plot has no bus bandwidth'
verdict analytic.diagnose_paths.bandwidth_that_falls_with_the_machines_has_a_suspect
