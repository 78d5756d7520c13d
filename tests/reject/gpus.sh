#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# `farwire check` refuses values that no GPU has, with the line and what to write instead. Every
# case is the template of docs/configuration.md with one line changed.
cd "$(dirname "$0")/../.." || exit 2
# shellcheck source=tests/check.sh
. tests/check.sh
sed -n '/^# my-gpu.cfg/,/^```/p' docs/configuration.md | grep -v '^```' >"$scratch/good.cfg"
cd "$scratch" || exit 2

[ "$(grep -c ' = ' good.cfg)" = 12 ] || complain 'docs/configuration.md: no template of a GPU'
expect 0 '' check good.cfg
shows '^good.cfg: no errors'
expect 0 '' run --topology workstation-2 --batch 16 --draws 0 --set gpu.*.profile=good.cfg
verdict gpus.template_of_the_documentation_has_no_errors

# The path of this parameter is gpu.my.own.cfg.memory: the star stands for a name with dots.
cp good.cfg my.own.cfg
expect 0 '' run --topology workstation-2 --stack tf-1.12 --batch 16 --draws 0 --set gpu.*.profile=my.own.cfg --set 'gpu.*.memory=1 GiB'
shows "out of GPU memory: resnet50 at batch 16 needs 2.17 GB, GPU 'n0.gpu0' has 1.07 GB"
verdict gpus.star_stands_for_the_name_of_an_own_file

# refused NAME LINE PATTERN SED...: the template, edited, is refused at this line
refused() {
	name=$1
	pattern="^bad\\.cfg:$2: gpu: $3"
	shift 3
	sed "$@" good.cfg >bad.cfg
	expect 2 "$pattern" check bad.cfg
	[ "$(wc -l <"$scratch.err")" = 1 ] || complain "not one error: $(cat "$scratch.err")"
	verdict "gpus.$name"
}
refused fp32_beyond_its_lanes_is_refused 4 'fp32 = 97.5 TFLOP/s does not fit 76 SMs of 128 lanes .*write 48.74 TFLOP/s' \
	-e 's/fp32 = "48.7/fp32 = "97.5/'
refused sparse_fp16_is_refused 5 'fp16 = 390 TFLOP/s is 8.0 times fp32; Ada GPUs have at most 4 times \(write the dense peak' \
	-e 's/fp16 = "97.5/fp16 = "390/'
refused fp16_below_fp32_is_refused 5 'fp16 = 24.4 TFLOP/s is less than fp32' \
	-e 's/fp16 = "97.5/fp16 = "24.4/' -e 's/bf16 = "97.5/bf16 = "24.4/' -e 's/tf32 = "48.7/tf32 = "12.2/' -e 's/fp8 = "195/fp8 = "48.8/'
refused sparse_tf32_is_refused 7 'tf32 = 97.5 TFLOP/s is not half of fp16 = 97.5 TFLOP/s .*48.75 TFLOP/s' \
	-e 's/tf32 = "48.7/tf32 = "97.5/'
refused other_bf16_than_fp16_is_refused 6 'bf16 = 195 TFLOP/s is not the same as fp16' -e 's/bf16 = "97.5/bf16 = "195/'
refused fp8_with_sums_in_fp16_is_refused 8 'fp8 = 390 TFLOP/s is not twice fp16' -e 's/fp8 = "195/fp8 = "390/'
refused missing_fp8_is_refused 2 'fp8 is missing, although Ada GPUs have it \(write fp8 = "195 TFLOP/s"' -e /fp8/d
refused fp8_of_ampere_is_refused 8 'fp8 = 195 TFLOP/s, but Ampere GPUs have no fp8 \(remove it\)' -e 's/"ada"/"ampere"/' -e 's/717/600/'
refused bandwidth_beyond_the_bus_is_refused 9 'memory_bandwidth = 1.717 TB/s is 53.7 Gbit/s per pin .*write at most 768 GB/s' \
	-e 's/717 GB/1717 GB/'
refused bandwidth_far_below_the_bus_is_refused 9 'memory_bandwidth = 71.7 GB/s is 2.24 Gbit/s per pin' -e 's/717 GB/71.7 GB/'
refused memory_beyond_the_bus_is_refused 10 'memory = 160 GiB does not fit a bus of 256 bits \(GDDR\)' -e 's/16 GiB/160 GiB/'
refused memory_far_below_the_bus_is_refused 10 'memory = 16 MiB does not fit a bus' -e 's/16 GiB/16 MiB/'
refused hbm_of_kepler_is_refused 4 'memory_bus = 4096, but Kepler GPUs have no HBM' \
	-e 's/"ada"/"kepler"/' -e 's/fp32 = .*/fp32 = "5.3 TFLOPS"; memory_bus = 4096;/' -e '/tf32/d' -e /fp16/d -e /bf16/d -e /fp8/d \
	-e 's/memory_bus = 256;//' -e 's/= 76/= 15/' -e 's/2505 MHz/920 MHz/'
refused cuda_cores_as_sms_are_refused 12 'multiprocessors = 9728 is more than any GPU has' -e 's/= 76/= 9728/' -e '/boost_clock =/d'
sed -e 's/= 76/= 256/' -e '/boost_clock =/d' good.cfg >many.cfg
expect 0 '' check many.cfg
verdict 'gpus.as_many_sms_as_any_gpu_has_are_accepted'
refused missing_generation_is_refused 2 'generation is missing' -e /generation/d -e /tf32/d -e /bf16/d -e /fp8/d -e '/boost_clock =/d' -e 's/717/250/'
refused missing_sms_are_refused 2 'multiprocessors is missing' -e /multiproc/d -e '/boost_clock =/d'
refused memory_clock_as_boost_clock_is_refused 13 'boost_clock = 5.5 GHz is not the clock' -e 's/2505 MHz/5.5 GHz/'
refused idle_clock_as_boost_clock_is_refused 13 'boost_clock = 300 MHz is not the clock' -e 's/2505 MHz/300 MHz/'
# A bus of 1024 bits is a stack of HBM, which has at most 48 GiB.
refused bandwidth_beyond_a_stack_is_refused 9 'memory_bandwidth = 717 GB/s is 5.6 Gbit/s per pin of a bus of 1024 bits \(HBM\)' \
	-e 's/memory_bus = 256/memory_bus = 1024/'
refused memory_beyond_its_stacks_is_refused 10 'memory = 120 GiB does not fit a bus of 2048 bits \(HBM\), which has 2 GiB to 96 GiB' \
	-e 's/memory_bus = 256/memory_bus = 2048/' -e 's/16 GiB/120 GiB/'

# A wrong key is the only error, although the value of another one is wrong, too.
sed -e 's/fp16/fp17/' -e 's/fp32 = "48.7/fp32 = "97.5/' good.cfg >bad.cfg
expect 2 "^bad.cfg:5: gpu 'bad.cfg': unknown key 'fp17'" check bad.cfg
[ "$(wc -l <"$scratch.err")" = 1 ] || complain "not one error: $(cat "$scratch.err")"
verdict gpus.values_are_checked_after_keys
