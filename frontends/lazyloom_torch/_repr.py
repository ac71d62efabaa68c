"""How tensors print: PyTorch's format."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import _dtypes

_options: dict[str, Any] = {"precision": 4, "threshold": 1000, "edgeitems": 3, "linewidth": 80,
                            "sci_mode": None}


def set_printoptions(
    precision: int | None = None, threshold: int | None = None, edgeitems: int | None = None,
    linewidth: int | None = None, profile: str | None = None, sci_mode: bool | None = None,
) -> None:
    """Set how tensors print; profile is "default", "short" or "full"."""
    if profile is not None:
        _options.update(precision=2 if profile == "short" else 4, edgeitems=3, linewidth=80,
                        threshold=float("inf") if profile == "full" else 1000)
    given = {"precision": precision, "threshold": threshold, "edgeitems": edgeitems,
             "linewidth": linewidth}
    _options.update({k: v for k, v in given.items() if v is not None})
    _options["sci_mode"] = sci_mode


class _Formatter:
    """One format for all elements of an array, as PyTorch chooses it."""

    def __init__(self, data: np.ndarray) -> None:
        self.floating = data.dtype.kind == "f"
        self.scientific = self.whole = False
        self.width = 1
        flat = data.reshape(-1)
        if not self.floating:
            self.width = max((len(str(v)) for v in flat.tolist()), default=1)
            return
        # zeros, infinities and NaN have no part in the choice
        values = flat[np.isfinite(flat) & (flat != 0)].astype(np.float64)
        self.whole = bool(np.all(values == np.ceil(values)))
        if not values.size:
            return
        size = np.abs(values)
        low, high = size.min(), size.max()
        if _options["sci_mode"] is not None:
            self.scientific = bool(_options["sci_mode"])
        else:
            self.scientific = bool(high / low > 1000.0 or high > 1e8 or (
                not self.whole and low < 1e-4))
        self.width = max(len(self._text(v)) for v in values.tolist())

    def _text(self, v: float) -> str:
        if not np.isfinite(v):
            return str(v)
        if self.scientific:
            return f"{v:.{_options['precision']}e}"
        return f"{v:.0f}." if self.whole else f"{v:.{_options['precision']}f}"

    def __call__(self, v: Any) -> str:
        text = self._text(v) if self.floating else str(v)
        return text.rjust(self.width)


class _ComplexFormatter:
    def __init__(self, data: np.ndarray) -> None:
        self._real, self._imag = _Formatter(data.real), _Formatter(np.abs(data.imag))
        self.width = self._real.width + self._imag.width + 2

    def __call__(self, v: complex) -> str:
        sign = "-" if np.signbit(v.imag) and v.imag == v.imag else "+"  # a zero has its sign
        return f"{self._real(v.real)}{sign}{self._imag(abs(v.imag)).strip()}j"


def _summarised(data: np.ndarray) -> np.ndarray:
    edge = _options["edgeitems"]
    for axis, d in enumerate(data.shape):
        if d > 2 * edge:
            data = np.take(data, [*range(edge), *range(d - edge, d)], axis)
    return data


def _body(data: np.ndarray, fmt: Any, indent: int, summarise: bool) -> str:
    edge = _options["edgeitems"]
    if not data.ndim:
        return str(fmt(data.item()))
    long = summarise and data.shape[0] > 2 * edge
    if data.ndim == 1:
        items = [fmt(v) for v in (data[:edge].tolist() if long else data.tolist())]
        if long:
            items += [" ...", *(fmt(v) for v in data[-edge:].tolist())]
        per_line = max(1, (_options["linewidth"] - indent) // (fmt.width + 2))
        lines = [items[i:i + per_line] for i in range(0, len(items), per_line)]
        return "[" + (",\n" + " " * (indent + 1)).join(", ".join(line) for line in lines) + "]"
    rows = list(data[:edge]) + list(data[-edge:]) if long else list(data)
    parts = [_body(row, fmt, indent + 1, summarise) for row in rows]
    if long:
        parts.insert(edge, "...")
    return "[" + ("," + "\n" * (data.ndim - 1) + " " * (indent + 1)).join(parts) + "]"


def tensor_text(t: Any) -> str:
    """``tensor([...], dtype=..., requires_grad=...)``."""
    data = t.read()
    suffixes = []
    if 0 in data.shape:
        body = "[]"
        if data.ndim != 1:
            suffixes.append(f"size={tuple(data.shape)}")
        if t.dtype is not _dtypes.get_default_dtype():
            suffixes.append(f"dtype={t.dtype!r}")
    else:
        shown = data
        if t.dtype.is_floating_point and data.dtype.itemsize < 4:
            shown = data.astype(np.float32)
        summarise = data.size > _options["threshold"]
        chosen = _summarised(shown) if summarise else shown
        fmt: Any = _ComplexFormatter(chosen) if t.dtype.is_complex else _Formatter(chosen)
        body = _body(shown, fmt, len("tensor("), summarise)
        default = _dtypes.get_default_dtype()
        usual = (default, default.to_complex(), _dtypes.int64, _dtypes.bool_)
        if t.dtype not in usual:
            suffixes.append(f"dtype={t.dtype!r}")
    if t.requires_grad:
        suffixes.append("requires_grad=True" if t.is_leaf else f"grad_fn={t.grad_fn!r}")
    return with_suffixes("tensor(" + body, suffixes, len("tensor(")) + ")"


def with_suffixes(text: str, suffixes: list[str], indent: int) -> str:
    """What is printed after the elements, on lines of its own where it does not fit."""
    length = len(text) - text.rfind("\n") + 1
    for suffix in suffixes:
        if length + len(suffix) + 2 > _options["linewidth"]:
            text += ",\n" + " " * indent + suffix
            length = indent + len(suffix)
        else:
            text += ", " + suffix
            length += len(suffix) + 2
    return text
