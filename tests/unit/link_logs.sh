#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Derives links from logs of iperf, ping, sockperf, qperf and perftest. The expected numbers are
# derived by hand from docs/import.md; the recorded logs are of links whose rate and loss are known.
cd "$(dirname "$0")/../.." || exit 2
# shellcheck source=tests/check.sh
. tests/check.sh
samples=$PWD/tests/samples/links
cd "$scratch" || exit 2

# link FILE...: imports the logs of the link `wire`, and reduces the profile to "KEY VALUE LOW HIGH".
link() {
	expect 0 '' import log "$@" --link wire -q
	cp "$scratch.out" profile
	tr '\n' ' ' <profile | sed 's/{ path/\n&/g' |
		sed -n 's/.*"link\.wire\.\([a-z_]*\)".*value = "\([^"]*\)"; *\(interval = 0\|low = "\([^"]*\)"; high = "\([^"]*\)"\);.*/\1 \2 \4 \5/p' |
		sed 's/ *$//; s/ \([GumB]\)/\1/g' >got
	[ -s got ] && echo >>got
}
is() { # rows that were expected
	printf '%s\n' "$@" >wanted
	cmp -s wanted got || complain "expected '$(tr '\n' ';' <wanted)', got '$(tr '\n' ';' <got)'"
}
says() {
	grep -q "$1" profile || complain "the file does not say '$1': $(cat profile)"
}

# 941 Mb/s of payload are 941 x 1538 / 1448 = 999.5 Mb/s on the wire. No retransmission among
# 1.18e9 B / 1448 = 812,000 packets: with 95 % the loss is below 3 / 812,000 = 3.7e-6.
iperf3() { # MBITS MBYTES RETRANSMISSIONS
	printf 'Connecting to host b, port 5201\n'
	for second in 0 1 2; do
		printf '[  5]   %d.00-%d.00   sec  112 MBytes  %s Mbits/sec    0    382 KBytes\n' $second $((second + 1)) "$1"
	done
	printf '[  5]   0.00-3.00   sec  %s MBytes  %s Mbits/sec    %s             sender\n' "$2" "$1" "$3"
	printf '[  5]   0.00-3.00   sec  %s MBytes  %s Mbits/sec                  receiver\n' "$2" "$1"
}
iperf3 941 1121 0 >fast
link fast
is 'bandwidth 1Gbit/s' 'loss 0 0 3.69559e-06'
# The other direction is slower. Its loss has the goodput of 531 Mb/s in
# 1448 B / (250 us sqrt(2p/3) + 200.25 ms p 3 sqrt(3p/8) p (1 + 32 p^2)) at p = 0.0087934. Without a
# round trip in the logs, the ends are those at 1 ms and 1.7 times the goodput, 0.1 ms and 1 / 1.2.
iperf3 531 633 NA | sed 's/ NA / /; s/^Conn/Reverse mode, remote host b is sending\nConn/' | sed '1{h;d}; 2G' >slow
link fast slow
is 'bandwidth 1Gbit/s' 'loss 0 0 3.69559e-06' 'reverse_loss 0.0087934 0.000247 0.0176361'
says 'slow: 531 Mb/s .*assumption: a round trip of 0.1 to 1 ms'
# 531 x 1538 / 1448 are 564.0.
says '531 Mb/s of payload x 1538 / 1448 B = 564 Mb/s on the wire'
# Four streams of 132.75 Mb/s reach 531 Mb/s together. Each has the goodput of the formula above at p = 0.0286986.
# None of 336 MiB / 1448 B = 243,300 packets was lost in the other direction: 3 / 243,300 = 12.3e-6.
four() { # MBITS-OF-A-STREAM MBITS RETRANSMISSIONS
	printf 'Connecting to host b, port 5201\n'
	for second in 0 1 2; do
		for stream in 5 7 9 11; do
			printf '[%3d]   %d.00-%d.00   sec  28 MBytes  %s Mbits/sec    0    382 KBytes\n' $stream $second $((second + 1)) "$1"
		done
		printf '[SUM]   %d.00-%d.00   sec  112 MBytes  %s Mbits/sec    0\n' $second $((second + 1)) "$2"
	done
	printf '[SUM]   0.00-3.00   sec  336 MBytes  %s Mbits/sec    %s             sender\n' "$2" "$3"
	printf '[SUM]   0.00-3.00   sec  336 MBytes  %s Mbits/sec                  receiver\n' "$2"
}
four 235.25 941 0 >fast4
four 132.75 531 NA | sed 's/ NA / /; s/^Conn/Reverse mode, remote host b is sending\nConn/' | sed '1{h;d}; 2G' >slow4
link fast4 slow4
is 'bandwidth 1Gbit/s' 'loss 0 0 1.23296e-05' 'reverse_loss 0.0286986 0.00389842 0.0352819'
# Few retransmissions do not explain 531 Mb/s, but many do.
iperf3 531 633 5 >shaped
link shaped
is 'bandwidth 0.564004Gbit/s'
says 'a limit of its own'
iperf3 531 633 4000 >lossy
link lossy
is 'bandwidth 1Gbit/s 0.564004Gbit/s 1Gbit/s' 'loss 0.0087934 0.000247 0.0176361'
# 3 MiB in a round trip of 100 ms are 251.7 Mb/s.
printf '64 bytes from b: icmp_seq=1 ttl=64 time=%s ms\n' 100 101 102 >far
iperf3 250 298 0 >window
link window far
is 'bandwidth 1Gbit/s 0.265539Gbit/s 1Gbit/s' 'latency 49992us 49986.4us 50495.3us'
says 'the window over the round trip'
verdict 'link_logs.goodput_gives_the_rate_or_the_loss_that_limits_it'

