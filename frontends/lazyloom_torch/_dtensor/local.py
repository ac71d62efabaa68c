"""Functions of this process's parts, made functions of DTensors; tensors beside DTensors."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from .._tensor import Tensor
from . import calling
from .mesh import DeviceMesh
from .placements import Placement
from .tensors import DTensor, laid


@contextmanager
def implicit_replication() -> Iterator[None]:
    """Let tensors that meet DTensors be taken as whole, and the same, in each process."""
    before, calling.mixed.allowed = calling.mixed.allowed, True
    try:
        yield
    finally:
        calling.mixed.allowed = before


def local_map(
    func: Callable[..., Any] | None = None, out_placements: Any = None, in_placements: Any = None,
    in_grad_placements: Any = None, device_mesh: DeviceMesh | None = None, *,
    redistribute_inputs: bool = False,
) -> Callable[..., Any]:
    """A function of this process's parts as one of DTensors.

    Args:
        func: takes and gives Tensors, this process's parts.
        out_placements: how its outputs lie: placements for one output or for all, or for each
            output placements, or None for what is no tensor.
        in_placements: how its inputs are to lie: for each, placements, or None for what is no
            DTensor. By default they are taken as they lie.
        in_grad_placements: how the gradients of the inputs lie that the function gives.
        device_mesh: by default that of the inputs.
        redistribute_inputs: let inputs that lie otherwise be moved.

    The function raises ValueError for inputs that lie otherwise, or of which no DTensor is one,
    and for numbers of placements that do not fit.
    """
    if func is None:
        def of(function: Callable[..., Any]) -> Callable[..., Any]:
            return local_map(function, out_placements, in_placements, in_grad_placements,
                             device_mesh, redistribute_inputs=redistribute_inputs)
        return of

    def wrapped(*args: Any, **kwargs: Any) -> Any:
        mesh = device_mesh
        if in_placements is not None and len(in_placements) != len(args):
            raise AssertionError(f"in_placements length {len(in_placements)} does not match the "
                                 f"number of input args {len(args)}!")
        some = False
        given: list[Any] = []
        for i, x in enumerate(args):
            wanted = None if in_placements is None else in_placements[i]
            if not isinstance(x, DTensor):
                if isinstance(x, Tensor) and wanted is not None and some:
                    raise TypeError(f"local_map: argument {i} is a torch.Tensor, but placements "
                                    f"{wanted} were given for it; None is for what is no DTensor")
                given.append(x)
                continue
            some = True
            mesh = x.device_mesh if mesh is None else mesh
            if in_placements is not None:
                if wanted is None:
                    raise AssertionError(f"Tensor {x} is a DTensor but its placements is None: "
                                         "local_map needs placements for each DTensor")
                wanted = tuple(wanted)
                if x.placements != wanted:
                    if not redistribute_inputs:
                        raise ValueError(
                            f"arg {x} in local_map has a mismatched placements: arg placements is "
                            f"{x.placements} but the input placements is {wanted}! If "
                            "redistribute_inputs is wanted, set redistribute_inputs=True to "
                            "local_map.")
                    x = laid(x, wanted)
            grads = None if in_grad_placements is None else in_grad_placements[i]
            given.append(x.to_local(grad_placements=grads))
        found = func(*given, **kwargs)
        return _laid_out(found, mesh, out_placements) if some else found

    return wrapped


def _laid_out(found: Any, mesh: DeviceMesh | None, placements: Any) -> Any:
    """The outputs of a function of parts as DTensors."""
    several = isinstance(found, (list, tuple))
    outputs: Sequence[Any] = found if several else [found]
    same = _is_one(placements)
    each = [placements] * len(outputs) if same else list(placements)
    if len(each) != len(outputs):
        raise AssertionError(f"local_map requires one PlacementType for each output value, got "
                             f"{len(each)} out_placements but expected {len(outputs)}!")
    made = []
    for x, where in zip(outputs, each, strict=True):
        if isinstance(x, Tensor) and where is not None:
            if isinstance(x, DTensor):
                raise AssertionError("local_map: the function gave a DTensor, expected a Tensor")
            made.append(DTensor.from_local(x, mesh, where, run_check=False))
        else:
            if isinstance(x, Tensor) is False and where is not None and not same:
                raise AssertionError(f"Non-tensor output expects None placements but received "
                                     f"{where}!")
            made.append(x)
    return type(found)(made) if several else made[0]


def _is_one(placements: Any) -> bool:
    """Whether these are placements of one tensor, not of several."""
    return placements is None or all(isinstance(p, Placement) for p in placements)
