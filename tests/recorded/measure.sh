#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# calib/measure, rehearsed: the real script and the real farwire-trace over the fake
# probe, a python and an nvcc that write what is expected of them. Every part leaves its
# file; what fails, hangs or is missing loses nothing else.
set -u
cd "$(dirname "$0")/../.." || exit 2
# shellcheck source=tests/check.sh
. tests/check.sh
probe=$(cd "${FARWIRE%/*}" && pwd)/farwire-probe-fake
if [ ! -x "$probe" ]; then
	echo "  no $probe"
	exit 77
fi

# What a recorded program leaves, where it is recorded.
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
if [ "$program" = check ]; then
	echo "$STUB/library" # PyTorch's CUPTI
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

: >"$scratch/library"
STUB=$scratch
FARWIRE_TRACE_LIBRARY=$scratch/library
FARWIRE_PROBE=$probe
FARWIRE_TRACE=$PWD/calib/trace/farwire-trace
NVCC=$scratch/nvcc
PYTHON=$scratch/python
: "${CUDA_HOME=/usr/local/cuda}"
export STUB FARWIRE_TRACE_LIBRARY FARWIRE_PROBE FARWIRE_TRACE NVCC PYTHON CUDA_HOME

measure() { # wanted code, words
	wanted=$1
	shift
	code=0
	calib/measure "$@" >"$scratch.out" 2>"$scratch.err" || code=$?
	[ "$code" = "$wanted" ] ||
		complain "measure $*: ended with $code, not $wanted: $(cat "$scratch.out" "$scratch.err")"
}

all=$scratch/all
measure 0 --budget 20 "$all"
shows 'probe: done, [0-9]+ s: [0-9]+ lines'
shows 'resnet50-infer recorded: done'
for file in program resnet50-train resnet50-infer; do
	farwire check "$all/$file.jsonl"
	[ "$code" = 0 ] || complain "$file.jsonl: $(cat "$scratch.err")"
done
tail -n 1 "$all/probe.jsonl" | grep -q '^{"end":true' || complain 'the probe came to no end'
grep -q '"mode":"full"' "$all/probe.jsonl" || complain 'not a full recording'
grep -q '"test":"stream"' "$all/probe.jsonl" || complain 'no forwarded programs'
for words in train.untraced infer.untraced train.traced infer.traced; do
	grep -q "\"$words\"" "$all/resnet50-times.json" || complain "no times of $words"
done
[ "$(find "$all" -type f | wc -l)" -le 8 ] || complain "more than 8 files: $(ls -A "$all")"
cp "$all/probe.jsonl" "$scratch/before"
measure 0 --budget 20 "$all"
[ "$(grep -c 'done, [0-9]* s: before' "$scratch.out")" = 7 ] ||
	complain "done again: $(cat "$scratch.out")"
cmp -s "$all/probe.jsonl" "$scratch/before" || complain 'a whole recording was changed'
verdict 'measure.does_it_all'

export STUB_FAILS=infer STUB_KINETO_B=17000000 STUB_REFUSES=1
measure 1 --budget 20 "$scratch/some"
shows 'resnet50-infer times: failed, [0-9]+ s: ended with 3: it broke'
shows 'resnet50-train recorded: done'
shows 'packed: resnet50-train.kineto.json.gz'
shows 'probe: done'
[ ! -e "$scratch/some/resnet50-infer.jsonl" ] || complain 'a recording of what failed'
unset STUB_FAILS STUB_KINETO_B STUB_REFUSES
measure 0 --budget 20 "$scratch/some"
shows 'resnet50-infer recorded: done, [0-9]+ s$'
verdict 'measure.loses_nothing_else'

# A probe that is cut off goes on with its own file, and with the time that is left.
cat >"$scratch/slow" <<'END'
#!/bin/sh
case $* in
*--continue*)
	echo "$*" >"$STUB/said"
	exec "$SLOW_PROBE" "$@"
	;;
esac
for file; do :; done
"$SLOW_PROBE" -q --only timer "$@"
sed -i '$d' "$file" # its last line
sleep 20 &
trap 'kill $!; exit 1' TERM
wait
END
chmod +x "$scratch/slow"
export SLOW_PROBE="$probe"
FARWIRE_PROBE=$scratch/slow
PYTHON=/nosuch
measure 1 --budget 100 --time 3 "$scratch/cut"
shows 'probe: unfinished'
shows 'resnet50: skipped, [0-9]+ s: no python3'
measure 0 --budget 100 "$scratch/cut"
shows 'probe: done'
grep -qE -e '^--budget 9[0-9] ' "$scratch/said" || complain "went on with $(cat "$scratch/said")"
[ ! -e "$scratch/cut/.probe_spent_s" ] || complain 'the spent time stays'
verdict 'measure.goes_on'

echo 'absent = 1' >"$scratch/absent"
printf '#!/bin/sh\nexec "%s" --plant "%s" "$@"\n' "$probe" "$scratch/absent" >"$scratch/none"
printf '#!/bin/sh\nexit 77\n' >"$scratch/program"
chmod +x "$scratch/none"
FARWIRE_PROBE=$scratch/none
PYTHON=$scratch/python
export STUB_CHECK=77
measure 77 "$scratch/no-gpu"
shows 'program: skipped, [0-9]+ s: no GPU'
shows 'probe: skipped, [0-9]+ s: no GPU'
FARWIRE_PROBE=''
FARWIRE_TRACE=''
NVCC=''
CUDA_HOME=/nosuch
PYTHON=/nosuch
measure 77 "$scratch/nothing"
for words in 'build farwire-probe: skipped.*no nvcc' 'program: skipped.*no nvcc' \
	'build farwire-trace: skipped.*no cupti.h' 'resnet50: skipped.*no python3' \
	'probe: skipped'; do
	shows "$words"
done
measure 2
measure 2 --budget soon "$scratch/words"
measure 2 "$scratch/words" more
measure 2 --sideways
verdict 'measure.says_what_is_missing'

if [ -f /usr/local/cuda/include/cupti.h ]; then
	make -C calib/trace BUILD="$scratch/build" CUDA_HOME=/usr/local/cuda >"$scratch.out" 2>&1 ||
		complain "the recorder alone: $(tail -n 3 "$scratch.out")"
	if [ ! -x "$scratch/build/farwire-trace" ] || [ ! -f "$scratch/build/libfarwire-trace.so" ]; then
		complain 'the recorder alone was not built'
	fi
	verdict 'measure.builds_the_recorder'
fi