# Several logs of one direction count alike, in every order: 911, 941 and 971 Mb/s have a mean of 941. None of
# (1085 + 1121 + 1157) MiB / 1448 B = 2,435,332 packets was lost: 3 / 2,435,332.
iperf3 911 1085 0 >one
iperf3 971 1157 0 >three
for order in 'one fast three' 'three one fast' 'fast three one'; do
	# shellcheck disable=SC2086
	link $order
	says ' 941 Mb/s of payload x'
	is 'bandwidth 1Gbit/s' 'loss 0 0 1.23186e-06'
done
# 800 and 600 Mb/s are 700 on the average, whose loss is 0.00583402. 2,000 retransmissions of 1,266 MiB / 1448 B = 916,769
# packets are more than a third of it and explain it; 1,500 are fewer. 700 x 1538 / 1448 are 743.508 Mb/s on the wire.
iperf3 800 633 2000 >much
iperf3 800 633 1500 >few
iperf3 600 633 0 >none
for order in 'much none' 'none much'; do
	# shellcheck disable=SC2086
	link $order
	is 'bandwidth 1Gbit/s 0.743508Gbit/s 1Gbit/s' 'loss 0.00583402 0.000108824 0.0163741'
done
for order in 'few none' 'none few'; do
	# shellcheck disable=SC2086
	link $order
	is 'bandwidth 0.743508Gbit/s 0.637293Gbit/s 0.849724Gbit/s'
done
# 700 Mb/s of (4 + 1) / 2 streams are 280 Mb/s for each of them.
four 200 800 NA | sed 's/ NA / /' >fast4
iperf3 600 633 NA | sed 's/ NA / /' >slow1
for order in 'fast4 slow1' 'slow1 fast4'; do
	# shellcheck disable=SC2086
	link $order
	is 'bandwidth 1Gbit/s 0.743508Gbit/s 1Gbit/s' 'loss 0.0172664 0.000679875 0.0268755'
done
verdict 'link_logs.several_logs_of_a_direction_count_alike'

# Both directions at once. The client sends 941 Mb/s, as above; the server sends 600 Mb/s, with 4,000 retransmissions and
# the loss of 600 Mb/s. At once, 75 % of 1 Gb/s or more on the wire are that rate: 707 x 1538 / 1448 are 750.9 and 706 are 749.9.
printf '%s\n' 'PING b (10.0.0.2): 56 data bytes' '5 packets transmitted, 4 packets received, 20.0% packet loss' \
	'round-trip min/avg/max/stddev = 0.100/0.200/0.300/0.001 ms' >macos2
printf '%s\n' '                    RDMA_Write BW Test' ' Mtu             : 4096[B]' \
	' #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]' ' 65536      1000             97.6               97.5               0.186' >bw2
