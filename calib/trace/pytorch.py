#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures the host time of PyTorch and the steps of networks by batch size.

    pytorch.py OUT.jsonl [--time S] [--device cpu]

Each line of OUT.jsonl is one result. The first line describes the machine. The others are:

  {"cost": ..., "issue_s": ...}       host time of one repetition of a small program on a small
                                      tensor; the GPU works at the same time and is not awaited
  {"network": ..., "median_s": ...}   one step of a network, with the host's share `issue_s` (until
                                      the call of the step returns), operators and kernels

Steps are timed from an idle GPU to an idle GPU. The script measures the most useful results first
and stops when the time is over. It ends with 77 where there is no PyTorch or GPU.
"""

import argparse
import contextlib
import json
import os
import statistics
import sys
import time

try:
    import torch
    from torch import nn
    from torch.nn import functional
except ImportError:
    print("no PyTorch in", sys.executable)
    sys.exit(77)


class Writer:
    def __init__(self, path, end_s):
        self.file = open(path, "w", encoding="utf-8")
        self.end_s = end_s

    def row(self, **values):
        self.file.write(json.dumps(values) + "\n")
        self.file.flush()

    def late(self):
        return time.perf_counter() > self.end_s


def wait(device):
    if device != "cpu":
        torch.cuda.synchronize()


# ---- host time of single operators ----


def costs(device):
    """Yields (name, number of operators, program)."""
    x = torch.randn(64, 64, device=device)
    out = torch.empty_like(x)
    w = torch.randn(64, 64, device=device, requires_grad=True)
    image = torch.randn(1, 8, 8, 8, device=device)
    linear = nn.Linear(64, 64).to(device)
    plain = nn.Linear(64, 64).to(device).requires_grad_(False)
    conv = nn.Conv2d(8, 8, 3, padding=1, bias=False).to(device)
    norm = nn.BatchNorm2d(8).to(device)
    fixed = nn.BatchNorm2d(8).to(device).eval()
    layer_norm = nn.LayerNorm(64).to(device)
    relu = nn.ReLU()
    nested = nn.Sequential(nn.Sequential(nn.Sequential(nn.Identity())))
    pinned = torch.randn(64, 64)
    if device != "cpu":
        pinned = pinned.pin_memory()
    weights = [torch.randn(64, 64, device=device, requires_grad=True) for _ in range(100)]
    for weight in weights:
        weight.grad = torch.randn_like(weight)
    sgd = torch.optim.SGD(weights, lr=1e-6, momentum=0.9)
    adam = torch.optim.AdamW(weights, lr=1e-6)
    single = torch.optim.AdamW(weights, lr=1e-6, foreach=False)
    query = torch.randn(1, 2, 16, 64, device=device)

    def ended(program):
        return torch.inference_mode()(program)

    yield "python call", 0, lambda: None
    yield "add into", 1, ended(lambda: torch.add(x, x, out=out))
    yield "add", 1, ended(lambda: x + x)
    yield "add recorded", 1, lambda: w + x
    yield "view", 1, ended(lambda: x.view(4096))
    yield "matmul", 1, ended(lambda: x @ x)
    yield "linear", 1, ended(lambda: functional.linear(x, plain.weight, plain.bias))
    yield "linear module", 1, ended(lambda: plain(x))
    yield "linear module recorded", 1, lambda: linear(x)
    yield "nested identity module", 0, ended(lambda: nested(x))
    yield "relu module", 1, ended(lambda: relu(x))
    yield "convolution module", 1, ended(lambda: conv(image))
    yield "batch norm module, inference", 1, ended(lambda: fixed(image))
    yield "batch norm module, training", 2, lambda: norm(image)
    yield "layer norm module", 1, ended(lambda: layer_norm(x))
    yield "attention", 1, ended(
        lambda: functional.scaled_dot_product_attention(query, query, query)
    )
    yield "copy to the GPU, pinned", 1, lambda: pinned.to(device, non_blocking=True)
    yield "item", 1, lambda: x[0, 0].item()
    yield "zeros", 1, lambda: torch.zeros(64, 64, device=device)
    yield "allocation", 1, lambda: torch.empty(64, 64, device=device)

    def backward_of(program):
        def step():
            program().sum().backward()

        return step

    yield "sum and backward", 2, backward_of(lambda: w)
    yield "add, sum and backward", 3, backward_of(lambda: w + x)
    yield "linear, sum and backward", 3, backward_of(lambda: linear(x))
    yield "convolution, sum and backward", 3, backward_of(lambda: conv(image))
    yield "batch norm, sum and backward", 3, backward_of(lambda: norm(image))

    def cast():
        with torch.autocast(device, torch.bfloat16):
            return linear(x)

    yield "linear module in autocast", 2, cast
    yield "SGD step of 100 tensors", 100, sgd.step
    yield "AdamW step of 100 tensors", 100, adam.step
    yield "AdamW step of 100 tensors, one by one", 100, single.step
    yield "zero_grad of 100 tensors", 100, lambda: sgd.zero_grad(set_to_none=False)


def issue_time(device, program, budget_s=0.3):
    """Median host time of a repetition: short bursts, so that the queue of the GPU never fills."""
    for _ in range(20):
        program()
    wait(device)
    start = time.perf_counter()
    program()
    burst = max(1, min(100, int(2e-3 / (time.perf_counter() - start + 1e-9))))
    wait(device)
    times_s = []
    end = time.perf_counter() + budget_s
    while time.perf_counter() < end or len(times_s) < 5:
        start = time.perf_counter()
        for _ in range(burst):
            program()
        times_s.append((time.perf_counter() - start) / burst)
        wait(device)
    return statistics.median(times_s), min(times_s), len(times_s)


def graph_costs(device, writer):
    """Host time and duration of graphs of n small kernels."""
    x = torch.randn(64, 64, device=device)
    for nodes in (1, 10, 100, 1000):
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            for _ in range(nodes):
                x.add_(1)
        issue_s, least_s, count = issue_time(device, graph.replay)
        median_s, _ = step_time(device, graph.replay, 0.2)
        writer.row(
            cost="graph replay",
            nodes=nodes,
            issue_s=issue_s,
            least_s=least_s,
            median_s=median_s,
            count=count,
        )


def measure_costs(device, writer):
    for name, operators, program in costs(device):
        issue_s, least_s, count = issue_time(device, program)
        writer.row(cost=name, operators=operators, issue_s=issue_s, least_s=least_s, count=count)
    if device != "cpu":
        graph_costs(device, writer)


# ---- steps of networks ----


def step_time(device, step, budget_s):
    """Median seconds of a step from an idle GPU to an idle GPU, and until the call returns."""
    times_s, issued_s = [], []
    end = time.perf_counter() + budget_s
    while (time.perf_counter() < end and len(times_s) < 200) or len(times_s) < 5:
        start = time.perf_counter()
        step()
        issued_s.append(time.perf_counter() - start)
        wait(device)
        times_s.append(time.perf_counter() - start)
    return statistics.median(times_s), statistics.median(issued_s)


def counts(device, step):
    """Operators that the program called, all operators, kernels, and their time on the GPU."""
    profiler = torch.profiler
    activities = [profiler.ProfilerActivity.CPU]
    if device != "cpu":
        activities.append(profiler.ProfilerActivity.CUDA)
    with profiler.profile(activities=activities) as running:
        step()
        wait(device)
    result = {"operators": 0, "all_operators": 0, "kernels": 0, "copies": 0, "kernels_s": 0.0}
    for event in running.events():
        if event.device_type == torch.autograd.DeviceType.CUDA:
            if event.name.startswith(("Memcpy", "Memset")):
                result["copies"] += 1
            else:
                result["kernels"] += 1
            result["kernels_s"] += event.time_range.elapsed_us() * 1e-6
        elif event.name.startswith("aten::"):
            result["all_operators"] += 1
            parent = event.cpu_parent
            if parent is None or not parent.name.startswith("aten::"):
                result["operators"] += 1
    return result


class Case:
    """A network with its inputs: `images` or `words`, and what the step computes."""

    def __init__(self, device, name, job, precision, batch, length=None):
        self.device, self.name, self.job = device, name, job
        self.precision, self.batch, self.length = precision, batch, length
        self.optimizer = None

    def describe(self):
        values = {"network": self.name, "job": self.job, "precision": self.precision}
        values["batch"] = self.batch
        if self.length:
            values["length"] = self.length
        return values

    def cast(self):
        if self.precision == "amp":
            return torch.autocast(self.device, torch.bfloat16)
        return contextlib.nullcontext()

    def make(self, model):
        self.model = model.to(self.device)
        if self.precision in ("bf16", "fp16"):
            self.model = self.model.to({"bf16": torch.bfloat16, "fp16": torch.float16}[self.precision])
        self.model.train(self.job == "train")
        if self.job == "train":
            adam = self.length is not None
            self.optimizer = (
                torch.optim.AdamW(self.model.parameters(), lr=1e-5)
                if adam
                else torch.optim.SGD(self.model.parameters(), lr=0.01, momentum=0.9)
            )

    def inputs(self):
        if self.length:
            shape = (self.batch, self.length)
            self.x = torch.randint(30000, shape, device=self.device)
            self.y = torch.randint(30000, shape, device=self.device)
        else:
            self.x = torch.randn(self.batch, 3, 224, 224, device=self.device)
            if self.precision in ("bf16", "fp16"):
                self.x = self.x.to(next(self.model.parameters()).dtype)
            self.y = torch.randint(1000, (self.batch,), device=self.device)

    def forward(self):
        with self.cast():
            out = self.model(self.x)
        return out.logits if hasattr(out, "logits") else out

    def step(self):
        if self.job == "infer":
            with torch.inference_mode():
                self.forward()
            return
        self.optimizer.zero_grad(set_to_none=True)
        with self.cast():
            out = self.model(self.x)
            out = out.logits if hasattr(out, "logits") else out
            loss = functional.cross_entropy(out.flatten(0, -2), self.y.flatten())
        loss.backward()
        self.optimizer.step()


def network(name):
    """Returns the module. Weights are random, since values do not change times."""
    if name.startswith("bert") or name.startswith("gpt2"):
        import transformers

        if name == "gpt2":
            return transformers.GPT2LMHeadModel(transformers.GPT2Config(use_cache=False))
        sizes = {"bert-base": (768, 12, 12), "bert-large": (1024, 24, 16)}[name]
        return transformers.BertForMaskedLM(
            transformers.BertConfig(
                hidden_size=sizes[0],
                num_hidden_layers=sizes[1],
                num_attention_heads=sizes[2],
                intermediate_size=4 * sizes[0],
            )
        )
    import torchvision

    return getattr(torchvision.models, name)(weights=None)


def measure_case(case, writer, budget_s, count):
    for _ in range(5):
        case.step()
    wait(case.device)
    median_s, issue_s = step_time(case.device, case.step, budget_s)
    more = counts(case.device, case.step) if count else {}
    writer.row(**case.describe(), mode="eager", median_s=median_s, issue_s=issue_s, **more)


def measure_graph(case, writer, budget_s):
    """The same inference as a CUDA graph."""
    with torch.inference_mode():
        stream = torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            for _ in range(3):
                case.forward()
        torch.cuda.current_stream().wait_stream(stream)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            case.forward()
    median_s, issue_s = step_time(case.device, graph.replay, budget_s)
    writer.row(**case.describe(), mode="graph", median_s=median_s, issue_s=issue_s)


def measure_compiled(case, writer, budget_s):
    start = time.perf_counter()
    plain = case.model
    case.model = torch.compile(plain)
    for _ in range(3):
        case.step()
    wait(case.device)
    compile_s = time.perf_counter() - start
    median_s, issue_s = step_time(case.device, case.step, budget_s)
    more = counts(case.device, case.step)
    writer.row(
        **case.describe(), mode="compile", median_s=median_s, issue_s=issue_s, compile_s=compile_s, **more
    )
    case.model = plain


def plans(small):
    """(network, job, precision, length, batches, graph, compiled), the most useful first."""
    batches = (1, 2) if small else (1, 2, 4, 8, 16, 32, 64, 128, 256)
    few = (1,) if small else (1, 4, 16, 64)
    length = 16 if small else 384
    yield "resnet50", "infer", "tf32", None, batches, True, False
    yield "resnet50", "train", "tf32", None, batches[:8], False, False
    yield "bert-large", "infer", "bf16", length, batches[:6], True, False
    yield "bert-base", "train", "amp", 16 if small else 128, few, False, False
    yield "resnet50", "infer", "amp", None, few, True, False
    yield "resnet50", "train", "amp", None, batches, False, False
    yield "gpt2", "train", "amp", 16 if small else 1024, few[:3], False, False
    yield "gpt2", "infer", "bf16", 16 if small else 1024, few[:3], True, False
    yield "bert-large", "infer", "fp32", length, few[:3], True, False
    yield "vgg16", "infer", "tf32", None, few, True, False
    yield "vgg16", "train", "tf32", None, few, False, False
    yield "mobilenet_v2", "infer", "tf32", None, few, True, False
    yield "inception_v3", "infer", "tf32", None, few, True, False
    yield "bert-large", "train", "amp", length, few[:3], False, False
    yield "resnet50", "infer", "tf32", None, few[:1], False, True
    yield "bert-base", "train", "amp", 16 if small else 128, few[:2], False, True


def measure_networks(device, writer, small):
    for name, job, precision, length, batches, graph, compiled in plans(small):
        if writer.late():
            return
        try:
            model = network(name)
            for batch in batches:
                if writer.late():
                    return
                case = Case(device, name, job, precision, batch, length)
                case.make(model)
                case.inputs()
                if compiled:
                    measure_compiled(case, writer, 0.3)
                    continue
                measure_case(case, writer, 0.4, batch in batches[:1] + batches[-1:])
                if graph and device != "cpu":
                    measure_graph(case, writer, 0.2)
                case.optimizer = None
        except Exception as error:  # one network's failure leaves the others
            writer.row(network=name, job=job, precision=precision, failed=repr(error)[:300])
        model = case = None
        if device != "cpu":
            torch.cuda.empty_cache()


def cpu_name():
    with contextlib.suppress(OSError), open("/proc/cpuinfo", encoding="utf-8") as file:
        for line in file:
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return "unknown"


def begin(description, file_format, time_s, **more):
    """Reads the arguments and writes the first line. Returns both, or ends with 77 without a GPU."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("out")
    parser.add_argument("--time", type=float, default=time_s, help="seconds for everything")
    parser.add_argument("--device", default="cuda", choices=("cuda", "cpu"))
    parser.add_argument("--small", action="store_true", help="few and small cases, to rehearse")
    parser.add_argument("--parts", default="", help="names of the only parts, in the order to measure them")
    words = parser.parse_args()
    if words.device == "cuda" and not torch.cuda.is_available():
        print("PyTorch sees no GPU")
        sys.exit(77)
    torch.manual_seed(1)
    writer = Writer(words.out, time.perf_counter() + words.time)
    if words.device == "cuda":
        about = torch.cuda.get_device_properties(0)
        more |= {"sms": about.multi_processor_count, "l2_bytes": about.L2_cache_size, "memory": about.total_memory}
    writer.row(
        format=file_format,
        version=1,
        torch=torch.__version__,
        cuda=torch.version.cuda,
        gpu=torch.cuda.get_device_name() if words.device == "cuda" else "none",
        cpu=cpu_name(),
        cores=os.cpu_count(),
        python=sys.version.split()[0],
        date=time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        **more,
    )
    return words, writer


def main():
    words, writer = begin(
        __doc__.splitlines()[0],
        "farwire-pytorch",
        240,
        tf32_convolutions=torch.backends.cudnn.allow_tf32,
        tf32_products=torch.backends.cuda.matmul.allow_tf32,
    )
    measure_costs(words.device, writer)
    measure_networks(words.device, writer, words.small)
    print(f"{words.out}: measured")
    return 0


if __name__ == "__main__":
    sys.exit(main())
