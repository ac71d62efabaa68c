"""One interface over the three frontends, for programs and samples that run through each.

A driver makes tensors of its frontend, applies ops by name or by the frontend's own function,
takes gradients with the frontend's own call, and reads. The C driver calls the functions of
``lazyloom.h`` in the shared library, loaded into this process.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from typing import Any, Protocol

import numpy as np

import lazyloom
import lazyloom_capi.client
import lazyloom_numpy as lnp
import lazyloom_torch as torch
from lazyloom.ops.spec import OpDef
from tests.conformance.names_numpy import NUMPY
from tests.conformance.names_torch import TORCH

Named = Mapping[str, Callable[[list[Any], dict[str, Any]], Any]]


class Driver(Protocol):
    """What the harness asks of a frontend.

    Attributes:
        name: for messages.
        named: the frontend's own function of an op, called with operands and all attributes;
            it gives NotImplemented for attributes that it has no counterpart for.
        conjugates: a complex gradient is PyTorch's, the direction of steepest ascent, which is
            the conjugate of the cotangent that the runtime and the other frontends give.
    """

    name: str
    named: Named
    conjugates: bool

    def tensor(self, array: np.ndarray) -> Any: ...

    def apply(self, op: str, operands: Sequence[Any], attributes: Mapping[str, Any]) -> Any: ...

    def gradients(self, f: Callable[..., Any], at: Sequence[np.ndarray]) -> list[Any]:
        """Gradients of the 0-d real result of ``f`` with respect to each argument."""
        ...

    def read(self, x: Any) -> np.ndarray: ...

    def key(self, *tensors: Any) -> str:
        """The key of the program that reading these would run."""
        ...


class Python:
    """What the two Python frontends share: ``lazyloom.apply`` on their arrays."""

    name: str
    named: Named
    kind: type[lazyloom.Tensor]
    conjugates = False

    def apply(self, op: str, operands: Sequence[Any], attributes: Mapping[str, Any]) -> Any:
        found = lazyloom.apply(op, operands, attributes)
        if isinstance(found, tuple):
            return found
        return found if isinstance(found, self.kind) else self.kind.from_value(found.value)

    def key(self, *tensors: Any) -> str:
        return lazyloom.program_of(*tensors).key


class NumPy(Python):
    name = "numpy"
    named = NUMPY
    kind = lnp.ndarray

    def tensor(self, array: np.ndarray) -> Any:
        return lnp.array(array)

    def gradients(self, f: Callable[..., Any], at: Sequence[np.ndarray]) -> list[Any]:
        arguments = [lnp.array(x) for x in at]
        return list(lazyloom.grad(f, tuple(range(len(at))))(*arguments))

    def read(self, x: Any) -> np.ndarray:
        return np.asarray(x)


class Torch(Python):
    name = "torch"
    named = TORCH
    kind = torch.Tensor
    conjugates = True

    def tensor(self, array: np.ndarray) -> Any:
        return torch.tensor(array)

    def gradients(self, f: Callable[..., Any], at: Sequence[np.ndarray]) -> list[Any]:
        arguments = [torch.tensor(x, requires_grad=True) for x in at]
        f(*arguments).backward()
        return [x.grad for x in arguments]

    def read(self, x: Any) -> np.ndarray:
        # numpy() refuses bfloat16, as PyTorch does
        return x.read()


class C:
    name = "c"
    named: Named = {}
    conjugates = False

    def __init__(self) -> None:
        self.client = lazyloom_capi.client.Client()

    def tensor(self, array: np.ndarray) -> Any:
        return self.client.from_numpy(array)

    def apply(self, op: str, operands: Sequence[Any], attributes: Mapping[str, Any]) -> Any:
        return self.client.apply(op, operands, attributes)

    def gradients(self, f: Callable[..., Any], at: Sequence[np.ndarray]) -> list[Any]:
        client = self.client
        arguments = [client.from_numpy(x) for x in at]
        for x in arguments:
            client.check(client.lib.loom_tensor_require_grad(x.handle, True))
        return client.gradients([f(*arguments)], arguments)

    def read(self, x: Any) -> np.ndarray:
        return x.read()

    def key(self, *tensors: Any) -> str:
        return self.client.program_of(*tensors)[0]


@cache
def drivers() -> tuple[Driver, ...]:
    """The C ABI, the NumPy-like and the torch-like frontend."""
    return C(), NumPy(), Torch()


def several(found: Any) -> list[Any]:
    """The results of an op of one or several results, as a list."""
    return list(found) if isinstance(found, (tuple, list)) else [found]


def call(
    driver: Driver, op: OpDef, operands: Sequence[Any], attributes: Mapping[str, Any]
) -> tuple[list[Any], bool]:
    """The results of an op, and whether the frontend's own function made them."""
    function = driver.named.get(op.name)
    if function is not None:
        try:
            found = function(list(operands), op.canonical_attributes(attributes))
        except NotImplementedError:  # dtypes that PyTorch's function refuses
            found = NotImplemented
        if found is not NotImplemented:
            return several(found), True
    return several(driver.apply(op.name, operands, attributes)), False


def join(driver: Driver, tensors: Iterable[Any]) -> None:
    """Make one component of the work that these tensors wait for, so that it is one program.

    What is recorded for that is forgotten at once, and takes no part in the program.
    """
    last: Any = None
    for x in tensors:
        one = driver.apply("any", [x], {})
        last = one if last is None else driver.apply("logical_or", [last, one], {})
