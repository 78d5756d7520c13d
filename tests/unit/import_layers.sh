#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Layers of imported networks, one change of a configuration a line: which layers have experts,
# windows or recurrences, and the kinds of norms and positions.
cd "$(dirname "$0")/../.." || exit 2
# shellcheck source=tests/check.sh
. tests/check.sh
cd "$scratch" || exit 2

# layers WANTED MORE: a network of four layers with experts and these settings. Layers are repeat x attention x MLP: a for
# attention, w for a window, s for a recurrence; m, g and e for an MLP, a gated one and experts. A period of two layers is repeated as a whole.
base='"model_type": "qwen3_moe", "num_hidden_layers": 4, "hidden_size": 64, "num_attention_heads": 2, "head_dim": 32,
	"intermediate_size": 128, "moe_intermediate_size": 48, "num_experts": 8, "num_experts_per_tok": 2, "vocab_size": 100,
	"max_position_embeddings": 32'
layers() {
	echo "{ $base, $2 }" >net.json
	expect 0 'settings read' import model net.json
	awk '/name = "block/ { line = line sep; sub(/.*repeat = /, ""); sub(/;.*/, ""); line = line $0; sep = " " }
		/op = "attention"/ { line = line (/window = /  ? "w" : "a") }
		/op = "recurrent"/ { line = line "s" }
		/op = "experts"/ { line = line "e" }
		/op = "gated_mlp"/ { line = line "g" }
		/op = "mlp"/ { line = line "m" }
		END { print line }' "$scratch.out" >got
	[ "$(cat got)" = "$1" ] || complain "$2 gives $(cat got), not $1"
}
layers '4ae' '"x": 1'
layers '1ae 1ag 2ae' '"mlp_only_layers": [1, "x"]'
layers '2agae' '"decoder_sparse_step": 2'
layers '2ag 2ae' '"first_k_dense_replace": 2'
layers '2ae 2ag' '"moe_layer_end_index": 1'
layers '2ag 1ae 1ag' '"first_k_dense_replace": 2, "moe_layer_end_index": 2'
layers '1ag 2ae 1ag' '"moe_layer_freq": [0, 1, 1, 0]'
layers '2agae' '"moe_layers": [1, 3]'
layers '2agae' '"expert_layer_period": 2, "expert_layer_offset": 1'
layers '2aeag' '"expert_layer_period": 2, "expert_layer_offset": 0'
layers '1we 1ae 2we' '"layer_types": ["sliding_attention", "full_attention", "sliding_attention", "sliding_attention"], "sliding_window": 16'
layers '4ae' '"layer_types": ["sliding_attention", "full_attention", "sliding_attention", "sliding_attention"]'
verdict import_layers.layers_have_the_experts_and_windows_of_their_lists

# Nemotron-H: M is a recurrence, * attention, - an MLP and E experts, and a layer has only one of them.
base='"model_type": "nemotron_h", "num_hidden_layers": 4, "hidden_size": 64, "num_attention_heads": 2, "head_dim": 32,
	"intermediate_size": 128, "vocab_size": 100, "max_position_embeddings": 32, "mamba_num_heads": 4, "mamba_head_dim": 16,
	"ssm_state_size": 8, "n_groups": 2, "conv_kernel": 4'
layers '1s 1m 1a 1m' '"hybrid_override_pattern": "M-*-"'
layers '1s 1e 1a 1s' '"hybrid_override_pattern": "ME*M", "n_routed_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 32'
refused() { # PATTERN MORE
	echo "{ $base, $2 }" >bad.json
	expect 2 "$1" import model bad.json
}
refused 'hybrid_override_pattern = M-\*: it must have one of M, \*, - and E for each layer' '"hybrid_override_pattern": "M-*"'
refused 'hybrid_override_pattern = M-\*x: it must have one of M, \*, - and E for each layer' '"hybrid_override_pattern": "M-*x"'
verdict import_layers.patterns_give_one_part_to_each_layer

# Sizes and kinds of a plain network.
base='"model_type": "gpt2", "n_layer": 2, "n_head": 2, "vocab_size": 100, "n_positions": 32'
refused 'n_embd = 65: heads must divide the features|heads must divide the features' '"n_embd": 65'
refused 'a token has at most 1e6 features' '"n_embd": 2000000'
base='"model_type": "gpt2", "n_embd": 64, "n_head": 2, "vocab_size": 100, "n_positions": 32'
refused 'a network has at most 1000 layers' '"n_layer": 1001'
base="$base, \"n_layer\": 2"
net() { # COUNT PATTERN MORE
	echo "{ $base, $3 }" >net.json
	expect 0 'settings read' import model net.json
	found=$(grep -c -e "$2" "$scratch.out")
	[ "$found" = "$1" ] || complain "$3: $found lines with '$2', not $1"
}
net 2 '"norm[12]"; op = "rms_norm"' '"normalization": "RMSNorm"'
net 2 '"norm[12]"; op = "rms_norm"' '"normalization": "rmsnorm"'
net 2 '"norm[12]"; op = "layer_norm"' '"normalization": "LayerNorm"'
net 1 'positions = 32' '"position_embedding_type": "learned_absolute"'
net 1 'positions = 32' '"position_embedding_type": "absolute"'
net 0 'positions = 32' '"position_embedding_type": "rope"'
net 1 'rotary = true' '"position_embedding_type": "rope"'
net 1 'rotary = true' '"position_embedding_type": "rotary"'
net 0 'rotary = true\|positions = 32' '"position_embedding_type": "none"'
net 1 'rotary = true' '"use_rotary_position_embeddings": true'
net 0 'op = "dropout"' '"resid_pdrop": 0, "attn_pdrop": 0'
verdict import_layers.norms_and_positions_are_those_that_are_named
