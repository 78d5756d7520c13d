#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Profiles from recordings: a fit finds the parameters that were planted in the fake device. A
# committed recording gives its profile to the byte. Logs of other tools become recordings and
# lines. (The logs have the format of their tools and invented numbers: those of nccl-tests are
# 20 us, then 20 GB/s of bus bandwidth up to 256 KiB, and from there 45 us, then 230 GB/s.)
cd "$(dirname "$0")/../.." || exit 2
# shellcheck source=tests/check.sh
. tests/check.sh
data=tests/recorded/calibration

# value FILE PATH: a parameter of a profile, in SI units.
value() {
	awk -v path="\"$2\"" '$0 ~ "path = " && index($0, path) { found = 1; next }
		found { sub(/.*value = "/, ""); print $1 + 0; exit }' "$1"
}
# near FILE PATH WANTED PERCENT
near() {
	got=$(value "$1" "$2")
	awk -v got="$got" -v wanted="$3" -v percent="$4" 'BEGIN {
		off = 100 * (got / wanted - 1)
		exit !(got != "" && off < percent && off > -percent) }' ||
		complain "$2 is '$got', not within $4 % of $3"
}

farwire fit $data/fake.jsonl -o "$scratch.cfg" --plot "$scratch.svg"
# The table beside the plot names the sizes that the recording holds out.
sed -n 's/.*"direction":"h2d","memory":"pinned","call":"async","measure":"rate"},"x":{"size_B":\([0-9]*\)}.*"held_out":true}.*/\1/p' $data/fake.jsonl | sort -nu >"$scratch.wanted"
tr -d '\r' <"$scratch.csv" | awk -F, '$1 == "copy h2d pinned async rate" && $NF == "yes" { printf "%.0f\n", $3 }' | sort -n | cmp -s - "$scratch.wanted" && [ -s "$scratch.wanted" ] ||
	complain "held out are $(grep -c yes "$scratch.csv") points, not $(cat "$scratch.wanted")"
# Ends of intervals are on both sides of their values, in the table and in the sentences.
awk '$1 ~ /^driver\./ && $3 == $5 && $5 == $7 { rows++; if (!($4 < $2 && $2 < $6)) exit 1 } END { if (rows < 5) exit 1 }' "$scratch.out" ||
	complain "the table has other intervals: $(cat "$scratch.out")"
sed -n 's/.*bytes at \([0-9.]*\) GB\/s (\([0-9.]*\) GB\/s \.\. \([0-9.]*\) GB.*/\1 \2 \3/p' "$scratch.out" |
	awk '!($2 < $1 && $1 < $3) { exit 1 } END { if (NR == 0) exit 1 }' || complain "rates: $(grep 'bytes at' "$scratch.out")"
grep -q 'FAILED' "$scratch.out" && complain 'a gate has failed'
grep -q 'is incomplete' "$scratch.err" && complain 'a complete recording counts as interrupted'
[ "$code" = 0 ] || complain "fit: ended with $code, $(cat "$scratch.err")"
diff "$scratch.cfg" $data/fake.cfg >"$scratch.diff" || complain "differs: $(cat "$scratch.diff")"
farwire fit $data/fake.jsonl
diff "$scratch.out" $data/fake.cfg >/dev/null || complain 'standard output has a different profile'
verdict 'calibration.recording_gives_its_profile_to_the_byte'

farwire run --topology dgx1-v100 --batch 8 --profile $data/fake.cfg --draws 0 -q
[ "$code" = 0 ] || complain "run: ended with $code, $(cat "$scratch.err")"
farwire explain --topology dgx1-v100 --profile $data/fake.cfg driver.launch
shows 'driver\.launch +3\.397 us +3\.381 us \.\. 3\.412 us +measured'
verdict 'calibration.profile_changes_a_run'

probe=${FARWIRE%/*}/tests/farwire-probe-fake
if [ -x "$probe" ]; then
	# The planted parameters, with 3 % of noise and 1 % of the samples 20 times as long.
	"$probe" -q --plant tests/recorded/planted.txt -o "$scratch/planted.jsonl"
	farwire fit "$scratch/planted.jsonl" -q -o "$scratch/planted.cfg"
	[ "$code" = 0 ] || complain "planted: ended with $code, $(cat "$scratch.err")"
	for row in driver.launch:3.4e-6 driver.get:0.25e-6 driver.malloc:80e-6 driver.query:1.3e-6 \
		driver.sync_wake:2.2e-6 gpu.fake-gpu.kernel_floor:2.5e-6 \
		gpu.fake-gpu.kernel_gap:1.4e-6 gpu.fake-gpu.launch_latency:3.1e-6; do
		near "$scratch/planted.cfg" "${row%:*}" "${row#*:}" 3
	done
	near "$scratch/planted.cfg" gpu.fake-gpu.queue_depth 1020 0.01
	near "$scratch/planted.cfg" gpu.fake-gpu.concurrent_kernels 32 0.01
	near "$scratch/planted.cfg" gpu.fake-gpu.memory_bandwidth 7e11 2
	near "$scratch/planted.cfg" gpu.fake-gpu.fp16 6e13 2
	near "$scratch/planted.cfg" gpu.fake-gpu.bf16 1.9e14 2
	near "$scratch/planted.cfg" 'kernels.*.product_half' 1 0.01
	near "$scratch/planted.cfg" 'kernels.*.fill' 2.4e-6 5
	near "$scratch/planted.cfg" 'kernels.*.load' 4.5e10 3
	# On a GPU with published peaks the rates become parts of them, for its generation: 15 of 19.5
	# TFLOPS, 90 of 156, and the mean of 60 and 190 of 312.
	sed '1s/"Fake GPU"/"NVIDIA A100-SXM4-80GB"/' "$scratch/planted.jsonl" >"$scratch/a100.jsonl"
	farwire fit "$scratch/a100.jsonl" -q -o "$scratch/a100.cfg"
	near "$scratch/a100.cfg" kernels.ampere.product_fp32 0.7692 2
	near "$scratch/a100.cfg" kernels.ampere.product_tf32 0.5769 2
	near "$scratch/a100.cfg" kernels.ampere.product_half 0.4006 2
	near "$scratch/a100.cfg" kernels.ampere.fill 2.4e-6 5
	near "$scratch/a100.cfg" gpu.a100-sxm4-80.memory_efficiency 0.3433 2 # 700 of 2039 GB/s
	farwire explain --topology dgx-a100 --profile "$scratch/a100.cfg" kernels.ampere.fill
	shows 'kernels\.ampere\.fill +2\.4[0-9]* us +2\.[0-9]* us \.\. 2\.[0-9]* us +measured'
	verdict 'calibration.finds_planted_parameters'

	# Lines: 80 ps for each byte from 64 KiB, with an error of one size.
	awk '/of = "copy h2d pinned/ { from = $0; sub(/.*from = /, "", from); n++ }
		/slope/ && n == 2 { sub(/.*value = "/, ""); print from + 0, $1; exit }' \
		"$scratch/planted.cfg" >"$scratch.line"
	awk '{ exit !($1 >= 32768 && $1 <= 131072 && $2 > 78.4e-12 && $2 < 81.6e-12) }' \
		"$scratch.line" || complain "the line of large copies is $(cat "$scratch.line")"
	# The starts are 2 and 3 us.
	awk '/of = / { ours = /copy h2d pinned/ }
		ours && /start = / { sub(/.*start = { value = "/, ""); print $1 * 1e6 }' \
		"$scratch/planted.cfg" >"$scratch.starts"
	tr '\n' ' ' <"$scratch.starts" |
		awk '{ exit !(NF == 2 && $1 > 1.94 && $1 < 2.06 && $2 > 2.91 && $2 < 3.09) }' ||
		complain "the starts are $(tr '\n' ' ' <"$scratch.starts")"
	verdict 'calibration.finds_planted_breaks'

	# A fit of an interrupted recording uses its complete lines and says so.
	head -c 300000 "$scratch/planted.jsonl" >"$scratch/torn.jsonl"
	farwire fit "$scratch/torn.jsonl" -o "$scratch/torn.cfg"
	[ "$code" = 0 ] || [ "$code" = 3 ] || complain "torn: ended with $code"
	grep -q 'was interrupted' "$scratch.err" || complain "torn: $(cat "$scratch.err")"
	verdict 'calibration.fits_an_interrupted_recording'

	# A held-out point far from the line fails the gate, so the profile lacks this
	# parameter.
	sed '/"call":"launch","stream":"blocked"/{/"held_out":true/s/"samples":\[.*\]/"samples":[9e-5,9e-5,9e-5]/}' \
		$data/fake.jsonl >"$scratch/off.jsonl"
	farwire fit "$scratch/off.jsonl" -q -o "$scratch/off.cfg"
	[ "$code" = 3 ] || complain "off: ended with $code, not 3"
	grep -q 'held-out points have an error of' "$scratch.err" || complain "off: $(cat "$scratch.err")"
	grep -q 'path = "driver.launch"' "$scratch/off.cfg" && complain 'off: the profile has driver.launch'
	# Held-out points that are 10 % off, two limits, give a parameter with at least this interval.
	launch=$(sed -n '/"call":"launch","stream":"blocked"/{/"held_out":true/{s/.*"samples":\[\([^],]*\).*/\1/p;q}}' $data/fake.jsonl)
	sed "/\"call\":\"launch\",\"stream\":\"blocked\"/{/\"held_out\":true/s/\"samples\":\[.*\]/\"samples\":[$(
		awk -v t="$launch" 'BEGIN { printf "%.9g,%.9g,%.9g", 1.11 * t, 1.11 * t, 1.11 * t }')]/}" \
		$data/fake.jsonl >"$scratch/rough.jsonl"
	farwire fit "$scratch/rough.jsonl" -q -o "$scratch/rough.cfg"
	[ "$code" = 0 ] || complain "rough: ended with $code, not 0: $(cat "$scratch.err")"
	grep -q '^# rough: call launch.*: held-out points have an error of [89]\.[0-9] %.*; limit 5 %), so its intervals are at least as wide' \
		"$scratch/rough.cfg" || complain "rough: $(grep '^#' "$scratch/rough.cfg")"
	near "$scratch/rough.cfg" driver.launch 3.397e-6 0.1
	# One of two recordings with a failed gate is enough for the exit code.
	mkdir "$scratch/both"
	farwire fit "$scratch/off.jsonl" "$scratch/rough.jsonl" -q -o "$scratch/both"
	[ "$code" = 3 ] || complain "off and rough: ended with $code, not 3"
	awk '/path = "driver.launch"/ { getline; gsub(/"/, ""); n = split($0, part, /[ ;]+/)
		for (i = 1; i < n; i++) { if (part[i] == "value") v = part[i + 2]; if (part[i] == "low") l = part[i + 2] }
		exit !(l > 0 && l < 0.93 * v) }' "$scratch/rough.cfg" || complain "rough: $(grep -A 1 driver.launch "$scratch/rough.cfg")"
	# Held-out copies up to 32 KiB miss their line, so the start of copies is left out. The
	# bandwidth of large copies does not depend on them.
	awk '/"test":"copy"/ && /"held_out":true/ && match($0, /"size_B":[0-9]+/) &&
		substr($0, RSTART + 9, RLENGTH - 9) + 0 <= 32768 {
			sub(/"samples":\[.*\]/, "\"samples\":[9e-5,9e-5,9e-5]") } { print }' \
		$data/fake.jsonl >"$scratch/small.jsonl"
	farwire fit "$scratch/small.jsonl" -q -o "$scratch/small.cfg"
	[ "$code" = 3 ] || complain "small: ended with $code, not 3"
	grep -q 'left out: copy h2d pinned async rate: held-out points below size_B 65536 have' \
		"$scratch/small.cfg" || complain "small: $(grep 'left out' "$scratch/small.cfg")"
	grep -q 'path = "dma.setup"' "$scratch/small.cfg" && complain 'small: the profile has dma.setup'
	near "$scratch/small.cfg" dma.efficiency 0.433 0.1
	# Products in fp16 with times unrelated to their shapes do not influence other types.
	awk '/"test":"gemm"/ && /"fp16"/ { sub(/"samples":\[.*\]/,
		sprintf("\"samples\":[%g,%g,%g]", t = 1e-4 * (1 + n++ * 7 % 11), t, t)) } { print }' \
		"$scratch/planted.jsonl" >"$scratch/odd.jsonl"
	farwire fit "$scratch/odd.jsonl" -q -o "$scratch/odd.cfg"
	[ "$code" = 3 ] || complain "odd: ended with $code, not 3"
	grep -q '^# left out: gemm fp16: ' "$scratch/odd.cfg" || complain 'odd: fp16 passed its gate'
	near "$scratch/odd.cfg" gpu.fake-gpu.fp32 1.5e13 2
	near "$scratch/odd.cfg" 'kernels.*.fill' 2.4e-6 5
	grep -q 'path = "gpu.fake-gpu.fp16"' "$scratch/odd.cfg" && complain 'odd: the profile has fp16'
	# The launch gets faster by 0.5 % of its first time at each visit.
	awk '/"anchor":"call.launch"/ { sub(/"samples":\[.*\]/,
		sprintf("\"samples\":[%.9g]", 1e-6 - 5e-9 * n++)) } { print }' $data/fake.jsonl >"$scratch/drift.jsonl"
	drift=$(grep -c '"anchor":"call.launch"' $data/fake.jsonl | awk '{ printf "%.1f", 0.5 * ($1 - 1) / (1 - 0.0025 * ($1 - 1)) }')
	farwire fit "$scratch/drift.jsonl" -q -o "$scratch/drift.cfg"
	grep -q "drifted by $drift %" "$scratch.err" || complain "drift: $(cat "$scratch.err")"
	grep -q "^# the machine drifted by $drift %" "$scratch/drift.cfg" || complain 'drift: the profile does not mention it'
	verdict 'calibration.failed_gates_leave_out_parameters'
