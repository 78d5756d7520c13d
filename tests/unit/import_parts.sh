#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Configurations of models with several parts, latent attention, and windows as pairs.
cd "$(dirname "$0")/../.." || exit 2
# shellcheck source=tests/check.sh
. tests/check.sh
cd "$scratch" || exit 2

sizes='"hidden_size":2048,"intermediate_size":6144,"num_hidden_layers":28,"num_attention_heads":16,"num_key_value_heads":8,"head_dim":128,"vocab_size":151936,"max_position_embeddings":32768,"hidden_act":"silu"'
# The part for text describes the language model; the part for images has other layers.
printf '{"model_type":"qwen3_vl","hidden_size":99,"text_config":{"model_type":"qwen3_vl_text",%s},"vision_config":{"model_type":"siglip","hidden_size":1024,"num_hidden_layers":24}}' "$sizes" >parts.json
printf '{"model_type":"qwen3",%s}' "$sizes" >plain.json
for name in parts plain; do
	farwire import model $name.json -o $name.cfg -q
	[ "$code" = 0 ] || complain "$name.json: $(cat "$scratch.err")"
	grep -v -e '^#' -e 'name = "p' $name.cfg >$name.network
done
cmp -s parts.network plain.network || complain "the nested network differs: $(diff parts.network plain.network | head -n 3)"
verdict import_parts.part_for_text_describes_the_network

printf '{"model_type":"qwen3","hidden_size":2048,"dim":1024,"num_hidden_layers":2}' >twice.json
expect 2 'dim is 1024, but hidden_size in twice.json:1 is 2048' import model twice.json -o twice.cfg
verdict import_parts.contradictions_within_a_part_are_refused

# Latent attention: a head has the sizes with and without positions, here 128 + 64, and experts begin after a dense layer.
printf '{"model_type":"deepseek_v3","kv_lora_rank":512,"qk_nope_head_dim":128,"qk_rope_head_dim":64,"v_head_dim":128,"n_routed_experts":8,"num_experts_per_tok":2,"moe_intermediate_size":512,"n_shared_experts":2,"first_k_dense_replace":1,%s}' "$sizes" >latent.json
expect 0 'read: ' import model latent.json
shows 'op = "latent_attention"; heads = 16; head_size = 192; kv_rank = 512; rope = 64; value_size = 128; causal = true;'
shows 'name = "block"; repeat = 1;'
shows 'name = "block2"; repeat = 27;'
shows 'experts = 8; top = 2; hidden = 512; shared = 1024;'
verdict import_parts.latent_attention_and_a_dense_layer_are_written

# refused TYPE REASON: a family that no file can describe is refused with what is missing.
refused() {
	printf '{"model_type":"%s",%s}' "$1" "$sizes" >family.json
	expect 2 "model_type = $1: $2" import model family.json
}
refused t5 "a decoder's attention to an encoder is not modelled"
refused mllama 'attention to the tokens of images is not modelled'
refused nemotron-nas 'its layers have different sizes'
refused zamba2 'layers that share their weights are not modelled'
refused rwkv7 'this recurrence is not modelled'
refused gemma3n 'embeddings of each layer'
refused abc 'this family is unknown'
printf '{"model_type":"hunyuan","use_cla":true,%s}' "$sizes" >family.json
expect 2 'use_cla = true: layers that use the keys and values of another layer are not modelled' import model family.json
printf '{"model_type":"llama","layer_types":["full_attention","linear_attention"],%s}' "$sizes" >family.json
expect 2 'the recurrent layers of this family are unknown' import model family.json
verdict import_parts.families_are_refused_with_the_true_reason

# Transformer Engine's pair has the tokens before and after a token, which also sees itself.
window() { # TEXT RESULT
	printf '%s\n' "torchrun pretrain_gpt.py --swiglu --num-layers 4 --hidden-size 512 --num-attention-heads 8 --ffn-hidden-size 2048 --seq-length 1024 --window-size $1" >run.sh
	farwire import model run.sh -o run.cfg -q
	found=$(sed -n 's/.* window = \([0-9]*\);.*/\1/p' run.cfg)
	[ "$found" = "$2" ] || complain "--window-size $1 gives '$found', not '$2': $(cat "$scratch.err")"
	rm -f run.cfg
}
window 127,0 128
window '(127,0)' 128
window 128 128
window -1,0 ''
# A token always sees itself, so a window of one token is allowed and one of none is not.
window 0,0 1
window 1 1
refused_window() { # TEXT MESSAGE
	echo "torchrun pretrain_gpt.py --num-layers 4 --hidden-size 512 --num-attention-heads 8 --window-size $1" >run.sh
	expect 2 "run.sh:1: $2" import model run.sh -o run.cfg
}
for pair in 3,5 3,-1 -2,0 2.5,0 x,0 3,x 2000000001,0; do
	refused_window "$pair" "window_size = $pair: a window is"
done
for count in 0 -1 2.5 2000000001; do
	refused_window "$count" "window_size must be a whole number from 1 to 2e9, not '$count'"
done
window 1999999999,0 2000000000
# A list in TOML is a pair, too.
for text in '[127, 0]:128' '[ 63,0 ]:64' '32:32'; do
	printf '%s\n' 'swiglu = true' 'num_layers = 4' 'hidden_size = 512' 'num_attention_heads = 8' 'ffn_hidden_size = 2048' 'seq_length = 1024' \
		'vocab_size = 100' "window_size = ${text%:*}" >run.toml
	expect 0 '8 used, 0 skipped' import model run.toml
	grep -q " window = ${text#*:};" "$scratch.out" || complain "window_size = ${text%:*} gives $(grep -o 'window = [^;]*' "$scratch.out")"
done
verdict import_parts.pairs_of_windows_count_the_token_itself
exit 0
