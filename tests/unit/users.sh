#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# The verb `users`, and GPUs that programs share by MPS and MIG.
cd "$(dirname "$0")/../.." || exit 2
# shellcheck source=tests/check.sh
. tests/check.sh
cd "$scratch" || exit 2
users() { # CODE TEXT OPTIONS...
	code=$1 text=$2
	shift 2
	expect "$code" "$text" users --topology lan-pair --program client --server server --model resnet50 \
		--stack pytorch-amp --batch 64 --runtime lupine -q --draws 0 "$@"
}
# Prints the column $1 of the CSV, one value per line.
column() {
	tr -d '\r' <"$scratch.out" | awk -F, -v name="$1" '
	NR == 1 { for (i = 1; i <= NF; i++) if ($i == name) at = i; next }
	{ print $at }'
}

# One user needs one GPU and never waits. On average 0.25 users are at work.
users 0 '' --users 1 --active '25 %' --format csv
[ "$(column gpus) $(column wait_p95) $(column users_at_work) $(column target)" = '1 0 0.25 met' ] ||
	complain "one user: $(cat "$scratch.out")"

# Three users with three GPUs do not wait. Hours without users need no GPU for a target.
users 0 '' --users 0-7:0,8-17:3 --active '50 %' --gpus 3 --format csv
[ "$(column wait_p95 | tail -n 1) $(column users_at_work | tail -n 1)" = '0 1.5' ] ||
	complain "three users: $(cat "$scratch.out")"

# The curve of users has one user for 8 hours and three for 10.
users 0 '' --users 0-7:1,8-17:3 --active '50 %' --gpus 3 --plot day.svg
sed -n 's/.*<path d="M\([^"]*\)" stroke="#0072b2" stroke-width="1.7".*/\1/p' day.svg | head -n 1 | tr L ' ' | awk '
	{ x = ($3 - $1) / ($7 - $1); y = (222 - $2) / (222 - $8); exit !(NF == 8 && $5 == $3 && $2 == $4 && $6 == $8 && x > 0.444 && x < 0.445 && y > 0.333 && y < 0.334) }' ||
	complain "curve of users: $(grep -o '<path[^>]*stroke-width="1.7"' day.svg)"

# Two users who nearly always work share a GPU that one of them fills, so each waits for as long as
# it works, and for the switches.
users 0 '' --users 2 --active '99 %' --gpus 1 --format csv
column wait_p95 | awk '{ exit !($1 > 1 && $1 < 1.2) }' || complain "two users: $(cat "$scratch.out")"
# MPS takes the switches away, which are 100 us in each slice of 2 ms.
cp "$scratch.out" sliced
users 0 '' --users 2 --active '99 %' --gpus 1 --format csv --set 'gpu.*.sharing=mps'
cat sliced "$scratch.out" | awk -F, '$1 == "all" { wait[n++] = $6 } END { r = (1 + wait[0]) / (1 + wait[1]); exit !(r > 1.02 && r < 1.06) }' ||
	complain "mps: $(cat sliced "$scratch.out")"

users 2 'needs --users' --active 0.2
users 2 'needs --active' --users 2
users 2 'is not a number of users of some hours' --users 8-3:4 --active 0.2
users 2 'is not a number of users of some hours' --users 0-8:4,8-9:1 --active 0.2
users 2 'less than 100 %' --users 2 --active 1.5
users 2 'is not a target of a pool' --users 2 --active 0.2 --target 'ratio>=0.9'
users 2 'is not a number of GPUs' --users 2 --active 0.2 --gpus 0
users 2 'cannot be split by MIG' --users 2 --active 0.2 --set 'gpu.*.sharing=mig'
users 2 'together have 2 of its SMs' --users 2 --active 0.2 --set 'gpu.*.sharing=mig' \
	--set 'gpu.*.profile=a100-pcie-40' --copies 2
users 2 'together have 1 of its SMs and 1.5 of its memory' --users 2 --active 0.2 --set 'gpu.*.sharing=mig' \
	--set 'gpu.*.profile=a100-pcie-40' --copies 2 --set case.fraction=0.5 --set case.memory_fraction=0.75
users 2 'whole numbers up to 100000' --users 1e6 --active 0.2
users 2 'up to 1000000' --users 2 --active 0.2 --gpus 1e30
users 2 'cannot be split by MIG' --users 2 --active 0.2 --set 'gpu.*.sharing=mig' --set 'gpu.*.profile=l40s'
users 2 'cannot be split by MIG' --users 2 --active 0.2 --set 'gpu.*.sharing=mig' --set 'gpu.*.profile=a40'
expect 2 'the case is one job' users dgx1-scaling --users 5 --active 0.1

# Hours without users need no GPU.
users 0 '' --users 0,3 --active '50 %' --format csv
[ "$(column gpus | head -n 1)" = 0 ] || complain "no users: $(cat "$scratch.out")"

