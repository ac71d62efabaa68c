"""Recurrent layers and cells."""

from __future__ import annotations

import math
import numbers
import warnings
from typing import Any

from lazyloom.errors import type_name

from ... import _dtypes
from ..._autocast import casting
from ..._functions import recurrent
from ..._functions.creation import zeros
from ..._functions.packed import PackedSequence
from ..._tensor import Tensor
from .. import init
from ..parameter import Parameter
from ._making import make_parameter
from .module import Module

_GATES = {"LSTM": 4, "GRU": 3, "RNN_TANH": 1, "RNN_RELU": 1}


def apply_permutation(tensor: Tensor, permutation: Tensor, dim: int = 1) -> Tensor:
    """The tensor's parts along a dimension in another order."""
    made: Tensor = tensor.index_select(dim, permutation)
    return made


def _reset(module: Module, size: int) -> None:
    bound = 1.0 / math.sqrt(size) if size > 0 else 0
    for weight in module.parameters():
        init.uniform_(weight, -bound, bound)


class RNNBase(Module):
    """What LSTM, GRU and RNN share: weights, and layers in one or two directions."""

    def __init__(
        self, mode: str, input_size: int, hidden_size: int, num_layers: int = 1,
        bias: bool = True, batch_first: bool = False, dropout: float = 0.0,
        bidirectional: bool = False, proj_size: int = 0, device: Any = None, dtype: Any = None,
    ) -> None:
        super().__init__()
        _dtypes.check_device(device)
        self.mode = mode
        self.input_size, self.hidden_size, self.num_layers = input_size, hidden_size, num_layers
        self.bias, self.batch_first = bias, batch_first
        self.dropout, self.bidirectional = float(dropout), bidirectional
        self.proj_size = proj_size
        self._check_arguments(dropout)
        gates = _GATES[mode] * hidden_size
        below = proj_size or hidden_size
        self._flat_weights_names: list[str] = []
        self._all_weights: list[list[str]] = []
        for layer in range(num_layers):
            for suffix in ("", "_reverse")[:self._directions]:
                size = below * self._directions if layer else input_size
                shapes: dict[str, tuple[int, ...]] = {
                    "weight_ih": (gates, size), "weight_hh": (gates, below)}
                if bias:
                    shapes |= {"bias_ih": (gates,), "bias_hh": (gates,)}
                if proj_size:
                    shapes["weight_hr"] = (proj_size, hidden_size)
                names = []
                for name, shape in shapes.items():
                    names.append(f"{name}_l{layer}{suffix}")
                    setattr(self, names[-1], make_parameter(shape, dtype, device))
                self._flat_weights_names += names
                self._all_weights.append(names)
        self.reset_parameters()

    def _check_arguments(self, dropout: Any) -> None:
        if not isinstance(dropout, numbers.Number) or not 0 <= dropout <= 1 or isinstance(  # type: ignore[operator]
            dropout, bool
        ):
            raise ValueError(
                "dropout should be a number in range [0, 1] representing the probability of an "
                "element being zeroed")
        if dropout > 0 and self.num_layers == 1:  # type: ignore[operator]
            warnings.warn(
                "dropout option adds dropout after all but last recurrent layer, so non-zero "
                f"dropout expects num_layers greater than 1, but got dropout={dropout} and "
                f"num_layers={self.num_layers}", stacklevel=4)
        if not isinstance(self.hidden_size, int):
            raise TypeError(
                f"hidden_size should be of type int, got: {type_name(self.hidden_size)}")
        if self.hidden_size <= 0:
            raise ValueError("hidden_size must be greater than zero")
        if self.num_layers <= 0:
            raise ValueError("num_layers must be greater than zero")
        if self.proj_size < 0:
            raise ValueError(
                "proj_size should be a positive integer or zero to disable projections")
        if self.proj_size >= self.hidden_size:
            raise ValueError("proj_size has to be smaller than hidden_size")
        if self.mode not in _GATES:
            raise ValueError("Unrecognized RNN mode: " + self.mode)

    @property
    def _directions(self) -> int:
        return 2 if self.bidirectional else 1

    @property
    def _flat_weights(self) -> list[Parameter]:
        return [getattr(self, n) for n in self._flat_weights_names]

    @property
    def all_weights(self) -> list[list[Parameter]]:
        """The weights of each layer and direction."""
        return [[getattr(self, n) for n in names] for names in self._all_weights]

    def flatten_parameters(self) -> None:
        """Nothing to do: weights need not lie together in memory."""

    def reset_parameters(self) -> None:
        """New random values, uniform with bound ``1 / sqrt(hidden_size)``."""
        _reset(self, self.hidden_size)

    def extra_repr(self) -> str:
        text = f"{self.input_size}, {self.hidden_size}"
        if self.proj_size != 0:
            text += f", proj_size={self.proj_size}"
        if self.num_layers != 1:
            text += f", num_layers={self.num_layers}"
        if self.bias is not True:
            text += f", bias={self.bias}"
        if self.batch_first is not False:
            text += f", batch_first={self.batch_first}"
        if self.dropout != 0:
            text += f", dropout={self.dropout}"
        if self.bidirectional is not False:
            text += f", bidirectional={self.bidirectional}"
        return text

    # -- forward --------------------------------------------------------------------------

    def _state_sizes(self) -> list[int]:
        """The size of each state."""
        first = self.proj_size or self.hidden_size
        return [first, self.hidden_size] if self.mode == "LSTM" else [first]

    def _check_input(self, input: Tensor, packed: bool) -> None:
        weight: Tensor = getattr(self, self._flat_weights_names[0])
        if input.tensor_type.dtype is not weight.tensor_type.dtype and not casting:
            raise ValueError(
                f"RNN input dtype ({input.dtype!r}) does not match weight dtype "
                f"({weight.dtype!r}). Convert input: input.to({weight.dtype!r}), or convert "
                f"model: model.to({input.dtype!r})")
        if not packed and input.dim() not in (2, 3):
            raise ValueError(
                f"{self._get_name()}: Expected input to be 2D or 3D, got {input.dim()}D instead")
        if input.size(-1) != self.input_size:
            raise RuntimeError(
                f"input.size(-1) must be equal to input_size. Expected {self.input_size}, got "
                f"{input.size(-1)}")

    def _check_states(self, states: list[Tensor], batch: int, batched: bool) -> None:
        rank = 3 if batched else 2
        for state in states:
            if state.dim() != rank:
                kind = "batched 3-D" if batched else "unbatched 2-D"
                what = "and cx should also be" if len(states) == 2 else "should also be"
                raise RuntimeError(
                    f"For {kind} input, hx {what} {rank}-D but got "
                    f"({', '.join(f'{s.dim()}-D' for s in states)}) tensors")
        rows = self.num_layers * self._directions
        for i, (state, size) in enumerate(zip(states, self._state_sizes(), strict=True)):
            wanted = (rows, batch, size) if batched else (rows, size)
            if tuple(state.shape) != wanted:
                which = "hidden" if len(states) == 1 else f"hidden[{i}]"
                raise RuntimeError(
                    f"Expected {which} size {wanted}, got {list(state.shape)}")

    def _run(self, input: Any, hx: Any) -> tuple[Any, list[Tensor]]:
        """The outputs, and each last state."""
        packed = input if isinstance(input, PackedSequence) else None
        lengths = order = back = None
        batched = True
        if packed is not None:
            x, lengths = packed._as_padded()
            self._check_input(x, True)
            order, back = packed.sorted_indices, packed.unsorted_indices
        else:
            self._check_input(input, False)
            batched = input.dim() == 3
            x = input
            if not batched:
                x = input.unsqueeze(1)
            elif self.batch_first:
                x = input.transpose(0, 1)
        if x.size(0) == 0:
            raise RuntimeError("Expected sequence length to be larger than 0 in RNN")
        batch = x.size(1)
        if hx is None:
            rows = self.num_layers * self._directions
            states = [zeros((rows, batch, size), dtype=x.dtype) for size in self._state_sizes()]
        else:
            states = list(hx) if self.mode == "LSTM" else [hx]
            self._check_states(states, batch, batched)
            if not batched:
                states = [s.unsqueeze(1) for s in states]
            if order is not None:
                states = [apply_permutation(s, order) for s in states]
        weights = recurrent.per_layer(self._flat_weights, self.mode, bool(self.bias),
                                      self.proj_size > 0)
        output, last = recurrent.layers(
            self.mode, x, states, weights, self.bidirectional, self.dropout, self.training,
            lengths)
        if packed is not None:
            if back is not None:
                last = [apply_permutation(s, back) for s in last]
            return packed._again(output), last
        if not batched:
            return output.squeeze(1), [s.squeeze(1) for s in last]
        return (output.transpose(0, 1) if self.batch_first else output), last


