#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Errors of formulas without a simulation, beside those of farwire, for rows of forwarded calls. The numbers are derived
# by hand below.
set -u
# shellcheck source=tests/check.sh
. "${0%/*}/../check.sh"
cd "$check_folder" || exit 2

# A step of 2 ms of host work, three answered calls of 1 ms on the host of the driver, and two launches that take no time
# locally: 5 ms. Each call moves 1,000 B, at 1 Mb/s for 8 ms.
cat >calls.jsonl <<'END'
{"format":"farwire-calls","version":1,"tool":"by hand"}
{"step":1,"t_s":0}
{"call":"cudaLaunchKernel","start_s":0.0005,"end_s":0.0005,"stream":7,"kernel_s":0}
{"call":"cudaLaunchKernel","start_s":0.001,"end_s":0.001,"stream":7,"kernel_s":0}
{"call":"cudaMemGetInfo","start_s":0.002,"end_s":0.003}
{"call":"cudaMemGetInfo","start_s":0.003,"end_s":0.004}
{"call":"cudaMemGetInfo","start_s":0.004,"end_s":0.005}
{"step":2,"t_s":0.005}
{"end":true}
END
printf 'net\tms\tlocal\tping\trole\nlinks\t102\t4\tNA\ttest\nping\t60\tNA\t5 ms\ttest\nfit\t60\t4\t5 ms\tfit\nless\t4\t5\tNA\treport\n' >rows.tsv
cat >rows.cfg <<END
dataset = { name = "rows"; title = "Rows"; source = "a test"; table = "rows.tsv";
	value = "ms"; quantity = "time"; value_unit = "ms"; native = "local"; role_column = "role"; label = ["net"]; group = "role";
	pencil = { round_trip = "ping"; answered = "1 ms"; sent = "0.5 ms"; byte = "1 us/B"; };
	settings = ["case.topology=lan-pair", "case.calls=$check_folder/calls.jsonl", "case.runtime=asynchronous", "case.transport=tcp",
		"case.program=client", "case.server=server", "link.wire.latency=1 ms", "link.wire.bandwidth=1 Mbit/s",
		"calls.arguments=1000 B", "runtime.request_header=0 B", "runtime.reply_header=0 B",
		"driver.launch=0 s", "gpu.*.kernel_floor=0 s", "gpu.*.kernel_gap=0 s", "gpu.*.launch_latency=0 s"]; };
END
expect 0 '' validate rows.cfg --draws 0 -q --format json
# is ROW KEYS WANTED: compares the number behind the keys, one after the other, in the row's object.
is() {
	awk -v row="\"row\": \"$1\"" -v keys="$2" -v wanted="$3" '
		{ text = text $0 }
		END {
			text = substr(text, index(text, row))
			count = split(keys, key, " ")
			for (i = 1; i <= count; i++) {
				at = index(text, "\"" key[i] "\": ")
				if (!at) exit 1
				text = substr(text, at + length(key[i]) + 4)
			}
			error = text - wanted
			exit text !~ /^[-0-9]/ || error > 1e-6 || error < -1e-6
		}' "$scratch.out" || complain "$1 $2 is not $3: $(grep -A 13 "\"row\": \"$1\"" "$scratch.out")"
}
is links local_s 0.005
is links answered_calls 3
is links sent_calls 2
is links moved_B 5000
is links round_trip_s 0.002
is links byte_s 8e-06
# 5 ms + 3 * 2 ms + 5000 B * 8 us/B = 51 ms; with costs 51 + 3 * 1 + 2 * 0.5 + 5000 B * 1 us/B = 60 ms
is links 'pencil predicted formula' 0.051
is links 'pencil predicted with_costs' 0.060
is links 'pencil error formula' -0.5
# The measured time adds 98 ms to the local 4 ms, and the formulas add 46 and 55 ms to 5 ms.
is links 'pencil added_error formula' "$(awk 'BEGIN { print 46 / 98 - 1 }')"
is links 'pencil added_error with_costs' "$(awk 'BEGIN { print 55 / 98 - 1 }')"
# A round trip of 5 ms from the table: 5 + 3 * 5 + 40 = 60 ms, as measured.
is ping round_trip_s 0.005
is ping 'pencil error formula' 0
# A row without a local time has no added time, so it has no error of the added time.
grep -A 16 '"row": "ping"' "$scratch.out" | grep -q '"added_error": {"farwire": null, "formula": null' ||
	complain "ping has an error of the added time"