fi

# A host that follows the formulas of the simulator, with up to 1 % of noise. A send takes 4 us
# and 0.25 ns for each byte. Receiving and waking take 12 us together (divided 5 : 4), the wire
# nothing. A read takes 80 us at 2 GB/s, with 3 GB/s for all readers. Copies beyond caches have
# 8 GB/s.
awk 'BEGIN {
	srand(7)
	print "{\"format\":\"farwire-samples\",\"version\":1,\"tool\":\"t\",\"date\":\"d\",\"seed\":1,\"mode\":\"m\",\"passes\":3,\"host\":{\"cpu\":\"c\"}}"
	for (pass = 0; pass < 3; pass++) {
		for (i = 0; i <= 22; i++) {
			size = 2 ^ i; held = i % 5 == 3
			both = size <= 16384 ? 2 : 1
			out("tcp", "\"what\":\"roundtrip\",\"nagle\":\"off\"", n(1, 0), 32e-6 + 2 * both * size * 0.25e-9)
			if (i <= 16)
				out("tcp", "\"what\":\"overhead\",\"nagle\":\"off\"", n(16, 1e-3), 4e-6 + size * 0.25e-9)
			if (i >= 16)
				out("tcp", "\"what\":\"stream\",\"nagle\":\"off\"", n(1, 0), 32e-6 + size * 0.25e-9)
			out("memcpy", "", ",\"threads\":1", size < 524288 ? size / 40e9 + 1e-8 : size / 8e9)
		}
		held = 0
		out("tcp", "\"what\":\"roundtrip\",\"nagle\":\"off\"", train(16, 0), 32e-6 + 15 * 7e-6)
		out("tcp", "\"what\":\"roundtrip\",\"nagle\":\"off\"", train(16, 1e-3), 32e-6 + 15 * (1e-3 + 4e-6))
		for (i = 12; i <= 22; i++) {
			size = 2 ^ i; held = 0
			out("storage", "\"what\":\"random\"", ",\"parallel\":1", 80e-6 + size / 2e9)
			out("storage", "\"what\":\"sequential\"", ",\"parallel\":8", 80e-6 + 8 * size / 3e9)
		}
	}
}
function n(count, delay) { return ",\"n\":" count ",\"delay_s\":" delay ",\"streams\":1" }
function train(count, delay) { size = 1; return n(count, delay) }
function out(test, is, x, time) {
	printf "{\"test\":\"%s\",\"is\":{%s},\"x\":{\"size_B\":%d%s},\"pass\":%d,\"unit\":\"s\",\"samples\":[%.9g],\"stop\":\"count\",\"held_out\":%s}\n",
		test, is, size, x, pass, time * (0.995 + 0.01 * rand()), held ? "true" : "false"
}' >"$scratch/host.jsonl"
farwire fit "$scratch/host.jsonl" -o "$scratch/host.cfg"
[ "$code" = 0 ] || complain "host: ended with $code, $(cat "$scratch.err")"
near "$scratch/host.cfg" 'guest.*.send' 4e-6 2
near "$scratch/host.cfg" 'guest.*.receive' 6.667e-6 2
near "$scratch/host.cfg" 'guest.*.thread_wake' 5.333e-6 2
# Each byte takes 0.25 ns, of which packets of 64 KiB are 6.1 ps.
near "$scratch/host.cfg" 'guest.*.byte' 0.2439e-9 2
near "$scratch/host.cfg" 'host.*.copy_rate' 8e9 2
near "$scratch/host.cfg" storage.latency 80e-6 2
near "$scratch/host.cfg" storage.bandwidth 3e9 2
# If messages of a train follow each other faster than a send after a pause, the excess belongs to
# waking: 16 us are 2 us (send), 2 us (receive) and 12 us (thread_wake).
sed '/"n":16,"delay_s":0,/s/"samples":\[[^]]*\]/"samples":[62e-6]/' "$scratch/host.jsonl" >"$scratch/train.jsonl"
farwire fit "$scratch/train.jsonl" -q -o "$scratch/train.cfg"
near "$scratch/train.cfg" 'guest.*.send' 2e-6 3
near "$scratch/train.cfg" 'guest.*.receive' 2e-6 3
near "$scratch/train.cfg" 'guest.*.thread_wake' 12e-6 3
# The same host at 100 Mb/s: the wire sets the time of bytes, not the sender's work.
awk '/"what":"(roundtrip|stream)"/ {
		match($0, /"size_B":[0-9]+/)
		size = substr($0, RSTART + 9, RLENGTH - 9)
		match($0, /"samples":\[[^]]*\]/)
		time = substr($0, RSTART + 11, RLENGTH - 12) + size * (/roundtrip/ ? 2 : 1) * 8e-8
		sub(/"samples":\[[^]]*\]/, sprintf("\"samples\":[%.9g]", time))
	}
	{ print }' "$scratch/host.jsonl" >"$scratch/slow.jsonl"
