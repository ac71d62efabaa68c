"""A training step of ResNet-50 on 224 x 224 images."""

from __future__ import annotations

from typing import Any

import numpy
from suite import Case, Contender, Limit, Turn, Workload
from suite.common import autocasting, set_torch_threads, torch_training

STAGES = ((64, 3), (128, 4), (256, 6), (512, 3))
CLASSES = 1000
RATE, MOMENTUM = 0.01, 0.9
EPSILON = 1e-5

Arrays = dict[str, Any]


def convolutions() -> list[tuple[str, int, int, int, int]]:
    """Name, inputs, outputs, size and stride of every convolution (He et al., with the stride
    in the 3 x 3 convolution, as torchvision has it)."""
    found = [("stem", 3, 64, 7, 2)]
    before = 64
    for s, (width, count) in enumerate(STAGES):
        for b in range(count):
            stride = 2 if b == 0 and s > 0 else 1
            name = f"{s}.{b}"
            found += [(f"{name}.a", before, width, 1, 1), (f"{name}.b", width, width, 3, stride),
                      (f"{name}.c", width, 4 * width, 1, 1)]  # fmt: skip
            if b == 0:
                found.append((f"{name}.short", before, 4 * width, 1, stride))
            before = 4 * width
    return found


def start(batch: int, size: int) -> tuple[Arrays, Any, Any]:
    """Initial parameters by name (convolutions OIHW), and one batch of NCHW images and labels."""
    random = numpy.random.default_rng(0)
    found: Arrays = {}
    for name, inputs, outputs, side, _ in convolutions():
        scale = (2.0 / (outputs * side * side)) ** 0.5
        weight = random.standard_normal((outputs, inputs, side, side)) * scale
        found[name] = weight.astype(numpy.float32)
        found[name + ".scale"] = numpy.ones(outputs, numpy.float32)
        found[name + ".shift"] = numpy.zeros(outputs, numpy.float32)
    found["head"] = (random.standard_normal((2048, CLASSES)) * 0.01).astype(numpy.float32)
    found["head.bias"] = numpy.zeros(CLASSES, numpy.float32)
    images = random.standard_normal((batch, 3, size, size)).astype(numpy.float32)
    return found, images, random.integers(0, CLASSES, batch)


