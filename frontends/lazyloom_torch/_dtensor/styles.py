"""How a module's parameters, inputs and outputs lie on a mesh: tensor parallelism.

The ways of Megatron-LM (Shoeybi et al., 2019) and of its sequence parallelism (Korthikanti et al.,
2022), by PyTorch's names.
"""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Sequence
from fnmatch import fnmatch
from typing import Any

from .._tensor import Tensor
from ..nn.modules.linear import Linear
from ..nn.modules.module import Module
from ..nn.modules.sparse import Embedding
from ..nn.parameter import Parameter
from .mesh import DeviceMesh, current_mesh
from .placements import Placement, Replicate, Shard


class ParallelStyle(ABC):
    """How one module is divided. Subclasses define :meth:`_apply`."""

    #: from which place in the mesh the whole parameters are taken; None: each has its own
    src_data_rank: int | None = 0

    @abstractmethod
    def _apply(self, module: Module, device_mesh: DeviceMesh) -> Module: ...


def _shard(module: Module, mesh: DeviceMesh, placements: dict[str, Sequence[Placement]],
           source: int | None) -> None:  # fmt: skip
    """Divide a module's own parameters, as names say it; all others are left as they are."""
    from .functions import distribute_tensor

    for name, param in list(module.named_parameters(recurse=False)):
        where = placements.get(name, placements.get("*"))
        if where is not None:
            made = distribute_tensor(param, mesh, where, src_data_rank=source)
            module.register_parameter(name, Parameter(made, param.requires_grad))


def _laid(given: Any, mesh: DeviceMesh, at: Placement, wanted: Placement) -> Any:
    """A tensor that lies as ``at`` says, unless it says it itself, as ``wanted``."""
    from .tensors import DTensor

    made = given if isinstance(given, DTensor) else DTensor.from_local(
        given, mesh, (at,), run_check=False)
    return made if made.placements == (wanted,) else made.redistribute(placements=(wanted,))


class _Linear(ParallelStyle):
    """What Linear and Embedding have in common."""

    def __init__(self, given: Placement, wanted: Placement, gives: Placement,
                 use_local_output: bool) -> None:  # fmt: skip
        self.input_layouts = (given,)
        self.desired_input_layouts = (wanted,)
        self.output_layouts = (gives,)
        self.use_local_output = use_local_output

    def _parts(self, module: Module) -> dict[str, Sequence[Placement]]:
        raise NotImplementedError

    def _apply(self, module: Module, device_mesh: DeviceMesh) -> Module:
        from .functions import distribute_module

        parts = self._parts(module)

        def divide(name: str, part: Module, mesh: DeviceMesh) -> None:
            _shard(part, mesh, parts, self.src_data_rank)

        def prepare(mod: Module, inputs: Any, mesh: DeviceMesh) -> Any:
            first = _laid(inputs[0], mesh, self.input_layouts[0], self.desired_input_layouts[0])
            return (first, *inputs[1:])

        def finish(mod: Module, outputs: Any, mesh: DeviceMesh) -> Any:
            if outputs.placements != self.output_layouts:
                outputs = outputs.redistribute(placements=self.output_layouts)
            return outputs.to_local() if self.use_local_output else outputs

        return distribute_module(module, device_mesh, divide, prepare, finish)

    def __repr__(self) -> str:
        return (f"{type(self).__name__}(input_layouts={self.input_layouts}, "
                f"output_layouts={self.output_layouts}, "
                f"use_local_output={self.use_local_output})")


class ColwiseParallel(_Linear):
    """A Linear whose outputs, or an Embedding whose features, are divided.

    Args:
        input_layouts: how the input lies, Replicate() by default.
        output_layouts: how the output is to lie, Shard(-1) by default.
        use_local_output: give this process's part as a Tensor instead of a DTensor.
    """

    def __init__(self, *, input_layouts: Placement | None = None,
                 output_layouts: Placement | None = None,
                 use_local_output: bool = True) -> None:  # fmt: skip
        super().__init__(input_layouts or Replicate(), Replicate(), output_layouts or Shard(-1),
                         use_local_output)

    def _parts(self, module: Module) -> dict[str, Sequence[Placement]]:
        if isinstance(module, Linear):
            return {"*": (Shard(0),)}
        if isinstance(module, Embedding):
            return {"*": (Shard(1),)}
        raise NotImplementedError(
            "ColwiseParallel currently only support nn.Linear and nn.Embedding!")


