#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Forwarded programs that no fit has seen, predicted from a recording of a virtual
# machine with two cores, made by tests/bench/streams while nothing else ran.
cd "$(dirname "$0")/../.." || exit 2
recording=calib/measured/recorded/loopback-spin.jsonl
[ -s $recording ] || {
	echo "FAIL streams: no $recording"
	exit 1
}
exec tests/bench/streams $recording
