"""Programs that both libraries can run: nn.functional, modules, optimizers."""
# ruff: noqa: B023 - an outer lambda, called at once, binds each loop variable

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tests.torch.cases import C3, A, B, M, P, U, a, b

Case = Callable[[Any], Any]

_rng = np.random.default_rng(11)
IMAGE = _rng.normal(size=(2, 4, 7, 6)).astype(np.float32)
KERNEL = _rng.normal(size=(6, 2, 3, 2)).astype(np.float32)
LINE = _rng.normal(size=(2, 4, 9)).astype(np.float32)
CUBE = _rng.normal(size=(1, 2, 5, 4, 4)).astype(np.float32)
LABELS = np.array([0, 3, 1])
Q = _rng.normal(size=(2, 2, 5, 4)).astype(np.float32)


def x4(t: Any) -> Any:
    return t.tensor(IMAGE)


def _with_grad(f: Callable[[Any, Any], Any], start: Any = A) -> Case:
    def case(t: Any) -> Any:
        x = t.tensor(start, requires_grad=True)
        y = f(t, x)
        (y * y).sum().backward()
        return y, x.grad

    return case


_ACTIVATIONS = ("relu", "relu6", "silu", "mish", "selu", "elu", "celu", "leaky_relu", "hardtanh",
                "hardsigmoid", "hardswish", "softsign", "tanhshrink", "softshrink", "hardshrink",
                "softplus", "logsigmoid", "gelu", "sigmoid", "tanh", "glu")

