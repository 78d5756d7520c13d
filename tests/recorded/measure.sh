#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Rehearses calib/measure. The real script and the real farwire-trace use the fake probe, with a
# python and an nvcc that write the expected output. Each part leaves its file. A part that
# fails, hangs or is missing does not affect the others.
set -u
cd "$(dirname "$0")/../.." || exit 2
# shellcheck source=tests/check.sh
. tests/check.sh
probe=$(cd "${FARWIRE%/*}" && pwd)/tests/farwire-probe-fake
if [ ! -x "$probe" ]; then
	echo "  no $probe"
	exit 77
fi

# The output of a recorded program.
cat >"$scratch/calls" <<'END'
{"format":"farwire-calls","version":1,"tool":"farwire-trace","program":"stub","gpu":"Fake"}
{"step":1,"t_s":0,"thread":0}
{"call":"cudaLaunchKernel","thread":0,"start_s":1e-5,"end_s":1.5e-5,"stream":7,"kernel_s":1e-3}
{"call":"cudaStreamSynchronize","thread":0,"start_s":2e-5,"end_s":1.1e-3,"stream":7}
{"step":2,"t_s":1.2e-3,"thread":0}
{"end":true,"lines":4,"memory_B":1048576,"dropped":0,"gpu":"Fake"}
END
cat >"$scratch/program" <<'END'
#!/bin/sh
[ -z "${STUB_REFUSES-}" ] || [ -z "${FARWIRE_CUPTI-}" ] || exit 4
[ -z "${FARWIRE_TRACE_FILE-}" ] || cp "$STUB/calls" "$FARWIRE_TRACE_FILE"
END
cat >"$scratch/python" <<'END'
#!/bin/sh
program=$2
case $1 in
*/kernels.py)
	[ "$*" = "$1 $2 --time 50 --parts attentions,products" ] || exit 2
	echo '{"format":"farwire-kernels","version":1,"gpu":"Fake"}' >"$2"
	exit 0
	;;
esac
if [ "$program" = check ]; then
	echo "$STUB/nvidia/cuda_cupti/lib/libcupti.so.12" # PyTorch's CUPTI
	exit "${STUB_CHECK:-0}"
fi
[ "$program" != "${STUB_FAILS:-}" ] || { echo 'it broke'; exit 3; }
named=untraced
shift 2
while [ $# -gt 0 ]; do
	case $1 in
	--times) times=$2 ;;
	--named) named=$2 ;;
	--kineto) head -c "${STUB_KINETO_B:-10}" /dev/zero >"$2" ;;
	esac
	shift 2
done
[ -z "${times-}" ] || echo "{\"$program.$named\": {}}" >>"$times"
exec "$STUB/program"
END
cat >"$scratch/nvcc" <<'END'
#!/bin/sh
while [ "$1" != -o ]; do shift; done
cp "$STUB/program" "$2"
END
chmod +x "$scratch/python" "$scratch/nvcc" "$scratch/program"

# PyTorch's libraries in the folders of its packages.
mkdir -p "$scratch/nvidia/cuda_cupti/lib" "$scratch/nvidia/cublas/lib" "$scratch/nvidia/other/lib"
library=$scratch/nvidia/cuda_cupti/lib/libcupti.so.12
: >"$library"
STUB=$scratch
FARWIRE_TRACE_LIBRARY=$library
FARWIRE_PROBE=$probe
FARWIRE_TRACE=$PWD/calib/trace/farwire-trace
NVCC=$scratch/nvcc
PYTHON=$scratch/python
: "${CUDA_HOME=/usr/local/cuda}"
export STUB FARWIRE_TRACE_LIBRARY FARWIRE_PROBE FARWIRE_TRACE NVCC PYTHON CUDA_HOME

measure() { # CODE ARGS...
	wanted=$1
	shift
	code=0
	calib/measure "$@" >"$scratch.out" 2>"$scratch.err" || code=$?
	[ "$code" = "$wanted" ] ||
		complain "measure $*: ended with $code, not $wanted: $(cat "$scratch.out" "$scratch.err")"
}

# The 18 minutes of the probe pass on the clock of the fake device, and all ten passes fit into
# them.
all=$scratch/all
measure 0 "$all"
shows 'probe: done, [0-9]+ s: [0-9]+ lines'
shows 'resnet50-infer recorded: done'
for file in program resnet50-train resnet50-infer; do
	farwire check "$all/$file.jsonl"
	[ "$code" = 0 ] || complain "$file.jsonl: $(cat "$scratch.err")"
done
tail -n 1 "$all/probe.jsonl" | grep -q '^{"end":true' || complain 'the probe has not ended'
tail -n 1 "$all/probe.jsonl" | sed 's/.*"elapsed_s":\([0-9]*\).*/\1/' | {
	read -r seconds
	[ "$seconds" -le 1134 ] # the budget and its overtime
} || complain 'the probe took longer than its budget'
[ "$(grep -c '"test":"queue","is":{},"x":{"depth":1024}' "$all/probe.jsonl")" = 10 ] || complain 'the recording does not have ten passes'
grep -q '"mode":"full"' "$all/probe.jsonl" || complain 'the recording is not of mode full'
for words in train.untraced infer.untraced train.traced infer.traced; do
	grep -q "\"$words\"" "$all/resnet50-times.json" || complain "no times of $words"
