#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Unusable files: exit code 2, the place, what is wrong and what to write instead, no results.
cd "$(dirname "$0")/../.." || exit 2
# shellcheck source=tests/check.sh
. tests/check.sh
cd "$scratch" || exit 2
mkdir folder.cfg sub

# Writes a case file of one line with the text $1.
case_of() {
	printf 'case = { topology = "t320-same-esxi"; %s };\n' "$1" >case.cfg
}
# Writes a small topology, changed by the sed command in $1.
topology_of() {
	cat >whole.cfg <<'END'
topology = {
	name = "own";
	hosts = ( { name = "near"; }, { name = "far"; } );
	guests = ( { name = "client"; host = "near"; }, { name = "server"; host = "far"; } );
	gpus = ( { name = "gpu0"; host = "far"; profile = "gtx-1050ti"; } );
	links = ( { name = "slot"; kind = "pcie"; ends = ["far", "gpu0"]; lanes = 16; },
		{ name = "wire"; kind = "ethernet"; ends = ["client", "server"];
		  bandwidth = "1 Gbit/s"; latency = "5 us"; } );
};
END
	sed "$1" whole.cfg >own.cfg
}
own='run --topology own.cfg --draws 0 -q'

topology_of ''
# shellcheck disable=SC2086 # words of a command
expect 0 '' $own
verdict 'files.valid_topology_runs'

expect 2 '^missing\.cfg: cannot be read: No such file' run missing.cfg
expect 2 '^folder\.cfg: is a directory \(give a file\)' run folder.cfg
expect 2 '^missing\.cfg: .*No such file' check missing.cfg
expect 2 "^--topology: there is no topology 't320-same-esx' \(did you mean 't320-same-esxi'\?" \
	run --topology t320-same-esx
: >empty.cfg
expect 2 '^empty\.cfg: the file has no group .case' run empty.cfg
printf 'case\000' >binary.cfg
expect 2 '^binary\.cfg: is not a text file' run binary.cfg
verdict 'files.files_without_a_case_are_refused'

printf 'case = {\n\ttopology = "t320-same-esxi"\n\tbatch = ;\n};\n' >case.cfg
expect 2 '^case\.cfg:3: a value is missing' run case.cfg
printf 'case = {\n\ttopology = "t320-same-esxi;\n};\n' >case.cfg
expect 2 '^case\.cfg:2: .*not closed' run case.cfg
printf 'case = {\n\ttopology = "t320-same-esxi";\n' >case.cfg
expect 2 '^case\.cfg:[0-9]+: ' run case.cfg
case_of 'batch = 8; batch = 16;'
expect 2 "^case\.cfg:1: 'batch' is set twice" run case.cfg
verdict 'files.syntax_errors_have_their_line'

printf '@include "b.cfg"\n' >a.cfg
printf '# first\n@include "a.cfg"\n' >b.cfg
expect 2 '^b\.cfg:2: @include "a\.cfg": this file includes itself' run a.cfg
printf '@include "self.cfg"\n' >self.cfg
expect 2 '^self\.cfg:1: @include "self\.cfg": this file includes itself' run self.cfg
printf '\n@include "sub/inner.cfg"\n' >a.cfg
expect 2 '^a\.cfg:2: @include "sub/inner\.cfg": .*No such file' run a.cfg
printf 'case = {\n\ttopology = "t320-same-esxi"; bach = 8;\n};\n' >sub/inner.cfg
expect 2 "^sub/inner\.cfg:2: case: unknown key 'bach' \(did you mean 'batch'\?" run a.cfg
verdict 'files.wrong_includes_are_refused_with_their_line'

case_of 'bach = 8;'
expect 2 "^case\.cfg:1: case: unknown key 'bach' \(did you mean 'batch'\?\)" run case.cfg
printf 'cas = { topology = "t320-same-esxi"; };\n' >case.cfg
expect 2 '^case\.cfg: the file has no group .case' run case.cfg
printf 'case = { topology = "t320-same-esxi"; };\nlinks = { };\n' >case.cfg
expect 2 "^case\.cfg:2: unknown key 'links'" run case.cfg
topology_of 's/lanes/lane/'
# shellcheck disable=SC2086
expect 2 "^own\.cfg:6: link 'slot': unknown key 'lane' \(did you mean 'lanes'\?\)" $own
verdict 'files.unknown_keys_get_a_suggestion'

printf 'x = 1;\n' >none.cfg
# A row has a sed command that breaks own.cfg, and the expected message.
# shellcheck disable=SC2086
while IFS='|' read -r edit message; do
	topology_of "$edit"
	expect 2 "$message" $own
