#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# The documents' statements about published remote GPUs hold in the predictions of `farwire
# validate`: errors of test rows, verdicts, claims, exit codes. The commands of the gallery work.
# Its numbers are tested in tests/recorded/accuracy.sh and tests/analytic/what_ifs.sh;
# tools/images draws its plots.
cd "$(dirname "$0")/../.." || exit 2
# shellcheck source=tests/check.sh
. tests/check.sh
gallery=$PWD/docs/GALLERY.md
cd "$scratch" || exit 2

# Lines of the CSV, without the carriage returns of RFC 4180. Only the last field of a row can
# have a comma.
expect 0 '' validate flexdirect_1050ti --draws 0 -q --format csv
tr -d '\r' <"$scratch.out" >rows.csv

# rows CASE ROLE LIMIT COUNT: checks that COUNT numeric rows of this case and role exist and are
# within LIMIT.
rows() {
	awk -F, -v like="^$1" -v role="$2" -v limit="$3" -v wanted="$4" '
	$1 == "flexdirect_1050ti" && $2 ~ like && $3 == role && $4 !~ /^FAIL/ {
		count++
		error = $5 / $4 - 1
		if ($9 != "ok" || error > limit || error < -limit || $8 - error > 1e-9 || error - $8 > 1e-9)
			printf "  %s: %s for %s (%s)\n", $2, $5, $4, $9
		else
			good++
	}
	END { exit !(count == wanted && good == wanted) }' rows.csv ||
		complain "$1: there are not $4 $2 rows within $3"
}

rows 'local ' test 0.005 4
rows 'same_esxi tuned=yes batch=16' test 0.03 1
rows 'same_lan tuned=(no|yes) batch=16' test 0.20 2
rows '' test 0.20 7
verdict 'claims.test_rows_are_within_their_limits'

rows 'baseline ' fit 0.005 2
rows '' fit 0.03 7
verdict 'claims.fit_rows_are_within_three_percent'

# The runtime and the time limit are the same; only the wire differs.
[ "$(grep -c '^flexdirect_1050ti,different_lan .*,test,FAIL:connection_timeout,,,,,.*timeout' rows.csv)" = 4 ] ||
	complain "different_lan: $(grep different_lan rows.csv)"
[ "$(grep -c '^flexdirect_1050ti,same_lan .*,ok,throughput,images/s,' rows.csv)" = 4 ] || complain "same_lan: $(grep same_lan rows.csv)"
verdict 'claims.verdicts_agree_with_the_measurement'

# In seconds, forwarding costs more at batch 16 than at batch 32.
awk -F, '$1 == "flexdirect_1050ti" && / tuned=no / { split($2, word, "[ =]"); step[word[1] word[5]] = word[5] / $5 }
END { exit !(step["same_esxi16"] - step["baseline16"] > step["same_esxi32"] - step["baseline32"]) }' rows.csv ||
	complain 'same_esxi loses no more at batch 16'
verdict 'claims.forwarding_costs_more_at_the_smaller_batch'

expect 0 '' validate flexdirect_1050ti bitfusion_networks --draws 0 -q
[ "$(grep -c '^holds ' "$scratch.out")" = 7 ] || complain "$(grep -c '^holds ' "$scratch.out") claims hold, not 7"
if grep '^BROKEN' "$scratch.out"; then complain 'a claim is broken'; fi
shows '^verdicts: 4 of 4 agree$'
shows '^6 fitted parameters, 7 fit rows in this dataset:$'
verdict 'claims.published_claims_hold'

# The commands of the gallery and of the pages of what-ifs (those with an indent of four blanks)
# work unchanged and draw the plots that are shown. The test leaves out commands that measure
# this machine or use such measurements.
awk '/^    build\/farwire / || more { sub(/^ *(build\/farwire )?/, ""); more = sub(/\\$/, ""); printf "%s%s", $0, more ? "" : "\n" }' \
	"$gallery" "${gallery%/*}"/models/what-ifs*.md | grep -vE '^calibrate|calibration/|calls\.jsonl' >lines.txt
[ "$(wc -l <lines.txt)" -ge 4 ] || complain "few commands: $(cat lines.txt)"
while read -r line; do
	eval "farwire $line"
	[ "$code" = 0 ] || complain "$line: ended with $code"
	# A slow machine may print its progress.
	! grep -vE '^[0-9]+ of [0-9]+ points' "$scratch.err" || complain "$line: printed these messages"
	plot=$(echo "$line" | sed -nE 's/.*--plot ([^ ]+).*/\1/p')
	[ -z "$plot" ] || cmp "$plot" "${gallery%/*}/images/$plot" ||
		complain "docs/images/$plot differs (tools/images draws it again)"
done <lines.txt
verdict 'claims.commands_of_the_gallery_work'

for jobs in 1 2; do
	expect 0 '' validate flexdirect_1050ti --draws 1 -q --format json --jobs $jobs
	cp "$scratch.out" jobs$jobs.json
done
cmp -s jobs1.json jobs2.json || complain '--jobs 2 changes the result'
grep -q '"holds": true' jobs1.json || complain 'the JSON has no claim'
if grep '"holds": false' jobs1.json; then complain 'the JSON has a broken claim'; fi
verdict 'claims.number_of_threads_does_not_change_results'

cat >own.cfg <<'END'
dataset = { name = "own"; title = "one claim"; source = "invented";
	settings = ["case.topology=t320-same-esxi", "case.batch=8", "case.program=client", "case.server=server"];
	dimensions = ( { name = "runtime"; values = (
		{ is = "synchronous"; settings = ["case.runtime=synchronous"]; },
		{ is = "asynchronous"; settings = ["case.runtime=asynchronous"]; } ); } );
	claims = ( { claim = "sending ahead is better"; kind = "first"; dimension = "runtime"; value = "asynchronous"; } );
};
END
expect 0 '' validate own.cfg --draws 0 -q
shows '^holds : sending ahead is better'
sed 's/"first"/"last"/' own.cfg >false.cfg
expect 3 '' validate false.cfg --draws 0 -q
shows '^BROKEN: sending ahead is better'
expect 3 '' validate false.cfg --draws 0 -q --format json
shows '"holds": false'
expect 3 '' validate own.cfg false.cfg --draws 0 -q -o both.txt
grep -q '^BROKEN' both.txt || complain 'validate wrote no file with the broken claim'
verdict 'claims.broken_claim_ends_with_3'