both() { # ROLE-TO-SERVER ROLE-TO-CLIENT MBITS-TO-CLIENT
	iperf3 941 1121 0 | sed "s/^\\[  5\\]/[  5][$1]/"
	iperf3 "$3" 715 4000 | sed "1d; s/^\\[  5\\]/[  7][$2]/"
}
cat >bidir.json <<'END'
{"start": {"test_start": {"protocol": "TCP", "num_streams": 1, "blksize": 131072}},
"intervals": [{"sum": {"bits_per_second": 941e6}, "sum_bidir_reverse": {"bits_per_second": 600e6}}],
"end": {"sum_sent": {"bits_per_second": 942e6, "bytes": 1175453696, "retransmits": 0}, "sum_received": {"bits_per_second": 941e6},
"sum_sent_bidir_reverse": {"bits_per_second": 601e6, "bytes": 749731840, "retransmits": 4000},
"sum_received_bidir_reverse": {"bits_per_second": 600e6}}}
END
both TX-C RX-C 600 >client
both RX-S TX-S 600 >server
for log in client server bidir.json; do
	link $log
	is 'bandwidth 1Gbit/s' 'loss 0 0 3.69559e-06' 'reverse_loss 0.00740634 0.000193461 0.0163741'
done
both TX-C RX-C 707 >client
link client
is 'bandwidth 1Gbit/s' 'loss 0 0 3.69559e-06'
both TX-C RX-C 706 >client
link client
is 'bandwidth 1Gbit/s' 'loss 0 0 3.69559e-06' 'reverse_loss 0.00575353 0.000139731 0.0147462'
# Both directions by themselves, without retransmissions, and neither at the rate of a standard: each has its own rate.
iperf3 400 477 NA | sed 's/ NA / /; s/^Conn/Reverse mode, remote host b is sending\nConn/' | sed '1{h;d}; 2G' >slower
link slow1 slower
is 'bandwidth 0.637293Gbit/s' 'reverse_bandwidth 0.424862Gbit/s'
# Only the server sends, in iperf 2's words, too. Its round trip is that of the opening, without load: 100 us are 45 us one way
# without 5 us to receive, whose uncertainty is 1.7.
link slower
is 'bandwidth 1Gbit/s 0.424862Gbit/s 1Gbit/s' 'reverse_loss 0.0123544 0.000435227 0.0207101'
printf '%s\n' 'Client connecting to b, TCP port 5001' \
	'[  1] local 10.0.0.1 port 1 connected with 10.0.0.2 port 5001 (icwnd/mss/irtt=14/1448/100) (reverse)' >second
for second in 0 1; do
	printf '[  1] %d.0000-%d.0000 sec  112 MBytes  941 Mbits/sec\n' $second $((second + 1)) >>second
done
link second
is 'bandwidth 1Gbit/s' 'mtu 1500B' 'latency 45us 41.5us 47.0588us'
sed 's/ (reverse)//' second >forward
link forward slow
is 'bandwidth 1Gbit/s' 'reverse_loss 0.0157654 0.010052 0.0181171' 'mtu 1500B' 'latency 45us 41.5us 47.0588us'
# Losses of ping count only without a log of TCP, in either direction.
for log in fast slower; do
	link macos2 $log
	! grep -q 'loss 0.105' got || complain "the loss of ping counts beside $log: $(cat got)"
done
# RDMA gives the rate of the port, whatever TCP reaches.
link bw2 forward
is 'bandwidth 100Gbit/s' 'mtu 4096B' 'latency 45us 41.5us 47.0588us'
printf '%s\n' '# nThread 1 nGpus 1' '#  Rank  0 Pid 1 on a device 0 [0x07] A' '#  Rank  1 Pid 2 on a device 1 [0x07] A' \
	'# size count type redop root time algbw busbw error' '1048576 262144 float sum -1 100.0 10.49 10.49 0' >nccl
expect 2 '^--link: the logs have neither a goodput nor a round trip of a link' import log nccl --link wire
verdict 'link_logs.both_directions_at_once_are_told_apart'

