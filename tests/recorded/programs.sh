#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# The small programs of tests/live and tests/mpi. The forwarder's virtual GPU takes at least the time
# of its work. The timer of collectives runs with an MPI whose clock and ranks are known.
set -u
cd "$(dirname "$0")/../.." || exit 2
# shellcheck source=tests/check.sh
. tests/check.sh
compile() { # PROGRAM FLAGS AND SOURCES...
	to=$scratch/$1
	shift
	cc -std=gnu17 -O1 -Wall -Wextra -Werror -pthread "$@" -o "$to" 2>"$scratch.cc" ||
		complain "$* does not compile: $(head -n 3 "$scratch.cc")"
}
compile forwarder tests/live/forwarder.c
compile times -Wno-unused-parameter -Itests/fake_mpi tests/mpi/times.c
cat >"$scratch/yields.c" <<'END'
#define _GNU_SOURCE
#include <sched.h>
#include <stdio.h>
#include <time.h>
int main(void)
{
	double least_us = 1e6; /* of 100 calls */
	for (int i = 0; i < 100; i++) {
		struct timespec from, to;
		clock_gettime(CLOCK_MONOTONIC, &from);
		sched_yield();
		clock_gettime(CLOCK_MONOTONIC, &to);
		double us = 1e6 * (double)(to.tv_sec - from.tv_sec) + 1e-3 * (double)(to.tv_nsec - from.tv_nsec);
		if (us < least_us)
			least_us = us;
	}
	printf("%.0f\n", least_us);
}
END
compile yields tests/mpi/yield.c "$scratch/yields.c"
cat >"$scratch/receives.c" <<'END' # counts the receptions of a program
#define _GNU_SOURCE
#include <stdio.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>
static int count;
ssize_t recv(int fd, void *to, size_t size_B, int flags)
{
	count++;
	return syscall(SYS_recvfrom, fd, to, size_B, flags, NULL, NULL);
}
__attribute__((destructor)) static void tell(void)
{
	fprintf(stderr, "%d\n", count);
}
END
compile receives.so -shared -fPIC "$scratch/receives.c"
verdict programs.compile