farwire fit "$scratch/slow.jsonl" -q -o "$scratch/slow.cfg"
near "$scratch/slow.cfg" 'guest.*.byte' 0.2439e-9 2
# Real TCP between two namespaces without a limit: the fit predicts the held-out sizes.
farwire fit calib/measured/recorded/tcp-unlimited.jsonl -o "$scratch/tcp.cfg"
[ "$code" = 0 ] || complain "tcp-unlimited: ended with $code, $(cat "$scratch.err")"
shows '^tcp rounds and streams: median error of [0-4]\.[0-9]* % on [0-9]* held-out points'
near "$scratch/tcp.cfg" 'guest.*.byte' 0.1095e-9 1
farwire fit $data/fake.jsonl "$scratch/host.jsonl" -q -o "$scratch/both.cfg"
near "$scratch/both.cfg" driver.launch 3.397e-6 0.1
near "$scratch/both.cfg" storage.latency 80e-6 2
mkdir "$scratch/each"
farwire fit $data/fake.jsonl "$scratch/host.jsonl" -q -o "$scratch/each"
for each in fake-gpu host; do
	[ -s "$scratch/each/$each.cfg" ] || complain "no profile of $each"
done
grep -q 'past the kernel' "$scratch/host.cfg" && complain 'host: the profile mentions a cache without a reason'
sed '1s/"host":/"storage":{"path":"cached","file_B":1},"host":/' "$scratch/host.jsonl" >"$scratch/cached.jsonl"
farwire fit "$scratch/cached.jsonl" -q -o "$scratch/cached.cfg"
[ "$(grep -c 'not past the kernel.s cache' "$scratch/cached.cfg")" = 2 ] || complain 'host: the profile does not mention reads from a cache'
verdict 'calibration.finds_planted_parameters_of_a_host'

