#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# A collective of more bytes is at most 10 % faster than the next smaller one, with any choice
# of the library.
set -u
cd "$(dirname "$0")/../.." || exit 2
farwire=${FARWIRE:-build/farwire}
failed=0

# monotone TOPOLOGY GPUS COLLECTIVE
monotone() {
	"$farwire" sweep --topology "$1" --collective "$3" --set "case.gpus=$2" \
		--vary 'case.collective_size=8 B:4 GiB:log30' --draws 0 --format csv --quiet |
		awk -F, -v what="$3 on $2 GPUs of $1" '
NR > 1 {
	if (NR > 2 && $5 < 0.9 * before) {
		printf "  %s: %s B in %s s, %s B in %s s\n", what, size, before, $1, $5
		bad = 1
	}
	size = $1
	before = $5
}
END { exit bad || NR != 31 }'
}

for system in 'dgx1-v100 16' 'dgx-a100 32' 'pcie-8gpu 16' \
	'c4140-m 8' 'dgx-h100 16'; do
	for collective in all_reduce reduce_scatter broadcast all_to_all; do
		monotone "${system% *}" "${system#* }" $collective || failed=1
	done
done
if [ $failed = 0 ]; then
	echo 'ok monotone.more_bytes_take_at_least_90_percent_of_the_time'
else
	echo 'FAIL monotone.more_bytes_take_at_least_90_percent_of_the_time'
fi
exit $failed