# With batches of 160 images, a GPU has memory for one program only. The least number of GPUs meets the
# target, and one GPU less misses it. Hours with the same users have the same row.
one_place() { # OPTIONS...
	users 0 '' --batch 160 "$@"
}
one_place --users 0-7:0,8-17:30,18:20,19-20:30 --active '25 %' --format csv
found=$(column gpus | sed -n 2p)
[ "$(column gpus | tr '\n' ' ')" = "0 $found 8 $found " ] || complain "GPUs: $(cat "$scratch.out")"
[ "$(tr -d '\r' <"$scratch.out" | sed -n 3p | cut -d, -f 2-)" = "$(tr -d '\r' <"$scratch.out" | sed -n 5p | cut -d, -f 2-)" ] ||
	complain "equal hours: $(cat "$scratch.out")"
one_place --users 30 --active '25 %' --gpus $((found - 1)),"$found" --format csv
[ "$(column target | tr '\n' ' ')" = 'missed met ' ] || complain "one GPU less: $(cat "$scratch.out")"
# The mean is (8 x 0 + 10 x 10 + 3 x 4) / 21 GPUs.
one_place --users 0-7:0,8-17:30,18-20:8 --active '25 %'
shows "batch 160: 30 users in hours 8-17 need $found GPUs for the target wait p95 <= 0.1\. The mean of all given hours is 5\.3 GPUs\. A GPU has room for 1 program only \(job 'client1': out of GPU memory"
one_place --users 0,1 --active '25 %'
shows 'batch 160: 1 user in hour 1 needs 1 GPU for the target wait p95 <= 0.1\. The mean of all given hours is 0\.5 GPUs\.$'
one_place --users 8-9:8,10:1 --active '99 %' --gpus 2,8
shows 'batch 160 misses the target wait p95 <= 0.1 in 1 of 4 rows \(8 users in hours 8-9 on 2 GPUs\)\. A GPU'
one_place --users 3 --active '99 %' --gpus 1,2,3
shows 'in 2 of 3 rows \(3 users on 1 GPU; 3 users on 2 GPUs\)\. A'
# Programs of 7.83 GB share the 17.18 GB of a GPU in pairs.
users 0 '' --batch 128 --users 1,3 --active '99 %' --gpus 3
shows 'batch 128 meets the target wait p95 <= 0.1 in all rows\. A GPU has room for 2 programs only \(job .client2'
# 0, 1 and 2 users work with the probabilities 1, 198 and 19602 over their sum, and in the last two cases
# one GPU works. So 39402 / 19801 users are at work, of whom 19800 / 19801 advance.
one_place --users 1,2 --active '99 %' --gpus 1 --format csv
[ "$(column users_at_work | tail -n 1 | cut -c 1-7) $(column mean_wait | tail -n 1 | cut -c 1-8)" = '1.98989 0.989999' ] || complain "two users: $(cat "$scratch.out")"
# Without any wait, each user needs a GPU. Two users may share one if 99 % of their time may wait.
users 0 '' --users 3 --active '10 %' --target ' wait_p99 <= 0' --format csv
[ "$(column gpus)" = 3 ] || complain "no wait: $(cat "$scratch.out")"
users 0 '' --users 2 --active '10 %' --target 'wait_p1<=1' --format csv
[ "$(column gpus)" = 1 ] || complain "p1: $(cat "$scratch.out")"
# The clients are spread over four GPUs, so the first neighbour of each is its fifth client.
expect 0 '' users pool-8-on-4 --users 2 --active '99 %' --gpus 1 -q --draws 0 --set case.model=alexnet \
	--set case.steps=1 --batch 8 --format csv
column wait_p95 | awk '{ exit !($1 > 0.9 && $1 < 1.1) }' || complain "spread: $(cat "$scratch.out")"
verdict 'users.need_the_least_gpus'

# One curve of waits over the GPUs; with hours, one for each number of GPUs, to the end of each hour.
hints() {
	sed -n 's/.*<title>\(.*\)<\/title>.*/\1/p' "$1" | tr '\n' ';'
}
users 0 '' --users 3 --active '99 %' --gpus 1,3 --plot gpus.svg --format csv
wait=$(column wait_p95 | awk 'NR == 1 { printf "%.6g", 100 * $1 }')
[ "$(hints gpus.svg)" = "1: $wait;3: 0;" ] || complain "waits over GPUs: $(hints gpus.svg)"
grep -q '>wait p95 in %<' gpus.svg && grep -q '>GPUs<' gpus.svg || complain 'the axes have other names'
users 0 '' --users 8-9:2,10:1 --active '99 %' --gpus 1,2 --plot hours.svg --format csv
wait=$(column wait_p95 | awk 'NR == 1 { printf "%.6g", 100 * $1 }')
[ "$(hints hours.svg)" = "8: $wait;10: $wait;10: 0;11: 0;8: 0;10: 0;10: 0;11: 0;" ] || complain "waits over hours: $(hints hours.svg)"
grep -q '>1 GPUs<' hours.svg && grep -q '>2 GPUs<' hours.svg && grep -q '>hour of the day<' hours.svg ||
	complain 'the curves have other names'