# The smallest round trip of ping is 43 us: 21.5 us one way without 3 us to send and 5 us to receive,
# which are uncertain by 1.7: 21.5 - 13.6 and, with the median of 49 us, 24.5 - 4.706.
printf '64 bytes from b: icmp_seq=1 ttl=64 time=0.0%s ms\n' 43 49 60 >linux
link linux
is 'latency 13.5us 7.9us 19.7941us'
printf 'Pinging b with 32 bytes of data:\nReply from b: bytes=32 time=%sms TTL=64\n' 2 3 4 >windows
link windows
is 'latency 992us 986.4us 1495.29us'
printf 'PING b (10.0.0.2): 56 data bytes\n5 packets transmitted, 4 packets received, 20.0%% packet loss\nround-trip min/avg/max/stddev = 0.100/0.200/0.300/0.001 ms\n' >macos
link macos
grep -q '^latency 42us 36.4us 70.2941us$' got || complain "the latency of macOS's ping is $(cat got)"
# One of five packets and answers is lost: 1 - sqrt(0.8) in each direction.
grep -q '^loss 0.105573 ' got && grep -q '^reverse_loss 0.105573 ' got || complain "the loss of ping is $(cat got)"
# With 3 of 95 of another log, 4 of 100 are lost: 1 - sqrt(0.96).
sed 's/5 packets/95 packets/; s/4 packets/92 packets/' macos >longer
link macos longer
grep -q '^loss 0.02020' got || complain "the loss of two logs is $(cat got)"
cat macos longer >joined
link joined
grep -q '^loss 0.02020' got || complain "the loss of two runs in a log is $(cat got)"
# sockperf prints half round trips: 20 us without 3 + 5 + 4 us of sockets and a thread.
printf 'sockperf: [Valid Duration] RunTime=1 sec; SentMessages=100; ReceivedMessages=%s\nsockperf: ---> percentile 50.000 =   20.000\nsockperf: ---> <MIN> observation =   18.000\n' 100 >sockperf
link sockperf
is 'latency 8us 0us 12.9412us'
sed 's/ReceivedMessages=100/ReceivedMessages=1/' sockperf >load
link load
is 'latency 6us 0us 10.9412us'
says 'under load'
printf 'tcp_lat:\n    latency  =  30 us\ntcp_bw:\n    bw  =  117 MB/sec\n' >qperf
link qperf
is 'bandwidth 1Gbit/s' 'latency 18us 9.6us 22.9412us'
# ib_write_lat prints halves: 1.5 us without 0.3 us to post and 0.4 us for the completion. 92.5 Gb/s
# x (4096 + 26) / 4096 are 93.1, and 97.5 are 98.1, which is a rate of 100.
printf '                    RDMA_Write Latency Test\n Mtu             : 4096[B]\n #bytes #iterations    t_min[usec]    t_max[usec]  t_typical[usec]\n 2       1000          1.40           6.00         1.50\n' >lat
printf '                    RDMA_Write BW Test\n Mtu             : 4096[B]\n #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]\n 65536      1000             97.6               97.5               0.186\n' >bw
link lat bw
is 'bandwidth 100Gbit/s' 'mtu 4096B' 'latency 0.8us 0.31us 1.08824us'
says '97.5 Gb/s of data x 4122 / 4096 B = 98.12 Gb/s on the wire: that of a standard'
# A read prints whole round trips. The verb's own bytes on Ethernet have headers of 82 B: 92.5 x 1106 / 1024 are 99.91, and
# 70 x 1106 / 1024 are 75.6055, which is not the rate of a standard. Without an MTU in the log it is 4096 B.
sed 's/Write/Read/; s/1.40/2.80/; s/1.50/3.00/' lat >read
link read bw
is 'bandwidth 100Gbit/s' 'mtu 4096B' 'latency 0.8us 0.31us 1.08824us'
sed 's/ Mtu .*/ Mtu             : 1024[B]\n Link type       : Ethernet/; s/97.5/92.5/' bw >roce
link roce
is 'bandwidth 100Gbit/s' 'mtu 1024B'
says '92.5 Gb/s of data x 1106 / 1024 B = 99.91 Gb/s on the wire: that of a standard'
sed 's/92.5/70.0/' roce >odd
link odd roce
is 'bandwidth 100Gbit/s' 'mtu 1024B'
link odd
is 'bandwidth 75.6055Gbit/s' 'mtu 1024B'
says '75.61 Gb/s on the wire; no standard'
sed '/ Mtu/d' bw >unknown
link unknown
is 'bandwidth 100Gbit/s'
says '97.5 Gb/s of data x 4122 / 4096 B'
# The resolution of ping is 1 us, so a round trip without any time is uncertain by it. The smaller round trip of two logs
# counts in both orders.
printf '64 bytes from b: icmp_seq=1 ttl=64 time=0.00%s ms\n' 1 1 1 >tiny
link tiny
is 'latency 0us 0us 1us'
link windows linux
is 'latency 13.5us 7.9us 19.7941us'
link linux windows
is 'latency 13.5us 7.9us 19.7941us'
printf '%s\n' 'PING b (10.0.0.2): 56 data bytes' '5 packets transmitted, 0 packets received, 100.0% packet loss' >dead
expect 2 '^dead:2: no results of ping were found' import log dead linux --link wire -q
# Segments of 1,460 and 8,960 B fill packets of 1,500 and 9,000 B; others lack the 12 B of a timestamp. Two streams have the
# round trip of the faster one. The sender's end counts, not that of the receiver.
for mss in 1460 1448 8960 8948; do
	echo '{"start": {"test_start": {"protocol": "TCP", "num_streams": 1, "blksize": 131072}, "tcp_mss_default": '$mss'},
		"intervals": [{"sum": {"bits_per_second": 9.4e9, "omitted": false}}],
		"end": {"streams": [{"sender": {"min_rtt": 300, "sender": true}}, {"sender": {"min_rtt": 100, "sender": true}},
			{"sender": {"min_rtt": 50, "sender": false}}], "sum_received": {"bits_per_second": 9.4e9}}}' >mss.json
	link mss.json
	[ $mss -lt 1500 ] && mtu=1500 || mtu=9000
	grep -q "^mtu ${mtu}B\$" got || complain "segments of $mss B have $(cat got)"
	says 'round trip[^0-9]* 100 us'
