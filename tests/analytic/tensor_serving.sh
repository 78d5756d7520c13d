#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Replicas of a model server with several GPUs (case.tensor), and several services.
set -u
cd "$(dirname "$0")/../.." || exit 2
farwire=${FARWIRE:-build/farwire}
failed=0

# field CSV NAME: the value of a column of numbers. Texts in quotes may have commas.
field() {
	printf '%s\n' "$1" | sed 's/"[^"]*"/text/g' | awk -F, -v name="$2" '
NR == 1 { for (i = 1; i <= NF; i++) if ($i == name) column = i }
NR == 2 { print column ? $column : "none" }'
}
# collective NAME BYTES: its time on two H100 of a DGX.
collective() {
	field "$("$farwire" run --topology dgx-h100 --gpus 2 --exchange nccl-2.18 --collective "$1" \
		--set library.custom_all_reduce=on --set "case.collective_size=$2 B" --draws 0 --format csv --quiet)" step_s
}
# serve ARGUMENTS: single requests with one token in and 100 out.
serve() {
	"$farwire" run --serve rate=0.001,prompt=1,output=100,output_spread=0,requests=4 --exchange nccl-2.18 \
		--draws 0 --format csv --quiet "$@"
}
verdict() {
	if [ "$2" = 0 ]; then
		echo "ok tensor_serving.$1"
	else
		echo "FAIL tensor_serving.$1"
		failed=1
	fi
}

# An iteration of Llama 3 8B with one row adds up 4,096 elements of 2 B behind the embedding, and twice
# in each of its 32 layers. Then it gathers 128,256 logits of 2 B. A request takes 100 iterations.
one=$(serve --topology dgx-h100 --model llama3-8b)
two=$(serve --topology dgx-h100 --model llama3-8b --set case.tensor=2)
sum=$(collective all_reduce 8192)
gather=$(collective all_gather 256512)
awk -v sum="$sum" -v gather="$gather" -v tensor="$(field "$two" tensor_exposed_s)" 'BEGIN {
	expected = 100 * (65 * sum + gather)
	printf "  %s s for %s s\n", tensor, expected
	exit !(sum > 0 && gather > 0 && tensor > 0.98 * expected && tensor < 1.02 * expected) }'
verdict a_token_takes_the_sums_of_its_layers_and_a_gather $?

# A product's weights are halved, and with one row reading them is most of the time.
awk -v one="$(field "$one" kernel_s)" -v two="$(field "$two" kernel_s)" 'BEGIN {
	printf "  kernels %s s on one GPU, %s s on two\n", one, two
	exit !(two > 0.5 * one && two < 0.62 * one) }'
verdict two_gpus_halve_the_time_of_kernels $?

# Weights of 70.6e9 x 2 B need two GPUs of 80 GB.
[ "$(field "$(serve --topology dgx-h100 --model llama3-70b)" verdict)" = fail ] &&
	[ "$(field "$(serve --topology dgx-h100 --model llama3-70b --set case.tensor=2)" verdict)" = ok ]
verdict a_network_that_is_too_large_for_one_gpu_runs_on_two $?

# A pipeline of two stages: a single request passes all layers as on one GPU. Between the stages, 4,096 features
# and as many of the residual travel, 2 B each. Stages of two GPUs send a half each, and gather both.
two_stages=$(serve --topology dgx-h100 --model llama3-8b --set case.pipeline=2)
four=$(serve --topology dgx-h100 --model llama3-8b --set case.pipeline=2 --set case.tensor=2)
awk -v one="$(field "$one" kernel_s)" -v two="$(field "$two" kernel_s)" -v stages="$(field "$two_stages" kernel_s)" \
	-v four="$(field "$four" kernel_s)" -v sum="$sum" -v gather="$gather" -v pass="$(collective broadcast 16384)" \
	-v half="$(collective broadcast 8192)" -v join="$(collective all_gather 16384)" \
	-v passed="$(field "$two_stages" tensor_exposed_s)" -v all="$(field "$four" tensor_exposed_s)" '
function near(a, b) { return a > 0.98 * b && a < 1.02 * b }
BEGIN {
	expected = 100 * (65 * sum + gather + half + join)
	printf "  kernels %s and %s s, messages %s s for %s s, all %s s for %s s\n", stages, four, passed, 100 * pass, all, expected
	exit !(near(stages, one) && near(four, two) && pass > 0 && near(passed, 100 * pass) && near(all, expected)) }'
verdict a_request_passes_all_stages_with_a_message_between_them $?

# The two halves of 70.6e9 x 2 B fit two GPUs of 80 GB. Images have no stages.
[ "$(field "$(serve --topology dgx-h100 --model llama3-70b --set case.pipeline=2)" verdict)" = ok ] &&
	"$farwire" run --topology dgx-h100 --model resnet50 --serve rate=1 --set case.pipeline=2 2>&1 |
	grep -q "case.pipeline needs a network that generates tokens, which 'resnet50' is not"
