#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Unusable recordings and logs: exit code 2, the line, no profile. (tests/unit/test_recording.c
# tests more errors of recordings.)
cd "$(dirname "$0")/../.." || exit 2
# shellcheck source=tests/check.sh
. tests/check.sh
cd "$scratch" || exit 2
mkdir folder.jsonl

head='{"format":"farwire-samples","version":1,"tool":"t","date":"d","seed":1,"mode":"quick","passes":1,"host":{"cpu":"c"},"gpu":{"name":"G"}}'
# point SIZE SAMPLES
point() {
	echo '{"test":"copy","is":{"direction":"h2d","memory":"pinned","call":"async","measure":"rate"},"x":{"size_B":'"$1"'},"pass":0,"t_s":1,"unit":"s","samples":['"$2"'],"stop":"count","held_out":false}'
}

expect 2 '^missing\.jsonl: the file cannot be read: No such file' fit missing.jsonl
expect 2 '^folder\.jsonl: the file cannot be read' fit folder.jsonl
mkfifo pipe.jsonl
expect 2 '^pipe\.jsonl: the file cannot be read: it is a pipe' fit pipe.jsonl
: >empty.jsonl
expect 2 '^farwire: a log needs its machine .write --topology NAME; ' diagnose "$FARWIRE_DATA/tests/samples/logs/oci-h100.txt"
expect 2 '^empty\.jsonl: the file is empty' fit empty.jsonl
echo "$head" >x.jsonl
expect 2 '^x\.jsonl: the file has no samples' fit x.jsonl
{ printf "\001"; head -c 100000 /dev/urandom; } >noise.jsonl # the first byte is not JSON
expect 2 '^noise\.jsonl:1: ' fit noise.jsonl
{ echo "$head"; point 64 '1e-6,nan'; } >x.jsonl
expect 2 '^x\.jsonl:2: ' fit x.jsonl
{ echo "$head"; point 64 '-1e-6'; } >x.jsonl
expect 2 '^x\.jsonl:2: sample 1 of .copy. must not be negative' fit x.jsonl
{ echo "$head"; point 64 '1e12'; } >x.jsonl
expect 2 '^x\.jsonl:2: sample 1 of .copy. gives 1e\+12 s' fit x.jsonl
{ echo "$head"; point 64 '0,1e-320'; } >x.jsonl
expect 2 '^x\.jsonl:2: sample 2 of .copy. gives' fit x.jsonl
{ echo "$head"; point 1e300 '1e-6'; } >x.jsonl
expect 2 '^x\.jsonl:2: size_B is 1e\+300' fit x.jsonl
{ echo "$head"; point 0.5 '1e-6'; } >x.jsonl
expect 2 '^x\.jsonl:2: size_B must be a whole number of bytes, not 0\.5' fit x.jsonl
echo "$head" | sed 's/"version":1/"version":7/' >x.jsonl
expect 2 '^x\.jsonl:1: the recording has version 7' fit x.jsonl
verdict 'recordings.malformed_recordings_are_refused_with_their_line'

{ echo "$head"; point 64 1e-6,1e-6; } >x.jsonl
expect 2 'this recording determines no parameter' fit x.jsonl
{ echo "$head"; point 64 1e-6; point 64 1e-6; } >x.jsonl
expect 2 '^x\.jsonl:3: line 2 already has this point and pass of .copy.' fit x.jsonl
{ echo "$head"; for size in 1 2 4 8 16 32 64 128; do point $size 0; done; } >x.jsonl
expect 2 'this recording determines no parameter' fit x.jsonl
# Times that do not grow with the size give a start time and no bandwidth.
{ echo "$head"; for size in 1 2 4 8 16 32 64 128; do point $size 1e-6; done; } >x.jsonl
expect 0 '' fit x.jsonl -q
grep -q 'dma\.efficiency"' "$scratch.out" && complain 'equal times gave a bandwidth'
verdict 'recordings.too_few_points_give_no_parameter'

expect 2 'is not a recording \(\.jsonl\)' fit x.jsonl v100
expect 1 'cannot write' fit x.jsonl -q -o nowhere/x.cfg
verdict 'recordings.wrong_arguments_are_refused'

echo hello >log
for kind in nccl-tests nvbandwidth perftest iperf3; do
	expect 2 "^log:1: no results of $kind" import $kind log
done
expect 2 'did you mean .iperf3.' import iperf log
expect 2 '^farwire: import: there must be one file, not 2' import iperf3 log log
printf 'a\0b\n' >zero
expect 2 '^zero:1: this file is not a log, because it contains a zero byte' import nccl-tests zero
head -c 70000 /dev/zero | tr '\0' x >long
expect 2 '^long:1: this file is not a log, because a line is longer' import perftest long
echo '{"intervals":[{"sum":{"bits_per_second":1e999}}]}' >infinite
expect 2 '^infinite:1: a result is not a finite number' import iperf3 infinite
cat >one-rank <<'END'
#  Rank  0 Group  0 Pid  11 on  node device  0 [0x07] NVIDIA A100
#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong
        1024           256     float     sum      -1    20.50    0.05    0.00      0    20.11    0.05    0.00      0
END
expect 2 '^one-rank:3: there is one rank' import nccl-tests one-rank
{ cat one-rank; echo '   2048  12'; } >short
expect 2 '^short:4: the row has 2 columns' import nccl-tests short
sed 's/20\.50/fast/' one-rank >word
expect 2 "^word:3: the table needs a number here, not 'fast'" import nccl-tests word
echo '{"intervals":[' >torn
expect 2 '^torn:' import iperf3 torn
verdict 'recordings.malformed_logs_are_refused_with_their_line'

# A probe that fails ends the calibration, although its recording is complete. It gets the options of the command.
cat >probe <<END
#!/bin/sh
echo "\$@" >words
cp '$FARWIRE_DATA/tests/recorded/calibration/fake.jsonl' failed/gpu.jsonl
exit 2
END
chmod +x probe
for option in --quick --full; do
	rm -rf failed
	FARWIRE_PROBE=./probe "$FARWIRE" calibrate $option --budget 7 -q -o failed 2>"$scratch.err" && complain 'the probe failed, but not the calibration'
	grep -q 'ended with exit code 2; failed/gpu.jsonl keeps the samples' "$scratch.err" || complain "calibrate: $(cat "$scratch.err")"
	[ "$(cat words)" = "$option -o failed/gpu.jsonl --seed 1 --budget 7 -q" ] || complain "the probe got $(cat words)"
done
verdict recordings.failed_probe_ends_the_calibration
