#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Host time of a framework: a step of a tiny network, whose operators are so slow that the host is
# the limit, follows by hand from the numbers of its operators.
set -u
cd "$(dirname "$0")/../.." || exit 2
# shellcheck source=tests/check.sh
. tests/check.sh

cat > "$scratch.cfg" <<'EOF'
network = {
	name = "tiny"; source = "made up"; image = 4; channels = 2; classes = 3;
	layers = (
		{ name = "one"; op = "fc"; out = 8; bias = true; relu = true; },
		{ name = "drop"; op = "dropout"; },
		{ name = "two"; op = "fc"; out = 3; },
		{ name = "loss"; op = "softmax"; }
	);
};
EOF
# An operator takes 10 ms at 2.4 GHz; driver calls take microseconds.
tiny() {
	farwire run --topology dgx-h100 --gpus 1 --model "$scratch.cfg" --batch 4 --draws 0 --quiet --format csv \
		--set 'host.*.turbo=false' --set 'host.*.clock=2.4 GHz' --set 'stack.dispatch=10 ms' \
		--set 'stack.session=1 ms' --set stack.sync_on_finish=true "$@"
}
# takes MILLISECONDS [TOLERANCE]: the step time of the last prediction
takes() {
	sed 's/"[^"]*"/text/g' "$scratch.out" | awk -F, -v wanted="$1" -v slack="${2:-1}" '
		NR == 1 { for (i = 1; i <= NF; i++) if ($i == "step_s") column = i }
		NR == 2 { off = 1000 * $column - wanted; ok = (off >= 0 && off < slack) }
		END { exit !ok }' ||
		complain "the step does not take $1 ms: $(cat "$scratch.out" "$scratch.err")"
}

# Forward: two products, bias, ReLU, dropout, loss. Backward: loss, dropout, ReLU, bias, the gradients
# of two weights and of one input. Updates: two weights and a bias. 6 + 7 x 3 + 3 x 0.5 operators.
tiny --stack pytorch --set stack.autograd=3 --set stack.update=0.5
takes 286
# Many tensors share a kernel of the optimiser, but not the host's time for them.
tiny --stack pytorch --set stack.autograd=3 --set stack.update=0.5 --set stack.update_tensors=8
takes 286
# The transposes of a convolution belong to its operator, and TensorFlow's passes cost alike.
tiny --stack tf-2
takes 161
verdict 'framework_host.a_step_takes_the_time_of_its_operators'

# No dropout: five operators.
tiny --stack pytorch --set stack.forward_only=true
takes 51
# Two weights and a bias are arguments of compiled code.
tiny --stack tf-2 --set stack.forward_only=true --set 'stack.variable=4 ms'
takes 63
verdict 'framework_host.a_forward_pass_has_only_forward_operators'

# Autocast casts two weights and the gradients of both. In TensorFlow, other threads issue the casts of weights.
tiny --stack pytorch-amp --set stack.forward_only=true
takes 71
tiny --stack tf-1.15-ngc-amp --set stack.forward_only=true
takes 51
verdict 'framework_host.other_threads_of_tensorflow_cast_the_weights'

# ONNX Runtime has six nodes here: two convolutions, an average, a product with bias, a ReLU, and a product with
# bias. The second convolution adds the other branch. The outputs need no loss. Batch norm is in the
# weights of the convolutions.
cat > "$scratch.cfg" <<'EOF'
network = {
	name = "small"; source = "made up"; image = 8; channels = 4; classes = 3;
	layers = (
		{ name = "one"; op = "conv"; kernel = [3, 3]; out = 4; pad = "same"; batch_norm = true; relu = true; },
		{ name = "two"; op = "conv"; kernel = [3, 3]; out = 4; pad = "same"; batch_norm = true; },
		{ name = "sum"; op = "add"; relu = true; from = ["one", "two"]; },
		{ name = "mean"; op = "avg_pool"; kernel = [8, 8]; stride = 8; },
		{ name = "three"; op = "fc"; out = 8; bias = true; relu = true; },
		{ name = "drop"; op = "dropout"; },
		{ name = "four"; op = "fc"; out = 3; bias = true; },
		{ name = "loss"; op = "softmax"; }
	);
};
EOF
tiny --stack onnxruntime
takes 61
# PyTorch also has two batch norms, two ReLUs, an addition and two biases.
tiny --stack pytorch --set stack.forward_only=true
takes 141
# A convolution adds only what has a ReLU behind it.
sed 's/op = "add"; relu = true;/op = "add";/' "$scratch.cfg" >"$scratch.linear" && mv "$scratch.linear" "$scratch.cfg"
tiny --stack onnxruntime
takes 71
sed 's/op = "add";/op = "add"; relu = true;/' "$scratch.cfg" >"$scratch.relu"
# Tokens have an embedding, one product of query, key and value, attention, and the product of its output. An addition with its
# norm follows, then two products with a GELU between them, and the logits.
cat > "$scratch.cfg" <<'EOF'
network = {
	name = "block"; source = "made up"; sequence = 8; vocabulary = 16;
	layers = (
		{ name = "embed"; op = "embedding"; out = 8; },
		{ name = "attn"; op = "attention"; heads = 2; bias = true; separate = true; },
		{ name = "sum"; op = "add"; from = ["embed", "attn"]; },
		{ name = "norm"; op = "layer_norm"; },
		{ name = "mlp"; op = "mlp"; hidden = 16; bias = true; activation = "gelu"; },
		{ name = "words"; op = "linear"; out = 16; },
		{ name = "loss"; op = "cross_entropy"; }
	);
};
EOF
tiny --stack onnxruntime
takes 91
cp "$scratch.out" "$scratch.rates"
mv "$scratch.relu" "$scratch.cfg"
verdict 'framework_host.a_run_of_onnx_runtime_takes_the_time_of_its_nodes'

