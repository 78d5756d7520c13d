#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Times of collectives inside one machine, with the numbers of the defaults (no fitted profiles).
set -u
cd "$(dirname "$0")/../.." || exit 2
farwire=${FARWIRE:-build/farwire}
failed=0

# time_of ARGUMENTS: seconds of a collective.
time_of() {
	"$farwire" run --exchange nccl-2.18 --set case.transport=rdma --set case.gpu_profiles=false --draws 0 \
		--format csv --quiet "$@" | sed 's/"[^"]*"/text/g' | awk -F, '
NR == 1 { for (i = 1; i <= NF; i++) if ($i == "step_s") column = i }
NR == 2 { print column ? $column : "none" }'
}
# near NAME TIME EXPECTED: an expression in seconds, within 1 %.
near() {
	if awk -v time="$2" "BEGIN { expected = $3; printf \"  %s s for %s s\n\", time, expected
		exit !(time > 0.99 * expected && time < 1.01 * expected) }"; then
		echo "ok collectives_inside.$1"
	else
		echo "FAIL collectives_inside.$1"
		failed=1
	fi
}

# Each of n H100 reads n - 1 buffers of 128 KiB at 300 GB/s. The start is 5 us, the wire 0.5 us.
shot() {
	time_of --topology dgx-h100 --collective all_reduce --gpus "$1" --set library.custom_all_reduce=on \
		--set "case.collective_size=$2 KiB"
}
near two_gpus_read_one_buffer "$(shot 2 128)" '5.5e-6 + 131072 / 300e9'
near four_gpus_read_three_buffers "$(shot 4 128)" '5.5e-6 + 3 * 131072 / 300e9'
near eight_gpus_read_seven_buffers "$(shot 8 128)" '5.5e-6 + 7 * 131072 / 300e9'

# In two shots, each of four GPUs reads three quarters of 4 MiB twice. The start is 9 us, and the wire
# counts once for each shot.
near two_shots_read_parts_twice "$(shot 4 4096)" '10e-6 + 2 * 3 * 1048576 / 300e9'

# Four L40S gather 64 MiB. GPUs 1 and 2 are at different switches of one root complex. The time is
# three parts of 16 MiB at the rate of that hop, so half of the rate doubles it.
root() {
	time_of --topology l40s-8gpu --collective all_gather --gpus 4 --set library.protocol=simple \
		--set 'case.collective_size=64 MiB' --set "host.*.peer_root=$1"
}
all=$(root 0.2)
near a_root_complex_limits_rings_of_gpus_at_several_switches "$(root 0.1)" "2 * $all"

# GPU 0 and GPU 1 are at one switch, so the root complex does not matter.
near a_switch_forwards_at_full_rate "$(time_of --topology l40s-8gpu --collective all_gather --gpus 2 \
	--set 'case.collective_size=64 MiB' --set 'host.*.peer_root=0.01')" "$(time_of --topology l40s-8gpu \
	--collective all_gather --gpus 2 --set 'case.collective_size=64 MiB')"

# Eight GPUs use both processors.
socket() {
	time_of --topology l40s-8gpu --collective all_gather --gpus 8 --set library.protocol=simple \
		--set 'case.collective_size=64 MiB' --set "host.*.peer_socket=$1"
}
near the_link_of_processors_limits_rings_of_all_gpus "$(socket 0.02)" "2 * $(socket 0.04)"

# An all-gather of 8 B on two H100 takes 6.6 us and a hop of 0.6 us. The constant doubles the 6.6 us.
small() {
	time_of --topology dgx-h100 --collective all_gather --gpus 2 --set 'case.collective_size=8 B' "$@"
}
near nccl_has_its_own_model_without_constants "$(small)" '7.2e-6'
near constants_of_the_generation_scale_the_start "$(small --set collectives.hopper.start_ll=2)" '13.8e-6'
# NCCL 2.8 starts in 3.6 us, and the wire has 0.5 us. A channel has 1.6 us, or the 0.97 us that the
# fit to this release on Ampere found.
of_2_8() {
	time_of --topology dgx-a100-40 --collective all_gather --gpus 2 --set 'case.collective_size=8 B' \
		--exchange nccl-2.8 --set library.protocol=ll "$@"
}
near a_channel_of_nccl_2_8_adds_to_the_start "$(of_2_8)" '5.7e-6'
near a_library_has_the_profile_of_the_generation "$(of_2_8 --set case.gpu_profiles=true)" '5.07e-6'
near a_setting_turns_the_constants_off "$(small --set library.by_generation=false)" '7.2e-6'
# Buffers in symmetric windows. NCCL's model has 4.5 us and nine times the bytes of n buffers for LL on
# Hopper, and 7.8 us otherwise, at 320 GiB/s less 1 us. So eight GPUs use LL for 8 KiB (5.2 us) and not
# for 32 KiB (10.4 us). Links reach 0.85 x 0.97 x 450 = 371 GB/s, and with LL half of that. Kernels
# without LL reach 320 GiB/s. A switch adds at 0.7 x 450 GB/s: it carries 9/8 of the buffer, and other
# pieces hide the latency of one of two hops.
window() {
	time_of --topology dgx-h100 --collective "$1" --gpus "$2" --set library.symmetric=true \
		--set "case.collective_size=$3"
}
gib=1073741824
near one_shot_of_a_window_sends_flags_with_the_data "$(window all_reduce 8 '8 KiB')" '4.5e-6 + 7 * 8192 / 185.5e9'
near two_gpus_of_a_window_read_halves_twice "$(window all_reduce 2 '64 MiB')" "7.8e-6 + 67108864 / (320 * $gib)"
near a_switch_adds_a_window_without_rounds "$(window all_reduce 8 '64 MiB')" '7.3e-6 + 67108864 * 9 / 8 / 315e9'
near pieces_of_a_window_go_up_and_down_at_the_same_time "$(window all_reduce 8 '1 MiB')" '7.3e-6 + 1048576 * 9 / 8 / 315e9'
near a_window_is_gathered_directly "$(window all_gather 8 '64 MiB')" "7.8e-6 + 7 / 8 * 67108864 / (320 * $gib)"
near a_window_is_scattered_directly "$(window reduce_scatter 8 '64 MiB')" "7.8e-6 + 7 / 8 * 67108864 / (320 * $gib)"
near windows_of_several_machines_use_the_library "$(window all_reduce 16 '64 MiB')" "$(time_of --topology dgx-h100 \
	--collective all_reduce --gpus 16 --set 'case.collective_size=64 MiB')"
exit $failed
