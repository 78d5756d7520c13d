#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Layers of imported networks, one change of a configuration a line: which layers have experts,
# windows or recurrences, and the kinds of norms and positions.
cd "$(dirname "$0")/../.." || exit 2
# shellcheck source=tests/check.sh
. tests/check.sh
networks=$PWD/tests/samples/networks
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

# Layers of published networks: N( ... ) are N times the layers inside, with the letters above. Recurrent layers have the sizes
# of their kind. With heads h of d features, groups n, a state s and a convolution of 4:
#   Mamba 2   hidden h d, mixed h d + 2 n s, in = h d + mixed + h, weights = (5 mixed + 3 h + h d) / hidden
#   Mamba     hidden 2 x features, in = 2 hidden, weights = 5 + 256 + 2 x 16 + 256 + 1 + 16 + 1 at a step of rank 256
#   delta     mixed = 2 x keys + values, in = mixed + values + 2 h, weights = 4 mixed / values; Kimi: in = mixed + 2 d + h,
#             weights = 4 mixed / values + 2 d + 1
#   lightning in = 4 h d; convolution in = 3 features, weights and state its width of 3
#   LRU       in = 2 x features, weights = 5 + 2 (d + 1) + 1
cat >structure.awk <<'END'
/repeat = / { sub(/.*repeat = /, ""); sub(/;.*/, ""); line = line $0 "("; next }
/^\t*\); },?$/ { line = line ")" }
/op = "(latent_)?attention"/ { line = line (/window = / ? "w" : "a") }
/op = "recurrent"/ { line = line "s"; sub(/.*in = /, "in = "); sub(/;( from.*)? }.*/, ""); sizes = " " $0 }
/op = "experts"/ { line = line "e" }
/op = "gated_mlp"/ { line = line "g" }
/op = "mlp"/ { line = line "m" }
END { print line sizes }
END
while read -r network structure; do
	expect 0 '' import model "$networks/$network.json" -q
	found=$(awk -f structure.awk "$scratch.out")
	[ "$found" = "$structure" ] || complain "$network is $found, not $structure"
done <<'END'
bloom-176b 70(am)
deepseek-v2-lite 1(ag)26(ae)
deepseek-v3 3(ag)58(ae)
ernie-4.5-21b-a3b 1(ag)27(ae)
falcon-180b 80(am)
falcon-7b 32(am)
falcon-h1-7b 44(asg) in = 6680; hidden = 3072; state = 256; weights = 7
falcon-mamba-7b 64(s) in = 16384; hidden = 8192; state = 16; weights = 567
gemma-3-27b 10(5(wg)1(ag))2(wg)
glm-4-32b-0414 61(ag)
granite-4.0-h-small 4(5(se)1(ae)4(se)) in = 16768; hidden = 8192; state = 128; weights = 6
hunyuan-a13b 32(ae)
jamba-v0.1 4(1(sg)1(se)1(sg)1(se)1(ag)1(se)1(sg)1(se)) in = 16384; hidden = 8192; state = 16; weights = 567
kimi-linear-48b-a3b 1(sg)6(2(se)1(ae)1(se))1(se)1(ae) in = 12576; hidden = 4096; state = 128; weights = 269
lfm2-1.2b 3(2(sg)1(ag))3(1(sg)1(ag))1(sg) in = 6144; hidden = 2048; state = 3; weights = 3
llama4-maverick 12(1(wg)1(we)1(wg)1(ae))
mamba2-2.7b 64(s) in = 10576; hidden = 5120; state = 128; weights = 6
minimax-m1 10(7(se)1(ae)) in = 32768; hidden = 8192; state = 128; weights = 1
nemotron-3-nano-30b 5(1(s)1(e)1(s)1(e)1(s)1(a)1(e))3(1(s)1(e))1(s)1(a)4(1(e)1(s))1(e) in = 10304; hidden = 4096; state = 128; weights = 9
phi-3.5-moe 32(we)
qwen3-next-80b-a3b 12(3(se)1(ae)) in = 12352; hidden = 4096; state = 128; weights = 8
recurrentgemma-9b 12(2(sg)1(wg))2(sg) in = 8192; hidden = 4096; state = 1; weights = 520
stablelm-2-12b 40(ag)
END
verdict import_layers.published_networks_have_their_layers