# Copies of 1 to 16 MiB are in a cache of 40 GB/s, as are those held out. The memory has 6 GB/s. One
# line cannot describe both, which its residuals show. Storage does not depend on it.
awk '/"test":"memcpy"/ { next } { print }
	/"test":"storage"/ && !done { done = 1
		for (i = 20; i <= 26; i++) for (pass = 0; pass < 3; pass++)
			printf "{\"test\":\"memcpy\",\"is\":{},\"x\":{\"size_B\":%d,\"threads\":1},\"pass\":%d,\"unit\":\"s\",\"samples\":[%g],\"stop\":\"count\",\"held_out\":%s}\n",
				2 ^ i, pass, 2 ^ i / (i < 26 ? 40e9 : 6e9), i == 21 || i == 23 ? "true" : "false" }' \
	"$scratch/host.jsonl" >"$scratch/cache.jsonl"
farwire fit "$scratch/cache.jsonl" -q -o "$scratch/cache.cfg"
[ "$code" = 3 ] || complain "cache: ended with $code, not 3"
grep -q '^# left out: memcpy, one thread: fitted points deviate by [0-9.]* % (root mean square of 5; limit 20 %)' \
	"$scratch/cache.cfg" || complain "cache: $(grep 'left out' "$scratch/cache.cfg")"