verdict a_network_that_is_too_large_for_one_gpu_runs_in_two_stages $?

# Two stages of two GPUs with half of the experts. Each of 48 layers has two all-to-alls, and the stages a message
# of 2 x 2,048 numbers of 2 B, which each GPU sends whole because it has requests of its own. One row goes to 8 experts.
experts=$(serve --topology dgx-h100 --model qwen3-30b-a3b --set case.expert=2)
both=$(serve --topology dgx-h100 --model qwen3-30b-a3b --set case.expert=2 --set case.pipeline=2)
awk -v experts="$(field "$experts" tensor_exposed_s)" -v both="$(field "$both" tensor_exposed_s)" -v pass="$(collective broadcast 8192)" \
	-v kernel="$(field "$experts" kernel_s)" -v kernels="$(field "$both" kernel_s)" 'BEGIN {
	printf "  all-to-alls %s s, with messages %s s, each message %s s, kernels %s and %s s\n", experts, both, pass, kernel, kernels
	exit !(experts > 0 && pass > 0 && both - experts > 98 * pass && both - experts < 102 * pass && kernels > 0.98 * kernel && kernels < 1.02 * kernel) }'
verdict stages_with_spread_experts_send_all_rows_of_each_gpu $?

# Each stage of two GPUs gets half of 4,096 rows, and passes on 2 x 2,048 x 4,096 numbers of 2 B: half on each GPU, which
# the other stage gathers.
rows() { # TOKENS ARGUMENTS
	rows=$1
	shift
	field "$(serve --topology dgx-h100 --model llama3-8b --set case.tensor=2 --set case.sequence=8192 --set serve.output=1 \
		--set serve.prompt="$rows" "$@")" tensor_exposed_s
}
awk -v stages="$(rows 4096 --set case.pipeline=2)" -v one="$(rows 2048)" -v half="$(collective broadcast 16777216)" \
	-v gather="$(collective all_gather 33554432)" 'BEGIN {
	printf "  messages %s s, each half %s s, gathers %s s\n", stages - one, half, gather
	exit !(half > 0 && stages - one > 0.999 * (half + gather) && stages - one < 1.001 * (half + gather)) }'
verdict stages_pass_on_a_part_on_each_gpu $?

# Mixtral has as many layers and features. One sum a layer is that of its experts, and 32,000 logits are gathered.
moe=$(serve --topology dgx-h100 --model mixtral-8x7b --set case.tensor=2)
awk -v sum="$sum" -v gather="$(collective all_gather 64000)" -v tensor="$(field "$moe" tensor_exposed_s)" 'BEGIN {
	expected = 100 * (65 * sum + gather)
	printf "  %s s for %s s\n", tensor, expected
	exit !(tensor > 0.98 * expected && tensor < 1.02 * expected) }'
verdict experts_that_are_split_are_summed_once_a_layer $?

# Adapters of rank r at the four products of a block: (4,096 + 4,096 + 4,096 + 14,336 + 6,144 + 4,096 + 28,672 + 4,096)
# r x 2 B in each of 32 blocks. Rank 1,024 reads 2.28 GB more than 512 in each of 100 iterations, at 0.8 to 1 of 3.35 TB/s.
# A single request uses one adapter, however many there are.
adapted() {
	field "$(serve --topology dgx-h100 --model llama3-8b --set serve.adapters="$1" --set serve.adapter_rank="$2")" kernel_s
}
awk -v none="$(field "$one" kernel_s)" -v half="$(adapted 1 512)" -v all="$(adapted 1 1024)" -v three="$(adapted 3 512)" 'BEGIN {
	peak = 100 * 32 * 69632 * 512 * 2 / 3.35e12
	printf "  rank 512 %s s, 1,024 %s s, without %s s\n", half, all, none
	exit !(half > none && all - half > peak && all - half < peak / 0.8 && three > 0.999999 * half && three < 1.000001 * half) }'
verdict adapters_are_read_once_an_iteration $?

# A step drafts two tokens with a network that is the model itself, then checks three rows. With acceptance 0
# each of the 99 tokens behind the first takes two steps of the draft and one of the model.
draft=$(serve --topology dgx-h100 --model llama3-8b --set serve.draft=llama3-8b --set serve.drafted=2 --set serve.acceptance=0)
check=$(serve --topology dgx-h100 --model llama3-8b --set serve.drafted=2 --set serve.acceptance=0)
awk -v one="$(field "$one" kernel_s)" -v draft="$(field "$draft" kernel_s)" -v check="$(field "$check" kernel_s)" 'BEGIN {
	expected = check + one * (1 + 2 * 99) / 100
	printf "  kernels %s s, expected %s s, checks %s s\n", draft, expected, check
	exit !(draft > 0.99 * expected && draft < 1.01 * expected && check > 0.99 * one && check < 1.1 * one) }'