class RowwiseParallel(_Linear):
    """A Linear whose inputs, or an Embedding whose words, are divided.

    Args:
        input_layouts: how the input lies, Shard(-1) by default.
        output_layouts: how the output is to lie, Replicate() by default.
        use_local_output: give this process's part as a Tensor instead of a DTensor.
    """

    def __init__(self, *, input_layouts: Placement | None = None,
                 output_layouts: Placement | None = None,
                 use_local_output: bool = True) -> None:  # fmt: skip
        super().__init__(input_layouts or Shard(-1), Shard(-1), output_layouts or Replicate(),
                         use_local_output)

    def _parts(self, module: Module) -> dict[str, Sequence[Placement]]:
        if isinstance(module, Linear):
            self.desired_input_layouts = (Shard(-1),)
            return {"weight": (Shard(1),), "*": (Replicate(),)}
        if isinstance(module, Embedding):
            self.desired_input_layouts = (Replicate(),)
            return {"*": (Shard(0),)}
        raise NotImplementedError(
            "RowwiseParallel currently only support nn.Linear and nn.Embedding!")


class SequenceParallel(ParallelStyle):
    """A module of whole parameters (LayerNorm, RMSNorm, Dropout) on a divided sequence.

    Args:
        sequence_dim: the dimension of the input that is divided.
        use_local_output: give this process's part as a Tensor instead of a DTensor.
    """

    def __init__(self, *, sequence_dim: int = 1, use_local_output: bool = False) -> None:
        self.sequence_sharding = (Shard(sequence_dim),)
        self.use_local_output = use_local_output

    def _apply(self, module: Module, device_mesh: DeviceMesh) -> Module:
        from .functions import distribute_module
        from .tensors import DTensor

        def divide(name: str, part: Module, mesh: DeviceMesh) -> None:
            for n, p in list(part.named_parameters(recurse=False)):
                made = DTensor.from_local(p.detach(), mesh, (Replicate(),), run_check=False)
                part.register_parameter(n, Parameter(made, p.requires_grad))

        def prepare(mod: Module, inputs: Any, mesh: DeviceMesh) -> Any:
            if not isinstance(inputs[0], Tensor):
                raise ValueError(f"expecting input of {mod} to be a torch.Tensor or DTensor, but "
                                 f"got {inputs[0]}")
            at = self.sequence_sharding[0]
            return (_laid(inputs[0], mesh, at, at), *inputs[1:])

        def finish(mod: Module, outputs: Any, mesh: DeviceMesh) -> Any:
            return outputs.to_local() if self.use_local_output else outputs

        return distribute_module(module, device_mesh, divide, prepare, finish)

    def __repr__(self) -> str:
        return (f"SequenceParallel(sequence_dim={self.sequence_sharding[0].dim}, "
                f"use_local_output={self.use_local_output})")


def _listed(given: Any) -> Any:
    return (given,) if isinstance(given, Placement) else given


