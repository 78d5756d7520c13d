#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures kernels of one GPU with PyTorch, and what a training step spends its time on.

    kernels.py OUT.jsonl [--time S] [--parts attentions,products] [--device cpu] [--small]

Each line of OUT.jsonl is one result. The first line describes the machine. The others have a field
`kind`, the arguments of the operation, and its seconds:

  {"kind": "product", "type": "bf16", "layout": "nt", "m": ..., "n": ..., "k": ..., "s": ...}
  {"kind": "attention", ...}  {"kind": "memory", ...}  {"kind": "convolution", ...}
  {"kind": "sustained", ...}  an operation for seconds, with clock and power
  {"kind": "step", ...}       a training step with clock, power, and its kernels by name

A time is the median over replays of a CUDA graph with several repetitions, divided by their
number, so it does not contain work of the host. `kernels` lists [name, seconds] of one cold run.
kernels_summary.py prints a recording's clocks, small kernels, and steps by class of kernel.
The script ends with 77 where there is no PyTorch or GPU.
"""

import os
import statistics
import sys
import threading
import time

try:
    import torch
    from torch.nn import functional
except ImportError:
    print("no PyTorch in", sys.executable)
    sys.exit(77)

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import pytorch as steps  # noqa: E402

TYPES = {"bf16": torch.bfloat16, "fp16": torch.float16, "fp32": torch.float32, "tf32": torch.float32}


class Meter:
    """Clock in MHz and power in W of the GPU, read ten times a second."""

    def __init__(self, device):
        self.samples, self.running, self.read = [], False, None
        if device == "cpu":
            return
        try:
            import pynvml

            pynvml.nvmlInit()
            gpu = pynvml.nvmlDeviceGetHandleByIndex(0)
            self.read = lambda: (
                pynvml.nvmlDeviceGetClockInfo(gpu, pynvml.NVML_CLOCK_SM),
                pynvml.nvmlDeviceGetPowerUsage(gpu) / 1000,
                pynvml.nvmlDeviceGetTemperature(gpu, pynvml.NVML_TEMPERATURE_GPU),
            )
            self.read()
        except Exception:
            self.read = None

    def __enter__(self):
        self.samples, self.running = [], True
        self.thread = threading.Thread(target=self.loop)
        self.thread.start()
        return self

    def loop(self):
        while self.running and self.read:
            self.samples.append(self.read())
            time.sleep(0.1)

    def __exit__(self, *ignored):
        self.running = False
        self.thread.join()

    def result(self):
        late = self.samples[len(self.samples) // 2 :]
        if not late:
            return {}
        return {
            "clock_mhz": statistics.median(s[0] for s in late),
            "power_w": statistics.median(s[1] for s in late),
            "temperature_c": late[-1][2],
            "clock_start_mhz": self.samples[0][0],
        }


def kernels_of(running):
    """Events of a profile on the GPU, without annotations such as Optimizer.step#AdamW.step, which
    span several kernels."""
    on_gpu = torch.autograd.DeviceType.CUDA
    return [event for event in running.events() if event.device_type == on_gpu and not event.is_user_annotation]


class Bench:
    def __init__(self, device, writer, meter):
        self.device, self.writer, self.meter = device, writer, meter
        self.graphs, self.missed = True, 0

    def seconds(self, program, budget_s=0.02):
        """Median seconds of a repetition inside a CUDA graph."""
        if self.device == "cpu":
            start = time.perf_counter()
            program()
            return time.perf_counter() - start, 1
        for _ in range(2):
            program()
        first, second = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        first.record()
        program()
        second.record()
        second.synchronize()
        guess = max(first.elapsed_time(second) * 1e-3, 1e-6)
        count = max(1, min(40, int(2e-3 / guess)))
        replay = self.captured(program, count) if self.graphs else None
        if replay is None:
            self.missed += 1
            self.graphs = self.graphs and self.missed < 100

            def replay():
                for _ in range(count):
                    program()

        times = []
        replay()
        end = time.perf_counter() + budget_s
        while len(times) < 3 or (time.perf_counter() < end and len(times) < 30):
            first.record()
            replay()
            second.record()
            second.synchronize()
            times.append(first.elapsed_time(second) * 1e-3 / count)
        return statistics.median(times), count

    def captured(self, program, count):
        """A replay of `count` repetitions as a CUDA graph, or None. All work is on one stream,
        because a backward pass runs on the stream of its forward pass."""
        graph = torch.cuda.CUDAGraph()
        torch.cuda.synchronize()
        try:
            graph.capture_begin()
            try:
                for _ in range(count):
                    program()
            finally:
                graph.capture_end()
        except Exception as error:
            if not self.missed:
                self.writer.row(kind="graph", failed=repr(error)[:300])
            torch.cuda.synchronize()
            return None
        return graph.replay

    def names(self, programs):
        """Kernels of one run of each program: lists of [name, seconds]."""
        if self.device == "cpu":
            return [[] for _ in programs]
        profiler = torch.profiler
        kinds = [profiler.ProfilerActivity.CPU, profiler.ProfilerActivity.CUDA]
        with profiler.profile(activities=kinds) as running:
            for number, program in enumerate(programs):
                with profiler.record_function(f"case {number}"):
                    program()
                    torch.cuda.synchronize()
        result, spans = [[] for _ in programs], []
        for event in running.events():
            if event.device_type == torch.autograd.DeviceType.CPU and event.name.startswith("case "):
                spans.append((event.time_range.start, event.time_range.end, int(event.name[5:])))
        kernels = sorted((e.time_range.start, e.time_range.elapsed_us(), e.name) for e in kernels_of(running))
        for start, end, number in spans:
            for at, taken, name in kernels:
                if start <= at <= end:
                    result[number].append([name[:120], round(taken * 1e-6, 9)])
        return result

    def run(self, cases, named=True):
        """Times (values, program) pairs; a case that fails is reported and left out."""
        done = []
        for values, program in cases:
            if self.writer.late():
                break
            try:
                taken, count = self.seconds(program)
                done.append((dict(values, s=taken, repetitions=count), program))
            except Exception as error:
                self.writer.row(**values, failed=repr(error)[:200])
        found = [[] for _ in done]
        if named and done:
            try:
                found = self.names([program for _, program in done])
            except Exception as error:
                self.writer.row(kind="names", failed=repr(error)[:200])
        for (values, _), kernels in zip(done, found):
            self.writer.row(**values, kernels=kernels)
        done = cases = None
        if self.device != "cpu" and torch.cuda.memory_reserved() > 30e9:
            torch.cuda.empty_cache()


# ---- products ----


def product(device, kind, m, n, k, layout):
    """A program that computes m x k times k x n. Layout nt: the second operand is stored n x k."""
    if kind == "fp8":
        a = torch.randn(m, k, device=device).to(torch.float8_e4m3fn)
        b = torch.randn(n, k, device=device).to(torch.float8_e4m3fn).t()
        one = torch.ones((), device=device)
        return lambda: torch._scaled_mm(a, b, scale_a=one, scale_b=one, out_dtype=torch.bfloat16)
    if kind == "fp8 rows":
        a = torch.randn(m, k, device=device).to(torch.float8_e4m3fn)
        b = torch.randn(n, k, device=device).to(torch.float8_e4m3fn).t()
        rows, columns = torch.ones(m, 1, device=device), torch.ones(1, n, device=device)
        return lambda: torch._scaled_mm(a, b, scale_a=rows, scale_b=columns, out_dtype=torch.bfloat16)
    if kind == "int8":
        a = torch.randint(-100, 100, (m, k), device=device, dtype=torch.int8)
        b = torch.randint(-100, 100, (n, k), device=device, dtype=torch.int8).t()
        return lambda: torch._int_mm(a, b)
    torch.backends.cuda.matmul.allow_tf32 = kind == "tf32"
    make = lambda rows, columns: torch.randn(rows, columns, device=device, dtype=TYPES[kind])  # noqa: E731
    a = make(m, k) if layout[0] == "n" else make(k, m).t()
    b = make(k, n) if layout[1] == "n" else make(n, k).t()
    out = torch.empty(m, n, device=device, dtype=TYPES[kind])

    def run():
        torch.backends.cuda.matmul.allow_tf32 = kind == "tf32"
        torch.mm(a, b, out=out)

    return run


ROWS = (1, 2, 4, 8, 16, 24, 32, 48, 64, 96, 100, 128, 192, 256, 257, 320, 384, 512, 513)
ROWS += (640, 768, 1000, 1024, 1536, 2048, 3000, 4096, 6144, 8192, 16384)
SIZES = (
    (4096, 4096),
    (6144, 4096),
    (28672, 4096),
    (4096, 14336),
    (1024, 1024),
    (3072, 768),
    (768, 3072),
    (8192, 1024),
    (1024, 8192),
    (512, 2048),
    (2048, 128),
    (32000, 4096),
    (256, 256),
    (2048, 2048),
    (8192, 28672),
)


def product_cases(device, kind, rows, sizes, layouts=("nt",)):
    for n, k in sizes:
        for m in rows:
            for layout in layouts:
                values = {"kind": "product", "type": kind, "layout": layout, "m": m, "n": n, "k": k}
                yield values, product(device, kind, m, n, k, layout)


def products(bench, small):
    rows = (1, 64) if small else ROWS
    sizes = SIZES[4:5] if small else SIZES
    for number in range(len(sizes)):
        bench.run(product_cases(bench.device, "bf16", rows, sizes[number : number + 1]))
    few = rows if small else (1, 16, 64, 128, 256, 512, 1024, 2048, 4096, 8192)
    some = sizes if small else (SIZES[0], SIZES[2], SIZES[3], SIZES[5], SIZES[6])
    bench.run(product_cases(bench.device, "tf32", few, some))
    if bench.device != "cpu":
        bench.run(product_cases(bench.device, "fp8", few, some))
        bench.run(product_cases(bench.device, "int8", few[2:], some))
        bench.run(product_cases(bench.device, "fp8 rows", few, some[:3]))
    bench.run(product_cases(bench.device, "fp32", few, some[:2] + some[3:4]))
    bench.run(product_cases(bench.device, "fp16", few, some[:2]))
    # Backward passes: gradients of inputs (nn) and of weights (tn).
    bench.run(product_cases(bench.device, "bf16", few[-4:], some, ("nn", "tn")))


def grouped(bench, small):
    """Products of experts whose numbers of rows differ."""
    if bench.device == "cpu":
        return
    for experts, n, k in ((8, 14336, 4096), (64, 1408, 2048), (128, 1536, 2048)):
        cases = []
        b = torch.randn(experts, n, k, device=bench.device, dtype=torch.bfloat16).transpose(1, 2)
        for tokens in (16, 64, 256, 1024, 4096, 16384):
            for even in (True, False):
                share = torch.ones(experts) if even else torch.arange(1, experts + 1) ** -1.0
                ends = (share.cumsum(0) / share.sum() * tokens).round().to(torch.int32).to(bench.device)
                a = torch.randn(tokens, k, device=bench.device, dtype=torch.bfloat16)
                values = dict(kind="grouped", type="bf16", experts=experts, m=tokens, n=n, k=k, even=even)
                cases.append((values, lambda a=a, b=b, ends=ends: torch._grouped_mm(a, b, offs=ends)))
        bench.run(cases)


# ---- attention ----


def attention_case(device, batch, length, heads, kv_heads, size, causal, backward, backend):
    from torch.nn.attention import SDPBackend, sdpa_kernel

    kind = torch.bfloat16
    q = torch.randn(batch, heads, length, size, device=device, dtype=kind, requires_grad=backward)
    k = torch.randn(batch, kv_heads, length, size, device=device, dtype=kind, requires_grad=backward)
    v = torch.randn_like(k, requires_grad=backward)
    chosen = {
        "flash": SDPBackend.FLASH_ATTENTION,
        "cudnn": SDPBackend.CUDNN_ATTENTION,
        "math": SDPBackend.MATH,
    }[backend]
    grouped = kv_heads != heads

    def forward():
        with sdpa_kernel(chosen):
            return functional.scaled_dot_product_attention(q, k, v, is_causal=causal, enable_gqa=grouped)

    if not backward:
        return torch.no_grad()(forward)
    out = forward()
    gradient = torch.randn_like(out)
    return lambda: torch.autograd.grad(out, (q, k, v), gradient, retain_graph=True)


def attentions(bench, small):
    shapes = [(1, n, 32, 32, 128) for n in (128, 256, 512, 1024, 2048, 4096, 8192, 16384)]
    shapes += [(8, n, 16, 16, 64) for n in (128, 384, 512, 1024, 2048)]
    shapes += [(64, 128, 12, 12, 64), (16, 512, 12, 12, 64), (1, 4096, 32, 8, 128), (4, 2048, 64, 8, 128)]
    if small:
        shapes = [(1, 64, 2, 2, 64)]
    for backend in ("flash", "cudnn", "math"):
        cases = []
        for batch, length, heads, kv_heads, size in shapes:
            for causal in (True, False):
                for backward in (False, True):
                    if backend == "math" and (batch * heads * length * length > 3e8 or backward):
                        continue
                    values = dict(
                        kind="attention",
                        backend=backend,
                        batch=batch,
                        length=length,
                        heads=heads,
                        kv_heads=kv_heads,
                        head_size=size,
                        causal=causal,
                        backward=backward,
                    )
                    arguments = (batch, length, heads, kv_heads, size, causal, backward, backend)
                    if bench.device == "cpu" and backend != "math":
                        continue
                    cases.append((values, arguments))
        for values, arguments in cases:
            if bench.writer.late():
                return
            try:
                program = attention_case(bench.device, *arguments)
                taken, count = bench.seconds(program)
                bench.writer.row(**values, s=taken, repetitions=count)
            except Exception as error:
                bench.writer.row(**values, failed=repr(error)[:200])
            program = None


# ---- kernels that memory limits ----


def memories(bench, small):
    device = bench.device
    sizes = (1 << 14,) if small else tuple(1 << e for e in (14, 17, 19, 21, 23, 25, 27))
    for elements in sizes:
        width = 1024 if elements >= 1024 else elements
        for kind in ("bf16", "fp32"):
            data = TYPES[kind]
            x = torch.randn(elements, device=device).to(data)
            y, out = torch.randn_like(x), torch.empty_like(x)
            table, mean = x.view(-1, width), torch.randn(width, device=device).to(data)
            other = torch.empty(elements, device=device, dtype=torch.float32 if kind == "bf16" else torch.bfloat16)
            images = x.view(-1, 64, 16, 16)
            need = images.detach().clone().requires_grad_(True)
            norm = torch.nn.BatchNorm2d(64).to(device).to(data)
            normed = norm(need)
            rows = table.detach().clone().requires_grad_(True)
            layered = functional.layer_norm(rows, (width,), mean, mean)
            softened = functional.softmax(rows, -1)
            activated = functional.gelu(rows)
            inner = torch.no_grad()
            cases = [
                ("copy", 2, lambda: out.copy_(x)),
                ("fill", 1, lambda: out.zero_()),
                ("cast", 0, lambda: other.copy_(x)),
                ("add", 3, lambda: torch.add(x, y, out=out)),
                ("scale", 2, lambda: torch.mul(x, 2.0, out=out)),
                ("gelu", 2, inner(lambda: functional.gelu(table))),
                ("gelu backward", 3, lambda: torch.autograd.grad(activated, rows, table, retain_graph=True)),
                ("dropout", 2, inner(lambda: functional.dropout(table, 0.1))),
                ("softmax", 2, inner(lambda: functional.softmax(table, -1))),
                ("softmax backward", 3, lambda: torch.autograd.grad(softened, rows, table, retain_graph=True)),
                ("layer norm", 2, inner(lambda: functional.layer_norm(table, (width,), mean, mean))),
                ("layer norm backward", 3, lambda: torch.autograd.grad(layered, rows, table, retain_graph=True)),
                ("batch norm", 3, inner(lambda: norm(images))),
                ("batch norm backward", 5, lambda: torch.autograd.grad(normed, need, images, retain_graph=True)),
                ("sum", 1, lambda: x.sum()),
                ("sum of columns", 1, lambda: table.sum(0)),
                ("transpose", 2, lambda: table.t().contiguous()),
            ]
            bench.run(
                [
                    (dict(kind="memory", operation=name, type=kind, elements=elements, passes=passes), program)
                    for name, passes, program in cases
                ],
                elements in (1 << 19, 1 << 25),
            )
            if bench.writer.late():
                return
    # Losses and optimisers.
    for rows, words in ((64, 1000),) if small else ((256, 1000), (8192, 30522), (4096, 50257)):
        x = torch.randn(rows, words, device=device, requires_grad=True)
        y = torch.randint(words, (rows,), device=device)
        loss = functional.cross_entropy(x, y)
        base = dict(kind="memory", type="fp32", elements=rows * words, rows=rows)
        bench.run(
            [
                (dict(base, operation="cross entropy"), torch.no_grad()(lambda: functional.cross_entropy(x, y))),
                (
                    dict(base, operation="cross entropy backward"),
                    lambda: torch.autograd.grad(loss, x, retain_graph=True),
                ),
            ]
        )
    for fused in (False, True):
        sizes = [1 << 10] * 60 + [1 << 20] * 60 + [1 << 22] * 20
        weights = [torch.randn(n // (64 if small else 1), device=device, requires_grad=True) for n in sizes]
        for weight in weights:
            weight.grad = torch.randn_like(weight)
        for name, optimizer in (
            ("AdamW", torch.optim.AdamW(weights, lr=1e-6, fused=fused, foreach=not fused, capturable=device != "cpu")),
            ("SGD", torch.optim.SGD(weights, lr=1e-6, momentum=0.9, fused=fused, foreach=not fused)),
        ):
            values = dict(kind="memory", operation=name, fused=fused, elements=sum(sizes), tensors=len(sizes))
            bench.run([(values, optimizer.step)])
    table = torch.randn(30522, 1024, device=device)
    words = torch.randint(30522, (8192,), device=device)
    bench.run(
        [(dict(kind="memory", operation="embedding", type="fp32", elements=8192 * 1024), lambda: table[words])]
    )


# ---- convolutions of ResNet-50, MobileNet v2 and VGG-16 ----

# (inputs, outputs, kernel, stride, image, groups)
CONVOLUTIONS = (
    (3, 64, 7, 2, 224, 1),
    (64, 64, 1, 1, 56, 1),
    (64, 64, 3, 1, 56, 1),
    (64, 256, 1, 1, 56, 1),
    (256, 64, 1, 1, 56, 1),
    (128, 128, 3, 2, 56, 1),
    (128, 512, 1, 1, 28, 1),
    (512, 128, 1, 1, 28, 1),
    (128, 128, 3, 1, 28, 1),
    (256, 512, 1, 2, 56, 1),
    (256, 256, 3, 1, 14, 1),
    (1024, 256, 1, 1, 14, 1),
    (256, 1024, 1, 1, 14, 1),
    (512, 512, 3, 1, 7, 1),
    (2048, 512, 1, 1, 7, 1),
    (512, 2048, 1, 1, 7, 1),
    (3, 64, 3, 1, 224, 1),
    (64, 64, 3, 1, 224, 1),
    (256, 256, 3, 1, 56, 1),
    (512, 512, 3, 1, 28, 1),
    (96, 96, 3, 2, 112, 96),
    (192, 192, 3, 1, 28, 192),
)


def convolution_cases(device, kind, batch, chosen, last):
    for inputs, outputs, kernel, stride, image, groups in chosen:
        form = torch.channels_last if last else torch.contiguous_format
        x = torch.randn(batch, inputs, image, image, device=device, dtype=TYPES[kind])
        x = x.to(memory_format=form).requires_grad_(True)
        w = torch.randn(outputs, inputs // groups, kernel, kernel, device=device, dtype=TYPES[kind])
        w = w.to(memory_format=form).requires_grad_(True)
        out = functional.conv2d(x, w, None, stride, kernel // 2, 1, groups)
        gradient = torch.randn_like(out)
        values = dict(
            kind="convolution",
            type=kind,
            channels_last=last,
            batch=batch,
            inputs=inputs,
            outputs=outputs,
            window=kernel,
            stride=stride,
            image=image,
            groups=groups,
        )

        def forward(x=x, w=w, stride=stride, kernel=kernel, groups=groups):
            with torch.no_grad():
                return functional.conv2d(x, w, None, stride, kernel // 2, 1, groups)

        yield dict(values, pass_of="forward"), forward
        if inputs > 3:
            yield (
                dict(values, pass_of="inputs"),
                lambda out=out, x=x, g=gradient: torch.autograd.grad(out, x, g, retain_graph=True),
            )
        yield (
            dict(values, pass_of="weights"),
            lambda out=out, w=w, g=gradient: torch.autograd.grad(out, w, g, retain_graph=True),
        )


def convolutions(bench, small):
    torch.backends.cudnn.allow_tf32 = True
    plans = (("bf16", 1, False),) if small else (
        ("tf32", 64, False),
        ("bf16", 64, True),
        ("bf16", 64, False),
        ("tf32", 1, False),
        ("bf16", 1, True),
        ("tf32", 16, False),
        ("bf16", 256, True),
    )
    for kind, batch, last in plans:
        chosen = CONVOLUTIONS[:2] if small else CONVOLUTIONS
        for first in range(0, len(chosen), 11):
            if bench.writer.late():
                return
            bench.run(convolution_cases(bench.device, kind, batch, chosen[first : first + 11], last))


# ---- sustained rates ----


def sustained(bench, small):
    device = bench.device
    size = 256 if small else 8192
    cases = []
    for kind in ("bf16", "tf32"):
        cases.append((dict(type=kind, m=size, n=size, k=size), product(device, kind, size, size, size, "nt")))
    zeros = torch.zeros(size, size, device=device, dtype=torch.bfloat16)
    cases.append((dict(type="bf16", values="zeros", m=size, n=size, k=size), lambda: zeros @ zeros))
    cases.append((dict(type="bf16", m=4096, n=4096, k=4096), product(device, "bf16", 4096, 4096, 4096, "nt")))
    cases.append((dict(type="fp32", m=size, n=size, k=size), product(device, "fp32", size, size, size, "nt")))
    large = torch.randn(1 << (16 if small else 28), device=device)
    cases.append((dict(operation="copy", bytes=large.numel() * 8), lambda: large.clone()))
    for values, program in cases:
        if bench.writer.late():
            return
        time.sleep(0 if small else 0.7)
        burst, _ = bench.seconds(program, 0.002)
        batch = max(1, int(0.05 / burst))
        times = []
        with bench.meter:
            end = time.perf_counter() + (0.1 if small else 2.2)
            while time.perf_counter() < end:
                start = time.perf_counter()
                for _ in range(batch):
                    program()
                steps.wait(device)
                times.append((time.perf_counter() - start) / batch)
        bench.writer.row(
            kind="sustained",
            **values,
            burst_s=burst,
            first_s=times[0],
            s=statistics.median(times[len(times) // 2 :]),
            **bench.meter.result(),
        )


def small_kernels(bench, small):
    """Duration of small kernels in a queue that never runs dry, and in graphs."""
    if bench.device == "cpu":
        return
    x = torch.randn(64, 64, device=bench.device)
    for name, program in (("add", lambda: x.add_(1)), ("product", lambda: x @ x)):
        taken, count = bench.seconds(program)
        bench.writer.row(kind="small", operation=name, s=taken, repetitions=count)
    # A queue filled behind a long kernel: kernels start as fast as the GPU can start them.
    big = torch.randn(8192, 8192, device=bench.device)
    for _ in range(3):
        first, second, third = (torch.cuda.Event(enable_timing=True) for _ in range(3))
        big @ big
        big @ big
        first.record()
        for _ in range(500):
            x.add_(1)
        second.record()
        third.record()
        third.synchronize()
        bench.writer.row(
            kind="small", operation="queue", s=first.elapsed_time(second) * 1e-3 / 500, repetitions=500
        )


# ---- training steps ----


def step_kernels(case):
    """Kernels of one step by name: [name, number, seconds], and the span from first to last."""
    profiler = torch.profiler
    kinds = [profiler.ProfilerActivity.CPU]
    if case.device != "cpu":
        kinds.append(profiler.ProfilerActivity.CUDA)
    with profiler.profile(activities=kinds) as running:
        case.step()
        steps.wait(case.device)
    found, spans = {}, []
    for event in kernels_of(running):
        entry = found.setdefault(event.name[:120], [0, 0.0])
        entry[0] += 1
        entry[1] += event.time_range.elapsed_us() * 1e-6
        spans.append((event.time_range.start, event.time_range.end))
    names = sorted(([n, c, round(s, 9)] for n, (c, s) in found.items()), key=lambda e: -e[2])
    span = (max(e for _, e in spans) - min(s for s, _ in spans)) * 1e-6 if spans else 0
    return names, span


def training(bench, small):
    plans = (
        ("resnet50", "train", "amp", 256, None, True),
        ("resnet50", "train", "tf32", 128, None, False),
        ("bert-large", "train", "amp", 32, 384, False),
        ("gpt2", "train", "amp", 16, 1024, False),
        ("bert-base", "train", "amp", 128, 128, False),
        ("resnet50", "train", "amp", 256, None, False),
        ("bert-large", "train", "tf32", 16, 384, False),
        ("vgg16", "train", "amp", 64, None, False),
        ("mobilenet_v2", "train", "amp", 128, None, True),
        ("bert-large", "infer", "bf16", 32, 384, False),
        ("resnet50", "infer", "bf16", 256, None, True),
    )
    for name, job, precision, batch, length, last in plans[:1] if small else plans:
        if bench.writer.late():
            return
        torch.backends.cuda.matmul.allow_tf32 = precision == "tf32"
        values = dict(kind="step", network=name, job=job, precision=precision, batch=batch, channels_last=last)
        if small:
            batch = 1
        try:
            case = steps.Case(bench.device, name, job, precision, batch, length)
            case.make(steps.network(name))
            case.inputs()
            if last:
                case.model = case.model.to(memory_format=torch.channels_last)
                case.x = case.x.to(memory_format=torch.channels_last)
            for _ in range(1 if small else 5):
                case.step()
            steps.wait(bench.device)
            # Steps that follow each other without a wait, as training loops run them.
            with bench.meter:
                start, count = time.perf_counter(), 0
                while time.perf_counter() < start + (0.1 if small else 2.0):
                    for _ in range(1 if small else 3):
                        case.step()
                        count += 1
                    steps.wait(bench.device)
                taken = (time.perf_counter() - start) / count
            alone, issue = steps.step_time(bench.device, case.step, 0 if small else 0.4)
            names, span = step_kernels(case)
            bench.writer.row(
                **values,
                **({"length": length} if length else {}),
                s=taken,
                alone_s=alone,
                issue_s=issue,
                **bench.meter.result(),
                kernels_span_s=span,
                kernels=names,
            )
        except Exception as error:
            bench.writer.row(**values, failed=repr(error)[:300])
        case = None
        if bench.device != "cpu":
            torch.cuda.empty_cache()


def main():
    words, writer = steps.begin(__doc__.splitlines()[0], "farwire-kernels", 320)
    bench = Bench(words.device, writer, Meter(words.device))
    parts = (small_kernels, sustained, training, products, memories, attentions, convolutions, grouped)
    if words.parts:
        unknown = set(words.parts.split(",")) - {part.__name__ for part in parts}
        if unknown:
            sys.exit(f"--parts: {sorted(unknown)[0]} is unknown (write {', '.join(part.__name__ for part in parts)})")
        parts = tuple(globals()[name] for name in words.parts.split(","))
    stream = torch.cuda.Stream() if words.device == "cuda" else None
    for part in parts:
        start = time.perf_counter()
        try:
            with torch.cuda.stream(stream):
                part(bench, words.small)
        except Exception as error:  # one part's failure leaves the others
            writer.row(kind="part", part=part.__name__, failed=repr(error)[:300])
        writer.row(kind="part", part=part.__name__, wall_s=round(time.perf_counter() - start, 2))
        print(f"{part.__name__}: {time.perf_counter() - start:.1f} s", flush=True)
    print(f"{words.out}: measured")
    return 0


if __name__ == "__main__":
    sys.exit(main())