FUNCTIONAL: dict[str, Case] = {
    **{n: _with_grad((lambda n: lambda t, x: getattr(t.nn.functional, n)(x * 2))(n))
       for n in _ACTIVATIONS},
    "gelu tanh": _with_grad(lambda t, x: t.nn.functional.gelu(x, approximate="tanh")),
    "elu alpha": lambda t: t.nn.functional.elu(a(t), 0.5),
    "threshold": lambda t: t.nn.functional.threshold(a(t), 0.1, 20.0),
    "prelu": lambda t: t.nn.functional.prelu(a(t), t.tensor([0.1, 0.2, 0.3, 0.4])),
    "relu inplace": lambda t: (lambda x: (t.nn.functional.relu(x, inplace=True), x))(a(t)),
    "softmax dtype": lambda t: t.nn.functional.softmax(a(t), 0, dtype=t.float64),
    "log_softmax": _with_grad(lambda t, x: t.nn.functional.log_softmax(x, dim=1)),
    "normalize": lambda t: t.nn.functional.normalize(a(t)),
    "linear": _with_grad(lambda t, x: t.nn.functional.linear(x, b(t), t.arange(3.0))),
    "linear 3d": lambda t: t.nn.functional.linear(t.tensor(C3), b(t)),
    "linear shapes": lambda t: t.nn.functional.linear(a(t), t.ones(2, 3)),
    "bilinear": lambda t: t.nn.functional.bilinear(a(t), b(t), t.ones(2, 4, 4), t.ones(2)),
    "embedding": lambda t: t.nn.functional.embedding(t.tensor([[0, 2], [1, 1]]), a(t)),
    "one_hot": lambda t: t.nn.functional.one_hot(t.tensor(LABELS)),
    "layer_norm": _with_grad(lambda t, x: t.nn.functional.layer_norm(x, (4,), t.arange(4.0))),
    "layer_norm shape": lambda t: t.nn.functional.layer_norm(a(t), (3,)),
    "rms_norm": _with_grad(lambda t, x: t.nn.functional.rms_norm(x, (4,), eps=1e-5)),
    "group_norm": _with_grad(lambda t, x: t.nn.functional.group_norm(x, 2), IMAGE),
    "instance_norm": lambda t: t.nn.functional.instance_norm(x4(t)),
    "batch_norm eval": lambda t: t.nn.functional.batch_norm(
        x4(t), t.arange(4.0), t.arange(1.0, 5.0)),
    "batch_norm one": lambda t: t.nn.functional.batch_norm(t.ones(1, 3), None, None, training=True),
    "conv2d": _with_grad(lambda t, x: t.nn.functional.conv2d(
        x, t.tensor(KERNEL), t.arange(6.0), stride=(2, 1), padding=1, groups=2), IMAGE),
    "conv2d dilated": lambda t: t.nn.functional.conv2d(
        x4(t), t.tensor(KERNEL), dilation=2, groups=2, padding=(2, 1)),
    "conv2d same": lambda t: t.nn.functional.conv2d(
        x4(t), t.tensor(KERNEL), padding="same", groups=2),
    "conv2d unbatched": lambda t: t.nn.functional.conv2d(x4(t)[0], t.tensor(KERNEL), groups=2),
    "conv2d channels": lambda t: t.nn.functional.conv2d(x4(t), t.tensor(KERNEL)),
    "conv1d": _with_grad(lambda t, x: t.nn.functional.conv1d(x, t.ones(3, 4, 3), stride=2), LINE),
    "conv3d": lambda t: t.nn.functional.conv3d(t.tensor(CUBE), t.ones(3, 2, 2, 2, 2), padding=1),
    "conv_transpose2d": _with_grad(lambda t, x: t.nn.functional.conv_transpose2d(
        x, t.tensor(KERNEL[:4]), t.arange(4.0), stride=2, padding=1, output_padding=1, groups=2),
        IMAGE),
    "conv_transpose1d": lambda t: t.nn.functional.conv_transpose1d(
        t.tensor(LINE), t.ones(4, 2, 3), dilation=2),
    "max_pool2d": _with_grad(lambda t, x: t.nn.functional.max_pool2d(x, 3, 2, 1), IMAGE),
    "max_pool2d ceil": lambda t: t.nn.functional.max_pool2d(x4(t), 2, ceil_mode=True),
    "max_pool1d": lambda t: t.nn.functional.max_pool1d(t.tensor(LINE), 3, 2),
    "max_pool3d": lambda t: t.nn.functional.max_pool3d(t.tensor(CUBE), 2),
    "max_pool padding": lambda t: t.nn.functional.max_pool2d(x4(t), 2, padding=2),
    "avg_pool2d": _with_grad(lambda t, x: t.nn.functional.avg_pool2d(x, 3, 2, 1), IMAGE),
    "avg_pool2d exclude": lambda t: t.nn.functional.avg_pool2d(
        x4(t), 3, 2, 1, count_include_pad=False),
    "adaptive_avg_pool2d": lambda t: t.nn.functional.adaptive_avg_pool2d(x4(t), (3, 4)),
    "adaptive_avg_pool2d one": lambda t: t.nn.functional.adaptive_avg_pool2d(x4(t), 1),
    "adaptive_max_pool2d": lambda t: t.nn.functional.adaptive_max_pool2d(x4(t), (None, 3)),
    "pad": lambda t: (t.nn.functional.pad(a(t), (1, 2)),
                      t.nn.functional.pad(a(t), (0, 1, -1, 2), value=3.0)),
    **{f"pad {m}": (lambda m: lambda t: t.nn.functional.pad(x4(t), (1, 2, 3, 0), mode=m))(m)
       for m in ("reflect", "replicate", "circular")},
    "pad reflect far": lambda t: t.nn.functional.pad(x4(t), (9, 0, 0, 0), mode="reflect"),
    "interpolate": lambda t: t.nn.functional.interpolate(x4(t), scale_factor=2),
    "interpolate bilinear": lambda t: t.nn.functional.interpolate(
        x4(t), size=(9, 5), mode="bilinear"),
    "interpolate corners": lambda t: t.nn.functional.interpolate(
        x4(t), size=(9, 5), mode="bilinear", align_corners=True),
    "pixel_shuffle": lambda t: t.nn.functional.pixel_shuffle(x4(t), 2),
    "unfold": lambda t: t.nn.functional.unfold(x4(t), (2, 3), padding=1, stride=2),
    "dropout eval": lambda t: t.nn.functional.dropout(a(t), 0.5, training=False),
    "dropout p": lambda t: t.nn.functional.dropout(a(t), 1.5),
    "attention": _with_grad(lambda t, x: t.nn.functional.scaled_dot_product_attention(
        x, t.tensor(Q) * 2, t.tensor(Q) + 1), Q),
    "attention causal": lambda t: t.nn.functional.scaled_dot_product_attention(
        *[t.tensor(Q)] * 3, is_causal=True),
    "attention mask": lambda t: t.nn.functional.scaled_dot_product_attention(
        *[t.tensor(Q)] * 3, attn_mask=t.ones(5, 5, dtype=t.bool).tril(), scale=0.3),
    "cross_entropy": _with_grad(lambda t, x: t.nn.functional.cross_entropy(x, t.tensor(LABELS))),
    "cross_entropy ignore": lambda t: t.nn.functional.cross_entropy(
        a(t), t.tensor([0, -100, 1])),
    "cross_entropy all ignored": lambda t: t.nn.functional.cross_entropy(
        a(t), t.tensor([-100, -100, -100]), reduction="sum"),
    "cross_entropy smoothing": _with_grad(lambda t, x: t.nn.functional.cross_entropy(
        x, t.tensor(LABELS), weight=t.arange(1.0, 5.0), label_smoothing=0.1, reduction="none")),
    "cross_entropy weight": lambda t: t.nn.functional.cross_entropy(
        a(t), t.tensor(LABELS), weight=t.arange(1.0, 5.0)),
    "cross_entropy dims": lambda t: t.nn.functional.cross_entropy(
        t.tensor(C3), t.tensor([[0, 2, 1, 0], [1, 1, 2, 2]])),
    "cross_entropy soft": lambda t: t.nn.functional.cross_entropy(
        a(t), b(t).softmax(1), label_smoothing=0.1),
    "cross_entropy soft weight": lambda t: t.nn.functional.cross_entropy(
        a(t), b(t).softmax(1), weight=t.arange(1.0, 5.0)),
    "cross_entropy sizes": lambda t: t.nn.functional.cross_entropy(a(t), t.tensor([0, 1])),
    "cross_entropy reduction": lambda t: t.nn.functional.cross_entropy(
        a(t), t.tensor(LABELS), reduction="average"),
    "nll_loss": lambda t: t.nn.functional.nll_loss(a(t).log_softmax(1), t.tensor(LABELS)),
    **{f"{n} {r}": (lambda n, r: lambda t: getattr(t.nn.functional, n)(
        a(t), b(t), reduction=r))(n, r)
       for n in ("mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss")
       for r in ("mean", "sum", "none")},
    "smooth_l1 beta": lambda t: t.nn.functional.smooth_l1_loss(a(t), b(t), beta=0.3),
    "bce": lambda t: t.nn.functional.binary_cross_entropy(t.tensor(U), t.tensor(M).float()),
    "bce zero": lambda t: t.nn.functional.binary_cross_entropy(
        t.tensor([0.0, 1.0]), t.tensor([1.0, 1.0])),
    "bce logits": _with_grad(lambda t, x: t.nn.functional.binary_cross_entropy_with_logits(
        x, t.tensor(M).float(), pos_weight=t.tensor(2.0))),
    "bce sizes": lambda t: t.nn.functional.binary_cross_entropy_with_logits(a(t), t.ones(3)),
    "kl_div": lambda t: (
        t.nn.functional.kl_div(a(t).log_softmax(1), b(t).softmax(1), reduction="batchmean"),
        t.nn.functional.kl_div(a(t).log_softmax(1), b(t).log_softmax(1), log_target=True,
                               reduction="sum")),
    "margins": lambda t: (
        t.nn.functional.margin_ranking_loss(a(t), b(t), t.ones(3, 4)),
        t.nn.functional.hinge_embedding_loss(a(t), t.where(t.tensor(M), 1.0, -1.0)),
        t.nn.functional.triplet_margin_loss(a(t), b(t), t.tensor(P)),
        t.nn.functional.cosine_embedding_loss(a(t), b(t), t.tensor([1.0, -1.0, 1.0])),
        t.nn.functional.soft_margin_loss(a(t), t.where(t.tensor(M), 1.0, -1.0)),
        t.nn.functional.poisson_nll_loss(a(t), t.tensor(P)),
        t.nn.functional.gaussian_nll_loss(a(t), b(t), t.tensor(P))),
}


