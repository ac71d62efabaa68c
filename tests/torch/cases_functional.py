"""Corners of nn.functional that PyTorch's own samples leave out, run by both libraries."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

Case = Callable[[Any], Any]

_rng = np.random.default_rng(5)
IMAGE = _rng.normal(size=(2, 3, 6, 5)).astype(np.float32)
LINE = _rng.normal(size=(2, 3, 8)).astype(np.float32)
CUBE = _rng.normal(size=(1, 2, 4, 5, 3)).astype(np.float32)
ROWS = _rng.normal(size=(4, 6)).astype(np.float32)
GRID = _rng.uniform(-1.4, 1.4, size=(2, 3, 4, 2)).astype(np.float32)
TABLE = _rng.normal(size=(7, 3)).astype(np.float32)
EDGES = np.array([[np.inf, -np.inf, np.nan, 0.0], [-0.0, 1e30, -1e30, 1.0]], np.float32)


def _grad(f: Callable[..., Any], *starts: Any) -> Case:
    """The result of f on tensors of these starts, and the gradients of its sum of squares."""

    def case(t: Any) -> Any:
        leaves = [t.tensor(s, requires_grad=True) for s in starts]
        y = f(t, t.nn.functional, *leaves)
        found = y if isinstance(y, tuple) else (y,)
        (found[0] * found[0]).sum().backward()
        return (*found, *[x.grad for x in leaves])

    return case


def _quiet(f: Case) -> Case:
    def case(t: Any) -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return f(t)

    return case


def _twice(f: Callable[[Any, Any], Any], start: Any) -> Case:
    """The gradient of a gradient."""

    def case(t: Any) -> Any:
        x = t.tensor(start, requires_grad=True)
        (g,) = t.autograd.grad(f(t.nn.functional, x).pow(2).sum(), x, create_graph=True)
        (h,) = t.autograd.grad(g.pow(2).sum(), x)
        return h

    return case


POOLING: dict[str, Case] = {
    "indices": _grad(lambda t, f, x: f.max_pool2d(x, 3, 2, 1, return_indices=True), IMAGE),
    "dilated indices": _grad(
        lambda t, f, x: f.max_pool1d(x, 3, 1, 1, 2, return_indices=True), LINE),
    "unpooled": _grad(lambda t, f, x: f.max_unpool2d(
        *f.max_pool2d(x, 2, return_indices=True), 2, output_size=(6, 5)), IMAGE),
    "unpooled 3d": lambda t: t.nn.functional.max_unpool3d(*t.nn.functional.max_pool3d(
        t.tensor(CUBE), (2, 2, 1), return_indices=True), (2, 2, 1), output_size=(4, 5, 3)),
    "unpool size": lambda t: t.nn.functional.max_unpool1d(
        t.ones(1, 1, 2), t.tensor([[[0, 2]]]), 2, output_size=(9,)),
    "unpool index": lambda t: t.nn.functional.max_unpool1d(
        t.ones(1, 1, 2), t.tensor([[[0, 9]]]), 2).tolist(),
    "ceil mean": _grad(lambda t, f, x: f.avg_pool2d(x, 3, 2, 1, ceil_mode=True), IMAGE),
    "ceil mean of what is there": _grad(lambda t, f, x: f.avg_pool2d(
        x, 3, 2, 1, ceil_mode=True, count_include_pad=False), IMAGE),
    "divisor": _grad(lambda t, f, x: f.avg_pool2d(x, 2, divisor_override=3), IMAGE),
    "no divisor": lambda t: t.nn.functional.avg_pool2d(t.tensor(IMAGE), 2, divisor_override=0),
    "adaptive": _grad(lambda t, f, x: f.adaptive_max_pool2d(x, (4, None), True), IMAGE),
    "adaptive of equals": _grad(lambda t, f, x: f.adaptive_max_pool1d(x.relu(), 3), LINE),
    "adaptive 3d": _grad(lambda t, f, x: f.adaptive_max_pool3d(x, (3, 2, 3)), CUBE),
    "adaptive nothing": lambda t: t.nn.functional.adaptive_avg_pool1d(t.tensor(LINE), 0),
    "power": _grad(lambda t, f, x: f.lp_pool2d(x.abs(), 2.5, 2), IMAGE),
    "power 1d": _grad(lambda t, f, x: f.lp_pool1d(x, 2, 3, 2, ceil_mode=True), LINE),
    "integers": lambda t: (t.nn.functional.max_pool2d(t.arange(36).reshape(1, 6, 6), 2),
                           t.nn.functional.avg_pool2d(t.arange(36).reshape(1, 6, 6) - 17, 2)),
    "fractional": lambda t: t.nn.functional.fractional_max_pool2d(
        t.tensor(IMAGE), 2, output_size=(3, 4), return_indices=True,
        _random_samples=t.tensor(np.linspace(0.05, 0.9, 12).reshape(2, 3, 2).astype("float32"))),
    "fractional 3d": lambda t: t.nn.functional.fractional_max_pool3d(
        t.tensor(CUBE), 2, output_ratio=(0.5, 0.6, 0.4), return_indices=True,
        _random_samples=t.tensor(np.linspace(0.1, 0.8, 6).reshape(1, 2, 3).astype("float32"))),
    "no size": lambda t: t.nn.functional.fractional_max_pool2d(t.tensor(IMAGE), 2),
    "padded too much": lambda t: t.nn.functional.max_pool2d(t.tensor(IMAGE), 3, padding=2),
    "no stride": lambda t: t.nn.functional.max_pool2d(t.tensor(IMAGE), 3, 0),
    "rank": lambda t: t.nn.functional.max_pool2d(t.tensor(ROWS), 2),
    "nan": lambda t: t.nn.functional.max_pool1d(t.tensor(EDGES)[None], 2, return_indices=True),
}

CONVOLUTION: dict[str, Case] = {
    "same": _grad(lambda t, f, x: f.conv2d(
        x, t.ones(2, 3, 4, 2) / 7, padding="same", dilation=(1, 2)), IMAGE),
    "strided same": lambda t: t.nn.functional.conv1d(
        t.tensor(LINE), t.ones(2, 3, 2), padding="same", stride=2),
    "unknown padding": lambda t: t.nn.functional.conv1d(
        t.tensor(LINE), t.ones(2, 3, 2), padding="most"),
    "groups": lambda t: t.nn.functional.conv1d(t.tensor(LINE), t.ones(2, 2, 2), groups=2),
    "bias": lambda t: t.nn.functional.conv1d(t.tensor(LINE), t.ones(2, 3, 2), t.ones(3)),
    "dtypes": lambda t: t.nn.functional.conv1d(t.tensor(LINE), t.ones(2, 3, 2).double()),
    "negative padding": lambda t: t.nn.functional.conv1d(
        t.tensor(LINE), t.ones(2, 3, 2), padding=-1),
    "too small": lambda t: t.nn.functional.conv1d(t.tensor(LINE), t.ones(2, 3, 9)),
    "output padding": lambda t: t.nn.functional.conv_transpose1d(
        t.tensor(LINE), t.ones(3, 2, 2), output_padding=2, stride=2),
    "time first": _grad(lambda t, f, x: f.conv_tbc(
        x.permute(2, 0, 1).contiguous(), t.ones(2, 3, 4) / 3, t.arange(4.0), 1), LINE),
    "folded": _grad(lambda t, f, x: f.fold(
        f.unfold(x, (2, 3), stride=2, padding=1), (6, 5), (2, 3), stride=2, padding=1), IMAGE),
    "folded wrongly": lambda t: t.nn.functional.fold(t.ones(1, 6, 7), (3, 3), (2, 3)),
    "unfolded infinities": lambda t: t.nn.functional.unfold(t.tensor(EDGES)[None, None], 2),
    "bilinear": lambda t: t.nn.functional.bilinear(
        t.tensor(ROWS), t.tensor(ROWS), t.ones(2, 5, 6)),
}

RESAMPLING: dict[str, Case] = {
    **{f"{mode} antialias {corners} {size}": _grad((
        lambda mode, corners, size: lambda t, f, x: f.interpolate(
            x, size, mode=mode, align_corners=corners, antialias=True))(mode, corners, size),
        IMAGE)
       for mode, corners, size in (("bilinear", False, (3, 7)), ("bicubic", False, (4, 3)),
                                   ("bilinear", True, (3, 3)))},
    "lanczos": lambda t: t.nn.functional.interpolate(
        t.tensor(IMAGE), (3, 4), mode="lanczos", antialias=True),
    "twice": _grad(lambda t, f, x: f.interpolate(x, scale_factor=2), IMAGE),
    "a third": lambda t: t.nn.functional.interpolate(
        t.tensor(IMAGE), scale_factor=(0.34, 1.7), mode="nearest-exact"),
    "odd scale": _grad(lambda t, f, x: f.interpolate(
        x, scale_factor=1.3, mode="bilinear", recompute_scale_factor=False), IMAGE),
    "recomputed": _grad(lambda t, f, x: f.interpolate(
        x, scale_factor=1.3, mode="bilinear", recompute_scale_factor=True), IMAGE),
    "infinities": lambda t: t.nn.functional.interpolate(
        t.tensor(EDGES)[None, :1], 7, mode="linear"),
    "bytes": lambda t: t.nn.functional.interpolate(
        t.arange(16, dtype=t.uint8).reshape(1, 1, 4, 4), 8, mode="nearest"),
    "both": lambda t: t.nn.functional.interpolate(t.tensor(LINE), 3, 2.0),
    "neither": lambda t: t.nn.functional.interpolate(t.tensor(LINE)),
    "corners of nearest": lambda t: t.nn.functional.interpolate(
        t.tensor(LINE), 3, align_corners=True),
    "wrong rank": lambda t: t.nn.functional.interpolate(t.tensor(LINE), 3, mode="bilinear"),
    "volume": _grad(lambda t, f, x, g: f.grid_sample(
        x, g, "bilinear", "reflection", True), CUBE, GRID.reshape(1, 2, 2, 4, 3)),
    "cubic": _grad(lambda t, f, x, g: f.grid_sample(
        x, g, "bicubic", "border", False), IMAGE.astype(float), GRID.astype(float)),
    "grid of another dtype": _quiet(lambda t: t.nn.functional.grid_sample(
        t.tensor(IMAGE), t.tensor(GRID).double())),
    "grid mode": lambda t: t.nn.functional.grid_sample(t.tensor(IMAGE), t.tensor(GRID), "linear"),
    "affine": _grad(lambda t, f, x: f.affine_grid(x, (2, 1, 3, 4), align_corners=False),
                    ROWS.reshape(4, 2, 3)[:2]),
    "affine 3d": lambda t: t.nn.functional.affine_grid(
        t.tensor(CUBE.reshape(-1)[:12].reshape(1, 3, 4)), (1, 1, 2, 3, 1), align_corners=True),
    "affine of torch itself": _grad(lambda t, f, x: t.affine_grid_generator(
        x, [2, 1, 3, 4], False), ROWS.reshape(4, 2, 3)[:2]),
    "affine 3d of torch itself": lambda t: t.affine_grid_generator(
        t.tensor(CUBE.reshape(-1)[:12].reshape(1, 3, 4)), (1, 1, 2, 3, 1), align_corners=True),
    "unshuffled": _grad(lambda t, f, x: f.pixel_unshuffle(
        f.pixel_shuffle(x.reshape(2, 12, 3, 2), 2), 2), IMAGE[..., :4]),
    "channels": lambda t: t.nn.functional.channel_shuffle(t.tensor(IMAGE), 3),
    "no group": lambda t: t.nn.functional.channel_shuffle(t.tensor(IMAGE), 2),
}

PADDING: dict[str, Case] = {
    **{f"{mode} {amounts}": _grad((lambda mode, amounts: lambda t, f, x: f.pad(
        x, amounts, mode))(mode, amounts), IMAGE)
       for mode in ("reflect", "replicate", "circular")
       for amounts in ((2, 1, 3, 0), (-1, 2, 0, -2))},
    "too far": lambda t: t.nn.functional.pad(t.tensor(LINE), (8, 0), "reflect"),
    "around twice": lambda t: t.nn.functional.pad(t.tensor(LINE), (9, 0), "circular"),
    "nothing left": lambda t: t.nn.functional.pad(t.tensor(LINE), (-5, -4)),
    "ranks": lambda t: t.nn.functional.pad(t.tensor(IMAGE), (1, 1), "reflect"),
    "unknown": lambda t: t.nn.functional.pad(t.tensor(LINE), (1, 1), "mirror"),
    "bools": lambda t: t.nn.functional.pad(t.tensor([[True]]), (1, 0, 0, 2), value=True),
}

NORMS: dict[str, Case] = {
    "instance": _grad(lambda t, f, x: (lambda m, v: (f.instance_norm(
        x, m, v, t.arange(3.0), t.ones(3), momentum=0.3), m, v))(t.zeros(3), t.ones(3)), IMAGE),
    "instance of the running": _grad(lambda t, f, x: f.instance_norm(
        x, t.ones(3), t.arange(1.0, 4.0), use_input_stats=False), IMAGE),
    "batch of halves": lambda t: (lambda m: (t.nn.functional.batch_norm(
        t.tensor(IMAGE).bfloat16(), m, t.ones(3), t.ones(3), t.zeros(3), True), m))(t.zeros(3)),
    "layer of halves": lambda t: t.nn.functional.layer_norm(
        t.tensor(ROWS).bfloat16(), (6,), t.arange(6.0), t.ones(6)),
    "rms": _grad(lambda t, f, x: f.rms_norm(x, (6,)), ROWS),
    "response": _grad(lambda t, f, x: f.local_response_norm(x, 2, 0.5, 0.7, 2.0), IMAGE),
    "one value": lambda t: t.nn.functional.batch_norm(t.ones(1, 3), None, None, training=True),
    "one position": lambda t: t.nn.functional.instance_norm(t.ones(2, 3, 1)),
    "no batch": lambda t: t.nn.functional.batch_norm(
        t.ones(0, 3), t.zeros(3), t.ones(3), t.ones(3), training=True),
    "normalized": _grad(lambda t, f, x: f.normalize(x, p=1, dim=(0, 1)), ROWS),
    "group twice": _twice(lambda f, x: f.group_norm(x, 3), IMAGE),
    "layer twice": _twice(lambda f, x: f.layer_norm(x, (6,)), ROWS),
}

TABLES: dict[str, Case] = {
    "longest": lambda t: (lambda w: (
        t.nn.functional.embedding(t.tensor([1, 3, 1]), w, max_norm=0.5), w))(t.tensor(TABLE)),
    "by frequency": _grad(lambda t, f, w: f.embedding(
        t.tensor([[1, 3], [1, 6]]), w, 6, scale_grad_by_freq=True), TABLE),
    "bags": _grad(lambda t, f, w: f.embedding_bag(
        t.tensor([1, 2, 4, 5, 4, 3]), w, t.tensor([0, 2, 2, 5]), mode="mean", padding_idx=4),
        TABLE),
    "largest of bags": _grad(lambda t, f, w: f.embedding_bag(
        t.tensor([1, 2, 4, 5, 4, 3]), w, t.tensor([0, 2, 2, 6]), mode="max",
        include_last_offset=True, padding_idx=4), TABLE),
    "weighted bags": _grad(lambda t, f, w, s: f.embedding_bag(
        t.tensor([[1, 2], [4, 1]]), w, mode="sum", per_sample_weights=s), TABLE,
        ROWS[:2, :2]),
    "bags by rows": _grad(lambda t, f, w: f.embedding_bag(t.tensor([[1, 2], [4, 1]]), w), TABLE),
    "rows and offsets": lambda t: t.nn.functional.embedding_bag(
        t.tensor([[1]]), t.tensor(TABLE), t.tensor([0])),
    "weighted means": lambda t: t.nn.functional.embedding_bag(
        t.tensor([[1]]), t.tensor(TABLE), per_sample_weights=t.ones(1, 1)),
    "outside": lambda t: t.nn.functional.embedding(t.tensor([7]), t.tensor(TABLE)),
    "negative": lambda t: t.nn.functional.embedding(t.tensor([-1]), t.tensor(TABLE)),
    "floating": lambda t: t.nn.functional.embedding(t.tensor([1.0]), t.tensor(TABLE)),
    "one too many": lambda t: t.nn.functional.one_hot(t.tensor([0, 3]), 3),
    "none hot": lambda t: t.nn.functional.one_hot(t.tensor([-1, 0])),
}


def _ctc(t: Any, reduction: str, targets: Any, lengths: Any, classes: int = 4) -> Any:
    logs = t.tensor(np.linspace(-2, 2, 48).reshape(6, 2, 4) ** 2 % 1.7, dtype=t.float64,
                    requires_grad=True)
    loss = t.nn.functional.ctc_loss(
        logs.log_softmax(2), t.tensor(targets), t.tensor([6, 5]), t.tensor(lengths),
        reduction=reduction, zero_infinity=True)
    loss.sum().backward()
    return loss, logs.grad


LOSSES: dict[str, Case] = {
    "ctc": lambda t: _ctc(t, "mean", [[1, 2, 2], [3, 1, 0]], [3, 2]),
    "ctc one after the other": lambda t: _ctc(t, "none", [1, 2, 2, 3], [3, 1]),
    "ctc impossible": lambda t: _ctc(t, "sum", [[1] * 5, [3, 1, 0, 0, 0]], [5, 2]),
    "probabilities at the ends": _grad(lambda t, f, x: f.binary_cross_entropy(
        x, t.tensor([0.0, 1.0, 0.0, 1.0]), reduction="none"),
        np.array([0.0, 0.0, 1.0, 1.0], np.float32)),
    "probabilities": _grad(lambda t, f, x, y: f.binary_cross_entropy(
        x.sigmoid(), y.sigmoid(), t.arange(6.0)), ROWS, ROWS[::-1].copy()),
    "no probability": lambda t: t.nn.functional.binary_cross_entropy(
        t.tensor([1.5]), t.tensor([1.0])).item(),
    "labels outside": lambda t: t.nn.functional.cross_entropy(t.ones(2, 3), t.tensor([0, 3])),
    "computed labels outside": lambda t: float(t.nn.functional.nll_loss(
        t.ones(2, 3), t.tensor([0, 2]) + 1)),
    "ignored": _grad(lambda t, f, x: f.cross_entropy(
        x, t.tensor([-7, 1, 5, -7]), t.arange(6.0), ignore_index=-7, label_smoothing=0.1), ROWS),
    "weighted probabilities": _grad(lambda t, f, x: f.cross_entropy(
        x, x.detach().softmax(1), t.arange(6.0), label_smoothing=0.2), ROWS),
    "former arguments": _quiet(lambda t: (
        t.nn.functional.mse_loss(t.tensor(ROWS), t.ones(4, 6), size_average=False),
        t.nn.functional.l1_loss(t.tensor(ROWS), t.ones(4, 6), reduce=False))),
    "batch sizes": lambda t: t.nn.functional.cross_entropy(t.ones(2, 3), t.tensor([0])),
    "reduction": lambda t: t.nn.functional.mse_loss(t.ones(2), t.ones(2), reduction="max"),
    "weighted": _grad(lambda t, f, x: f.mse_loss(x, t.ones(4, 6), weight=t.tensor(ROWS).abs()),
                      ROWS),
    "weighted huber": _grad(lambda t, f, x: f.huber_loss(
        x, t.zeros(4, 6), delta=0.5, weight=t.tensor(ROWS).abs()), ROWS),
    "broadcast": _quiet(_grad(lambda t, f, x: f.smooth_l1_loss(
        x, t.ones(6), beta=0.3, reduction="none"), ROWS)),
    "divergence": _grad(lambda t, f, x: f.kl_div(
        x.log_softmax(1), t.tensor(ROWS).softmax(1), reduction="batchmean"), ROWS),
    "margins": _grad(lambda t, f, x: f.multi_margin_loss(
        x, t.tensor([0, 5, 2, 2]), p=2, weight=t.arange(6.0)), ROWS),
    "labels": _grad(lambda t, f, x: f.multilabel_margin_loss(
        x, t.tensor([[0, 2, -1, 1, 1, 1], [5, -1, 0, 0, 0, 0], [0, 1, 2, 3, 4, 5],
                     [-1, 0, 0, 0, 0, 0]])), ROWS),
    "poisson": _grad(lambda t, f, x: f.poisson_nll_loss(
        x, t.tensor(ROWS).abs() * 3, full=True, log_input=False), np.abs(ROWS)),
    "gaussian": _grad(lambda t, f, x, v: f.gaussian_nll_loss(
        x, t.ones(4, 6), v.exp()[:, 0], full=True), ROWS, ROWS),
    "gaussian number": lambda t: t.nn.functional.gaussian_nll_loss(
        t.tensor(ROWS), t.ones(4, 6), 0.5),
    "negative variance": lambda t: float(t.nn.functional.gaussian_nll_loss(
        t.ones(2), t.ones(2), t.tensor([1.0, -1.0]))),
    "triplets": _grad(lambda t, f, x: f.triplet_margin_loss(
        x[:, :2], x[:, 2:4], x[:, 4:], swap=True, margin=0.7, p=1), ROWS),
    "pairs": _grad(lambda t, f, x: f.pdist(x, 3.0), ROWS),
    "equal pairs": _grad(lambda t, f, x: f.pdist(x), np.ones((3, 2), np.float32)),
    "cosine": _grad(lambda t, f, x: f.cosine_similarity(x[:, None], x[None], dim=-1), ROWS),
    "bce twice": _twice(lambda f, x: f.binary_cross_entropy_with_logits(
        x, x.detach().sigmoid()), ROWS),
    "entropy twice": _twice(lambda f, x: f.cross_entropy(x, x.detach().argmax(1)), ROWS),
}

ACTIVATIONS: dict[str, Case] = {
    **{f"{n} of edges": (lambda n: lambda t: getattr(t.nn.functional, n)(t.tensor(EDGES)))(n)
       for n in ("relu6", "hardtanh", "hardswish", "hardsigmoid", "leaky_relu", "elu", "softplus",
                 "softshrink", "hardshrink", "logsigmoid", "silu", "relu", "softsign")},
    "in place": lambda t: [getattr(t.nn.functional, n)(t.tensor(ROWS)) for n in (
        "relu_", "elu_", "celu_", "selu_", "leaky_relu_", "hardtanh_")],
    "threshold in place": lambda t: t.nn.functional.threshold_(t.tensor(ROWS), 0.1, 7.0),
    "integers": lambda t: [getattr(t.nn.functional, n)(t.arange(-3, 9)) for n in (
        "relu", "relu6", "hardtanh", "softsign", "tanhshrink")],
    "complex": lambda t: t.nn.functional.silu(t.complex(t.tensor(ROWS), t.tensor(ROWS) * 2)),
    "one slope": _grad(lambda t, f, x, w: f.prelu(x[0, 0], w), ROWS, np.array([0.3], np.float32)),
    "rrelu": _grad(lambda t, f, x: f.rrelu(x, 0.1, 0.5), ROWS),
    "wrong bounds": lambda t: t.nn.functional.rrelu(t.ones(2), 0.5, 0.1),
    "wrong gelu": lambda t: t.nn.functional.gelu(t.ones(2), approximate="fast"),
    "wrong limits": lambda t: t.nn.functional.hardtanh(t.ones(2), 1.0, -1.0),
    "wrong shrink": lambda t: t.nn.functional.softshrink(t.ones(2), -1.0),
    "softmax of integers": lambda t: t.nn.functional.softmax(t.arange(3), 0),
    "softmax as": lambda t: t.softmax(t.arange(3), 0, t.float64),
    "softmin": _grad(lambda t, f, x: f.softmin(x, 1), ROWS),
    "odd halves": lambda t: t.nn.functional.glu(t.ones(3)),
    "halves twice": _twice(lambda f, x: f.glu(x, 1), ROWS),
}


def _heads(t: Any, **options: Any) -> Any:
    rng = np.random.default_rng(3)

    def made(*shape: int) -> Any:
        return t.tensor(rng.normal(size=shape), requires_grad=True)

    q, k = made(3, 2, 4), made(5, 2, 4)
    w, b, o = made(12, 4), made(12), made(4, 4)
    given = {"bias_k": None, "bias_v": None, "add_zero_attn": False, "dropout_p": 0.0, **options}
    if given.get("extra"):
        given |= {"bias_k": made(1, 1, 4), "bias_v": made(1, 1, 4), "add_zero_attn": True}
    given.pop("extra", None)
    found, weights = t.nn.functional.multi_head_attention_forward(
        q, k, k, 4, 2, w, b, out_proj_weight=o, out_proj_bias=None, **given)
    found.pow(2).sum().backward()
    return found, weights, q.grad, k.grad, w.grad, b.grad


ATTENTION: dict[str, Case] = {
    "heads": lambda t: _heads(t),
    "heads and zeros": lambda t: _heads(
        t, extra=True, average_attn_weights=False,
        key_padding_mask=t.tensor([[False] * 5, [True] + [False] * 4])),
    "no weights": lambda t: _heads(
        t, need_weights=False, attn_mask=t.tensor(np.tri(3, 5, -1, dtype=bool))),
    "causal": lambda t: _heads(t, need_weights=False, is_causal=True,
                               attn_mask=t.triu(t.full((3, 5), float("-inf")), 1).double()),
    "wrong mask": lambda t: _heads(t, attn_mask=t.zeros(3, 4)),
    "no mask": lambda t: _heads(t, is_causal=True),
    "shared heads": _grad(lambda t, f, q: f.scaled_dot_product_attention(
        q.reshape(1, 4, 2, 3), t.tensor(IMAGE.reshape(-1)[:30].reshape(1, 2, 5, 3)),
        t.tensor(IMAGE.reshape(-1)[30:60].reshape(1, 2, 5, 3)), enable_gqa=True), ROWS),
    "masked rows": _grad(lambda t, f, q: f.scaled_dot_product_attention(
        q, q, q, t.tensor(np.tri(4, 4, -1, dtype=bool))), ROWS),
    "mask dtype": lambda t: t.nn.functional.scaled_dot_product_attention(
        *[t.tensor(ROWS)] * 3, t.ones(4, 4, dtype=t.float64)),
}

def _by_number(name: str, count: int, *more: Any) -> dict[str, Case]:
    """A loss of torch itself, without a reduction, with each by its number, and with a name."""
    def case(**reduction: Any) -> Case:
        def found(t: Any) -> Any:
            made = [t.tensor(ROWS[i:i + 2], requires_grad=True) for i in range(count)]
            loss = getattr(t, name)(*made, *(t.tensor(m) for m in more), **reduction)
            return loss, t.autograd.grad(loss.square().sum(), made[0])
        return found

    return {f"{name} {kind}": case(**given) for kind, given in (
        ("none given", {}), ("0", {"reduction": 0}), ("1", {"reduction": 1}),
        ("2", {"reduction": 2}), ("named", {"reduction": "mean"}))}


_SIGNS = np.array([[1, -1, 1, 1, -1, 1], [1, 1, -1, -1, 1, -1]], np.float32)
#: PyTorch documents the mean for these, and takes 0, which is none, where nothing is given
REDUCED: dict[str, Case] = {
    **_by_number("hinge_embedding_loss", 1, _SIGNS), **_by_number("kl_div", 2),
    **_by_number("binary_cross_entropy_with_logits", 1, (_SIGNS > 0).astype(np.float32)),
    **_by_number("cosine_embedding_loss", 2, _SIGNS[0, :2]),
    **_by_number("margin_ranking_loss", 2, _SIGNS), **_by_number("triplet_margin_loss", 3),
    **{f"ctc {kind}": (lambda given: lambda t: t.ctc_loss(
        t.log_softmax(t.tensor(ROWS[:, None]), -1), t.tensor([[1, 2]]), t.tensor([4]),
        t.tensor([2]), **given))(given)
       for kind, given in (("none given", {}), ("1", {"reduction": 1}))},
}

TOPICS = {
    "pooling": POOLING, "convolution": CONVOLUTION, "resampling": RESAMPLING, "padding": PADDING,
    "norms": NORMS, "tables": TABLES, "losses": LOSSES, "activations": ACTIVATIONS,
    "attention": ATTENTION, "reduced": REDUCED,
}