verdict 'users.draw_waits_over_gpus_or_hours'

while read -r hours; do
	users 2 "^--users: '[^']*' is not a number of users of some hours" --users "$hours" --active 0.2
done <<'END'
3x
-1
2.5
20-24:3
5-:3
8 9:3
x:3
END
users 2 '^--users: a day has only 24 hours' --users "$(seq -s, 25)" --active 0.2
one_place --users "$(seq -s, 24)" --active 0.2 --gpus 24
shows '^23 +24 +24 '
while read -r target; do
	users 2 "^--target: '$target' is not a target of a pool" --users 2 --active 0.2 --target "$target"
done <<'END'
wait_p0<=1
wait_p100<=1
wait_p95 < 3
wait_p95x<=1
END
users 2 "the limit of 'wait_p95<=-1' must not be negative" --users 2 --active 0.2 --target 'wait_p95<=-1'
users 2 "the limit of 'wait_p95<=x' is not a ratio" --users 2 --active 0.2 --target 'wait_p95<=x'
users 2 "'0' is not a part of the time" --users 2 --active 0
users 2 "'1' is not a part of the time" --users 2 --active 1
users 2 "'x' is not a ratio" --users 2 --active x
users 2 '^--gpus: 1e\+06 is not a number of GPUs of this case' --users 2 --active 0.2 --gpus 1000001
one_place --users 2 --active 0.2 --gpus 1000000
expect 2 'the case lists several clients' users mixed-pool --users 2 --active 0.1
expect 2 'the case is one job on its GPUs' users remote-2-gpus --users 2 --active 0.1
verdict 'users.refuse_wrong_hours_targets_and_cases'

# Eight GPUs serve some hundred requests/s. With 10,000 requests/s each of the simulated requests
# ends within 100 s, because there are few of them, but the servers do not carry this rate.
served() { # CODE TEXT OPTIONS...
	code=$1 text=$2
	shift 2
	expect "$code" "$text" users --topology hgx-h100 --model llama3-8b --engine vllm -q --draws 0 \
		--target 'latency_p99<=100 s' --active 1 "$@"
}
served 0 '' --users 10000 --serve prompt=256,output=16
grep -q 'faster than they are served' "$scratch.out" || complain "10,000 requests/s: $(cat "$scratch.out")"
served 0 '' --users 100000 --serve prompt=256,output=16,requests=100
grep -q 'faster than they are served' "$scratch.out" || complain "a burst: $(cat "$scratch.out")"
served 0 '' --users 10 --serve prompt=256,output=16,requests=100
grep -q 'need 1 GPU for' "$scratch.out" || complain "10 requests/s: $(cat "$scratch.out")"
shows '^all +10 +1 +10 +[0-9.]+ ms +met$'
# Two hundred users with half a request per second each send as much as one hundred with one.
few() { # CODE TEXT OPTIONS...: of 60 requests
	code=$1 text=$2
	shift 2
	served "$code" "$text" --serve prompt=256,output=16,requests=60 --format csv "$@"
}
few 0 '' --users 100 --target 'latency_p99<=450 ms'
most=$(column gpus)
few 0 '' --users 8-9:200 --active 0.5 --target 'latency_p99<=450 ms'
[ "$(column gpus) $(column sent_per_s)" = "$most 100" ] || complain "half a request: $(cat "$scratch.out")"
few 0 '' --users 100 --target 'latency_p99<=450 ms' --gpus $((most - 1)),"$most"
[ "$(column target | tr '\n' ' ')" = 'missed met ' ] || complain "one GPU less: $(cat "$scratch.out")"
# A rate must be reached, but a latency must not be exceeded.
few 0 '' --users 3,0 --active 0.5 --target 'throughput>=1' --plot rate.svg
[ "$(column target | tr '\n' ' ')$(column gpus | tr '\n' ' ')" = 'met met 1 0 ' ] || complain "a rate: $(cat "$scratch.out")"
rate=$(column requests_per_s | awk 'NR == 1 { printf "%.6g", $1 }')
[ "$(hints rate.svg)" = "0: 3;1: 3;1: 0;2: 0;0: 1;1: 1;1: 0;2: 0;0: $rate;1: $rate;1: 0;2: 0;" ] || complain "rates: $(hints rate.svg)"
few 0 '' --users 3 --active 0.5 --target 'throughput>=100' --gpus 1
[ "$(column target)" = missed ] || complain "a rate that is missed: $(cat "$scratch.out")"
few 2 'write a multiple of 2 up to 1000000' --users 10 --set case.tensor=2 --gpus 3
few 2 "'0' is not a rate of requests" --users 2 --active 0
served 2 'remove serve.concurrency' --users 10 --serve concurrency=4
served 2 'remove serve.stages' --users 10 --serve stages=0:5
verdict 'users.find_gpus_and_refuse_bad_questions'
