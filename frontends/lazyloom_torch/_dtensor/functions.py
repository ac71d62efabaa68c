"""DTensors made of whole tensors, of nothing, or of a module's parameters."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import lazyloom

from .. import _dtypes
from .._core import shape_of
from .._functions import creation
from .._functions.creation import empty as _empty
from .._tensor import Tensor
from ..nn.modules.module import Module
from ..nn.parameter import Parameter
from .mesh import DeviceMesh
from .moves import Line, from_first, part
from .placements import Placement, Replicate, Shard
from .spec import local_shape_and_offset, order_of
from .tensors import DTensor, _mesh, _placements, dtensor, laid


def distribute_tensor(
    tensor: Tensor, device_mesh: DeviceMesh | None = None,
    placements: Sequence[Placement] | None = None, *, src_data_rank: int | None = 0,
) -> DTensor:
    """A tensor that each process has whole, divided; a leaf.

    Args:
        placements: by default each process keeps the whole.
        src_data_rank: the place along each dimension of the mesh whose tensor it is; None: each
            process takes its part of its own, and nothing is sent.

    Raises RuntimeError for a tensor that is no leaf, ValueError for placements that do not fit, or
    Partial ones.
    """
    mesh = _mesh(device_mesh)
    if not tensor.is_leaf:
        raise RuntimeError("`distribute_tensor` should be used to distribute leaf tensors! but "
                           "found non-leaf tensor!")
    where = _placements(placements, mesh, tensor.ndim)
    if isinstance(tensor, DTensor):
        if tensor.device_mesh != mesh:
            raise ValueError(f"Cannot distribute a DTensor with device mesh {tensor.device_mesh} "
                             f"to a different device mesh {mesh}.")
        if tensor.placements != where:
            raise ValueError(f"Cannot distribute a DTensor with placements {tensor.placements} to "
                             f"a different placements {where}. do you want to call `redistribute` "
                             "instead?")
        return tensor
    for p in where:
        if p.is_partial():
            raise ValueError(f"distribute_tensor: {p!r} is not how a whole tensor lies, expected "
                             "Shard or Replicate")
    with lazyloom.grad_mode(False):
        local = tensor.detach()
        if mesh.get_coordinate() is None:
            local = local.new_empty(0)
        else:
            for i in order_of(where):
                local = _divided(local, where[i], Line(mesh, i), src_data_rank)
            if local.shared is not None:
                local = local.clone()  # a part has memory of its own
    made = dtensor(local, mesh, where, tuple(tensor.shape))
    if isinstance(tensor, Parameter):
        found: DTensor = made._as_parameter(tensor.requires_grad)
        return found
    if tensor.requires_grad:
        made.requires_grad_()
    return made


def _divided(x: Tensor, p: Placement, line: Line, source: int | None) -> Tensor:
    """This process's part, along one dimension of a mesh, of the tensor of one process."""
    if line.size > 1 and source is not None:
        x = from_first(x, line, source)
    return part(x, p.dim, line) if isinstance(p, Shard) and line.size > 1 else x


def distribute_module(
    module: Module, device_mesh: DeviceMesh | None = None,
    partition_fn: Callable[[str, Module, DeviceMesh], None] | None = None,
    input_fn: Callable[..., Any] | None = None, output_fn: Callable[..., Any] | None = None,
) -> Module:
    """Make a module's parameters and buffers DTensors, in place; returns it.

    Args:
        partition_fn: ``partition_fn(name, submodule, mesh)`` divides the parameters of each part;
            those that it leaves are whole in each process.
        input_fn: ``input_fn(module, inputs, mesh)`` gives the inputs of the module.
        output_fn: ``output_fn(module, outputs, mesh)`` gives its outputs.

    Raises RuntimeError for a module that went through it before.
    """
    mesh = _mesh(device_mesh)
    if getattr(module, "_distribute_module_applied", False):
        raise RuntimeError("distribute_module should only be called once on a module, but it has "
                           "already been called on this module!")
    for name, part_ in module.named_modules():
        if partition_fn is not None:
            partition_fn(name, part_, mesh)
        _replicate(part_, mesh)
    if input_fn is not None:
        module.register_forward_pre_hook(lambda mod, inputs: input_fn(mod, inputs, mesh))
    if output_fn is not None:
        module.register_forward_hook(lambda mod, inputs, outputs: output_fn(mod, outputs, mesh))
    module._distribute_module_applied = True
    return module


