#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# The part of a report about one case: its sentence, its tables and its headings. The sentence is composed here
# from the rows of the page's own table (report_numbers.sh compares these with `run`), and the other texts are those of `run`.
cd "$(dirname "$0")/../.." || exit 2
# shellcheck source=tests/check.sh
. tests/check.sh
cd "$scratch" || exit 2

# page ARGS...: writes `page` with a line for each paragraph and each row of a table, and ``run.json`.
page() {
	farwire report "$@" -q -o page.html
	[ "$code" = 0 ] && ! [ -s "$scratch.err" ] || complain "report $*: $(cat "$scratch.err")"
	sed '1,/<body>/d; s/<svg.*<\/svg>//; s/<\/t[dh]>/|/g; s/<[^>]*>//g; s/&gt;/>/g' page.html | sed "s/&#39;/'/g" | grep . >page
	farwire run "$@" -q --format json -o run.json
}
# text_of ARGS...: writes `run.txt`, with one blank between cells.
text_of() {
	"$FARWIRE" run "$@" -q | sed 's/   */ /g; s/ *$//' >run.txt
}
text() { # KEY: the text behind a key of the prediction
	sed -n "s/^    \"$1\": \"\(.*\)\",*$/\1/p" run.json | head -n 1
}
# line TEXT: the page has exactly this line.
line() {
	grep -qxF -- "$1" page || complain "no line '$1', but: $(grep -F -- "$(echo "$1" | cut -c 1-24)" page | head -n 2)"
}
no_line() {
	! grep -qF -- "$1" page || complain "the page has '$1'"
}
# answer END: the sentence has all numbers of the table that matter most, in this order, and then END.
answer() {
	awk -F '|' -v name="$(text case)" -v end="$1" '
		NF == 4 && !($1 in value) { value[$1] = $2; range[$1] = $3 }
		END {
			count = split("throughput,bus bandwidth,ratio to local,speed-up,scaling efficiency,step time,time,mean latency,latency p99,training time", names, ",")
			for (i = 1; i <= count; i++)
				if (names[i] in value)
					text = text (text == "" ? "" : ",") " the " names[i] " is " value[names[i]] \
						(range[names[i]] == "none" ? "" : " (" range[names[i]] ")")
			print name ":" text "." end
		}' page >wanted
	grep -qxF -f wanted page || complain "no '$(cat wanted)' but: $(grep -m 1 ' the ' page)"
}
# rows FROM: the rows of the table of clients are those of `run`, from this heading on.
rows() {
	sed -n "/^$1 /,/^\$/p" run.txt | grep -v -- '^---\|^$' >wanted
	sed -n "/^$1|/,\$p" page | sed '/|/!q' | sed '/|/!d; s/|$//; s/|/ /g' >got
	[ -s wanted ] && cmp -s got wanted || complain "rows of $1: $(cat got), not $(cat wanted)"
}

set -- --topology gpu-pool --model alexnet --batch 1 --stack tf-1.12 --runtime asynchronous --program spread --gpu spread \
	--set case.copies=2 --draws 2
page "$@"
text_of "$@"
answer " Bottleneck: $(text bottleneck)."
line "Setup: $(sed -n 's/^setup: //p' run.txt)."
line "The prediction with 90 % intervals from 2 draws (seed 1); $(text evidence)."
line 'Each program.'
rows client
line 'The forwarded calls of a step by kind, the longest total time first.'
sed -n 's/.*"call": "\([^"]*\)".*/\1/p' run.json >wanted
sed -n '/^call|/,$p' page | sed '/|/!q' | sed 1d | sed -n 's/^\([A-Za-z]*\)|.*/\1/p' >got
[ "$(wc -l <wanted)" -gt 5 ] && cmp -s got wanted || complain "calls: $(cat got), not $(cat wanted)"
line "One steady step of $(text case): client0"
no_line 'Scaling to more GPUs'
verdict report_cases.programs_have_a_row_each_and_their_forwarded_calls

page --topology gpu-pool --stack tf-1.12 --draws 0 --seed 3
answer " Bottleneck: $(text bottleneck)."
line "The prediction without intervals (--draws 0); $(text evidence)."
for words in 'Each program.' 'forwarded calls' 'Scaling to more GPUs' 'Parts of the step time on the ranks'; do
	no_line "$words"
done
line "One steady step of $(text case)"
verdict report_cases.one_program_has_no_table_of_clients_and_of_calls

echo 'case = { name = "two jobs"; topology = "dgx1-v100"; model = "alexnet"; jobs = ( { name = "a"; gpus = 2; }, { name = "b"; gpus = 4; } ); };' >jobs.cfg
page jobs.cfg --draws 0
text_of jobs.cfg --draws 0
answer " Bottleneck: $(text bottleneck)."
line 'Each job.'
rows job
line 'One steady step of two jobs: a'
no_line 'Scaling to more GPUs'
page --topology dgx1-v100 --model alexnet --gpus 2 --exchange nccl-2.18 --draws 0
answer " Bottleneck: $(text bottleneck)."
line 'Scaling to more GPUs'
no_line 'Each job.'
grep -qF "<title>Scaling of $(text case)</title>" page.html || grep -qF ">Scaling of $(text case)<" page.html || complain 'the figure has no title'
page --topology dgx1-v100 --model alexnet --gpus 1 --exchange nccl-2.18 --draws 0
no_line 'Scaling to more GPUs'
verdict report_cases.jobs_scale_if_there_is_one_of_several_gpus

page --topology dgx-h100 --model gpt3-125m --gpus 4 --plan pp=4,global_batch=8 --draws 0
answer " Bottleneck: $(text bottleneck)."
no_line 'Scaling to more GPUs'
head=$(grep '^ranks|number|GPU memory (GB)|' page)
[ "$(sed -n '/^ranks|number/,$p' page | sed '/|/!q' | grep -c '|')" = 6 ] || complain "the table of four stages and the slowest rank: $head"
# Rows of stages have one rank each, and the parts of a row add up to the step.
sed -n '/^ranks|number/,$p' page | sed '/|/!q' | sed 1d | awk -F '|' -v step="$(sed -n 's/.*"step": {"value": \([0-9.e-]*\),.*/\1/p' run.json | head -n 1)" '
	/\|/ { sum = 0; for (i = 4; i < NF; i++) sum += $i; if ($2 != 1 || sum > 1e3 * step + 0.06 || sum < 1e3 * step - 0.06) exit 1 }' ||
	complain 'the parts of a stage do not add up to the step'
verdict report_cases.plan_has_the_parts_of_each_stage

page --topology dgx1-v100 --collective all_reduce --gpus 4 --exchange nccl-2.18 --draws 0
answer " The library chose $(text choice)."
no_line 'Bottleneck'
no_line 'Parts of the step'
page serve-resnet50-t4 --draws 0
answer " Bottleneck: $(text bottleneck)."
no_line 'Each program.'
verdict report_cases.collective_names_the_choice_of_its_library

page --topology t320-different-lan --program client --runtime flexdirect-1.11 --set case.copies=2 --draws 0
line "$(text case) fails: $(text reason)."
grep -qF '<p class="answer alarm">' page.html || complain 'the failure is no alarm'
line 'Each program.'
for words in 'The prediction' 'One steady step' 'Bottleneck' 'forwarded calls'; do
	no_line "$words"
done
verdict report_cases.failed_case_has_its_reason_and_no_numbers
