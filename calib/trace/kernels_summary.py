#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Sums up what kernels.py measured: clocks under power, small kernels, and training steps.

    kernels_summary.py FILE.jsonl[.gz]

A step is followed by the time of its kernels by class. The class follows from the kernel's name:
a convolution that runs as a product counts as a product, and cuDNN's transposes count as
convolutions. The profiler also lists annotations,
which span several kernels (Optimizer.step#AdamW.step). Recordings of November 2026 contain them;
they are not kernels and are left out here. The script needs no PyTorch.
"""

import gzip
import json
import re
import sys

# The first pattern that a kernel's name contains decides.
CLASSES = (
    ("annotation", r"^Optimizer\."),
    ("attention", r"sdpa|fmha|cudnn::fusion"),
    ("optimiser", r"multi_tensor_apply"),
    ("normalisation", r"layer_norm|GammaBeta|batch_norm|::bn_"),
    ("convolutions", r"conv|fprop|dgrad|wgrad|cudnn::|nhwcAddPadding"),
    ("products", r"nvjet|gemm|splitKreduce"),
    ("loss", r"SoftMax|nll_loss"),
    ("reductions", r"reduce_kernel"),
    ("casts, copies and fills", r"copy_kernel|Memcpy|Memset|FillFunctor|CatArray"),
    ("element-wise", r"elementwise|dropout"),
    ("other", r""),
)


def class_of(name):
    return next(title for title, pattern in CLASSES if re.search(pattern, name))


def read(path):
    opened = gzip.open if path.endswith(".gz") else open
    with opened(path, "rt", encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def meter(row):
    if "clock_mhz" not in row:
        return "no clock"
    clocks = dict.fromkeys(f"{row[key]:.0f}" for key in ("clock_start_mhz", "clock_mhz"))
    return f"{' -> '.join(clocks)} MHz, {row['power_w']:.0f} W"


def show_sustained(row):
    shape = f"product {row['m']} x {row['n']} x {row['k']}" if "m" in row else f"{row['operation']} of {row['bytes']} B"
    what = " ".join([*(str(row[key]) for key in ("type", "values") if key in row), shape])
    burst, s = row["burst_s"], row["s"]
    print(f"sustained: {what}: {burst * 1e3:.3f} ms in a burst, {s * 1e3:.3f} ms after seconds", end=" ")
    print(f"({100 * (s / burst - 1):+.0f} %), {meter(row)}")


def show_step(row):
    words = [row["network"], row["job"], row["precision"], f"batch={row['batch']}"]
    words += [f"length={row['length']}"] if "length" in row else []
    words += ["channels_last"] if row["channels_last"] else []
    sums = {}
    for name, _, s in row["kernels"]:
        sums[class_of(name)] = sums.get(class_of(name), 0) + s
    sums.pop("annotation", None)
    total = sum(sums.values())
    print(f"step: {' '.join(words)}: {row['s'] * 1e3:.1f} ms, kernels {total * 1e3:.1f} ms, {meter(row)}")
    for title, s in sorted(sums.items(), key=lambda item: -item[1]):
        print(f"    {title:24}{s * 1e3:8.2f} ms{100 * s / total:6.1f} %")


def main():
    if len(sys.argv) != 2:
        print(__doc__)
        return 2
    for row in read(sys.argv[1]):
        kind = row.get("kind")
        if "failed" in row:
            print(f"failed: {row}")
        elif row.get("format") == "farwire-kernels":
            print(f"{row['gpu']}, PyTorch {row['torch']}, {row['date']}")
        elif kind == "small":
            print(f"small: {row['operation']}: {row['s'] * 1e6:.2f} us")
        elif kind == "sustained":
            show_sustained(row)
        elif kind == "step":
            show_step(row)
    return 0


if __name__ == "__main__":
    sys.exit(main())