def network(torch: Any, initial: Arrays) -> Any:
    """The model with these parameters, for PyTorch and the torch-like frontend."""
    nn, F = torch.nn, torch.nn.functional
    shapes = {name: rest for name, *rest in convolutions()}

    class Unit(nn.Module):
        def __init__(self, name: str) -> None:
            super().__init__()
            inputs, outputs, side, stride = shapes[name]
            self.convolution = nn.Conv2d(
                inputs, outputs, side, stride=stride, padding=side // 2, bias=False)
            self.norm = nn.BatchNorm2d(outputs)
            with torch.no_grad():
                self.convolution.weight.copy_(torch.tensor(initial[name]))

        def forward(self, x: Any) -> Any:
            return self.norm(self.convolution(x))

    class Block(nn.Module):
        def __init__(self, name: str) -> None:
            super().__init__()
            self.a, self.b, self.c = Unit(name + ".a"), Unit(name + ".b"), Unit(name + ".c")
            self.short = Unit(name + ".short") if name + ".short" in shapes else nn.Identity()

        def forward(self, x: Any) -> Any:
            y = F.relu(self.a(x))
            y = F.relu(self.b(y))
            return F.relu(self.c(y) + self.short(x))

    class ResNet(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.stem = Unit("stem")
            self.blocks = nn.Sequential(
                *(Block(f"{s}.{b}") for s, (_, count) in enumerate(STAGES) for b in range(count)))
            self.head = nn.Linear(2048, CLASSES)
            with torch.no_grad():
                weight = numpy.ascontiguousarray(initial["head"].T)
                self.head.weight.copy_(torch.tensor(weight))
                self.head.bias.zero_()

        def forward(self, x: Any) -> Any:
            x = F.max_pool2d(F.relu(self.stem(x)), 3, stride=2, padding=1)
            return self.head(self.blocks(x).mean(dim=(2, 3)))

    return ResNet()


def with_torch(torch: Any, batch: int, size: int, dtype: str = "float32",
               device: str | None = None, channels_last: bool = False,
               autocast: bool = False) -> Turn:  # fmt: skip
    """The program for PyTorch, and word for word for Lazyloom's torch-like frontend."""
    initial, images, labels = start(batch, size)
    model = network(torch, initial)
    x, y = torch.tensor(images), torch.tensor(labels)
    if dtype != "float32":
        model, x = model.to(getattr(torch, dtype)), x.to(getattr(torch, dtype))
    if device:
        model, x, y = model.to(device), x.to(device), y.to(device)
    if channels_last:
        model = model.to(memory_format=torch.channels_last)
        x = x.to(memory_format=torch.channels_last)
    optimizer = torch.optim.SGD(model.parameters(), lr=RATE, momentum=MOMENTUM)

    def loss_of() -> Any:
        with autocasting(torch, autocast):
            return torch.nn.functional.cross_entropy(model(x), y)

    return torch_training(loss_of, optimizer)


def lazyloom_torch(**size: Any) -> Turn:
    import lazyloom_torch as torch

    return with_torch(torch, **size)


def torch_eager(**size: Any) -> Turn:
    import torch

    set_torch_threads(torch)
    return with_torch(torch, **size)


def torch_channels_last(**size: Any) -> Turn:
    import torch

    set_torch_threads(torch)
    return with_torch(torch, channels_last=True, **size)


def jax_program(
    layout: str, batch: int, size: int, dtype: str = "float32"
) -> tuple[Any, list[Any]]:
    """The hand-written step, and its arguments.

    In one layout, "NCHW" or "NHWC", with its parameters in that layout.
    """
    import jax
    import jax.numpy as jnp

    initial, images, labels = start(batch, size)
    last = layout == "NHWC"
    kernels = "HWIO" if last else "OIHW"
    spatial = (1, 2) if last else (2, 3)
    reduced = (0, *spatial)
    along = (1, 1, 1, -1) if last else (1, -1, 1, 1)
    strides = {name: (side, stride) for name, _, _, side, stride in convolutions()}

    def unit(p: Arrays, running: Arrays, name: str, x: Any) -> Any:
        side, stride = strides[name]
        pad = side // 2
        x = jax.lax.conv_general_dilated(
            x, p[name], (stride, stride), [(pad, pad), (pad, pad)],
            dimension_numbers=(layout, kernels, layout))
        # batch norm as PyTorch's: statistics of the batch, running averages of them kept
        mean = x.mean(axis=reduced, keepdims=True)
        centred = x - mean
        variance = (centred * centred).mean(axis=reduced, keepdims=True)
        count = x.size // mean.size
        running[name + ".mean"] = 0.9 * running[name + ".mean"] + 0.1 * mean.ravel()
        unbiased = variance.ravel() * (count / (count - 1))
        running[name + ".variance"] = 0.9 * running[name + ".variance"] + 0.1 * unbiased
        scale = jax.lax.rsqrt(variance + EPSILON) * p[name + ".scale"].reshape(along)
        return centred * scale + p[name + ".shift"].reshape(along)

    def loss_of(p: Arrays, running: Arrays, x: Any, y: Any) -> Any:
        running = dict(running)
        x = jax.nn.relu(unit(p, running, "stem", x))
        window, step = ((1, 3, 3, 1), (1, 2, 2, 1)) if last else ((1, 1, 3, 3), (1, 1, 2, 2))
        pads = [(1, 1) if w == 3 else (0, 0) for w in window]
        x = jax.lax.reduce_window(x, -jnp.inf, jax.lax.max, window, step, pads)
        for s, (_, count) in enumerate(STAGES):
            for b in range(count):
                name = f"{s}.{b}"
                h = jax.nn.relu(unit(p, running, name + ".a", x))
                h = jax.nn.relu(unit(p, running, name + ".b", h))
                h = unit(p, running, name + ".c", h)
                x = jax.nn.relu(h + (unit(p, running, name + ".short", x) if b == 0 else x))
        logits = x.mean(axis=spatial) @ p["head"] + p["head.bias"]
        scores = jax.nn.log_softmax(logits)
        return -jnp.take_along_axis(scores, y[:, None], axis=1).mean(), running

    def update(p: Arrays, momenta: Arrays, running: Arrays, x: Any, y: Any) -> Any:
        (loss, running), g = jax.value_and_grad(loss_of, has_aux=True)(p, running, x, y)
        momenta = jax.tree.map(lambda m, g: MOMENTUM * m + g, momenta, g)
        p = jax.tree.map(lambda p, m: p - RATE * m, p, momenta)
        return loss, p, momenta, running

    if last:
        images = numpy.ascontiguousarray(images.transpose(0, 2, 3, 1))
        initial = {n: v.transpose(2, 3, 1, 0) if v.ndim == 4 else v for n, v in initial.items()}
    parameters = {name: jnp.asarray(v, dtype) for name, v in initial.items()}
    momenta = jax.tree.map(jnp.zeros_like, parameters)
    running = {}
    for name, _, outputs, _, _ in convolutions():
        running[name + ".mean"] = jnp.zeros(outputs, dtype)
        running[name + ".variance"] = jnp.ones(outputs, dtype)
    x, y = jnp.asarray(images, dtype), jnp.asarray(labels)
    return jax.jit(update, donate_argnums=(0, 1, 2)), [parameters, momenta, running, x, y]


def by_hand(layout: str, batch: int, size: int, dtype: str = "float32") -> Turn:
    """Steps of the hand-written program."""
    compiled, arguments = jax_program(layout, batch, size, dtype)
    losses: list[float] = []

    def turn(steps: int) -> None:
        for _ in range(steps):
            loss, *arguments[:3] = compiled(*arguments)
            losses.append(float(loss))

    turn.losses = losses  # type: ignore[attr-defined]
    return turn


def jax_nchw(**size: Any) -> Turn:
    return by_hand("NCHW", **size)


def jax_nhwc(**size: Any) -> Turn:
    return by_hand("NHWC", **size)


TORCH = "lazyloom, torch-like"
NCHW = "jax.jit, NCHW, donated"
NHWC = "jax.jit, NHWC, donated"
FULL = "batch 4, 224 x 224"

WORKLOAD = Workload(
    name="resnet",
    title="ResNet-50 training step",
    about=(
        "ResNet-50 with batch norm in training mode, its running averages kept, 1,000 classes, "
        "cross entropy, float32, SGD with momentum, the loss read every step. The torch-like "
        "frontend and PyTorch run the same text; jax.jit is written by hand in both layouts."
    ),
    cases=[
        Case(FULL, {"batch": 4, "size": 224}, warm=2, rounds=7, budget=100, units=1, quick=False),
        Case("batch 4, 64 x 64", {"batch": 4, "size": 64}, warm=1, units=1, full=False),
    ],
    contenders=[
        Contender(TORCH, "lazyloom", lazyloom_torch),
        Contender(NCHW, "jax", jax_nchw),
        Contender(NHWC, "jax", jax_nhwc),
        Contender("PyTorch eager", "torch", torch_eager),
        Contender("PyTorch eager, channels last", "torch", torch_channels_last),
    ],
    base=TORCH,
    limits=[
        Limit("ResNet-50 step beside the better hand-written jax.jit", [FULL], [TORCH], 1.03,
              [NCHW, NHWC]),
    ],
    headline=[FULL],
)  # fmt: skip