def weights(shapes: dict[str, Any]) -> dict[str, np.ndarray]:
    """The same weights for both libraries."""
    rng = np.random.default_rng(3)
    return {k: (rng.normal(size=tuple(s.shape)) * 0.3).astype(np.float32)
            if s.is_floating_point() else np.zeros(tuple(s.shape), np.int64)
            for k, s in shapes.items()}


def _filled(t: Any, module: Any) -> Any:
    state = weights(module.state_dict())
    for k in state:
        if "running_var" in k:
            state[k] = np.abs(state[k]) + 1
    module.load_state_dict({k: t.tensor(v) for k, v in state.items()})
    return module


def _module(make: Callable[[Any], Any], *inputs: np.ndarray, train: bool = True) -> Case:
    """State, repr, output, gradients and state afterwards of a module with given weights."""

    def case(t: Any) -> Any:
        m = _filled(t, make(t))
        m.train(train)
        xs = [t.tensor(x, requires_grad=x.dtype == np.float32) for x in inputs]
        y = m(*xs)
        y = y[0] if isinstance(y, tuple) else y
        (y * y).sum().backward()
        return (y, [x.grad for x in xs], {n: p.grad for n, p in m.named_parameters()},
                dict(m.state_dict()))

    return case


TOKENS = _rng.normal(size=(2, 5, 8)).astype(np.float32)

