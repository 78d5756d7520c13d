#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Steps of ResNet-50 in PyTorch, to be timed, recorded and profiled:

    resnet50.py train --times times.json
    farwire-trace -o train.jsonl -- python3 resnet50.py train
    resnet50.py train --kineto train.kineto.json

A training step takes a batch of made-up images from pinned memory, goes forward and
back, updates by SGD with momentum and reads the loss; one of inference reads the
classes. Ten such steps after ten to warm up, each marked through NVTX as farwire-trace
understands it, and a last mark where the last one ends. PyTorch's own settings, as they
are: no cuDNN search, TF32 where it is on. Ends with 77 where there is no PyTorch or GPU.
"""

import argparse
import contextlib
import glob
import json
import os
import statistics
import sys
import time

try:
    import torch
    from torch import nn
except ImportError:
    print("no PyTorch in", sys.executable)
    sys.exit(77)


class Bottleneck(nn.Module):
    """Version 1.5: the middle convolution has the stride."""

    def __init__(self, channels_in, channels, stride):
        super().__init__()
        out = 4 * channels
        self.body = nn.Sequential(
            nn.Conv2d(channels_in, channels, 1, bias=False),
            nn.BatchNorm2d(channels),
            nn.ReLU(inplace=True),
            nn.Conv2d(channels, channels, 3, stride, 1, bias=False),
            nn.BatchNorm2d(channels),
            nn.ReLU(inplace=True),
            nn.Conv2d(channels, out, 1, bias=False),
            nn.BatchNorm2d(out),
        )
        self.shortcut = nn.Identity()
        if stride != 1 or channels_in != out:
            self.shortcut = nn.Sequential(
                nn.Conv2d(channels_in, out, 1, stride, bias=False), nn.BatchNorm2d(out)
            )
        self.relu = nn.ReLU(inplace=True)

    def forward(self, x):
        return self.relu(self.body(x) + self.shortcut(x))


def resnet50():
    layers = [
        nn.Conv2d(3, 64, 7, 2, 3, bias=False),
        nn.BatchNorm2d(64),
        nn.ReLU(inplace=True),
        nn.MaxPool2d(3, 2, 1),
    ]
    channels_in = 64
    for stage, blocks in enumerate((3, 4, 6, 3)):
        for block in range(blocks):
            stride = 2 if stage > 0 and block == 0 else 1
            layers.append(Bottleneck(channels_in, 64 << stage, stride))
            channels_in = 256 << stage
    layers += [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(2048, 1000)]
    return nn.Sequential(*layers)


def precision(words):
    return torch.autocast("cuda", torch.bfloat16) if words.amp else contextlib.nullcontext()


def train_step(words):
    model = resnet50().cuda().train()
    loss_of = nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9, weight_decay=1e-4)
    images = torch.randn(words.batch, 3, 224, 224).pin_memory()
    labels = torch.randint(1000, (words.batch,)).pin_memory()

    def step():
        x = images.cuda(non_blocking=True)
        y = labels.cuda(non_blocking=True)
        optimizer.zero_grad(set_to_none=True)
        with precision(words):
            loss = loss_of(model(x), y)
        loss.backward()
        optimizer.step()
        loss.item()

    return step


def infer_step(words):
    model = resnet50().cuda().eval()
    images = torch.randn(words.batch, 3, 224, 224).pin_memory()

    def step():
        with torch.inference_mode(), precision(words):
            model(images.cuda(non_blocking=True)).argmax(1).cpu()

    return step


def timed(step, count):
    times_s = []
    for number in range(1, count + 1):
        torch.cuda.nvtx.mark(f"step {number}")
        start_s = time.perf_counter()
        step()
        times_s.append(time.perf_counter() - start_s)
    torch.cuda.nvtx.mark(f"step {count + 1}")
    return times_s


def write_times(words, times_s):
    """Adds to the file what it says of this program run this way."""
    known = {}
    if os.path.exists(words.times):
        with open(words.times, encoding="utf-8") as file:
            known = json.load(file)
    known[f"{words.program}.{words.named}"] = {
        "batch": words.batch,
        "amp": words.amp,
        "tf32_convolutions": torch.backends.cudnn.allow_tf32,
        "tf32_products": torch.backends.cuda.matmul.allow_tf32,
        "torch": torch.__version__,
        "cuda": torch.version.cuda,
        "gpu": torch.cuda.get_device_name(),
        "median_s": statistics.median(times_s),
        "steps_s": times_s,
    }
    with open(words.times + ".new", "w", encoding="utf-8") as file:
        json.dump(known, file, indent=1)
        file.write("\n")
    os.replace(words.times + ".new", words.times)


def profile(step, path):
    """Two steps, as PyTorch's profiler sees them."""
    profiler = torch.profiler
    more = {}
    with contextlib.suppress(AttributeError, TypeError):  # events are named by newer ones
        more["experimental_config"] = torch._C._profiler._ExperimentalConfig(
            enable_cuda_sync_events=True
        )
    with profiler.profile(
        activities=[profiler.ProfilerActivity.CPU, profiler.ProfilerActivity.CUDA],
        schedule=profiler.schedule(wait=0, warmup=1, active=2, repeat=1),
        on_trace_ready=lambda done: done.export_chrome_trace(path),
        **more,
    ) as running:
        for _ in range(3):
            step()
            running.step()


def check():
    """Whether it can run here; and the CUPTI that PyTorch brought, if it did."""
    if not torch.cuda.is_available():
        print("PyTorch sees no GPU")
        return 77
    site = os.path.dirname(os.path.dirname(torch.__file__))
    found = sorted(glob.glob(os.path.join(site, "nvidia", "*", "lib", "libcupti.so*")))
    print(found[0] if found else "")
    return 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program", choices=("train", "infer", "check"))
    parser.add_argument("--batch", type=int, help="64, of inference 32")
    parser.add_argument("--amp", action="store_true", help="bfloat16 where PyTorch thinks it safe")
    parser.add_argument("--warm-up", type=int, default=10)
    parser.add_argument("--steps", type=int, default=10)
    parser.add_argument("--times", help="file for the steps' times, added to what it holds")
    parser.add_argument("--named", default="untraced", help="how the run is called there")
    parser.add_argument("--kineto", help="file for a profile of two steps")
    words = parser.parse_args()
    if words.program == "check" or not torch.cuda.is_available():
        return check()
    torch.manual_seed(1)
    words.batch = words.batch or (64 if words.program == "train" else 32)
    step = train_step(words) if words.program == "train" else infer_step(words)
    for _ in range(words.warm_up):
        step()
    torch.cuda.synchronize()
    if words.kineto:
        profile(step, words.kineto)
        return 0
    times_s = timed(step, words.steps)
    print(f"{words.program}: {statistics.median(times_s) * 1e3:.3f} ms a step")
    if words.times:
        write_times(words, times_s)
    return 0


if __name__ == "__main__":
    sys.exit(main())