# PROGRAM, calls of a step (0: several queries), and its work of the GPU in us: kernels, and copies of
# 10 us and their bytes at 12 GB/s. The large flood fills the queue of 1024 only in its second step.
while read -r program calls work_us; do
	"$scratch/forwarder" record "$program" 2 >"$scratch/$program.jsonl" || complain "$program: no recording"
	awk -v program="$program" -v calls="$calls" -v work_us="$work_us" '
	/^{"step":/ {
		split($0, part, /"t_s":|}/)
		if (steps > 0 && (part[2] - last) * 1e6 < work_us)
			print "  " program ": a step takes " (part[2] - last) * 1e6 " us, less than its work"
		last = part[2]
		steps++
	}
	/"call":/ {
		count++
		split($0, part, /_s":|,/)
		for (i = 1; i in part; i++) {
			if (part[i] ~ /"start$/) start = part[i + 1]
			if (part[i] ~ /"end$/ && part[i + 1] < start) print "  " program ": a call ends before it starts"
		}
	}
	/^{"end":true/ && $0 != "{\"end\":true,\"lines\":" count + steps "}" { print "  " program ": " $0 }
	END {
		if (steps != 3) print "  " program ": " steps " marks, not 3"
		if (calls > 0 && count != 2 * calls) print "  " program ": " count " calls, not 2 x " calls
	}' "$scratch/$program.jsonl" >"$scratch.wrong"
	[ ! -s "$scratch.wrong" ] || complain "$(cat "$scratch.wrong")"
	expect 0 '' run --calls "$scratch/$program.jsonl" --topology t320-same-esxi --draws 0 --quiet --format csv
done <<'END'
round_trips 300 500
flood_small 1001 1000
flood_large 601 18000
copies 12 1928
training 223 8000
polls 0 4000
END
holds() { # FILE PATTERN LINES
	found=$(grep -cE -e "$2" "$1")
	[ "$found" = "$3" ] || complain "$1: $found lines have $2, not $3"
}
holds "$scratch/copies.jsonl" '"copy":"h2d","size_B":2097152,"memory":"pinned","copy_s":0.000184763' 8
holds "$scratch/copies.jsonl" '"copy":"d2h","size_B":1048576,"memory":"pinned","copy_s":0.000097381' 8
holds "$scratch/training.jsonl" '"cudaLaunchKernel".*"kernel_s":0.000100000' 100
holds "$scratch/training.jsonl" '"cudaLaunchKernel".*"kernel_s":0.000020000' 300
holds "$scratch/polls.jsonl" '"thread":0,"call":"cudaEventRecord".*"event":1}' 2
holds "$scratch/polls.jsonl" '"thread":1,"call":"cudaEventQuery".*"event":1,"ready":true' 2
verdict programs.forwarder_records_its_programs

"$scratch/forwarder" serve 127.0.0.1 0 >"$scratch.port" 2>"$scratch.server" &
server=$!
tries=0
until [ -s "$scratch.port" ] || [ $((tries += 1)) -gt 300 ]; do sleep 0.1; done
port=$(cat "$scratch.port")
# A client that is killed in its work ends its connection, not the server.
timeout -s KILL 0.2 "$scratch/forwarder" run flood_large synchronous 1000 127.0.0.1 "$port" >/dev/null 2>&1
# Each step takes at least the GPU's work, and the answered calls of a round trip wait for it.
for policy in synchronous asynchronous batched local; do
	for work in round_trips:500 copies:1928 training:8000 polls:4000 flood_large:18000; do
		timeout 60 "$scratch/forwarder" run "${work%:*}" $policy 2 127.0.0.1 "$port" >"$scratch.out" ||
			complain "$policy ${work%:*}: ended with $?"
		awk -v least="${work#*:}" '$1 * 1e6 < least { bad++ } END { exit NR != 2 || bad > 0 }' "$scratch.out" ||
			complain "$policy ${work%:*} took $(tr '\n' ' ' <"$scratch.out") s"
	done
done
# A round trip has an allocation, a launch and a synchronise. Only synchronous launches are answered.
for policy in synchronous:300 asynchronous:200 batched:200; do
	LD_PRELOAD=$scratch/receives.so "$scratch/forwarder" run round_trips ${policy%:*} 1 127.0.0.1 "$port" \
		>/dev/null 2>"$scratch.err"
	[ "$(cat "$scratch.err")" = "${policy#*:}" ] || complain "${policy%:*}: $(cat "$scratch.err") answers"
done
kill $server 2>/dev/null || complain "the server ended: $(cat "$scratch.server")"
"$scratch/forwarder" run copies fast 1 127.0.0.1 "$port" >/dev/null 2>&1 && complain 'an unknown policy runs'
"$scratch/forwarder" record nothing 1 >/dev/null 2>&1 && complain 'an unknown program runs'
"$scratch/forwarder" >/dev/null 2>&1
[ $? = 2 ] || complain 'without arguments it does not end with 2'
verdict programs.forwarder_forwards_each_program

[ "$("$scratch/yields")" -ge 20 ] || complain 'a yield takes less than 20 us'
verdict programs.yield_sleeps

# collective RANK RANKS OPERATION LINES...: plays the rank with two repeats of 4 KiB, which are 1024
# numbers. The first of the three operations is not printed.
collective() {
	rank=$1
	ranks=$2
	operation=$3
	shift 3
	FAKE_RANK=$rank FAKE_RANKS=$ranks "$scratch/times" "$operation" 2 4096 >"$scratch.out" 2>"$scratch.err"
	printf '%s\n' barrier "$@" barrier "$@" barrier "$@" 'max of 3 times to 0' | grep . >"$scratch.want"
	diff "$scratch.want" "$scratch.err" >"$scratch.diff" || complain "$operation: $(head -n 4 "$scratch.diff")"
	samples=4,6
	[ "$operation" != send ] || samples=2,3
	[ "$rank" != 0 ] || echo "{\"operation\":\"$operation\",\"ranks\":$ranks,\"size_B\":4096,\"unit\":\"s\",\"samples\":[$samples]}" |
		cmp -s - "$scratch.out" || complain "$operation prints $(cat "$scratch.out")"
	[ "$rank" = 0 ] || [ ! -s "$scratch.out" ] || complain "rank $rank prints a result"
}
collective 0 4 send 'send 1024 to 1' 'receive 1024 from 1'
collective 1 4 send 'receive 1024 from 0' 'send 1024 to 0'
collective 2 4 send ''
collective 0 4 exchange 'exchange 1024 with 1, 1024 from 1'
collective 3 4 exchange 'exchange 1024 with 2, 1024 from 2'
collective 2 3 exchange ''
collective 0 4 all_reduce 'sum of 1024'
collective 0 4 broadcast 'broadcast 1024 from 0'
collective 0 4 reduce_scatter 'sum of 256 and 256'
collective 0 4 all_gather 'gather 256 256'
collective 0 4 all_to_all 'all to all 256 256'
for words in 'send 0 4' 'send 101 4' 'sent 2 4' 'send 2'; do
	# shellcheck disable=SC2086 # words
	FAKE_RANK=0 FAKE_RANKS=2 "$scratch/times" $words >/dev/null 2>&1
	[ $? = 2 ] || complain "times $words does not end with 2"
done
verdict programs.timer_of_collectives_makes_its_calls