MODULES: dict[str, Case] = {
    "Linear": _module(lambda t: t.nn.Linear(4, 3), A),
    "Linear no bias": _module(lambda t: t.nn.Linear(4, 3, bias=False), A),
    "Bilinear": _module(lambda t: t.nn.Bilinear(4, 4, 2), A, B),
    "Conv2d": _module(lambda t: t.nn.Conv2d(4, 6, 3, padding=1, stride=2, groups=2), IMAGE),
    "Conv2d circular": _module(
        lambda t: t.nn.Conv2d(4, 6, 3, padding=1, padding_mode="circular"), IMAGE),
    "Conv1d": _module(lambda t: t.nn.Conv1d(4, 2, 3), LINE),
    "Conv3d": _module(lambda t: t.nn.Conv3d(2, 2, 2), CUBE),
    "ConvTranspose2d": _module(lambda t: t.nn.ConvTranspose2d(4, 2, 3, stride=2), IMAGE),
    "BatchNorm2d": _module(lambda t: t.nn.BatchNorm2d(4), IMAGE),
    "BatchNorm2d eval": _module(lambda t: t.nn.BatchNorm2d(4), IMAGE, train=False),
    "BatchNorm1d": _module(lambda t: t.nn.BatchNorm1d(4, momentum=0.3), A),
    "BatchNorm untracked": _module(
        lambda t: t.nn.BatchNorm1d(4, track_running_stats=False), A),
    "LayerNorm": _module(lambda t: t.nn.LayerNorm(4), A),
    "GroupNorm": _module(lambda t: t.nn.GroupNorm(2, 4), IMAGE),
    "RMSNorm": _module(lambda t: t.nn.RMSNorm(4), A),
    "InstanceNorm2d": _module(lambda t: t.nn.InstanceNorm2d(4, affine=True), IMAGE),
    "Embedding": _module(lambda t: t.nn.Embedding(6, 3, padding_idx=0), np.array([[0, 5], [2, 2]])),
    "PReLU": _module(lambda t: t.nn.PReLU(4), A),
    "MultiheadAttention": _module(lambda t: t.nn.MultiheadAttention(8, 2), TOKENS, TOKENS, TOKENS),
    "MultiheadAttention batch": _module(
        lambda t: t.nn.MultiheadAttention(8, 2, batch_first=True), TOKENS, TOKENS, TOKENS),
    "Transformer layer": _module(lambda t: t.nn.TransformerEncoderLayer(
        8, 2, 16, dropout=0.0, batch_first=True), TOKENS),
    "Transformer norm first": _module(lambda t: t.nn.TransformerEncoder(
        t.nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True, norm_first=True,
                                     activation="gelu"), 2), TOKENS),
    "Sequential": _module(lambda t: t.nn.Sequential(
        t.nn.Conv2d(4, 3, 3), t.nn.ReLU(), t.nn.MaxPool2d(2), t.nn.Flatten(), t.nn.Linear(12, 2)),
        IMAGE),
    "repr": lambda t: repr(t.nn.Sequential(
        t.nn.Linear(2, 3), t.nn.ReLU(), t.nn.ModuleList([t.nn.Conv2d(1, 2, 3, padding=1)]),
        t.nn.BatchNorm2d(2), t.nn.Dropout(0.2), t.nn.Embedding(3, 4), t.nn.LayerNorm(4),
        t.nn.Flatten(), t.nn.Identity(), t.nn.Tanh())),
    "names": lambda t: [n for n, _ in t.nn.ModuleDict(
        {"a": t.nn.Linear(1, 2), "b": t.nn.BatchNorm1d(2)}).named_parameters()],
    "buffers": lambda t: [n for n, _ in t.nn.Sequential(t.nn.BatchNorm1d(2)).named_buffers()],
    "strict": lambda t: t.nn.Linear(2, 2).load_state_dict({"weight": t.ones(2, 2)}),
    "unexpected": lambda t: t.nn.Linear(2, 2).load_state_dict(
        {"weight": t.ones(2, 2), "bias": t.ones(2), "c": t.ones(1)}),
    "not strict": lambda t: list(t.nn.Linear(2, 2).load_state_dict(
        {"weight": t.ones(2, 2), "c": t.ones(1)}, strict=False)),
    "state shape": lambda t: t.nn.Linear(2, 2).load_state_dict(
        {"weight": t.ones(3, 2), "bias": t.ones(2)}),
    "missing attribute": lambda t: t.nn.Linear(2, 2).nothing,
    "not a parameter": lambda t: setattr(t.nn.Linear(2, 2), "weight", t.ones(2, 2)),
    "no forward": lambda t: t.nn.Module()(1),
    "half": lambda t: t.nn.Linear(2, 2).half().weight.dtype is t.float16,
    "losses": lambda t: (t.nn.CrossEntropyLoss(label_smoothing=0.1)(a(t), t.tensor(LABELS)),
                         t.nn.MSELoss()(a(t), b(t)), t.nn.HuberLoss(delta=0.5)(a(t), b(t)),
                         t.nn.BCEWithLogitsLoss()(a(t), t.tensor(M).float()),
                         t.nn.NLLLoss()(a(t).log_softmax(1), t.tensor(LABELS))),
    "clip_grad_norm_": lambda t: _clipped(t),
}


