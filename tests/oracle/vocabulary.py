"""What random programs are made of: lines of each frontend, by the operands that they take.

In a line ``{a}``, ``{b}``, ``{c}`` are arrays of one dtype (``{b}`` and ``{c}`` broadcast with
``{a}``), ``{axis}`` is an axis, ``{i}`` an array of integers, ``{m}`` one of truth values, ``M``
the frontend's module, ``{number}`` a Python number and ``{dtype}`` a dtype. Each line stands in a
group that says of which dtypes its arrays are: "f" real, "i" integers, "b" truth values, "c"
complex.
"""

from __future__ import annotations

from typing import Final

_UNARY: Final = """exp log log1p expm1 sqrt sin cos tan tanh sinh cosh exp2 log2 log10 square abs
    negative sign floor ceil reciprocal isnan isfinite isinf signbit""".split()
_NUMPY_UNARY: Final = [*_UNARY, *"""cbrt arcsin arccos arctan arcsinh arccosh arctanh rint trunc
    deg2rad nan_to_num positive sinc i0 spacing""".split()]
_TORCH_UNARY: Final = [*_UNARY, *"""asin acos atan asinh acosh atanh rsqrt round trunc sigmoid relu
    erf erfc erfinv frac logit nan_to_num special.expit special.log1p lgamma digamma sinc
    special.entr""".split()]
_TORCH_FUNCTIONAL: Final = """softplus silu gelu elu leaky_relu hardtanh relu6 selu logsigmoid mish
    softsign tanhshrink hardswish hardsigmoid""".split()

#: lines of both: elementwise, by operators
_OPERATORS: Final = {
    "f": ["{a} + {b}", "{a} - {b}", "{a} * {b}", "{a} / {b}", "{a} * {number}", "{a} + {number}",
          "{number} - {a}", "{number} / {a}", "{a} / {number}", "{a} * {a}", "-{a}", "{a} ** 2",
          "{a} ** 3", "{a} ** -1", "{a} ** 0.5", "{a} ** {b}", "{a} // {b}", "{a} % {b}",
          "{a} < {b}", "{a} == {b}", "{a} >= {number}", "{a} != {b}", "{a} * {b} + {c}"],
    "i": ["{a} + {b}", "{a} - {b}", "{a} * {b}", "{a} // {b}", "{a} % {b}", "-{a}", "~{a}",
          "{a} & {b}", "{a} | {b}", "{a} ^ {b}", "{a} << {b}", "{a} >> {b}", "{a} < {b}",
          "{a} == {b}", "{a} ** 2", "{a} ** 3", "{a} / {b}"],
    "b": ["{a} & {b}", "{a} | {b}", "{a} ^ {b}", "~{a}"],
    "c": ["{a} + {b}", "{a} - {b}", "{a} * {b}", "{a} / {b}", "-{a}", "{a} * {number}"],
}  # fmt: skip

NUMPY: Final[dict[str, list[str]]] = {
    "f": [*_OPERATORS["f"], *(f"M.{f}({{a}})" for f in _NUMPY_UNARY),
          *(f"M.{f}({{a}}, {{b}})" for f in (
              "maximum", "minimum", "fmax", "fmin", "arctan2", "hypot", "fmod", "copysign",
              "nextafter", "logaddexp", "logaddexp2", "heaviside", "floor_divide", "remainder",
              "float_power"))],
    "i": [*_OPERATORS["i"], *(f"M.{f}({{a}})" for f in ("abs", "sign", "square", "bitwise_count")),
          *(f"M.{f}({{a}}, {{b}})" for f in ("maximum", "minimum", "gcd", "lcm", "fmod"))],
    "b": [*_OPERATORS["b"], "M.logical_not({a})"],
    "c": [*_OPERATORS["c"], *(f"M.{f}({{a}})" for f in (
        "abs", "conj", "real", "imag", "angle", "exp", "sqrt", "square", "isnan", "isfinite"))],
    "reduce f": [*(f"M.{f}({{a}}, axis={{axis}})" for f in (
        "sum", "mean", "max", "min", "prod", "var", "std", "argmax", "argmin", "nansum", "nanmax",
        "nanmean", "count_nonzero", "ptp", "any", "all", "median")),
        "M.sum({a})", "M.mean({a})", "M.max({a})", "M.var({a})", "M.linalg.norm({a})",
        "M.sum({a}, axis={axis}, keepdims=True)", "M.std({a}, axis={axis}, keepdims=True)",
        "M.max({a}, axis={axis}, keepdims=True)", "M.sum({a} * {b}, axis={axis})",
        "{a} - M.mean({a}, axis={axis}, keepdims=True)", "({a} ** 2).sum(axis={axis})"],
    "reduce i": [f"M.{f}({{a}}, axis={{axis}})" for f in (
        "sum", "max", "min", "prod", "argmax", "argmin", "any", "all", "mean")],
    "scan": [*(f"M.{f}({{a}}, axis={{axis}})" for f in (
        "cumsum", "cumprod", "sort", "argsort", "diff", "flip")),
        "M.maximum.accumulate({a}, axis={axis})"],
    "shape": ["{a}.reshape(-1)", "M.transpose({a})", "{a}[::2]", "{a}[..., ::-1]", "{a}[1:]",
              "{a}[None]", "M.swapaxes({a}, 0, -1)", "M.concatenate([{a}, {a}], axis={axis})",
              "M.roll({a}, 1, axis={axis})", "M.repeat({a}, 2, axis={axis})", "{a}[-1]",
              "M.expand_dims({a}, {axis})", "M.stack([{a}, {a}], axis={axis})",
              "M.pad({a}, 1)", "M.where({m}, {a}, {b})", "M.clip({a}, {b}, {c})",
              "M.take({a}, {i}, axis={axis}, mode='clip')", "{a}[{m}.any() * 0]",
              "M.broadcast_to({a}, (2, *{a}.shape))"],
    "cast": ["{a}.astype('{dtype}')"],
    "product": ["M.matmul({a}, {at})", "M.einsum('i...,i...->...', {a}, {a})",
                "M.tensordot({a}, {a}, axes=[[0], [0]])", "({a} @ {at}) ** 2", "M.vdot({a}, {a})",
                "M.inner({a}, {a})"],
}  # fmt: skip