class PrepareModuleInput(ParallelStyle):
    """How a module's inputs lie, and how they are to lie for it.

    Args:
        input_layouts: for each positional input, a placement, or None for what is left as it is.
        desired_input_layouts: the placement that each is to have.
        input_kwarg_layouts, desired_input_kwarg_layouts: the same for inputs by name.
        use_local_output: give the module this process's parts as Tensors instead of DTensors.
    """

    def __init__(
        self, *, input_layouts: Any = None, desired_input_layouts: Any = None,
        input_kwarg_layouts: dict[str, Placement] | None = None,
        desired_input_kwarg_layouts: dict[str, Placement] | None = None,
        use_local_output: bool = False,
    ) -> None:
        self.input_layouts = _listed(input_layouts)
        self.desired_input_layouts = _listed(desired_input_layouts)
        self.use_local_output = use_local_output
        if self.input_layouts is not None:
            if self.desired_input_layouts is None:
                raise AssertionError("desired module inputs should not be None!")
            if len(self.input_layouts) != len(self.desired_input_layouts):
                raise AssertionError(
                    "input_layouts and desired_input_layouts should have same length!")
        self.with_kwargs = input_kwarg_layouts is not None
        self.input_kwarg_layouts = input_kwarg_layouts or {}
        self.desired_input_kwarg_layouts = desired_input_kwarg_layouts or {}
        if self.with_kwargs and len(self.input_kwarg_layouts) != len(
                self.desired_input_kwarg_layouts):
            raise AssertionError("input_kwarg_layouts and desired_input_kwarg_layouts should have "
                                 "same length!")

    def _input(self, given: Any, mesh: DeviceMesh, at: Any, wanted: Any) -> Any:
        from .tensors import DTensor

        if at is None:
            return given
        if not isinstance(given, Tensor):
            raise AssertionError("expecting input to be a torch.Tensor!")
        made = given if isinstance(given, DTensor) else DTensor.from_local(
            given, mesh, (at,), run_check=False)
        if wanted is not None and made.placements != (wanted,):
            made = made.redistribute(placements=(wanted,))
        return made.to_local() if self.use_local_output else made

    def _prepared(self, inputs: Any, mesh: DeviceMesh) -> Any:
        if self.input_layouts is None:
            return inputs
        inputs = inputs if isinstance(inputs, tuple) else (inputs,)
        if len(inputs) != len(self.input_layouts):
            raise ValueError("module inputs and input_layouts should have same length!")
        return tuple(self._input(x, mesh, at, wanted) for x, at, wanted in zip(
            inputs, self.input_layouts, self.desired_input_layouts, strict=True))

    def _named(self, kwargs: dict[str, Any], mesh: DeviceMesh) -> dict[str, Any]:
        return {name: self._input(x, mesh, self.input_kwarg_layouts.get(name),
                                  self.desired_input_kwarg_layouts.get(name))
                for name, x in kwargs.items()}

    def _apply(self, module: Module, device_mesh: DeviceMesh) -> Module:
        if self.with_kwargs:
            module.register_forward_pre_hook(
                lambda _, inputs, kwargs: (self._prepared(inputs, device_mesh),
                                           self._named(kwargs, device_mesh)),
                with_kwargs=True)
        else:
            module.register_forward_pre_hook(
                lambda _, inputs: self._prepared(inputs, device_mesh))
        return module

    def __repr__(self) -> str:
        return (f"PrepareModuleInput(input_layouts={self.input_layouts}, "
                f"desired_input_layouts={self.desired_input_layouts}, "
                f"input_kwarg_layouts={self.input_kwarg_layouts}, "
                f"desired_input_kwarg_layouts={self.desired_input_kwarg_layouts}, "
                f"use_local_output={self.use_local_output})")


class PrepareModuleOutput(ParallelStyle):
    """How a module's outputs lie, and how they are to lie after it.

    Args:
        output_layouts: for each output a placement, or None for what is left as it is.
        desired_output_layouts: the placement that each is to have.
        use_local_output: give this process's parts as Tensors instead of DTensors.
    """

    def __init__(self, *, output_layouts: Any, desired_output_layouts: Any,
                 use_local_output: bool = True) -> None:  # fmt: skip
        self.output_layouts = _listed(output_layouts)
        self.desired_output_layouts = _listed(desired_output_layouts)
        self.use_local_output = use_local_output
        if len(self.output_layouts) != len(self.desired_output_layouts):
            raise AssertionError(
                "output_layouts and desired_output_layouts should have same length!")

    def _finished(self, outputs: Any, mesh: DeviceMesh) -> Any:
        listed = outputs if isinstance(outputs, tuple) else (outputs,)
        if len(listed) != len(self.output_layouts):
            raise ValueError("module outputs and output_layouts should have same length!")
        made = []
        for x, at, wanted in zip(listed, self.output_layouts, self.desired_output_layouts,
                                 strict=True):
            if at is not None:
                x = _laid(x, mesh, at, wanted)
                x = x.to_local() if self.use_local_output else x
            made.append(x)
        return made[0] if len(made) == 1 else tuple(made)

    def _apply(self, module: Module, device_mesh: DeviceMesh) -> Module:
        module.register_forward_hook(
            lambda _, inputs, outputs: self._finished(outputs, device_mesh))
        return module

    def __repr__(self) -> str:
        return (f"PrepareModuleOutput(output_layouts={self.output_layouts}, "
                f"desired_output_layouts={self.desired_output_layouts}, "
                f"use_local_output={self.use_local_output})")