# Multiplications of a sequence of 8 tokens: 8 x (8 x 24 + 8 x 8 + 2 x 8 x 16 + 8 x 16) in the products and 2 x 2 x 64 x 4
# in attention. Four sequences have 2 x 4 x 6144 flop, without a backward pass.
sed 's/"[^"]*"/text/g' "$scratch.rates" | awk -F, '
	NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i }
	NR == 2 { flop = $at["model_flops_gpu"] * $at["step_s"] }
	END { exit !(flop > 49151 && flop < 49153) }' || complain "a forward pass has other flop: $(cat "$scratch.rates")"
verdict 'framework_host.the_flop_of_a_forward_pass_are_a_third'

# Launches of 10 ms count the kernels, one for each node; in fp32 no kernel transposes images.
tiny --stack onnxruntime --set stack.tf32=none --set stack.dispatch='0 us' --set 'driver.launch=10 ms'
takes 61
verdict 'framework_host.batch_norm_and_relu_of_a_session_launch_no_kernels'

# A Run copies its batch in and its output back. With the batch on the GPU, only its output is copied.
tiny --stack onnxruntime --set 'driver.copy=7 ms'
takes 75
tiny --stack onnxruntime --set 'driver.copy=7 ms' --set stack.real_input=false
takes 68
verdict 'framework_host.a_run_contains_the_copies_of_its_input_and_output'

# A step takes the time of the host up to some batch, and then that of the GPU.
resnet() {
	farwire run --topology dgx1-v100 --gpus 1 --model resnet50_v15 --stack pytorch --draws 0 --quiet --format csv \
		--set stack.forward_only=true --set stack.sync_on_finish=true "$@"
	sed 's/"[^"]*"/text/g' "$scratch.out" | awk -F, '
		NR == 1 { for (i = 1; i <= NF; i++) if ($i == "step_s") column = i }
		NR == 2 { print $column }' >> "$scratch.steps"
}
: > "$scratch.steps"
for batch in 1 2 32 64; do
	resnet --batch "$batch"
done
awk '{ s[NR] = $1 } END { exit !(s[2] / s[1] < 1.02 && s[3] / s[2] > 3 && s[4] / s[3] > 1.8) }' "$scratch.steps" ||
	complain "steps of 1, 2, 32 and 64 images: $(cat "$scratch.steps")"
verdict 'framework_host.a_batch_sweep_goes_from_the_host_to_the_gpu'

# refused TEXT OPTIONS...
refused() {
	text=$1
	shift
	farwire run --topology dgx-h100 --model resnet50_v15 --batch 1 --stack pytorch "$@"
	[ "$code" = 2 ] || complain "$*: ended with $code"
	grep -q -- "$text" "$scratch.err" || complain "$*: $(cat "$scratch.err")"
}
refused 'is a forward pass on one GPU' --gpus 8 --set stack.forward_only=true
refused 'serve to the case or stack.forward_only' --gpus 1 --set stack.fusion=inference
refused 'stack.autograd' --gpus 1 --set stack.autograd=-1
refused 'stack.framework is onnxruntime, which cannot train (write pytorch' --gpus 1 --set stack.framework=onnxruntime
refused 'stack.fusion is session, which cannot train' --gpus 1 --set stack.fusion=session
verdict 'framework_host.refuses_a_forward_pass_that_exchanges_gradients'
