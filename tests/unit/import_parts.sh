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

printf '{"model_type":"deepseek_v3","kv_lora_rank":512,%s}' "$sizes" >latent.json
expect 2 'kv_lora_rank = 512: latent attention is not modelled' import model latent.json -o latent.cfg
! grep -q 'family is unknown' "$scratch.err" || complain 'latent attention is called an unknown family'
verdict import_parts.latent_attention_is_the_reason_of_a_refusal

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
printf '%s\n' 'torchrun pretrain_gpt.py --num-layers 4 --hidden-size 512 --num-attention-heads 8 --window-size 3,5' >run.sh
expect 2 'run.sh:1: window_size = 3,5: a window is' import model run.sh -o run.cfg
verdict import_parts.pairs_of_windows_count_the_token_itself
exit 0