done
# Windows counts packets and round trips in its own words: one of four packets is lost. The minimum and the mean are two samples.
printf '%s\n' 'Pinging b with 32 bytes of data:' 'Packets: Sent = 4, Received = 3, Lost = 1 (25% loss),' 'Minimum = 2ms, Maximum = 4ms, Average = 3ms' >summary
link summary
is 'loss 0.133975 0 0.702029' 'reverse_loss 0.133975 0 0.702029' 'latency 992us 986.4us 1245.29us'
# The summary does not count beside replies. One without a time does not count either.
{ cat windows && sed 1d summary | sed 's/Minimum = 2/Minimum = 1/'; } >replies
link replies
is 'loss 0.133975 0 0.702029' 'reverse_loss 0.133975 0 0.702029' 'latency 992us 986.4us 1495.29us'
for numbers in 'Minimum = 0ms, Maximum = 0ms, Average = 0ms' 'Minimum = few'; do
	sed "s/Minimum.*/$numbers/" summary >silent
	expect 2 'no results of ping were found' import log silent --link wire
done
# A full log of sockperf without messages has no round trip.
echo 'test was performed using the following parameters: --burst=1 --reply-every=1 --msg-size=64 --time=1' >none
link none linux
is 'latency 13.5us 7.9us 19.7941us'
# The results of one log, but in the other order.
link roce odd
is 'bandwidth 100Gbit/s' 'mtu 1024B'
verdict 'link_logs.round_trips_lose_the_work_that_farwire_adds'

# A token bucket of 100 Mbit/s, recorded in both directions and with three tools.
for logs in "iperf3-100mbit.json iperf3-100mbit-reverse.json" iperf3-100mbit-bidir.json iperf2-100mbit.txt qperf-100mbit.txt; do
	(cd "$samples" && cat $logs >/dev/null) || complain "$logs is missing"
	# shellcheck disable=SC2086
	(cd "$samples" && "$FARWIRE" import log $logs ping-veth.txt --link wire -q) >profile || complain "$logs failed"
	grep -A1 'link.wire.bandwidth' profile | grep -q '"0.1 Gbit/s"' || complain "$logs: $(cat profile)"
	grep -q 'reverse_bandwidth\|loss"' profile && complain "$logs: a loss or another rate: $(cat profile)"
	case $logs in qperf*) continue ;; esac # its own round trip was measured under the same queue
	grep -A1 'link.wire.latency' profile | grep -q '"13.5 us"; low = "7.9 us"' || complain "$logs: $(cat profile)"
done
# The smallest round trip of the transfer, 5.972 ms, includes the queue.
link "$samples/iperf3-100mbit.json"
says 'the only round trip, 5972 us, is that of a transfer'
# With several streams, the smallest round trip counts that a sender measured.
sed 's/"streams":	\[{$/"streams": [{"sender":{"min_rtt":4000,"sender":true}}, {"sender":{"min_rtt":12,"sender":false}}, {/' \
	"$samples/iperf3-100mbit.json" >streams.json
link streams.json
says 'the only round trip, 4000 us, is that of a transfer'
# The filter drops 1 % of the packets; the goodput alone gives 2 %, with an interval down to 1 %.
link "$samples/iperf3-loss.json"
grep -q '^loss 0.0200[0-9]* 0.0099[0-9]* 0.028' got || complain "the loss is $(cat got)"
# The simulated transfer has the recorded goodput of 413 Mb/s = 51.6 MB/s again, less some
# timeouts at the ends of its pieces, which the rate of long writes does not contain.
"$FARWIRE" import log "$samples/iperf3-loss.json" --link network -q -o network.cfg
farwire run --topology cpu-ethernet --exchange openmpi-4.1 --transport tcp --collective broadcast --gpus 2 \
	--set 'case.collective_size=256 MiB' --profile network.cfg --draws 0 -q