# A time that is shorter than the local 5 ms counts as if forwarding added 2 % of them, and the formula adds 46 ms.
is less 'pencil added_error formula' "$(awk 'BEGIN { print 46 / 0.1 - 1 }')"
verdict 'pencil.formulas_have_the_numbers_derived_by_hand'

# A ratio of 0.05 is a step of 20 local ones, so it adds 19. The formula's step of 51 ms is 10.2 local ones and adds 9.2.
printf 'net\tratio\trole\nlinks\t0.05\ttest\n' >ratios.tsv
sed 's/rows.tsv/ratios.tsv/; s/value = "ms".*native = "local"/value = "ratio"; quantity = "ratio"/; s/round_trip = "ping"; //' rows.cfg >ratios.cfg
expect 0 '' validate ratios.cfg --draws 0 -q --format json
is links 'pencil predicted formula' "$(awk 'BEGIN { print 5 / 51 }')"
is links 'pencil added_error formula' "$(awk 'BEGIN { print 9.2 / 19 - 1 }')"
verdict 'pencil.ratios_have_the_same_formulas'

# farwire's step of s adds s - 5 ms. The only errors of the added time in test rows are those of `links`.
expect 0 '' validate rows.cfg --draws 0 -q --format json
awk -v s="$(sed -n 's/.*"predicted": {"farwire": \([0-9.]*\),.*/\1/p' "$scratch.out" | head -n 1)" '
function percent(ratio) { return sprintf("%.1f %%", 100 * (ratio - 1)) }
BEGIN {
	s *= 1000
	print percent(sqrt(102 / s * 60 / s)) " 41.4 % 39.8 % with costs " percent(98 / (s - 5)) " 113.0 % 78.2 %"
	print percent(60 / s) " 0.0 % 15.0 % formula " percent(56 / (s - 5)) " 1.8 % 14.3 %"
}' >wanted
# The formula is 51 and 60 ms for 102 and 60 ms: the geometric mean error is the root of 2. With costs 60 and 69 ms: the
# root of 1.7 times 1.15. The fit row's added time of 56 ms becomes 55 ms.
expect 0 '' validate rows.cfg --draws 0 -q
tr -s ' ' <"$scratch.out" | grep -E '^(role=|all )' >lines
{
	sed -n 's/^/role=test test 2 /; 1p' wanted
	sed -n 's/^/role=fit fit 1 /; 2p' wanted
	sed -n 's/^/all fit 1 /; 2p' wanted
	sed -n 's/^/all test 2 /; 1p' wanted
} | cmp -s - lines || complain "the lines are $(cat lines), not $(cat wanted)"
expect 0 '' validate rows.cfg --draws 0 -q --format csv
shows 'ping,test,.*,0\.150'
farwire report rows.cfg --draws 0 -q -o page.html
grep -q 'with costs' page.html || complain "the page does not have the formulas"
verdict 'pencil.groups_are_summed_up_in_table_and_page'

sed 's/answered = "1 ms"/answered = "1 MB"/' rows.cfg >bad.cfg
expect 2 'bad.cfg:[0-9]+: .*pencil.answered' validate bad.cfg
sed 's/round_trip = "ping"/round_trip = "pong"/' rows.cfg >bad.cfg
expect 2 "no column 'pong'" validate bad.cfg
sed 's/local\tping/local\tping/; s/\tNA\ttest/\t-1\ttest/' rows.tsv >worse.tsv
sed 's/rows.tsv/worse.tsv/' rows.cfg >bad.cfg
expect 2 "round trip '-1'" validate bad.cfg
sed 's/\t4\t/\t0\t/' rows.tsv >worse.tsv
expect 2 "'0' is not a local measurement" validate bad.cfg
verdict 'pencil.wrong_keys_and_cells_are_refused'
