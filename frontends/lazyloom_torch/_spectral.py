"""Short-time Fourier transforms, and the window functions outside ``torch.signal``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from . import _dtypes, fft
from ._functions.creation import arange, ones
from ._functions.padding import pad
from ._functions.shaping import pad_value
from ._functions.strided import view_as_real
from ._placing import placed
from ._registry import declare
from ._tensor import Tensor, operand
from .signal import windows

_wrap = Tensor.from_value
#: so many shifted sums are cheaper than one scatter
_MOST_SHIFTS = 32


def _around(window: Tensor, n: int) -> Tensor:
    """The window in the middle of n points, zeros around it."""
    count = window.tensor_type.shape[0]
    if count == n:
        return window
    left = (n - count) // 2
    return _wrap(pad_value(operand(window), (left,), (n - count - left,), 0))


def _setting(name: str, n_fft: int, hop: Any, win: Any, window: Any) -> tuple[int, int]:
    hop = n_fft // 4 if hop is None else hop
    win = n_fft if win is None else win
    if hop <= 0:
        raise RuntimeError(f"{name}: expected hop_length > 0, but got {hop}")
    if not 0 < win <= n_fft:
        raise RuntimeError(f"{name}: expected 0 < win_length <= n_fft, but got win_length={win}")
    if window is not None and (window.ndim != 1 or window.tensor_type.shape[0] != win):
        raise RuntimeError(
            f"{name}: expected a 1D window tensor of size equal to win_length={win}, but got "
            f"window with size {list(window.shape)}")
    return int(hop), int(win)


def stft(input: Tensor, n_fft: int, hop_length: int | None = None, win_length: int | None = None,
         window: Tensor | None = None, center: bool = True, pad_mode: str = "reflect",
         normalized: bool = False, onesided: bool | None = None,
         return_complex: bool | None = None, align_to_window: bool | None = None) -> Tensor:
    """The Fourier transforms of overlapping frames of signals (..., length).

    Gives (..., frequencies, frames), complex, or real with a last dimension of 2. Raises
    RuntimeError for sizes that do not fit.
    """
    if not (isinstance(input, Tensor) and input.tensor_type.dtype.is_inexact
            and input.ndim in (1, 2)):
        raise RuntimeError(
            "stft: expected a 1-D or 2-D floating point or complex tensor, got "
            f"{input.dtype!r} of shape {list(input.shape)}")
    hop, win = _setting("stft", n_fft, hop_length, win_length, window)
    is_complex = input.is_complex() or (window is not None and window.is_complex())
    if return_complex is None:
        if not is_complex:
            raise RuntimeError("stft requires the return_complex parameter be given for real "
                               "inputs, and will further require that return_complex=True in a "
                               "future PyTorch release.")
        return_complex = True
    if center and align_to_window is not None:
        raise RuntimeError(
            "stft: align_to_window should only be set when center = false.")
    onesided = not is_complex if onesided is None else onesided
    if onesided and is_complex:
        raise RuntimeError("Cannot have onesided output if window or input is complex")
    x = input if input.ndim == 2 else input.unsqueeze(0)
    if center:
        half = n_fft // 2
        x = pad(x.unsqueeze(0), (half, half), pad_mode).squeeze(0)
    elif align_to_window:
        gap = (n_fft - win) // 2
        x = pad(x.unsqueeze(0), (gap, n_fft - win - gap), pad_mode).squeeze(0)
    if not 0 < n_fft <= x.tensor_type.shape[-1]:
        raise RuntimeError(
            f"stft: expected 0 < n_fft <= {x.tensor_type.shape[-1]}, but got n_fft={n_fft}")
    frames = x.unfold(-1, n_fft, hop)
    if window is not None or win < n_fft:
        weights = ones((win,), dtype=x.dtype.to_real()) if window is None else window
        frames = frames * _around(weights, n_fft)
    norm = "ortho" if normalized else None
    found = (fft.rfft if onesided else fft.fft)(frames, norm=norm).transpose(-1, -2)
    found = found if input.ndim == 2 else found.squeeze(0)
    return found if return_complex else view_as_real(found)


def _overlapped(frames: Tensor, hop: int) -> Tensor:
    """(B, frames, n) added up where they overlap, each ``hop`` after the last: (B, length)."""
    count, n = frames.tensor_type.shape[-2:]
    length = n + hop * (count - 1)
    shifts = -(-n // hop)
    if shifts <= _MOST_SHIFTS:
        whole = _wrap(pad_value(operand(frames), (0, 0, 0), (0, 0, shifts * hop - n), 0))
        found: Any = None
        for i in range(shifts):
            part = whole.narrow(-1, i * hop, hop).reshape(frames.tensor_type.shape[0], count * hop)
            part = _wrap(pad_value(
                operand(part), (0, i * hop), (0, (shifts - 1 - i) * hop), 0))
            found = part if found is None else found + part
        made: Tensor = found.narrow(-1, 0, length)
        return made
    at = (arange(count).unsqueeze(-1) * hop + arange(n)).reshape(-1)
    batch = frames.tensor_type.shape[0]
    made = frames.new_zeros((batch, length)).index_add(-1, at, frames.reshape(batch, -1))
    return made


def istft(input: Tensor, n_fft: int, hop_length: int | None = None, win_length: int | None = None,
          window: Tensor | None = None, center: bool = True, normalized: bool = False,
          onesided: bool | None = None, length: int | None = None, return_complex: bool = False
          ) -> Tensor:
    """The signals of which :func:`stft` gives (..., frequencies, frames).

    The sum of the squared windows must not vanish anywhere. Raises RuntimeError for sizes that
    do not fit.
    """
    if not input.is_complex():
        raise RuntimeError(
            "istft requires a complex-valued input tensor matching the output from stft with "
            "return_complex=True.")
    hop, win = _setting("istft", n_fft, hop_length, win_length, window)
    if input.ndim not in (2, 3) or not input.numel():
        raise RuntimeError(
            "istft: expected a tensor with 2 or 3 dimensions and elements in all of them, got "
            f"shape {list(input.shape)}")
    x = input if input.ndim == 3 else input.unsqueeze(0)
    bins = x.tensor_type.shape[-2]
    onesided = bins != n_fft if onesided is None else onesided
    if bins != (n_fft // 2 + 1 if onesided else n_fft):
        raise RuntimeError(
            f"istft: expected the frequency dimension to be {n_fft // 2 + 1 if onesided else n_fft}"
            f" for n_fft={n_fft} and onesided={onesided}, but got {bins}")
    if return_complex:
        if onesided:
            raise RuntimeError("cannot have onesided output if window or input is complex; "
                               "return_complex=True needs onesided=False")
    elif window is not None and window.is_complex():
        raise RuntimeError("Complex windows are incompatible with return_complex=False")
    norm = "ortho" if normalized else None
    turned = x.transpose(-1, -2)
    if return_complex:
        frames = fft.ifft(turned, norm=norm)
    else:
        frames = fft.irfft(turned.narrow(-1, 0, n_fft // 2 + 1), n_fft, norm=norm)
    weights = ones((win,), dtype=frames.dtype.to_real()) if window is None else window
    weights = _around(weights, n_fft)
    count = frames.tensor_type.shape[-2]
    sum_ = _overlapped(frames * weights, hop)
    squares = (weights * weights).expand(1, count, n_fft)
    envelope = _overlapped(squares, hop)
    total = sum_.tensor_type.shape[-1]
    start = n_fft // 2 if center else 0
    end = start + length if length is not None else (total - n_fft // 2 if center else total)
    stop = min(end, total)
    found = sum_.narrow(-1, start, stop - start) / envelope.narrow(-1, start, stop - start)
    if end > total:
        found = _wrap(pad_value(operand(found), (0, 0), (0, end - total), 0))
    return found if input.ndim == 3 else found.squeeze(0)


# ------------------------------------------------------------------------ windows


def _window(name: str, length: int, dtype: Any, make: Callable[[_dtypes.dtype], Tensor],
            requires_grad: bool) -> Tensor:
    if length < 0:
        raise RuntimeError(f"{name} requires non-negative window_length, got {length}")
    kind = _dtypes.get_default_dtype() if dtype is None else _dtypes.as_dtype(dtype)
    if not kind.is_floating_point:
        raise RuntimeError(f"{name} expects floating point dtypes, got: {kind!r}")
    wide = kind if kind.itemsize > 2 else _dtypes.float32
    found = make(wide).to(kind)
    return found.requires_grad_() if requires_grad else found


@placed
def hann_window(window_length: int, periodic: bool = True, *, dtype: Any = None,
                layout: Any = None, device: Any = None, pin_memory: bool = False,
                requires_grad: bool = False) -> Tensor:
    """``0.5 - 0.5 * cos(x)`` over a period."""
    _dtypes.check_device(device)
    return _window("hann_window", window_length, dtype, lambda kind: windows.cosine_sum(
        window_length, (0.5, 0.5), not periodic, kind), requires_grad)


@placed
def hamming_window(window_length: int, periodic: bool = True, alpha: float = 0.54,
                   beta: float = 0.46, *, dtype: Any = None, layout: Any = None,
                   device: Any = None, pin_memory: bool = False, requires_grad: bool = False
                   ) -> Tensor:
    """``alpha - beta * cos(x)`` over a period."""
    _dtypes.check_device(device)
    return _window("hamming_window", window_length, dtype, lambda kind: windows.cosine_sum(
        window_length, (alpha, beta), not periodic, kind), requires_grad)


@placed
def blackman_window(window_length: int, periodic: bool = True, *, dtype: Any = None,
                    layout: Any = None, device: Any = None, pin_memory: bool = False,
                    requires_grad: bool = False) -> Tensor:
    """``0.42 - 0.5 * cos(x) + 0.08 * cos(2 x)`` over a period."""
    _dtypes.check_device(device)
    return _window("blackman_window", window_length, dtype, lambda kind: windows.cosine_sum(
        window_length, (0.42, 0.5, 0.08), not periodic, kind), requires_grad)


@placed
def bartlett_window(window_length: int, periodic: bool = True, *, dtype: Any = None,
                    layout: Any = None, device: Any = None, pin_memory: bool = False,
                    requires_grad: bool = False) -> Tensor:
    """A triangle that is 0 at its ends."""
    _dtypes.check_device(device)
    return _window("bartlett_window", window_length, dtype, lambda kind: windows.triangle(
        window_length, not periodic, kind), requires_grad)


@placed
def kaiser_window(window_length: int, periodic: bool = True, beta: float = 12.0, *,
                  dtype: Any = None, layout: Any = None, device: Any = None,
                  pin_memory: bool = False, requires_grad: bool = False) -> Tensor:
    """``I0(beta * sqrt(1 - x**2)) / I0(beta)`` for x from -1 to 1."""
    _dtypes.check_device(device)
    return _window("kaiser_window", window_length, dtype, lambda kind: windows.bessel(
        window_length, float(beta), not periodic, kind), requires_grad)


declare({
    "function": [
        stft, istft, hann_window, hamming_window, blackman_window, bartlett_window, kaiser_window],
    "method as-is": [stft, istft],
})