bandwidth=$(sed -n '1s/.*: \([0-9.]*\) MB\/s bus bandwidth.*/\1/p' "$scratch.out")
awk -v b="${bandwidth:-0}" 'BEGIN { exit !(b > 0.8 * 51.6 && b < 1.05 * 51.6) }' ||
	complain "the simulated transfer has $bandwidth MB/s, not 51.6"
verdict 'link_logs.recorded_links_have_their_known_rate_and_loss'

# iperf 2 is not iperf3: its last line is the whole test, and no further sample.
expect 2 'this is a log of iperf 2' import iperf3 "$samples/iperf2-100mbit.txt"
expect 0 '3 results read, 3 used' import log "$samples/iperf2-100mbit.txt"
printf '[  3]  0.0- 1.0 sec  11.2 MBytes  94.0 Mbits/sec\n[  3]  1.0- 2.0 sec  11.2 MBytes  96.0 Mbits/sec\n[  3]  0.0- 2.0 sec  22.4 MBytes  95.0 Mbits/sec\n' >old
expect 0 '2 results read, 2 used' import iperf2 old
printf 'Client connecting to b, TCP port 5001\nServer listening on TCP port 5001\n[  1]  0.0- 1.0 sec  11.2 MBytes  94.0 Mbits/sec\n' >trade
expect 2 '^trade:2: the log has both directions' import iperf2 trade
# The log of a server alone is one direction. iperf3's own server says it in other words.
sed 1d trade >served
expect 0 '1 results read, 1 used' import iperf2 served
expect 2 'this is a log of iperf 2' import iperf3 served
printf '[  1] local 10.0.0.1 port 1 connected with 10.0.0.2 port 5001\n' | cat - old >connected
expect 2 'this is a log of iperf 2' import iperf3 connected
sed 's/^Server.*/Server listening on 5201 (test #1)/' served >third
expect 0 '1 results read, 1 used' import iperf3 third
echo '{"event":"interval"}' >nothing
expect 2 '^nothing:1: the key "data" is expected here' import iperf3 nothing
verdict 'link_logs.iperf_2_is_read_as_iperf_2'

expect 2 "^--link: 'a\"b' is not the name of a link" import log linux --link 'a"b'
expect 2 'must not be empty' import log linux --link ''
expect 2 'import: --link belongs to .import log.' import ping linux --link wire
printf 'PING b (b) 56(84) bytes of data.\n3 packets transmitted, 0 received, 100%% packet loss, time 2ms\n' >lost
expect 2 'no results of ping were found' import log lost --link wire
printf 'Pinging b:\nReply from b: bytes=32 time<1ms TTL=64\n' >quick
expect 2 'a round trip below the step of ping' import log quick --link wire
: >empty
expect 2 '^empty:1: neither this nor a later line' import log empty --link wire
printf 'mbw\n' >other
expect 2 'neither this nor a later line' import log other --link wire
cp linux 'a"; b'
link 'a"; b'
says 'a?; b'
farwire check profile
[ "$code" = 0 ] || complain "a file name with a quote makes an invalid profile"
for garbage in 'time=1e999 ms' 'time=nan ms' 'time=-1 ms'; do
	printf '64 bytes from b: %s\n' "$garbage" >x
	farwire import log x --link wire
	[ "$code" = 2 ] || complain "'$garbage' was accepted"
done
sed 's/20.000/1e999/' sockperf >x
expect 2 '^x: the latency is not a finite number' import log x --link wire
printf 'Connecting to host b\n[  5]   0.00-1.00   sec  1e300 GBytes  1e300 Gbits/sec\n' >x
expect 2 '^x(:[12])?: ' import log x --link wire
verdict 'link_logs.hostile_logs_and_names_are_refused'

cp profile profile.cfg
farwire run --topology lan-pair --model resnet50 --stack pytorch --program client --server server --runtime lupine \
	--profile profile.cfg --draws 0 -q
[ "$code" = 0 ] || complain "farwire run refused the profile: $(cat "$scratch.err")"
verdict 'link_logs.run_takes_the_written_profile'