def _replicate(module: Module, mesh: DeviceMesh) -> None:
    """Parameters and buffers that are none yet, as DTensors that are whole in each process."""
    whole = (Replicate(),) * mesh.ndim
    for name, param in list(module._parameters.items()):
        if param is not None and not isinstance(param, DTensor):
            made = distribute_tensor(param.detach(), mesh, whole)
            module.register_parameter(name, Parameter(made, param.requires_grad))
    for name, buffer in list(module._buffers.items()):
        if buffer is not None and not isinstance(buffer, DTensor):
            module._buffers[name] = distribute_tensor(buffer.detach(), mesh, whole)


# -- of nothing -----------------------------------------------------------------------------------


def _made(
    size: Any, fill: Callable[[tuple[int, ...]], Tensor], requires_grad: bool, mesh: Any,
    placements: Any,
) -> DTensor:
    """A tensor whose parts are each filled by a function of their shape."""
    mesh = _mesh(mesh)
    shape = shape_of(tuple(size))
    where = _placements(placements, mesh, len(shape))
    local = fill(local_shape_and_offset(shape, mesh, where)[0])
    made = dtensor(local, mesh, where, shape)
    if requires_grad:
        made.requires_grad_()
    return made


def _drawn(
    size: Any, draw: Callable[[tuple[int, ...]], Tensor], requires_grad: bool, mesh: Any,
    placements: Any,
) -> DTensor:
    """A tensor of random numbers, those that one process would draw for all of it."""
    mesh = _mesh(mesh)
    shape = shape_of(tuple(size))
    where = _placements(placements, mesh, len(shape))
    whole = dtensor(draw(shape), mesh, (Replicate(),) * mesh.ndim, shape)
    with lazyloom.grad_mode(False):
        made = laid(whole, where)
    if mesh.get_coordinate() is None:
        made = dtensor(made._local_tensor.new_empty(0), mesh, where, shape)
    if requires_grad:
        made.requires_grad_()
    return made


def _kind(dtype: Any) -> Any:
    return _dtypes.get_default_dtype() if dtype is None else dtype


def zeros(*size: Any, requires_grad: bool = False, dtype: Any = None, layout: Any = None,
          device_mesh: Any = None, placements: Any = None) -> DTensor:  # fmt: skip
    """A DTensor of zeros of a size; ``device_mesh`` and ``placements`` say how it lies."""
    return _made(size, lambda s: creation.zeros(s, dtype=dtype), requires_grad, device_mesh,
                 placements)


def ones(*size: Any, dtype: Any = None, layout: Any = None, requires_grad: bool = False,
         device_mesh: Any = None, placements: Any = None) -> DTensor:  # fmt: skip
    """A DTensor of ones."""
    return _made(size, lambda s: creation.ones(s, dtype=dtype), requires_grad, device_mesh,
                 placements)


def empty(*size: Any, dtype: Any = None, layout: Any = None, requires_grad: bool = False,
          device_mesh: Any = None, placements: Any = None) -> DTensor:  # fmt: skip
    """A DTensor without particular contents."""
    return _made(size, lambda s: _empty(s, dtype=dtype), requires_grad, device_mesh, placements)


def full(size: Any, fill_value: Any, *, dtype: Any = None, layout: Any = None,
         requires_grad: bool = False, device_mesh: Any = None,
         placements: Any = None) -> DTensor:  # fmt: skip
    """A DTensor of one number."""
    return _made((size,), lambda s: creation.full(s, fill_value, dtype=dtype), requires_grad,
                 device_mesh, placements)


def rand(*size: Any, requires_grad: bool = False, dtype: Any = None, layout: Any = None,
         device_mesh: Any = None, placements: Any = None) -> DTensor:  # fmt: skip
    """A DTensor of numbers from [0, 1): those of ``torch.rand(size)`` in each process.

    The generators of all processes are to be in one state (``torch.manual_seed``).
    """
    return _drawn(size, lambda s: _empty(s, dtype=_kind(dtype)).uniform_(), requires_grad,
                  device_mesh, placements)


def randn(*size: Any, requires_grad: bool = False, dtype: Any = None, layout: Any = None,
          device_mesh: Any = None, placements: Any = None) -> DTensor:  # fmt: skip
    """A DTensor of normal numbers, as :func:`rand`."""
    return _drawn(size, lambda s: _empty(s, dtype=_kind(dtype)).normal_(), requires_grad,
                  device_mesh, placements)