done <<'END'
s/"1 Gbit.s"/"1 us"/|^own\.cfg:8: link 'wire': bandwidth = "1 us" is a time, not a bandwidth \(write for example
s/"1 Gbit.s"/"-1 Gbit\/s"/|^own\.cfg:8: link 'wire': bandwidth = "-1 Gbit/s" is out of range \(write a bandwidth from
s/"1 Gbit.s"/"1 Gbits"/|^own\.cfg:8: link 'wire': bandwidth = "1 Gbits" has an unknown unit
s/"1 Gbit.s"/1000000000/|^own\.cfg:8: link 'wire': bandwidth = 1000000000 has no unit \(write a bandwidth
s/"5 us"/"5"/|^own\.cfg:8: link 'wire': latency = "5" has no unit \(write a time
s/"5 us"/"nan us"/|^own\.cfg:8: link 'wire': latency = "nan us" is not a time
s/"5 us"/"5 us"; loss = 1.5/|^own\.cfg:8: link 'wire': loss = 1\.5 is out of range \(write a ratio from 0 to 1
s/"5 us"/["5 us"]/|^own\.cfg:8: link 'wire': latency is a list, not a value
s/lanes = 16/lanes = 2.5/|^own\.cfg:6: link 'slot': lanes = 2\.5 is not a whole number
s/lanes = 16/lanes = true/|^own\.cfg:6: link 'slot': lanes = true is not a plain number
s/lanes = 16/lanes = "16 GB"/|^own\.cfg:6: link 'slot': lanes = "16 GB" is a size, not a plain number
s/"pcie"/"pci"/|^own\.cfg:6: link 'slot': no kind of link is called 'pci' \(did you mean 'pcie'
s/"far", "gpu0"/"far", "gpu9"/|^own\.cfg:6: link 'slot': no host, guest, gpu or switch is called 'gpu9' \(did you mean 'gpu0'
s/host = "far"; profile/host = "fra"; profile/|^own\.cfg:5: there is no host 'fra' \(did you mean 'far'
s/gtx-1050ti/gtx-1050t/|^own\.cfg:5: there is no GPU profile 'gtx-1050t' \(did you mean 'gtx-1050ti'
s/name = "server"/name = "client"/|^own\.cfg:4: guest 'client': the name is already in use
s/hosts = .*/hosts = { name = "near"; };/|^own\.cfg:3: topology: hosts must be a list \(write hosts = \( \{ name
s/hosts = .*//|^own\.cfg:4: there is no host 'near', because the topology has no host at all
s/hosts =/switches = [1]; hosts =/|^own\.cfg:3: topology: switches must hold names \(write switches = \["tor"\]\)
s/"far", "gpu0"/"far", "far"/|^own\.cfg:6: link 'slot': both ends are 'far' \(write the names of two nodes\)
s/, "gpu0"\]/]/|^own\.cfg:6: link 'slot': it must have two ends \(write ends = \["a", "b"\]\)
s/kind = "pcie"; //|^own\.cfg:6: link: kind is missing \(write kind = "\.\.\."\)
s/"slot"/""/|^own\.cfg:6: link '': a name must not be empty or contain '\*', '=' or ',' \(write name = "a0"
s/"slot"/"sl*t"/|^own\.cfg:6: link 'sl\*t': a name must not be empty or contain
s/hosts =/switches = ["a=b"]; hosts =/|^own\.cfg:3: switch 'a=b': a name must not be empty or contain
s/"far"/"f,r"/g|^own\.cfg:3: host 'f,r': a name must not be empty or contain
s/name = "slot"; //|^own\.cfg:6: link: name is missing \(write name = "\.\.\."\)
s/gtx-1050ti/none.cfg/|none\.cfg: GPU profile 'none\.cfg': its file has no group `gpu = \{ \.\.\. \}`
s/^topology/toplogy/|^own\.cfg: the file has no group `topology = \{ \.\.\. \}`
END
verdict 'files.wrong_values_of_a_topology_are_refused_with_their_line'

{
	echo 'case = { topology = "t320-same-esxi";'
	i=0
	while [ $i -lt 21 ]; do
		i=$((i + 1))
		echo "key$i = $i;"
	done
	echo '};'
} >case.cfg
expect 2 "^case\.cfg:21: case: unknown key 'key20'" run case.cfg
[ "$(wc -l <"$scratch.err")" = 21 ] || complain "$(wc -l <"$scratch.err") lines for 21 errors"
tail -n 1 "$scratch.err" | grep -q 'and 1 more' || complain 'the 21st error is not counted'
verdict 'files.errors_beyond_twenty_are_counted'

topology_of ''
# shellcheck disable=SC2086 # a list of arguments
farwire $own -o sub/results.json
[ "$code" = 0 ] && [ -s sub/results.json ] || complain "no results in the folder: $(cat "$scratch.err")"
# shellcheck disable=SC2086
expect 1 'missing/results\.json' $own -o missing/results.json
verdict 'files.results_are_written_into_existing_folders'
rm own.cfg

expect 2 '^case\.cfg:2: ' check own.cfg case.cfg missing.cfg
grep -q '^missing\.cfg: ' "$scratch.err" || complain 'check: stops at the first bad file'
expect 2 '^none\.cfg: the file has none of the groups case, topology, machine' check none.cfg
expect 0 '' check "$FARWIRE_DATA/models/runtimes/synchronous.cfg"
shows 'synchronous\.cfg: no errors in this runtime'
# A recording of a probe is read as one, and is not the recording of a program.
log=$FARWIRE_DATA/tests/samples/logs/oci-h100.txt
if [ -r "$log" ]; then
	farwire import log "$log" -q -o probe.jsonl
	expect 0 '' check probe.jsonl
	shows 'probe\.jsonl: no errors in this recording of 5 points'
	expect 2 "^probe\.jsonl:1: the format of the file is 'farwire-samples', not farwire-calls" \
		run --topology lan-pair -q --calls probe.jsonl
	sed 's/"samples": \[/"samples": [-1, /' probe.jsonl >wrong.jsonl
	expect 2 '^wrong\.jsonl:2: ' check wrong.jsonl
fi
expect 2 "case 'nosuch\.cfg' cannot be read: there is no such file" explain nosuch.cfg
verdict 'files.check_reports_every_file'

# Draws and local runs read a file again, so a pipe would give them nothing.
printf 'case = { topology = "lan-pair"; };\n' | "$FARWIRE" run /dev/stdin -q >pipe.out 2>pipe.err && complain 'a pipe is accepted'
grep -qF '/dev/stdin: cannot be read twice (name a file, not a pipe)' pipe.err || complain "a pipe gives $(cat pipe.err)"
printf '0 10 5\n' | "$FARWIRE" run --topology dgx-h100 --model llama3-8b -q --serve list=/dev/stdin >pipe.out 2>pipe.err &&
	complain 'a pipe of requests is accepted'
grep -qF "'/dev/stdin' cannot be read: it is a pipe or a device, which may never end (name a file)" pipe.err || complain "a pipe gives $(cat pipe.err)"
verdict 'files.pipes_that_would_be_read_twice_are_refused'

# A pipe without a writer and a device without an end would make farwire wait for ever.
mkfifo waiting
printf 'dataset = { table = "waiting"; case = { topology = "lan-pair"; }; };\n' >piped.cfg
for words in 'run --topology lan-pair -q --calls waiting' 'run --topology lan-pair -q --calls /dev/zero' \
	'fit waiting.jsonl' 'validate piped.cfg -q'; do
	ln -sf waiting waiting.jsonl
	# shellcheck disable=SC2086 # words of a command
	timeout 20 "$FARWIRE" $words >pipe.out 2>pipe.err
	code=$?
	[ $code = 2 ] && grep -q 'it is a pipe or a device, which may never end (name a file)' pipe.err ||
		complain "$words: ended with $code, $(head -n 1 pipe.err)"
done
rm -f waiting waiting.jsonl piped.cfg
verdict 'files.inputs_without_an_end_are_refused'

# Tables may begin with a byte order mark.
printf '\357\273\277case.batch\tms\n8\t1\n' >mark.tsv
cat >mark.cfg <<'END'
dataset = { name = "mark"; title = ""; source = ""; table = "mark.tsv"; value = "ms"; role = "test"; label = ["case.batch"];
	settings = ["case.topology=lan-pair"]; columns = ( { column = "case.batch"; setting = "case.batch"; } ); };
END
expect 0 '' check mark.cfg
printf '\357\273\277time\tprompt\toutput\n0\t10\t5\n' >mark.tsv
expect 0 '' run --topology dgx-h100 --model llama3-8b -q --draws 0 --serve list=mark.tsv
verdict 'files.tables_may_begin_with_a_byte_order_mark'

# A copy of the program without the folders of shipped data.
cp "$FARWIRE" alone
(
	unset FARWIRE_DATA
	./alone run case.cfg
) >alone.out 2>alone.err && complain 'the program runs without shipped data'
grep -q 'near the program (set FARWIRE_DATA to the folder' alone.err ||
	complain "without shipped data the error is $(cat alone.err)"
# An empty variable is as good as none.
FARWIRE_DATA='' "$FARWIRE" list topologies --plain >list.out 2>list.err && [ -s list.out ] ||
	complain "with an empty FARWIRE_DATA the error is $(cat list.err)"
verdict 'files.missing_shipped_data_are_reported'