grep -q 'host\.\*\.copy_rate' "$scratch/cache.cfg" && complain 'cache: the profile has a copy rate'
near "$scratch/cache.cfg" storage.latency 80e-6 2
verdict 'calibration.residuals_fail_a_gate_that_two_held_out_points_pass'

farwire import nccl-tests $data/nccl-tests.txt -o "$scratch/x.jsonl"
farwire fit "$scratch/x.jsonl" -o "$scratch/x.cfg"
[ "$code" = 0 ] || complain "nccl-tests: ended with $code, $(cat "$scratch.err")"
shows '^nccl all_reduce, 4 ranks from 1 KiB up: 20\.0[0-9]* us .* plus bytes at 20\.[0-9]* GB/s .* of bus bandwidth'
shows '^nccl all_reduce, 4 ranks from 512 KiB up: 4[45]\.[0-9]* us .* plus bytes at 2[23][0-9]\.[0-9]* GB/s'
# Newer releases name the collective; older ones and this log do not.
sed 's/^# nThread/# Collective test starting: all_gather_perf\n&/' $data/nccl-tests.txt >"$scratch/n.txt"
farwire import nccl-tests "$scratch/n.txt"
shows '"collective": "all_gather"'
verdict 'calibration.imports_logs_of_nccl_tests'

