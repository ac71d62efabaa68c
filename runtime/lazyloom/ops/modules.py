"""Calls of StableHLO modules.

They are what programs that ``lazyloom.load`` reads from files (:mod:`lazyloom.artifact`) record.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from ..dtypes import ALL, CLASSES_SORTED
from ..errors import ArgumentError
from ..types import TensorType, tensor_type
from ._jax import batching, core, func, jax, lax, mlir_ir
from ._jax import lowering as mlir
from .kinds import AnyType, Array
from .samples import Sample, data, random_source
from .spec import OpDef, op
from .traits import HEAVY, NOT_DIFFERENTIABLE, Signature

_MAIN: Final = re.compile(r"func\.func (?:public )?@main\(")
_TENSOR: Final = re.compile(r"tensor<((?:\d+x)*)(complex<f\d+>|\w+)>")
_SYMBOL: Final = re.compile(r"func\.func (?:public |private )?@([\w.$-]+)")
_OF_MLIR: Final = {d.mlir: d for d in ALL}


@functools.lru_cache(maxsize=256)
def signature_of(module: str) -> tuple[tuple[TensorType, ...], tuple[TensorType, ...]]:
    """The types of the operands and of the results of a module's function ``main``.

    Raises ArgumentError for a text without such a function, or with types that no tensor has.
    """
    begin = _MAIN.search(module)
    head = "" if begin is None else module[begin.end() : module.find("\n", begin.end())]
    # attributes of arguments and results, such as shardings, may nest
    while (plain := re.sub(r"\{[^{}]*\}", "", head)) != head:
        head = plain
    arguments, arrow, results = head.rstrip(" {").partition(" -> ")
    if not arrow:
        raise ArgumentError(
            f"call_module: attribute 'module' is {module[:60]!r}, expected the text of a StableHLO "
            "module whose function main takes tensors and returns some", op="call_module")
    return _types(arguments), _types(results)


def _types(text: str) -> tuple[TensorType, ...]:
    found: list[TensorType] = []
    for shape, element in _TENSOR.findall(text):
        dtype = _OF_MLIR.get(element)
        if dtype is None:
            raise ArgumentError(
                f"call_module: function main of the module has a tensor of {element}, expected one "
                f"of {', '.join(_OF_MLIR)}", op="call_module")
        found.append(tensor_type(tuple([int(n) for n in shape.split("x")[:-1]]), dtype))
    if len(found) != text.count("tensor<"):
        raise ArgumentError(
            f"call_module: the types {text[:200]!r} are given for function main, expected tensors "
            "whose shapes are known", op="call_module")
    return tuple(found)


def _called(
    entry: OpDef, types: Sequence[TensorType], attrs: Mapping[str, Any]
) -> tuple[TensorType, ...]:
    """The types of the results of ``main``."""
    expected, results = signature_of(attrs["module"])
    if tuple(types) != expected:
        raise ArgumentError(
            f"{entry.name}: operands of types {_texts(types)} are given, expected "
            f"{_texts(expected)} as function main of the module takes", op=entry.name)
    if not results:
        raise ArgumentError(
            f"{entry.name}: function main of the module has no results, expected at least one",
            op=entry.name)
    return results


_called.family = "called_module"  # type: ignore[attr-defined]


def _texts(types: Sequence[TensorType]) -> str:
    return ", ".join([t.text for t in types]) or "nothing"


@functools.lru_cache(maxsize=1)
def _step() -> Any:
    """A JAX primitive that calls a module."""
    step = core.Primitive("lazyloom_call_module")
    step.multiple_results = True

    def types(*operands: Any, module: str) -> list[Any]:
        return [jax.core.ShapedArray(t.shape, t.dtype.numpy) for t in signature_of(module)[1]]

    def lower(context: Any, *operands: Any, module: str) -> Any:
        # slow to import, as it loads OpenSSL
        import hashlib

        whole = context.module_context.module
        name = f"module_{hashlib.sha256(module.encode()).hexdigest()[:16]}"
        if name not in mlir_ir.SymbolTable(whole.operation):
            text = module
            for symbol in set(_SYMBOL.findall(module)):
                new = name if symbol == "main" else f"{name}.{symbol}"
                text = re.sub(rf"@{re.escape(symbol)}(?![\w.$-])", f"@{new}", text)
            parsed = mlir_ir.Module.parse(
                text.replace("func.func public", "func.func private"), whole.context)
            with mlir_ir.InsertionPoint(whole.body):
                for function in parsed.body.operations:
                    function.operation.clone()
        called = mlir_ir.SymbolTable(whole.operation)[name].attributes["function_type"]
        results = mlir_ir.FunctionType(mlir_ir.TypeAttr(called).value).results
        return func.CallOp(results, mlir_ir.FlatSymbolRefAttr.get(name), operands).results

    def batched(operands: Any, dims: Any, *, module: str) -> Any:
        mapped = [jax.numpy.moveaxis(x, d, 0)
                  for x, d in zip(operands, dims, strict=True) if d is not None]

        def one(rows: Any) -> Any:
            row = iter(rows)
            return step.bind(*[x if d is None else next(row) for x, d in zip(
                operands, dims, strict=True)], module=module)

        results = lax.map(one, mapped)
        return results, [0] * len(results)

    step.def_abstract_eval(types)
    mlir.register_lowering(step, lower)
    batching.primitive_batchers[step] = batched
    return step


def _samples(entry: OpDef) -> Iterator[Sample]:
    """The transpose of one operand and the other one, for each dtype; then no operands."""
    rng = random_source(entry.name)
    for d in CLASSES_SORTED["any"]:
        matrix, turned, vector = (tensor_type(s, d).mlir for s in ((2, 3), (3, 2), (2,)))
        module = (
            "module @sample {\n"
            f"  func.func public @main(%arg0: {matrix}, %arg1: {vector}) -> ({turned}, {vector}) "
            "{\n"
            f"    %0 = call @turned(%arg0) : ({matrix}) -> {turned}\n"
            f"    return %0, %arg1 : {turned}, {vector}\n"
            "  }\n"
            f"  func.func private @turned(%arg0: {matrix}) -> {turned} {{\n"
            f"    %0 = stablehlo.transpose %arg0, dims = [1, 0] : ({matrix}) -> {turned}\n"
            f"    return %0 : {turned}\n"
            "  }\n"
            "}\n")
        yield Sample([data(rng, d, (2, 3)), data(rng, d, (2,))], {"module": module}, d.name,
                     smooth=False)


@op(_called, source="a function of StableHLO's func.call", execution=HEAVY,
    derivative=NOT_DIFFERENTIABLE,
    signature=Signature(lists=True, output_notes={"result": "what the function gives"}),
    samples=_samples)
def call_module(*operands: AnyType, module: str) -> tuple[Array, ...] | Array:
    """The results of the function ``main`` of a StableHLO module, which is given as text.

    The operands have the types that the function takes. Recorded by programs that
    ``lazyloom.load`` reads. It has no derivative; vmap calls it once for each element. Raises
    ArgumentError for a text that is no such module, or operands that do not fit.
    """
    results = _step().bind(*operands, module=module)
    return results[0] if len(results) == 1 else tuple(results)