class _OneState(RNNBase):
    def forward(self, input: Any, hx: Tensor | None = None) -> tuple[Any, Tensor]:
        output, (last,) = self._run(input, hx)
        return output, last


class RNN(_OneState):
    """``h' = f(W_ih x + b_ih + W_hh h + b_hh)`` for each step; f is tanh or relu.

    Arguments: input_size, hidden_size, num_layers=1, nonlinearity="tanh", bias=True,
    batch_first=False, dropout=0.0, bidirectional=False.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if "proj_size" in kwargs:
            raise ValueError(
                "proj_size argument is only supported for LSTM, not RNN or GRU")
        if len(args) > 3:
            self_nonlinearity = args[3]
            args = (*args[:3], *args[4:])
        else:
            self_nonlinearity = kwargs.pop("nonlinearity", "tanh")
        if self_nonlinearity not in ("tanh", "relu"):
            raise ValueError(
                f"Unknown nonlinearity '{self_nonlinearity}'. Select from 'tanh' or 'relu'.")
        super().__init__(f"RNN_{self_nonlinearity.upper()}", *args, **kwargs)
        self.nonlinearity = self_nonlinearity


class LSTM(RNNBase):
    """Long short-term memory (Hochreiter and Schmidhuber, 1997).

    Arguments: input_size, hidden_size, num_layers=1, bias=True, batch_first=False, dropout=0.0,
    bidirectional=False, proj_size=0.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__("LSTM", *args, **kwargs)

    def forward(self, input: Any, hx: tuple[Tensor, Tensor] | None = None
                ) -> tuple[Any, tuple[Tensor, Tensor]]:
        output, (hidden, memory) = self._run(input, hx)
        return output, (hidden, memory)


