"""Small generators for tests: elementwise ops in NumPy, in C, by the host's kernels."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from lazyloom import codegen
from lazyloom.host.find import kernel_of
from lazyloom.program.stream import Leaf, Result

#: what the ops of a region are in NumPy
NUMPY: dict[str, Callable[..., Any]] = {
    "add": np.add, "multiply": np.multiply, "subtract": np.subtract, "negative": np.negative,
    "tanh": np.tanh, "exp": np.exp, "maximum": np.maximum, "logical_not": np.logical_not,
    "matmul": np.matmul,
}


def interpret(region: codegen.Region, operands: tuple[Any, ...]) -> tuple[Any, ...]:
    """The results of a region of those ops on arrays in logical order."""
    values: list[Any] = []
    for i in region.program.structure.instructions:
        given = []
        for item in i.operands:
            if isinstance(item, Leaf):
                given.append(operands[item.number])
            elif isinstance(item, Result):
                given.append(values[item.instruction])
            elif item is not None:
                given.append(np.asarray(item.number, item.dtype.numpy))  # type: ignore[union-attr]
        result = NUMPY[i.spec.op.name](*given)
        values.append(np.asarray(result).astype(i.types[0].dtype.numpy, copy=False))
    return tuple(values[n] for n, _ in region.program.outputs)


class InNumPy(codegen.Generator):
    """Some elementwise ops as calls of NumPy.

    Attributes:
        built: the ops of each region that was built.
        calls: how often regions ran.
    """

    version = "1"

    def __init__(self, *ops: str, name: str = "in_numpy", order: bool = False) -> None:
        self.name = name
        self.ops = ops or tuple(NUMPY)
        #: arrays of two axes are wanted with these in the other order
        self.order = order
        self.built: list[list[str]] = []
        self.calls = 0

    def supports(self, call: codegen.Call) -> codegen.Answer:
        if call.op not in self.ops:
            return codegen.No(f"{call.op} is not one of {', '.join(self.ops)}")
        return codegen.YES

    def layouts(self, region: codegen.Region) -> Any:
        if not self.order:
            return None
        types = (*region.operands, *region.results)
        return [tuple(reversed(range(t.ndim))) for t in types]

    def build(self, region: codegen.Region) -> codegen.Code:
        self.built.append([call.op for call in region.calls])

        def run(*operands: Any) -> tuple[Any, ...]:
            self.calls += 1
            self.before(operands)
            if self.order:
                operands = tuple(x.T for x in operands)
            results = interpret(region, operands)
            return tuple(x.T for x in results) if self.order else results

        return codegen.PythonCode(run)

    def before(self, operands: tuple[Any, ...]) -> None:
        """Called before each run; may raise."""


class ByKernels(InNumPy):
    """Ops and their derivatives by the host's kernels; counts what ran, by op."""

    def __init__(self, *ops: str, name: str = "by_kernels", order: bool = False) -> None:
        super().__init__(*ops, name=name, order=order)
        self.ran: dict[str, int] = {}

    def build(self, region: codegen.Region) -> codegen.Code:
        self.built.append([call.op for call in region.calls])
        instructions = region.program.structure.instructions
        kernels = [kernel_of(i.spec, i.operand_types) for i in instructions]
        if None in kernels:
            raise NotImplementedError("an op has no kernel of the host")

        def run(*operands: Any) -> tuple[Any, ...]:
            self.calls += 1
            self.before(operands)
            values: list[Any] = []
            for i, kernel in zip(instructions, kernels, strict=True):
                given: list[Any] = []
                for item in i.operands:
                    if isinstance(item, Leaf):
                        x = operands[item.number]
                        given.append(np.array(x.T if self.order else x, order="C"))
                    elif isinstance(item, Result):
                        given.append(values[item.instruction][item.number])
                    else:
                        given.append(None if item is None else np.array(
                            item.number, item.dtype.numpy))  # type: ignore[union-attr]
                found = kernel.run(*given)
                values.append(found if len(i.types) > 1 else (found,))
                name = i.spec.op.name
                self.ran[name] = self.ran.get(name, 0) + 1
            results = [values[n][r] for n, r in region.program.outputs]
            return tuple(x.T for x in results) if self.order else tuple(results)

        return codegen.PythonCode(run)


class InC(codegen.Generator):
    """Sums and products of float32 as loops in C."""

    name = "in_c"
    version = "1"

    def supports(self, call: codegen.Call) -> codegen.Answer:
        if call.op not in ("add", "multiply"):
            return codegen.No(f"{call.op} is neither add nor multiply")
        types = [t for t in call.operands if t is not None]
        if any(t.dtype.name != "float32" or t.shape != call.results[0].shape for t in types):
            return codegen.No("operands of other types or shapes")
        return codegen.YES

    def build(self, region: codegen.Region) -> codegen.Code:
        lines = []
        for n, i in enumerate(region.program.structure.instructions):
            names = []
            for item in i.operands:
                if isinstance(item, Leaf):
                    names.append(f"((const float *)p[{item.number}])[k]")
                elif isinstance(item, Result):
                    names.append(f"v{item.instruction}")
                else:
                    names.append(f"{item.number}.0f")  # type: ignore[union-attr]
            sign = "+" if i.spec.op.name == "add" else "*"
            lines.append(f"float v{n} = {names[0]} {sign} {names[1]};")
        operands = len(region.operands)
        for r, (n, _) in enumerate(region.program.outputs):
            lines.append(f"((float *)p[{operands + r}])[k] = v{n};")
        size = region.results[0].size
        body = "\n        ".join(lines)
        return codegen.CSource(
            "const char *region(void *const *p)\n{\n"
            f"    for (long k = 0; k < {size}; k++) {{\n        {body}\n    }}\n"
            "    return 0;\n}\n")
