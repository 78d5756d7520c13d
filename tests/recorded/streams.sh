#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Predicts forwarded programs that no fit used, from a recording of a virtual machine with two
# cores. tests/bench/streams made it while nothing else ran.
cd "$(dirname "$0")/../.." || exit 2
recording=calib/measured/recorded/loopback-spin.jsonl
[ -s $recording ] || {
	echo "FAIL streams: $recording is missing"
	exit 1
}
exec tests/bench/streams $recording
