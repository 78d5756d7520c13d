#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# The shipped datasets of forwarded programs: their call files come again from programs.txt, local steps are as long as
# measured, and roles are those of the tables' headers.
set -u
# shellcheck source=tests/check.sh
. "${0%/*}/../check.sh"
root=$PWD
cd "$check_folder" || exit 2

mkdir calls
cp "$root/calib/measured/calls/programs.txt" calls
"$root/tools/calls" calls || complain "tools/calls failed"
for file in calls/*.jsonl; do
	cmp -s "$file" "$root/calib/measured/$file" || complain "$file differs from the shipped one"
done
[ "$(ls calls | wc -l)" -ge 25 ] || complain "only these files were written: $(ls calls)"
verdict 'remoting.call_files_come_again_from_their_description'

# The local steps of rows with a native time, in the order of the table. mrCUDA's copy of 1 KiB takes longer here.
expect 0 '' validate remoting_programs --draws 0 -q --format json
sed -n 's/.*"local_s": \(.*\),$/\1/p' "$scratch.out" >local
grep -v '^#' "$root/calib/measured/remoting_programs.tsv" | sed 1d | paste - local | awk -F '\t' '
	$6 == "NA" || $12 == "report" || $2 == "copy_1024_B" { next }
	{
		split($8, unit, "/")
		wanted = unit[1] == "samples" ? $4 / $6 : $6 * (unit[1] == "ms" ? 1e-3 : unit[1] == "us" ? 1e-6 : 1) / (unit[2] ? unit[2] : 1)
		rows++
		if (!($13 > 0.95 * wanted && $13 < 1.05 * wanted))
			print $1, $2, $3, $4 ": " $13 " s instead of " wanted
	}
	END { if (rows < 100) print rows " rows" }' >wrong
[ ! -s wrong ] || complain "local steps: $(head -n 3 wrong)"
verdict 'remoting.local_steps_are_as_long_as_measured'

# A simulation is worth its work only if its error is below that of both formulas on the test rows of a dataset.
for table in remoting_programs remoting_lupine flexdirect_1050ti live_forwarder live_lupine live_cricket; do
	expect 0 '' validate $table --draws 0 -q
	shows '^all +test +[0-9]+ .* farwire( |$)'
done
verdict 'remoting.test_rows_of_each_dataset_are_better_predicted_than_by_formulas'

for table in remoting_programs live_lupine live_cricket; do
	grep -v '^#' "$root/calib/measured/$table.tsv" | sed 1d | awk -F '\t' -v table=$table '
		{ network = $3; role = $NF }
		table == "remoting_programs" {
			fit = $1 ~ /^gpuless-(warm|process|2022)$/ && $2 != "alexnet" || $1 == "gpuless-call" || $1 == "mrcuda" || network == "veth" ||
				$2 == "copy_4_KiB"
		}
		table != "remoting_programs" { fit = network == "loopback" || network == "veth" }
		role != (fit ? "fit" : "test") && role != "report" { print table ": " $0 }' >wrong
	[ ! -s wrong ] || complain "role: $(head -n 3 wrong)"
done
verdict 'remoting.rows_have_the_roles_that_were_chosen_once'
