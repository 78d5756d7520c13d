#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# The part of a report about a dataset: its answer, the captions of its tables and figures, and which row each
# figure shows. Measured numbers are set to known multiples of the predicted ones, so the errors are known.
cd "$(dirname "$0")/../.." || exit 2
# shellcheck source=tests/check.sh
. tests/check.sh
cd "$scratch" || exit 2

# page ENDING ARGS...: writes `page` with a line for each paragraph and each row of a table. The report ends with this code.
page() {
	ending=$1
	shift
	farwire report "$@" -q -o page.html
	[ "$code" = "$ending" ] || complain "report $* ended with $code: $(cat "$scratch.err")"
	sed '1,/<body>/d; s/<svg.*<\/svg>//; s/<\/t[dh]>/|/g; s/<[^>]*>//g; s/\xc2\xa0/ /g; s/−/-/g' page.html | grep . >page
}
line() {
	grep -qxF -- "$1" page || complain "no line '$1', but: $(grep -F -- "$(echo "$1" | cut -c 1-16)" page | head -n 2)"
}
no_text() {
	! grep -qF -- "$1" page.html || complain "the page has '$1'"
}
alarm() { # COUNT: so many answers are alarms
	[ "$(grep -c '<p class="answer alarm">' page.html)" = "$1" ] || complain "not $1 alarms: $(grep '"answer' page.html)"
}

cat >rows.cfg <<'END2'
dataset = { name = "rows"; title = "Rows"; source = "a test"; table = "rows.tsv";
	value = "rate"; role_column = "role"; label = ["place", "n"];
	settings = ["case.profile=flexdirect-1050ti", "case.server=server", "case.program=client", "case.runtime=flexdirect-1.11", "case.batch=16"];
	columns = ( { column = "place"; values = (
			{ is = "remote"; settings = ["case.topology=t320-same-esxi", "case.stack=tf-1.12"]; },
			{ is = "beside"; settings = ["case.topology=t320-same-esxi", "case.stack=tf-1.12", "case.program=server"]; },
			{ is = "far"; settings = ["case.topology=t320-different-lan", "case.stack=tf-1.12"]; } ); } ); };
END2
head='place\tn\trate\trole\n'
printf "${head}remote\t1\t1\treport\n" >rows.tsv
farwire validate rows.cfg --draws 0 -q --format csv
predicted=$(sed -n 's/^rows,remote n=1,report,1,\([0-9.]*\),.*/\1/p' "$scratch.out")
rows() { # ROLE:ERROR...: a row of each role whose prediction is too large by this percentage
	printf "$head" >rows.tsv
	for row; do
		awk -v n=$((n += 1)) -v p="$predicted" -v role="${row%:*}" -v error="${row#*:}" 'BEGIN { printf "remote\t%d\t%.9g\t%s\n", n, p / (1 + error / 100), role }' >>rows.tsv
	done
	n=0
}

# The medians differ from the means and from the largest errors.
rows test:2 test:-10 test:3 fit:1 fit:-4
page 0 rows.cfg --draws 0
line 'The median error is 3.0 % (largest 10 %) on 3 test rows, and 2.5 % (largest 4.0 %) on 2 fit rows. '
line 'Measured and predicted images/s of each row. Source: a test.'
alarm 0
no_text 'There are no intervals'
rows fit:-2
page 0 rows.cfg --draws 0
line 'The median error is 2.0 % (largest 2.0 %) on 1 fit row. '
rows test:4 test:6
page 0 rows.cfg --draws 2
line 'The median error is 5.0 % (largest 6.0 %) on 2 test rows. '
no_text 'Intervals are from only'
grep -qF '>farwire ' page.html && grep -qF ', rows, seed 1, 90 % intervals from 2 draws, profiles flexdirect-1050ti, gtx-1050ti, configuration ' page.html ||
	complain "captions: $(grep -o '>farwire [^<]*' page.html)"