# Whole layers of a network of each kind. Norms are behind a part, on both sides, or shared by both parts. Attention and MLP
# can be beside each other. BERT has both heads, and the MLP of Griffin has half of the size.
whole() { # MORE: the layers are the text of the standard input, without quotes and words
	cat >wanted
	echo "{ \"num_hidden_layers\": 2, \"hidden_size\": 64, \"num_attention_heads\": 2, \"intermediate_size\": 128, \"vocab_size\": 100, \"max_position_embeddings\": 32, $1 }" >net.json
	expect 0 'settings read' import model net.json
	sed -e '1,/layers = (/d; s/^\t*//; /^);$/d; /^};$/d; s/name = //; s/op = //; s/"//g; s/{ //g; s/; },*$//' "$scratch.out" >got
	cmp -s got wanted || complain "the layers of $1 differ: $(diff wanted got)"
}
whole '"model_type": "olmo2"' <<'END'
embed; embedding; out = 64
block; repeat = 2; layers = (
attn; attention; heads = 2; head_size = 32; causal = true; separate = true; rotary = true; qk_norm = true
attn_norm; rms_norm
add1; add; from = [block, attn_norm]
mlp; gated_mlp; hidden = 128
mlp_norm; rms_norm
add2; add; from = [add1, mlp_norm]
)
norm; rms_norm
logits; linear; out = 100
loss; cross_entropy
END
whole '"model_type": "gemma2", "sliding_window": 16' <<'END'
embed; embedding; out = 64
block; repeat = 1; layers = (
norm1; rms_norm
attn; attention; heads = 2; head_size = 256; window = 16; causal = true; separate = true; rotary = true
attn_norm; rms_norm
add1; add; from = [block, attn_norm]
norm2; rms_norm
mlp; gated_mlp; hidden = 128
mlp_norm; rms_norm
add2; add; from = [add1, mlp_norm]
)
block2; repeat = 1; layers = (
norm1; rms_norm
attn; attention; heads = 2; head_size = 256; causal = true; separate = true; rotary = true
attn_norm; rms_norm
add1; add; from = [block2, attn_norm]
norm2; rms_norm
mlp; gated_mlp; hidden = 128
mlp_norm; rms_norm
add2; add; from = [add1, mlp_norm]
)
norm; rms_norm
logits; linear; tied = embed
loss; cross_entropy
END
whole '"model_type": "gpt_neox", "use_parallel_residual": true' <<'END'
embed; embedding; out = 64
block; repeat = 2; layers = (
norm1; layer_norm
attn; attention; heads = 2; head_size = 32; causal = true; bias = true; rotary = true
norm2; layer_norm; from = block
mlp; mlp; hidden = 128; bias = true; activation = gelu
add2; add; from = [block, attn, mlp]
)
norm; layer_norm
logits; linear; out = 100
loss; cross_entropy
END
whole '"model_type": "cohere"' <<'END'
embed; embedding; out = 64
block; repeat = 2; layers = (
norm1; layer_norm; bias = false
attn; attention; heads = 2; head_size = 32; causal = true; separate = true; rotary = true
mlp; gated_mlp; hidden = 128; from = norm1
add2; add; from = [block, attn, mlp]
)
norm; layer_norm; bias = false
logits; linear; tied = embed
loss; cross_entropy
END
whole '"model_type": "bert"' <<'END'
embed; embedding; out = 64; positions = 32; segments = 2
embed_norm; layer_norm
embed_drop; dropout
block; repeat = 2; layers = (
attn; attention; heads = 2; head_size = 32; bias = true; separate = true; dropout = true
attn_drop; dropout
add1; add; from = [block, attn_drop]
norm1; layer_norm
mlp; mlp; hidden = 128; bias = true; activation = gelu
mlp_drop; dropout
add2; add; from = [norm1, mlp_drop]
norm2; layer_norm
)
masked; select; share = 0.15
transform; linear; out = 64; bias = true; activation = gelu
transform_norm; layer_norm
words; linear; tied = embed; bias = true
word_loss; cross_entropy
first; select; tokens = 1; from = block
pooler; linear; out = 64; bias = true; activation = tanh
follows; linear; out = 2; bias = true
follows_loss; cross_entropy
loss; losses; from = [word_loss, follows_loss]
END
whole '"model_type": "gpt2"' <<'END'
embed; embedding; out = 64; positions = 32
embed_drop; dropout
block; repeat = 2; layers = (
norm1; layer_norm
attn; attention; heads = 2; head_size = 32; causal = true; bias = true; dropout = true
attn_drop; dropout
add1; add; from = [block, attn_drop]
norm2; layer_norm
mlp; mlp; hidden = 128; bias = true; activation = gelu
mlp_drop; dropout
add2; add; from = [add1, mlp_drop]
)
norm; layer_norm
logits; linear; tied = embed
loss; cross_entropy
END
whole '"model_type": "bloom"' <<'END'
embed; embedding; out = 64
embed_norm; layer_norm
block; repeat = 2; layers = (
norm1; layer_norm
attn; attention; heads = 2; head_size = 32; causal = true; bias = true
add1; add; from = [block, attn]
norm2; layer_norm
mlp; mlp; hidden = 128; bias = true; activation = gelu
add2; add; from = [add1, mlp]
)
norm; layer_norm
logits; linear; tied = embed
loss; cross_entropy
END
whole '"model_type": "recurrent_gemma", "block_types": ["recurrent", "attention"]' <<'END'
embed; embedding; out = 64
block; repeat = 1; layers = (
norm1; rms_norm
state; recurrent; in = 128; hidden = 64; state = 1; weights = 72
add1; add; from = [block, state]
norm2; rms_norm
mlp; gated_mlp; hidden = 64
add2; add; from = [add1, mlp]
)
block2; repeat = 1; layers = (
norm1; rms_norm
attn; attention; heads = 2; head_size = 256; causal = true; separate = true; rotary = true
add1; add; from = [block2, attn]
norm2; rms_norm
mlp; gated_mlp; hidden = 64
add2; add; from = [add1, mlp]
)
norm; rms_norm
logits; linear; tied = embed
loss; cross_entropy
END
verdict import_layers.layers_have_their_norms_and_their_inputs

