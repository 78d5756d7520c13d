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
served 2 'remove serve.concurrency' --users 10 --serve concurrency=4
served 2 'remove serve.stages' --users 10 --serve stages=0:5
verdict 'users.find_gpus_and_refuse_bad_questions'