sed 's/title = "Rows"/& ; draws = 0/' rows.cfg >few.cfg
page 0 few.cfg
line 'There are no intervals, because these rows take long; --draws adds them.'
cp rows.cfg twin.cfg
page 0 rows.cfg twin.cfg --draws 0
grep -q 'The rows of 2 measured datasets\. Points' page || complain 'no figure of all rows'
# A measured failure that is predicted raises no alarm, and a wrong prediction does.
printf "${head}far\t1\tFAIL:timeout\ttest\n" >rows.tsv
page 0 rows.cfg --draws 0
line '1 of 1 measured failures are predicted. '
alarm 0
grep -q '<tr class="alarm">' page.html && complain 'a failure that was measured is an alarm'
printf "${head}far\t1\tFAIL:timeout\ttest\nremote\t2\tFAIL:timeout\ttest\n" >rows.tsv
page 0 rows.cfg --draws 0
line '1 of 2 measured failures are predicted. '
alarm 1
verdict 'report_datasets.answer_has_median_and_largest_errors_of_each_role'

# Two quantities in one table: the step of 16 images is 16 / throughput.
awk -v p="$predicted" 'BEGIN { printf "place\tn\twhat\trate\trole\nremote\t1\tspeed\t%.9g\ttest\nremote\t2\tstep\t%.9g\ttest\n", p / 1.25, 16 / p / 0.8 }' >rows.tsv
sed 's/value = "rate";/& quantity_column = "what"; quantities = ( { is = "speed"; quantity = "throughput"; }, { is = "step"; quantity = "time"; } );/' rows.cfg >two.cfg
page 0 two.cfg --draws 0
line 'Measured and predicted numbers of each row. Source: a test.'
awk -v p="$predicted" 'BEGIN { printf "remote n=1|test|throughput|%.4g|%.4g|none|+25.0 %%|network-bound|\n", p / 1.25, p }' >wanted
grep -qxF -f wanted page || complain "no $(cat wanted), but: $(grep '^remote n=1' page)"
grep -qE '^remote n=2\|test\|time\|[0-9.]+ (ms|s)\|[0-9.]+ (ms|s)\|none\|-20.0 %\|network-bound\|$' page || complain "a time: $(grep '^remote n=2' page)"
[ "$(grep -c 'Predicted against measured [a-z]' page.html)" = 2 ] && grep -q 'Predicted against measured time in us' page.html || complain 'not one figure of each quantity'
verdict 'report_datasets.rows_of_two_quantities_have_their_own_units'

# A claim and a bound. Only rows that are judged count in the answer.
cat >grid.cfg <<'END2'
dataset = { name = "grid"; title = "Grid"; source = "a test"; settings = ["case.stack=tf-1.12", "case.runtime=flexdirect-1.11",
		"case.profile=flexdirect-1050ti", "case.server=server", "case.program=client", "case.topology=t320-same-esxi"];
	dimensions = ( { name = "wire"; values = ( { is = "near"; }, { is = "long"; settings = ["link.vswitch.latency=1 ms"]; },
			{ is = "cut"; settings = ["case.topology=t320-different-lan"]; } ); },
		{ name = "batch"; values = ( { is = "32"; settings = ["case.batch=32"]; }, { is = "16"; settings = ["case.batch=16"]; },
			{ is = "8"; judged = false; settings = ["case.batch=8"]; } ); } );
	claims = ( { claim = "few"; kind = "range"; high = 0.99; where = { wire = "near"; }; } ); };
END2
page 0 grid.cfg --draws 0
ratio() { # WIRE BATCH: the ratio in the table
	sed -n "s/^$1|$2|[0-9.]*|\([0-9.]*\)|.*/\1/p" page
}
line "Predicted ratio to local: near $(ratio near 16) to $(ratio near 32); long $(ratio long 16) to $(ratio long 32); cut fails. The bound holds: few."
[ -n "$(ratio near 8)" ] || complain 'the table has no rows that are not judged'
grep -q '^Throughput relative to the local GPU for every combination\. Source of the claims: a test\. Setup: network resnet50; ' page ||
	complain "caption: $(grep 'for every combination' page)"