class GRU(_OneState):
    """Gated recurrent units (Cho et al., 2014).

    Arguments: input_size, hidden_size, num_layers=1, bias=True, batch_first=False, dropout=0.0,
    bidirectional=False.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if "proj_size" in kwargs:
            raise ValueError("proj_size argument is only supported for LSTM, not RNN or GRU")
        super().__init__("GRU", *args, **kwargs)


class RNNCellBase(Module):
    """What the cells share: their weights."""

    weight_ih: Parameter
    weight_hh: Parameter
    bias_ih: Parameter | None
    bias_hh: Parameter | None

    def __init__(
        self, input_size: int, hidden_size: int, bias: bool, num_chunks: int, device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        _dtypes.check_device(device)
        self.input_size, self.hidden_size, self.bias = input_size, hidden_size, bias
        gates = num_chunks * hidden_size
        self.weight_ih = make_parameter((gates, input_size), dtype, device)
        self.weight_hh = make_parameter((gates, hidden_size), dtype, device)
        for name in ("bias_ih", "bias_hh"):
            self.register_parameter(
                name, make_parameter((gates,), dtype, device) if bias else None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """New random values, uniform with bound ``1 / sqrt(hidden_size)``."""
        _reset(self, self.hidden_size)

    def extra_repr(self) -> str:
        text = f"{self.input_size}, {self.hidden_size}"
        if self.bias is not True:
            text += f", bias={self.bias}"
        nonlinearity = getattr(self, "nonlinearity", "tanh")
        return text if nonlinearity == "tanh" else f"{text}, nonlinearity={nonlinearity}"

    def _step(self, mode: str, input: Tensor, states: Any) -> list[Tensor]:
        name = self._get_name()
        if input.dim() not in (1, 2):
            raise ValueError(
                f"{name}: Expected input to be 1D or 2D, got {input.dim()}D instead")
        count = recurrent.MODES[mode][1]
        given = None if states is None else list(states) if count == 2 else [states]
        batched = input.dim() == 2
        for i, s in enumerate(given or ()):
            if s.dim() not in (1, 2):
                raise ValueError(f"{name}: Expected hx{f'[{i}]' if count == 2 else ''} to be 1D or "
                                 f"2D, got {s.dim()}D instead")
        if input.size(-1) != self.input_size:
            raise RuntimeError(
                f"input has inconsistent input_size: got {input.size(-1)}, expected "
                f"{self.input_size}")
        x = input if batched else input.unsqueeze(0)
        if given is None:
            zero = zeros((x.size(0), self.hidden_size), dtype=x.dtype)
            given = [zero] * count
        elif not batched:
            given = [s.unsqueeze(0) for s in given]
        for s in given:
            if tuple(s.shape) != (x.size(0), self.hidden_size):
                raise RuntimeError(
                    f"hidden has shape {list(s.shape)}, expected "
                    f"[{x.size(0)}, {self.hidden_size}]")
        found = recurrent.cell(mode, x, given, (
            self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh))
        return found if batched else [s.squeeze(0) for s in found]


class RNNCell(RNNCellBase):
    """One step of :class:`RNN`."""

    def __init__(
        self, input_size: int, hidden_size: int, bias: bool = True, nonlinearity: str = "tanh",
        device: Any = None, dtype: Any = None,
    ) -> None:
        super().__init__(input_size, hidden_size, bias, 1, device, dtype)
        self.nonlinearity = nonlinearity

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        if self.nonlinearity not in ("tanh", "relu"):
            raise RuntimeError(f"Unknown nonlinearity: {self.nonlinearity}")
        return self._step(f"RNN_{self.nonlinearity.upper()}", input, hx)[0]


class LSTMCell(RNNCellBase):
    """One step of :class:`LSTM`."""

    def __init__(
        self, input_size: int, hidden_size: int, bias: bool = True, device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(input_size, hidden_size, bias, 4, device, dtype)

    def forward(self, input: Tensor, hx: tuple[Tensor, Tensor] | None = None
                ) -> tuple[Tensor, Tensor]:
        hidden, memory = self._step("LSTM", input, hx)
        return hidden, memory


class GRUCell(RNNCellBase):
    """One step of :class:`GRU`."""

    def __init__(
        self, input_size: int, hidden_size: int, bias: bool = True, device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(input_size, hidden_size, bias, 3, device, dtype)

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        return self._step("GRU", input, hx)[0]


__all__ = ["GRU", "GRUCell", "LSTM", "LSTMCell", "RNN", "RNNBase", "RNNCell", "RNNCellBase"]