farwire import nvbandwidth $data/nvbandwidth.txt -o "$scratch/v.jsonl"
farwire fit "$scratch/v.jsonl" -o "$scratch/v.cfg"
near "$scratch/v.cfg" dma.efficiency 0.965 0.1 # 55.6 GB/s of 63.02 x 256 / 280
farwire import perftest $data/perftest.txt -o "$scratch/p.jsonl"
farwire fit "$scratch/p.jsonl" -o "$scratch/p.cfg"
shows '^rdma latency write from 2 B up: 1\.1'
farwire import iperf3 $data/iperf3.txt
shows '"samples": \[1172500000, 1176250000, 1175000000\]'
printf '{"start":{"test_start":{"num_streams":4,"blksize":131072}},"intervals":[{"streams":[{}],"sum":{"bits_per_second":8e9,"omitted":true}},{"sum":{"bits_per_second":1.6e10,"omitted":false}}],"end":{}}' \
	>"$scratch/i.json"
farwire import iperf3 "$scratch/i.json"
shows '"streams": 4}.*"samples": \[2000000000\]'
farwire import iperf3 $data/iperf3.txt -o "$scratch/i.jsonl"
expect 0 'by itself sets no parameter' fit "$scratch/i.jsonl"
shows '^# tcp, 1 stream.s.: 1\.17[0-9]* GB/s of payload'
cat "$scratch/p.jsonl" >"$scratch/q.jsonl"
sed -i 's/"cpu": "unknown"/"cpu": "A"/' "$scratch/p.jsonl"
farwire fit "$scratch/p.jsonl" "$scratch/q.jsonl" # the second one is of an unknown machine
grep -q 'different machines' "$scratch.err" && complain "an unknown machine counts as another one: $(cat "$scratch.err")"
sed -i 's/"cpu": "unknown"/"cpu": "B"/' "$scratch/q.jsonl"
expect 0 'are recordings of different machines \(A, B\)' fit "$scratch/p.jsonl" "$scratch/q.jsonl"
verdict 'calibration.imports_logs_of_other_tools'

for plot in svg pdf png; do
	farwire fit $data/fake.jsonl -q -o "$scratch.cfg" --plot "$scratch/fit.$plot"
	[ "$code" = 0 ] || complain "$plot: ended with $code"
	[ -s "$scratch/fit.$plot" ] || complain "$plot: the image is missing"
done
verdict 'calibration.plots_a_fit_in_each_format'