done
grep -q farwire-kernels "$all/kernels.jsonl" || complain 'there are no kernels of PyTorch'
[ "$(find "$all" -type f | wc -l)" -le 9 ] || complain "more than 9 files: $(ls -A "$all")"
cp "$all/probe.jsonl" "$scratch/before"
measure 0 "$all"
[ "$(grep -c 'done, [0-9]* s: in an earlier run' "$scratch.out")" = 8 ] ||
	complain "parts were measured again: $(cat "$scratch.out")"
cmp -s "$all/probe.jsonl" "$scratch/before" || complain 'a complete recording was changed'
verdict 'measure.runs_each_part_once'

# The recording is fitted, reported and used like any other. (A tenth of a second of the host
# gives no page; then the test does not check the exit code.)
mkdir "$scratch/page"
cp "$all/probe.jsonl" "$scratch/page/gpu.jsonl"
farwire calibrate --budget 0.1 -o "$scratch/page"
shows 'Fake GPU: launching a kernel takes 2\.[01]'
for file in profile.cfg report.html; do
	[ -s "$scratch/page/$file" ] || complain "no $file"
done
cmp -s "$all/probe.jsonl" "$scratch/page/gpu.jsonl" || complain 'a complete recording was measured again'
mine=$scratch/page/profile.cfg
grep -A 1 'path = "driver.launch"' "$mine" | grep -q 'value = "2\.[01]' ||
	complain "driver.launch is not the fake's 2.1 us: $(grep -A 1 'path = "driver.launch"' "$mine")"
farwire run --calls "$all/resnet50-train.jsonl" --topology dgx-h100 --profile "$mine" --draws 0 -q
[ "$code" = 0 ] || complain "replay: ended with $code: $(cat "$scratch.err")"
verdict 'measure.recording_is_fitted_and_reported'

printf '#!/bin/sh\necho "$LD_LIBRARY_PATH" >"$STUB/libraries"\nexec "%s" "$@"\n' "$probe" >"$scratch/telling"
chmod +x "$scratch/telling"
FARWIRE_PROBE=$scratch/telling
export STUB_FAILS=infer STUB_KINETO_B=17000000 STUB_REFUSES=1
measure 1 --budget 20 "$scratch/some"
shows 'resnet50-infer times: failed, [0-9]+ s: ended with 3: it broke'
shows 'resnet50-train recorded: done'
shows 'packed: resnet50-train.kineto.json.gz'
shows 'probe: done'
[ ! -e "$scratch/some/resnet50-infer.jsonl" ] || complain 'the failed part left a recording'
unset STUB_FAILS STUB_KINETO_B STUB_REFUSES
measure 0 --budget 20 "$scratch/some"
shows 'resnet50-infer recorded: done, [0-9]+ s$'
grep -q 'cublas/lib' "$scratch/libraries" || complain "LD_LIBRARY_PATH lacks PyTorch's cuBLASLt: $(cat "$scratch/libraries")"
grep -q 'other/lib' "$scratch/libraries" && complain 'LD_LIBRARY_PATH has other libraries'
verdict 'measure.failed_part_does_not_affect_others'

# A probe that was killed or failed continues its file in the remaining time. The four attempts
# here are killed, failed, failed and complete.
cat >"$scratch/slow" <<'END'
#!/bin/sh
echo "$*" >>"$STUB/said"
case $*:$(wc -l <"$STUB/said") in
*--continue*:[23]) exec "$SLOW_PROBE" --only call --only graph --plant "$STUB/fails" "$@" ;;
*--continue*) exec "$SLOW_PROBE" --only call --only graph "$@" ;;
esac
for file; do :; done
"$SLOW_PROBE" -q --only graph "$@"
sed -i '$d' "$file" # its last line
sleep 20 &
trap 'kill $!; exit 1' TERM
wait
END
chmod +x "$scratch/slow"
echo 'fail_after = 8000' >"$scratch/fails"
export SLOW_PROBE="$probe"
FARWIRE_PROBE=$scratch/slow
PYTHON=/nosuch
measure 1 --time 3 "$scratch/cut"
shows 'probe: unfinished'
shows 'resnet50: skipped, [0-9]+ s: python3 is missing'
for again in 1 2; do
	lines=$(wc -l <"$scratch/cut/probe.jsonl")
	measure 1 "$scratch/cut"
	shows 'probe: failed, [0-9]+ s: ended with 1: .*planted failure'
	[ "$(wc -l <"$scratch/cut/probe.jsonl")" -gt $((lines + 5)) ] || complain "attempt $again added no lines"