def _clipped(t: Any) -> Any:
    p = t.tensor(A, requires_grad=True)
    (p * 10).sum().backward()
    total = t.nn.utils.clip_grad_norm_([p], 1.0)
    return total, p.grad


def _trained(make: Callable[[Any, Any], Any], steps: int = 5) -> Case:
    """Losses, parameters and optimizer state after some steps of a small regression."""

    def case(t: Any) -> Any:
        m = _filled(t, t.nn.Sequential(t.nn.Linear(4, 5), t.nn.Tanh(), t.nn.Linear(5, 1)))
        o = make(t, m.parameters())
        losses = []
        for i in range(steps):
            o.zero_grad()
            loss = t.nn.functional.mse_loss(m(t.tensor(A + i)), t.tensor(B[:, :1]))
            loss.backward()
            o.step()
            losses.append(loss.detach())
        state = {k: {n: v for n, v in s.items() if n != "step"}
                 for k, s in o.state_dict()["state"].items()}
        return losses, dict(m.state_dict()), state

    return case


def _scheduled(t: Any) -> Any:
    p = t.nn.Parameter(t.tensor(A))
    o = t.optim.SGD([p], lr=0.1, momentum=0.9)
    s = t.optim.lr_scheduler.CosineAnnealingLR(o, 5)
    rates = []
    for _ in range(5):
        o.zero_grad()
        (p * p).sum().backward()
        o.step()
        s.step()
        rates.append(s.get_last_lr()[0])
    return rates, p.detach()


OPTIM: dict[str, Case] = {
    "SGD": _trained(lambda t, p: t.optim.SGD(p, lr=0.05)),
    "SGD momentum": _trained(lambda t, p: t.optim.SGD(p, lr=0.05, momentum=0.9)),
    "SGD dampening": _trained(lambda t, p: t.optim.SGD(p, lr=0.05, momentum=0.9, dampening=0.3)),
    "SGD nesterov": _trained(lambda t, p: t.optim.SGD(
        p, lr=0.05, momentum=0.9, nesterov=True, weight_decay=0.01)),
    "SGD maximize": _trained(lambda t, p: t.optim.SGD(p, lr=0.01, maximize=True)),
    "Adam": _trained(lambda t, p: t.optim.Adam(p, lr=0.01)),
    "Adam decay": _trained(lambda t, p: t.optim.Adam(p, lr=0.01, weight_decay=0.1, amsgrad=True)),
    "AdamW": _trained(lambda t, p: t.optim.AdamW(p, lr=0.01, betas=(0.8, 0.95))),
    "schedule": _scheduled,
    "empty": lambda t: t.optim.SGD([], lr=0.1),
    "tensor": lambda t: t.optim.SGD(t.ones(2), lr=0.1),
    "negative lr": lambda t: t.optim.SGD([t.ones(2, requires_grad=True)], lr=-1.0),
    "nesterov alone": lambda t: t.optim.SGD([t.ones(2, requires_grad=True)], nesterov=True),
    "non-leaf": lambda t: t.optim.SGD([t.ones(2, requires_grad=True) * 2]),
    "twice": lambda t: t.optim.SGD([{"params": x} for x in [t.nn.Parameter(t.ones(2))] * 2]),
    "closure": lambda t: (lambda p: (t.optim.SGD([p], lr=0.1).step(
        lambda: ((p * p).sum().backward(), (p * p).sum().detach())[1]), p.detach()))(
            t.nn.Parameter(t.tensor(A))),
    "groups": lambda t: [g["lr"] for g in t.optim.SGD(
        [{"params": [t.nn.Parameter(t.ones(1))], "lr": 0.5}, {"params": t.nn.Parameter(t.ones(1))}],
        lr=0.1).param_groups],
}
