#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Arguments in the manner of Megatron-LM's scripts, written for this test.
GPUS_PER_NODE=8
NUM_NODES=${NNODES:-16}
TP="8"
torchrun --nproc_per_node $GPUS_PER_NODE --nnodes ${NUM_NODES} pretrain_gpt.py "${MODEL_ARGS[@]}"
MODEL_ARGS=(
    --num-layers 96
    --hidden-size 12288 # features
    --num-attention-heads 96
    --seq-length 2048
    --max-position-embeddings 2048
    --hidden-dropout 0 --attention-dropout 0
)
PARALLEL_ARGS="
    --tensor-model-parallel-size $TP \
    --pipeline-model-parallel-size 16 \
    --num-layers-per-virtual-pipeline-stage 3 \
    --sequence-parallel
    --use-distributed-optimizer
    --recompute-granularity selective
    --overlap-grad-reduce"
TRAINING_ARGS=(--micro-batch-size 1 --global-batch-size=1536 --fp16 --lr 6.0e-5)