base='"num_hidden_layers": 2, "hidden_size": 64, "num_attention_heads": 4, "intermediate_size": 128, "vocab_size": 100, "max_position_embeddings": 32'
# The shared expert of Granite is the MLP where there are no experts. Gemma 3 has 4 heads of keys unless a number is given.
net 1 'op = "gated_mlp"; hidden = 96;' '"model_type": "granitemoehybrid", "shared_intermediate_size": 96, "layer_types": ["attention", "attention"]'
net 2 'heads = 4; head_size = 256; kv_heads = 2;' '"model_type": "gemma3", "num_key_value_heads": 2, "sliding_window": 16, "sliding_window_pattern": 2'
all=$base
base=$(echo "$all" | sed 's/"num_attention_heads": 4, //')
net 1 'heads = 8; head_size = 256; kv_heads = 4;' '"model_type": "gemma3"'
base=$all
# An indexer chooses 24 keys; a window of as many stands for them. Without it each token reads all.
latent='"kv_lora_rank": 16, "qk_nope_head_dim": 8, "qk_rope_head_dim": 4, "v_head_dim": 12'
net 1 'op = "latent_attention"; heads = 4; head_size = 12; kv_rank = 16; rope = 4; value_size = 12; window = 24; causal = true;' \
	"\"model_type\": \"deepseek_v32\", $latent, \"index_topk\": 24"