verdict drafted_tokens_take_steps_of_the_draft $?

# Six blocks of 16 tokens do not hold a request of 101 tokens, seven do.
[ "$(field "$(serve --topology dgx-h100 --model llama3-8b --set serve.cache_blocks=6)" verdict)" = fail ] &&
	[ "$(field "$(serve --topology dgx-h100 --model llama3-8b --set serve.cache_blocks=7)" verdict)" = ok ]
verdict a_stated_number_of_blocks_is_the_cache $?

# Two remote GPUs in one server, and in two servers over a fast and a slow network.
remote() {
	field "$(serve --topology gpu-pool --model llama2-7b --runtime asynchronous --set case.transport=tcp \
		--set case.program=client1 --set case.tensor=2 "$@")" tensor_exposed_s
}
awk -v inside="$(remote --set case.gpu=gpu1)" -v fast="$(remote --set case.gpu=gpu2)" \
	-v slow="$(remote --set case.gpu=gpu2 --set 'link.*.bandwidth=1 Gbit/s')" 'BEGIN {
	printf "  one server %s s, 25 Gbit/s %s s, 1 Gbit/s %s s\n", inside, fast, slow
	exit !(inside > 0 && inside < fast && fast < slow) }'
verdict sums_between_servers_travel_over_their_network $?

# Each GPU for prompts sends its heads of the keys and values to its counterpart, over NVLink at the same
# time. So twice the GPUs take half the time.
apart() {
	field "$("$farwire" run serve-disaggregated --set case.tensor="$1" --set client.tokens.gpu=n0.gpu4 \
		--set serve.requests=50 --draws 0 --format csv --quiet)" transfer_s
}
awk -v one="$(apart 1)" -v two="$(apart 2)" 'BEGIN {
	printf "  transfer %s s from one GPU, %s s from two\n", one, two
	exit !(two > 0.45 * one && two < 0.55 * one) }'
verdict each_gpu_sends_its_part_of_keys_and_values $?

# With spread experts, one of two GPUs has all keys and values of a request. It sends them over one adapter as a
# replica with one GPU does.
over_network() {
	field "$("$farwire" run serve-disaggregated-100g --set case.model=qwen3-30b-a3b --set case.sequence=8192 \
		--set serve.rate=0.5 --set serve.requests=40 --set case.expert="$1" --draws 0 --format csv --quiet)" transfer_s
}
awk -v one="$(over_network 1)" -v two="$(over_network 2)" 'BEGIN {
	printf "  transfer %s s from one GPU, %s s with spread experts\n", one, two
	exit !(one > 0 && two > 0.995 * one && two < 1.005 * one) }'
verdict spread_experts_send_keys_and_values_once $?
# Two groups of two GPUs take turns with 8 requests of 4,096 tokens, 98,304 B each. So each GPU sends a quarter, with the
# overhead of PCIe, if two GPUs of a group share the heads or two stages share the layers.
sent() {
	"$farwire" run serve-disaggregated-100g --set case.model=qwen3-30b-a3b --set case.sequence=8192 --set serve.rate=0.5 \
		--set serve.requests=8 "$@" --draws 0 --format json --quiet | tr -d ' \n' |
		grep -o '"n0.slot[0-3]n0.gpu[0-3]>n0.plx[01]","utilization":[^,]*,"carried_B":[^}]*' | sed 's/.*://' |
		awk '{ part = 8 * 4096 * 98304 / 4; good += $1 > 1.1 * part && $1 < 1.15 * part } END { print good + 0, NR }'
}
[ "$(sent --set case.tensor=2 --set case.expert=4)" = '4 4' ] &&
	[ "$(sent --set case.pipeline=2 --set case.expert=2)" = '4 4' ]
verdict groups_send_keys_and_values_from_all_their_gpus $?

# GPT-2 XL draws 10 requests at 4/s, so both services run for 2.5 s, and ResNet-50 draws 500 at 200/s.
two=$("$farwire" run serve-tenants --set serve.gpt2-xl.requests=10 --set serve.resnet50.requests=20 \
	--draws 0 --format csv --quiet)
[ "$(field "$two" requests)" = 510 ]
verdict services_that_run_equally_long_count_all_their_requests $?

# Requests are not samples of a training, so model servers have no MFU.
"$farwire" run serve-llama3-h100 --draws 0 --format json --quiet --set serve.requests=20 | tr -d ' \n' |
	grep -q '"mfu":{"value":null,'
verdict requests_have_no_model_flops $?
exit $failed