TORCH: Final[dict[str, list[str]]] = {
    "f": [*_OPERATORS["f"], *(f"M.{f}({{a}})" for f in _TORCH_UNARY),
          *(f"M.nn.functional.{f}({{a}})" for f in _TORCH_FUNCTIONAL),
          *(f"M.{f}({{a}}, {{b}})" for f in (
              "maximum", "minimum", "fmax", "fmin", "atan2", "hypot", "fmod", "copysign",
              "nextafter", "logaddexp", "remainder", "xlogy", "pow")),
          "M.lerp({a}, {b}, 0.3)", "M.addcmul({a}, {b}, {c})", "M.addcdiv({a}, {b}, {c})",
          "{a}.clamp(-0.5, 0.8)", "M.where({a} > {b}, {a}, {b})"],
    "i": [*_OPERATORS["i"], *(f"M.{f}({{a}})" for f in ("abs", "sign", "square")),
          *(f"M.{f}({{a}}, {{b}})" for f in ("maximum", "minimum", "gcd", "fmod"))],
    "b": [*_OPERATORS["b"], "M.logical_not({a})"],
    "c": [*_OPERATORS["c"], *(f"M.{f}({{a}})" for f in (
        "abs", "conj", "real", "imag", "angle", "exp", "sqrt", "square", "isnan", "isfinite"))],
    "reduce f": [*(f"M.{f}({{a}}, {{axis}})" for f in (
        "sum", "mean", "prod", "var", "std", "argmax", "argmin", "nansum", "logsumexp", "softmax",
        "log_softmax", "amax", "amin", "count_nonzero", "any", "all", "cumsum", "logcumsumexp",
        "nn.functional.normalize")),
        "{a}.sum()", "{a}.mean()", "{a}.max()", "{a}.var()", "{a}.norm()", "{a}.norm(dim={axis})",
        "{a}.max({axis})[0]", "{a}.max({axis})[1]", "{a}.median({axis})[0]",
        "M.nn.functional.layer_norm({a}, {a}.shape[-1:])",
        "M.nn.functional.mse_loss({a}, {b} + {a})",
        "{a} - {a}.mean({axis}, keepdim=True)", "({a} ** 2).sum({axis})",
        "M.nn.functional.smooth_l1_loss({a}, {b} * {a})",
        "M.nn.functional.rms_norm({a}, {a}.shape[-1:])"],
    "reduce i": [f"M.{f}({{a}}, {{axis}})" for f in (
        "sum", "amax", "amin", "prod", "argmax", "argmin", "any", "all")],
    "scan": [*(f"M.{f}({{a}}, {{axis}})" for f in ("cumsum", "cumprod", "argsort")),
             "M.sort({a}, {axis})[0]", "M.sort({a}, dim={axis}, stable=True)[1]",
             "M.cummax({a}, {axis})[0]", "M.cummin({a}, {axis})[1]", "M.flip({a}, [{axis}])",
             "M.topk({a}, 1, {axis})[0]"],
    "shape": ["{a}.reshape(-1)", "{a}.movedim(0, -1)", "{a}[::2]", "{a}[1:]", "{a}[None]",
              "M.cat([{a}, {a}], {axis})", "M.roll({a}, 1, {axis})", "{a}[-1]",
              "{a}.repeat_interleave(2, {axis})", "{a}.unsqueeze({axis})",
              "M.stack([{a}, {a}], {axis})", "M.where({m}, {a}, {b})",
              "{a}.expand(2, *{a}.shape)", "{a}.transpose(0, -1)",
              "M.index_select({a}, {axis}, M.zeros(2, dtype=M.int64))"],
    "cast": ["{a}.to(M.{dtype})"],
    "product": ["M.matmul({a}, {at})", "M.einsum('i...,i...->...', {a}, {a})",
                "M.tensordot({a}, {a}, dims=([0], [0]))", "({a} @ {at}) ** 2",
                "M.matmul({a}, {at}).relu()"],
    "gradient": ["M.autograd.grad({z}.sum(), [{l}], allow_unused=True, retain_graph=True)[0]",
                 "M.autograd.grad(({z} * {z}).mean(), [{l}], allow_unused=True, "
                 "retain_graph=True)[0]",
                 "M.autograd.grad({z}.max(), [{l}], allow_unused=True, retain_graph=True)[0]"],
}  # fmt: skip
TABLES: Final = {"numpy": NUMPY, "torch": TORCH}