grep -q '^each token reads the last 24 keys, in place of those that an indexer chooses' "$scratch.err" || complain 'the indexer is not named'
net 0 'window' "\"model_type\": \"deepseek_v3\", $latent"
net 1 'heads = 4; head_size = 192; kv_rank = 16; rope = 64; value_size = 128; causal = true;' '"model_type": "deepseek_v3", "kv_lora_rank": 16'
# Usual sizes of recurrent layers, with the formulas above: 64 features, and 4 heads of 16 where they count.
net 1 'in = 12352; hidden = 4096; state = 128; weights = 8; }' '"model_type": "qwen3_next"'
net 1 'in = 388; hidden = 64; state = 128; weights = 26; }' '"model_type": "bamba"'
net 1 'in = 520; hidden = 128; state = 128; weights = 16; }' '"model_type": "bamba", "mamba_n_heads": 8'
net 1 'in = 256; hidden = 128; state = 16; weights = 63; }' '"model_type": "jamba"'
net 1 'in = 384; hidden = 192; state = 16; weights = 63; }' '"model_type": "jamba", "expand": 3'
net 1 'in = 256; hidden = 128; state = 16; weights = 63; }' '"model_type": "falcon_mamba", "expand": 3'
net 1 'in = 192; hidden = 64; state = 3; weights = 3; }' '"model_type": "lfm2"'
net 1 'in = 192; hidden = 96; state = 1; weights = 56; }' '"model_type": "recurrent_gemma", "lru_width": 96'
net 1 'in = 256; hidden = 64; state = 16; weights = 1; }' '"model_type": "minimax"'
# GPT-NeoX divides the MLP by 3, and its gated one has no biases unless they are asked for.
base=$(echo "$all" | sed 's/"intermediate_size": 128/"ffn_hidden_size": 384, "pos_emb": "rotary", "activation": "swiglu"/')
net 1 'op = "gated_mlp"; hidden = 128; },' '"norm": "rmsnorm"'
net 1 'op = "gated_mlp"; hidden = 128; bias = true; },' '"use_bias_in_mlp": true'
base=$all
refused 'layers of type other are not modelled .write full_attention for a similar network' '"model_type": "qwen3", "layer_types": ["full_attention", "other"]'
# The part for text counts in either order. Other parts have a dot before their name, or begin the path.
net 1 'embedding"; out = 64' '"model_type": "llama", "text_config": {"hidden_size": 64}, "my_text_config": 3, "hidden_size": 99, "a": {"vision_config": {"hidden_size": 7}}'
verdict import_layers.rare_sizes_of_families_are_read

