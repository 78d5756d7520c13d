#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# The throughput of a model server counts all requests that leave in its steady state. A server that is
# always full gives its capacity, whatever share of the requests is the warm-up and however fast
# they arrive. A server that keeps up gives the rate of arrivals. (Counting only the requests
# after the warm-up lost half of the throughput at a warm-up of 0.49.)
set -u
cd "$(dirname "$0")/../.." || exit 2
# shellcheck source=tests/check.sh
. tests/check.sh
cd "$scratch" || exit 2

# rate OPTIONS: requests/s of ResNet-50 in full batches of 64
rate() {
	farwire run --topology hgx-h100 --model resnet50 --stack serving --serve "batch=64,$1" --draws 0
	sed -n 's/.* \([0-9.]*\) requests\/s$/\1/p;1q' "$scratch.out"
}
# near NAME A B TOLERANCE
near() {
	awk -v a="${2:-0}" -v b="${3:-0}" -v t="$4" 'BEGIN { exit !(a > 0 && b > 0 && a / b < 1 + t && b / a < 1 + t) }' ||
		complain "$1: '$2' and '$3' requests/s differ by more than $4"
}

full=$(rate rate=1e6,warmup=0)
for share in 0.1 0.3 0.49; do
	near "warm-up of $share" "$(rate rate=1e6,warmup=$share)" "$full" 0.01
done
verdict served_throughput.share_of_the_warm_up_does_not_change_the_capacity

for factor in 1.2 1.6 3; do
	offered=$(awk -v full="$full" -v factor=$factor 'BEGIN { print full * factor }')
	near "offered $factor times the capacity" "$(rate "rate=$offered")" "$full" 0.01
done
verdict served_throughput.overloaded_servers_work_at_their_capacity

# 20,000 arrivals of a Poisson process have a rate within 1.4 % (two standard deviations) of its own.
for factor in 0.1 0.5 0.9; do
	offered=$(awk -v full="$full" -v factor=$factor 'BEGIN { print full * factor }')
	near "offered $factor times the capacity" "$(rate "rate=$offered,requests=20000")" "$offered" 0.014
done
verdict served_throughput.servers_that_keep_up_work_at_the_rate_of_arrivals
exit 0