# Both batches of a wire are equal: the answer has one number.
sed 's/case.batch=16/case.batch=32/' grid.cfg >one.cfg
page 0 one.cfg --draws 0
line "Predicted ratio to local: near $(ratio near 32); long $(ratio long 32); cut fails. The bound holds: few."
sed 's/claims = (/& { claim = "none"; kind = "range"; high = 0.01; where = { wire = "near"; }; },/' grid.cfg >broken.cfg
page 3 broken.cfg --draws 0
grep -q '; cut fails\. 1 of 2 claims holds; broken: none\.$' page || complain "claims: $(grep 'broken:' page)"
alarm 1
sed 's/claims = (/& { claim = "some"; kind = "range"; low = 0.5; where = { wire = "near"; }; },/' grid.cfg >both.cfg
page 0 both.cfg --draws 0
grep -q '; cut fails\. All 2 claims of the source hold\.$' page || complain "claims: $(grep 'claims of the source' page)"
# The code is 3 if any of two datasets has a broken claim, and each part is drawn with its own caption.
page 3 broken.cfg both.cfg --draws 0
no_text 'All measured rows'
[ "$(grep -o '>farwire [^<]*, broken, seed' page.html | wc -l)" -ge 1 ] && [ "$(grep -o '>farwire [^<]*, both, seed' page.html | wc -l)" -ge 1 ] ||
	complain "captions: $(grep -o '>farwire [^<]*, seed' page.html | sort | uniq -c)"
verdict 'report_datasets.ranges_count_judged_rows_and_claims_decide_the_exit_code'

# The timeline is that of the first row that crosses a link and works.
rows test:1
printf 'beside\t7\t20\ttest\nfar\t8\tFAIL:timeout\ttest\nremote\t9\t30\ttest\n' | cat - rows.tsv | sed '/^place/d' | sed "1i place\tn\trate\trole" >all.tsv
mv all.tsv rows.tsv
page 0 rows.cfg --draws 0
[ "$(grep -o 'One steady step of [^<]*' page.html | sort -u)" = 'One steady step of remote n=9' ] || complain "timeline: $(grep -o 'One steady step of [^<]*' page.html)"
# Each topology has one table of links: that of the first row that crosses a link.
grep -o 'utilisation in [^.]*\.' page >links
printf 'utilisation in remote n=9.\nutilisation in far n=8 (a failed run).\n' | cmp -s - links || complain "links: $(cat links)"
grep -q '<text[^>]*>far n=8<' page.html || complain 'the failed row has no place among the step times'
verdict 'report_datasets.figures_show_the_first_row_that_crosses_a_link_and_works'

# A dataset of collectives has no parts of a step.
printf 'size\tbandwidth\trole\n1MiB\t50\ttest\n4MiB\t90\ttest\n' >sizes.tsv
cat >sizes.cfg <<'END2'
dataset = { name = "sizes"; title = "Sizes"; source = "a test"; table = "sizes.tsv"; value = "bandwidth"; role_column = "role"; label = ["size"];
	quantity = "throughput"; settings = ["case.topology=dgx1-v100", "case.collective=all_reduce", "case.gpus=4", "case.exchange=nccl-2.18"];
	columns = ( { column = "size"; setting = "case.collective_size"; } ); };
END2
page 0 sizes.cfg --draws 0
no_text 'Parts of the step'
verdict 'report_datasets.collectives_have_no_parts_of_a_step'

# Captions of what-ifs of a job and of programs. A case after a dataset has the caption of the whole page again.
cat >what.cfg <<'END2'
dataset = { name = "what"; title = "What"; settings = ["case.topology=gpu-pool", "case.stack=tf-1.12", "case.exchange=ddp"];
	dimensions = ( { name = "gpus"; setting = "case.gpus"; values = ["2", "4"]; } ); };
END2
page 0 what.cfg quarter-gpu --draws 0
grep -q '^The prediction for every combination\. Scaling efficiency is relative to ideal linear scaling\. Exposed' page || complain 'no caption of a job'
grep '>farwire ' page.html | grep -o '>farwire [^<]*' | tail -n 1 | grep -q 'what, seed' && complain 'a case has the caption of a dataset'
sed 's/, "case.exchange=ddp"//; s/case.gpus/case.batch/' what.cfg >programs.cfg
page 0 programs.cfg --draws 0
grep -q '^The prediction for every combination\. Setup: ' page || complain "the caption of programs: $(grep 'for every combination' page)"
verdict 'report_datasets.what_if_of_a_job_explains_efficiency'