# The head of a file names the place of each value, or what is assumed.
head_of() { # SETTINGS...: one a line; the values are the text of the standard input, without the name of the file
	cat >wanted
	printf '%s\n' "$@" >net.yaml
	expect 0 'settings read' import model net.yaml
	sed -n '/^#   /{s/  */ /g; s/net.yaml://; s/^# //p;}' "$scratch.out" >got
	cmp -s got wanted || complain "the values of $* differ: $(diff wanted got)"
}
head_of 'model_type: mistral' 'num_hidden_layers: 2' 'hidden_size: 64' 'num_attention_heads: 4' 'num_key_value_heads: 2' 'head_dim: 8' 'intermediate_size: 96' 'vocab_size: 100' 'max_position_embeddings: 9000' 'sliding_window: 16' 'rope_scaling: {original_max_position_embeddings: 512}' 'tie_word_embeddings: true' 'hidden_act: silu' 'attention_bias: true' <<'END'
family mistral
layers = 2 2: num_hidden_layers
features = 64 3: hidden_size
heads = 4 4: num_attention_heads
kv_heads = 2 5: num_key_value_heads
head_size = 8 6: head_dim
hidden = 96 7: intermediate_size
vocabulary = 100 8: vocab_size
sequence = 512 11: rope_scaling.original_max_position_embeddings
window = 16 10: sliding_window
RMS norms assumed: usual for mistral
rotary positions assumed: usual for mistral
gated MLP 13: hidden_act
biases 14: attention_bias
tied head 12: tie_word_embeddings
END
head_of 'model_type: qwen3_moe' 'num_hidden_layers: 2' 'hidden_size: 64' 'num_attention_heads: 4' 'intermediate_size: 96' 'num_experts: 8' 'num_experts_per_tok: 3' 'moe_intermediate_size: 48' 'n_shared_experts: 2' 'vocab_size: 100' 'seq_length: 77' 'max_position_embeddings: 99' <<'END'
family qwen3_moe
layers = 2 2: num_hidden_layers
features = 64 3: hidden_size
heads = 4 4: num_attention_heads
kv_heads = 4 assumed: as many as heads
head_size = 16 assumed: features / heads
experts = 8 6: num_experts
top = 3 7: num_experts_per_tok
hidden = 48 8: moe_intermediate_size
shared = 96 9: n_shared_experts
vocabulary = 100 10: vocab_size
sequence = 77 11: seq_length
RMS norms assumed: usual for qwen3_moe
rotary positions assumed: usual for qwen3_moe
gated MLP assumed: usual for qwen3_moe
no biases assumed: usual for qwen3_moe
head of its own assumed: usual for qwen3_moe
END
head_of 'model_type: gpt2' 'num_hidden_layers: 2' 'hidden_size: 64' 'num_attention_heads: 4' 'n_positions: 9000' 'no_bias: true' 'untie_embeddings_and_output_weights: true' 'position_embedding_type: none' <<'END'
family gpt2
layers = 2 2: num_hidden_layers
features = 64 3: hidden_size
heads = 4 4: num_attention_heads
kv_heads = 4 assumed: as many as heads
head_size = 16 assumed: features / heads
hidden = 256 assumed: 4 x features
vocabulary = 50257 assumed: that of the family's usual tokenizer
sequence = 8192 assumed: 8192 of the positions; case.sequence sets another length
layer norms assumed: usual for gpt2
no positions 8: position_embedding_type
MLP of two products assumed: usual for gpt2
no biases 6: no_bias
head of its own 7: untie_embeddings_and_output_weights
END
head_of 'num_layers: 2' 'hidden_size: 64' 'num_attention_heads: 4' 'max_position_embeddings: 32' 'expansion_ratio: 3' 'normalization: RMSNorm' 'swiglu: true' 'ffn_hidden_size: 80' 'use_rotary_position_embeddings: true' 'add_bias_linear: false' <<'END'
family assumed from its keys: megatron
layers = 2 1: num_layers
features = 64 2: hidden_size
heads = 4 3: num_attention_heads
kv_heads = 4 assumed: as many as heads
head_size = 16 assumed: features / heads
hidden = 80 8: ffn_hidden_size
vocabulary = 50304 assumed: that of the family's usual tokenizer
sequence = 32 assumed: as many tokens as positions, at most 8192
RMS norms 6: normalization
rotary positions 9: use_rotary_position_embeddings
gated MLP 7: swiglu
no biases 10: add_bias_linear
tied head assumed: usual for megatron
END
head_of 'model_type: mixtral' 'num_hidden_layers: 2' 'hidden_size: 64' 'num_attention_heads: 4' 'intermediate_size: 96' 'max_position_embeddings: 32' <<'END'
family mixtral
layers = 2 2: num_hidden_layers
features = 64 3: hidden_size
heads = 4 4: num_attention_heads
kv_heads = 4 assumed: as many as heads
head_size = 16 assumed: features / heads
experts = 8 assumed: usual for the family
top = 2 assumed: usual for the family
hidden = 96 5: intermediate_size
vocabulary = 32000 assumed: that of the family's usual tokenizer
sequence = 32 assumed: as many tokens as positions, at most 8192
RMS norms assumed: usual for mixtral
rotary positions assumed: usual for mixtral
gated MLP assumed: usual for mixtral
no biases assumed: usual for mixtral
head of its own assumed: usual for mixtral
END
head_of 'model_type: deepseek_v3' 'num_hidden_layers: 2' 'hidden_size: 64' 'num_attention_heads: 4' 'intermediate_size: 96' 'max_position_embeddings: 32' 'vocab_size: 9' 'kv_lora_rank: 16' 'qk_nope_head_dim: 8' 'shared_expert_intermediate_size: 32' 'num_experts: 4' 'num_experts_per_tok: 2' <<'END'
family deepseek_v3
layers = 2 2: num_hidden_layers
features = 64 3: hidden_size
heads = 4 4: num_attention_heads
kv_heads = 4 assumed: as many as heads
head_size = 72 9: qk_nope_head_dim
experts = 4 11: num_experts
top = 2 12: num_experts_per_tok
hidden = 96 5: intermediate_size
shared = 32 10: shared_expert_intermediate_size
vocabulary = 9 7: vocab_size
sequence = 32 assumed: as many tokens as positions, at most 8192
RMS norms assumed: usual for deepseek_v3
rotary positions assumed: usual for deepseek_v3
gated MLP assumed: usual for deepseek_v3
no biases assumed: usual for deepseek_v3
head of its own assumed: usual for deepseek_v3
END
verdict import_layers.values_name_their_places
