"""Tensors made in inference mode, and what is refused of them outside of it.

The runtime marks storages that are made in the mode; views and aliases have the mark of their
storage. What was recorded never changes, so that derivatives may take such tensors, which PyTorch
refuses.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lazyloom.frontend import inference_enabled, made_in_inference, set_inference_enabled

if TYPE_CHECKING:
    from ._tensor import Tensor


class _Seen:
    """Whether any thread has been in the mode: until then nothing is looked at."""

    mode = False


seen = _Seen()


def enter(enabled: bool) -> bool:
    """Switch this thread's inference mode on or off; returns the former state."""
    if enabled:
        seen.mode = True
    return set_inference_enabled(enabled)


def is_inference(self: Tensor) -> bool:
    """Whether the tensor, or what it is a view or an alias of, was made in inference mode."""
    return seen.mode and made_in_inference(self)


def check_write(tensor: Tensor) -> None:
    """Raise RuntimeError where a tensor of inference mode is written outside of it.

    Aliases (``detach()``, ``.data``) may be written, as PyTorch's.
    """
    if made_in_inference(tensor) and not (inference_enabled() or tensor._is_alias):
        raise RuntimeError(
            "Inplace update to inference tensor outside InferenceMode is not allowed. You can make "
            "a clone to get a normal tensor before doing inplace update.")


def check_requiring(tensor: Tensor) -> None:
    """Raise RuntimeError where a tensor of inference mode is to require a gradient outside."""
    if is_inference(tensor) and not inference_enabled():
        raise RuntimeError(
            "Setting requires_grad=True on inference tensor outside InferenceMode is not allowed. "
            "clone() it, which gives a normal tensor.")


def version_of(self: Tensor) -> int:
    """How often the storage was written. Raises RuntimeError for tensors of inference mode."""
    if seen.mode and made_in_inference(self):
        raise RuntimeError("Inference tensors do not track version counter.")
    return int(self.version)