class PrepareModuleInputOutput(ParallelStyle):
    """:class:`PrepareModuleInput` and :class:`PrepareModuleOutput` of one module."""

    def __init__(
        self, *, input_layouts: Any = None, desired_input_layouts: Any = None,
        input_kwarg_layouts: dict[str, Placement] | None = None,
        desired_input_kwarg_layouts: dict[str, Placement] | None = None,
        use_local_input: bool = False, output_layouts: Any, desired_output_layouts: Any,
        use_local_output: bool = True,
    ) -> None:
        self.prepare_module_input = PrepareModuleInput(
            input_layouts=input_layouts, desired_input_layouts=desired_input_layouts,
            input_kwarg_layouts=input_kwarg_layouts,
            desired_input_kwarg_layouts=desired_input_kwarg_layouts,
            use_local_output=use_local_input)
        self.prepare_module_output = PrepareModuleOutput(
            output_layouts=output_layouts, desired_output_layouts=desired_output_layouts,
            use_local_output=use_local_output)

    def _apply(self, module: Module, device_mesh: DeviceMesh) -> Module:
        self.prepare_module_input._apply(module, device_mesh)
        return self.prepare_module_output._apply(module, device_mesh)

    def __repr__(self) -> str:
        return (f"PrepareModuleInputOutput({self.prepare_module_input!r}, "
                f"{self.prepare_module_output!r})")


def parallelize_module(
    module: Module, device_mesh: DeviceMesh | None = None,
    parallelize_plan: ParallelStyle | dict[str, ParallelStyle] | None = None, *,
    src_data_rank: int | None = 0,
) -> Module:
    """Divide a module's parts over a mesh of one dimension, in place; returns it.

    Args:
        device_mesh: a mesh of one dimension; by default that of ``with mesh:``.
        parallelize_plan: a style for the module, or styles by the names of its parts, in which
            ``*`` and ``?`` stand for any characters of one name between dots.
        src_data_rank: the place in the mesh whose parameters are divided; None: each process
            takes its part of its own, and nothing is sent.

    Raises ValueError for a mesh of several dimensions, TypeError for a plan that is none.
    """
    mesh = current_mesh() if device_mesh is None else device_mesh
    if mesh is None:
        raise RuntimeError("parallelize_module: no device_mesh was given, and no mesh is entered; "
                           "pass device_mesh, or call it in `with mesh:`")
    if mesh.ndim > 1:
        raise ValueError(
            f"Tensor Parallel only accepts a 1D DeviceMesh, but found {mesh.ndim}D! "
            'If you have a 2-D or N-D device_mesh, consider passing in device_mesh["tp"]')
    if parallelize_plan is None:
        warnings.warn("No parallelize_plan is provided and auto-parallel is not supported at the "
                      "moment, so this parallelize_module call will do nothing.", stacklevel=2)
        return module
    if isinstance(parallelize_plan, ParallelStyle):
        parallelize_plan.src_data_rank = src_data_rank
        return parallelize_plan._apply(module, mesh)
    if not isinstance(parallelize_plan, dict):
        raise TypeError("Expect Union[ParallelStyle, Dict[str, ParallelStyle]] for "
                        f"parallelize_plan, {type(parallelize_plan)} found!")
    for path, style in parallelize_plan.items():
        if not path:
            parallelize_module(module, mesh, style, src_data_rank=src_data_rank)
            continue
        found = _parts_named([module], path.split("."))
        if not found:
            warnings.warn(f"Parallelize plan key '{path}' could not be resolved: no submodule "
                          "matching it", stacklevel=2)
        for part in found:
            parallelize_module(part, mesh, style, src_data_rank=src_data_rank)
    return module


def _parts_named(modules: list[Module], atoms: Sequence[str]) -> list[Module]:
    """The parts of modules whose path matches patterns, one for each name between dots."""
    for atom in atoms:
        modules = [part for m in modules for name, part in m.named_children()
                   if fnmatch(name, atom)]
    return modules