done
measure 0 "$scratch/cut"
shows 'probe: done'
sed -n '2p' "$scratch/said" | grep -qE -e '^--budget 107[0-9] ' || complain "the arguments of the attempts are $(cat "$scratch/said")"
[ ! -e "$scratch/cut/.probe_spent_s" ] || complain 'the file of the spent time remains'
points() { grep -E '^{"test":"(call|timer)"' "$1" | grep -v '^{"test":"drift"' | sed 's/,"t_s":.*//' | sort; }
points "$all/probe.jsonl" >"$scratch/points"
points "$scratch/cut/probe.jsonl" | cmp -s - "$scratch/points" || complain 'the points differ from those of one run'

# After SIGTERM it ends immediately, after the programs that it runs.
cat >"$scratch/waiting" <<'END'
#!/bin/sh
sleep 60 &
trap 'kill $!; : >"$STUB/ended"; exit 143' TERM
: >"$STUB/begun"
wait
END
chmod +x "$scratch/waiting"
FARWIRE_PROBE=$scratch/waiting calib/measure "$scratch/told" >"$scratch.out" 2>"$scratch.err" &
pid=$!
waited=0
until [ -e "$scratch/begun" ] || [ $((waited += 1)) -gt 600 ]; do sleep 0.1; done
kill -TERM $pid
begun_s=$(date +%s)
wait $pid
code=$?
[ "$code" = 143 ] || complain "after SIGTERM it ended with $code"
[ $(($(date +%s) - begun_s)) -lt 30 ] || complain 'after SIGTERM it waited for its program'
[ -e "$scratch/ended" ] || complain 'its program got no SIGTERM'

# A time that is too short for all passes still gives a recording. More time continues it.
printf '#!/bin/sh\nexec "%s" --only "copy.h2d.*" "$@"\n' "$probe" >"$scratch/few"
chmod +x "$scratch/few"
FARWIRE_PROBE=$scratch/few
measure 0 --budget 15 "$scratch/short"
shows 'probe: done, [0-9]+ s: .*the time limit was reached in pass [2-9] of 10'
measure 0 --budget 15 "$scratch/short"
shows 'probe: done, [0-9]+ s: in an earlier run'
lines=$(wc -l <"$scratch/short/probe.jsonl")
measure 0 --budget 28 "$scratch/short"
[ "$(wc -l <"$scratch/short/probe.jsonl")" -gt "$lines" ] || complain 'more time did not continue the recording'
# A drift of the machine is reported each time.
echo 'noise.drift = 0.0008' >"$scratch/drift"
printf '#!/bin/sh\nexec "%s" --plant "%s" --only "copy.h2d.pinned.*" "$@"\n' "$probe" "$scratch/drift" >"$scratch/drifting"
chmod +x "$scratch/drifting"
FARWIRE_PROBE=$scratch/drifting
measure 1 "$scratch/drifted"
shows 'probe: failed, [0-9]+ s: ended with 1: .*drifted by'
measure 1 "$scratch/drifted"
shows 'probe: failed, [0-9]+ s: ended with 1: .*drifted by'
verdict 'measure.continues_an_interrupted_probe'

echo 'absent = 1' >"$scratch/absent"
printf '#!/bin/sh\nexec "%s" --plant "%s" "$@"\n' "$probe" "$scratch/absent" >"$scratch/none"
printf '#!/bin/sh\nexit 77\n' >"$scratch/program"
chmod +x "$scratch/none"
FARWIRE_PROBE=$scratch/none
PYTHON=$scratch/python
export STUB_CHECK=77
measure 77 "$scratch/no-gpu"
shows 'program: skipped, [0-9]+ s: there is no GPU'
shows 'probe: skipped, [0-9]+ s: there is no GPU'
FARWIRE_PROBE=''
FARWIRE_TRACE=''
NVCC=''
CUDA_HOME=/nosuch
PYTHON=/nosuch
measure 77 "$scratch/nothing"
for words in 'build farwire-probe: skipped.*nvcc is missing' 'program: skipped.*nvcc is missing' \
	'build farwire-trace: skipped.*cupti.h is missing' 'resnet50: skipped.*python3 is missing' \
	'probe: skipped'; do
	shows "$words"
done
measure 2
measure 2 --budget soon "$scratch/words"
measure 2 "$scratch/words" more
measure 2 --sideways
verdict 'measure.reports_missing_programs_and_wrong_arguments'

if [ -f /usr/local/cuda/include/cupti.h ]; then
	make -C calib/trace BUILD="$scratch/build" CUDA_HOME=/usr/local/cuda >"$scratch.out" 2>&1 ||
		complain "building the recorder failed: $(tail -n 3 "$scratch.out")"
	if [ ! -x "$scratch/build/farwire-trace" ] || [ ! -f "$scratch/build/libfarwire-trace.so" ]; then
		complain 'the recorder was not built'
	fi
	verdict 'measure.builds_only_the_recorder'
fi
