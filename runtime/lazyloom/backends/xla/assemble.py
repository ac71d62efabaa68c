"""Assembly of a program's StableHLO module from the lowerings of its ops."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from ...dtypes import DType, int64
from ...placements import Placement
from ...program.collectives import joined, replicas_of
from ...program.loops import Loops
from ...program.program import Instruction, Structure
from ...program.stream import Leaf, Operand, Result, ScalarSlot
from ...trace.scalars import Baked
from ...types import TensorType, scalar_type, tensor_type
from . import jax_compat, placing
from .fusion_barriers import barriers
from .kept_values import hidden, kept, rounded
from .layout_assignment import Assigned, assign_layouts, in_row_major
from .layouts import Layout, identity, relayout
from .lowering import lower
from .overlaps import separated
from .padding.program import padded_ops
from .regions.region_op import takes_extents
from .statements import call, constant
from .statements import constants as vectors
from .unforeseen import Unforeseen
from .while_loops import LoopWriter, handed_on

#: a call that XLA does not inline and that therefore ends a fusion
_STOP: Final = """  func.func private @{name}(%arg0: {type}) -> {type} {{
    return %arg0 : {type}
  }}"""

_FINISHED_TYPE: Final = "tensor<16x16xf32>"
#: A further result of a program of several processes, which is computed when the run has ended, and
#: donated to no other. It takes 8,192 operations: XLA:CPU runs a program of less than 1,000 before
#: the call that begins it returns, and so would wait for the other processes in there. The number
#: of the replica is known at run time only, so that nothing of it is folded.
_FINISHED: Final = (f"""    %replica = stablehlo.replica_id : tensor<ui32>
    %replica_f = stablehlo.convert %replica : (tensor<ui32>) -> tensor<f32>
    %replica_b = stablehlo.broadcast_in_dim %replica_f, dims = [] : \
(tensor<f32>) -> {_FINISHED_TYPE}""", f"""    %replica_i = stablehlo.iota dim = 0 : {_FINISHED_TYPE}
    %replica_s = stablehlo.add {{begin}}, %replica_i : {_FINISHED_TYPE}
    %finished = stablehlo.dot_general %replica_s, %replica_s, contracting_dims = [1] x [0] : \
({_FINISHED_TYPE}, {_FINISHED_TYPE}) -> {_FINISHED_TYPE}""")


def module_text(
    structure: Structure, outputs: Sequence[tuple[int, int]], aliases: Mapping[int, int],
    placement: Placement | None = None, contracted: list[Instruction] | None = None,
    first: Sequence[str] = (), tokens: int = 0,
    scalars: Mapping[DType, Sequence[Any]] | None = None, origins: Sequence[int] = (),
    whole_outputs: Sequence[tuple[int, int]] = (),
) -> str:
    """Return the StableHLO module of a program.

    ``contracted`` are its instructions with regions of other generators among them; ``outputs``
    then refers to their results, ``whole_outputs`` to those of the program, and ``origins`` has
    for each the instruction of the program that it is, -1 for a region.
    ``first`` are statements to begin with. ``tokens`` is how many additional leaves these have,
    int64 numbers that are the last parameters.

    Its parameters are the leaves in order, then one vector of run-time scalars per dtype, in
    the order of their first use, and for a structure with padding the vector of extents.
    ``aliases`` maps a donated leaf to the output that takes its memory. ``placement`` is that of a
    leaf, if it is not on the default device: a program on a mesh says how its leaves are divided.
    ``scalars``, if given, are the numbers of the run-time scalars, which are then no parameters.
    """
    mesh = None if placement is None else placement.mesh
    functions: dict[str, str] = {}
    lines: list[str] = []
    results: list[list[str]] = []
    counts = structure.scalar_counts
    scalar_names: dict[ScalarSlot, str] = {}
    constants: dict[Baked, str] = {}
    platform = jax_compat.device().platform
    instructions = structure.instructions if contracted is None else contracted
    #: instructions that take the extents of a padded program
    dynamic: set[int] = set()
    if structure.padding is None:
        assigned = assign_layouts(instructions, outputs)
        lowerings = [a.lowered for a in assigned]
    else:
        ops = padded_ops(structure, outputs if contracted is None else whole_outputs)
        at = range(len(ops)) if contracted is None else origins
        assigned = [
            in_row_major(i, lower(i.spec, i.operand_types) if n < 0 else ops[n].lowered)
            for n, i in zip(at, instructions, strict=True)]
        dynamic = {number for number, (n, i) in enumerate(zip(at, instructions, strict=True))
                   if (takes_extents(i.spec) if n < 0 else ops[n].takes_extents)}
        lowerings = [lower(i.spec, i.operand_types) for i in instructions]
    leaf_types = (*structure.leaf_types, *[tensor_type((), int64)] * tokens)
    apart = separated(
        instructions, [lowering.text for lowering in lowerings], leaf_types, platform)
    ends = barriers(instructions, platform) | apart
    program = loops_of(instructions, outputs, assigned, structure.padding is not None)
    for loop in program.loops:
        # the body must keep apart what any iteration must
        ends |= {loop.start + loop.period + (n - loop.start) % loop.period
                 for n in apart if loop.start <= n < loop.end}
    written = [lowering.lowered for lowering in assigned]
    values = kept(instructions, written, [int(n in dynamic) for n in range(len(instructions))])
    #: results that are passed through a barrier, and whether that rounds them
    through = dict.fromkeys(values.hidden, False) | dict.fromkeys(values.rounded, True)
    for loop in program.loops:
        for (n, r), rounds in list(through.items()):
            if loop.start <= n < loop.end:
                place = (loop.start + loop.period + (n - loop.start) % loop.period, r)
                through[place] = rounds or through.get(place, False)
    extents = "" if structure.padding is None else f"tensor<{len(structure.padding.bucket)}xi64>"
    #: values that were transposed into another layout, by name and layout
    transposed: dict[tuple[str, Layout], str] = {}

    def in_layout(name: str, t: TensorType, now: Layout, then: Layout) -> str:
        if now == then:
            return name
        relaid = transposed.get((name, then))
        if relaid is None:
            relaid = transposed[name, then] = f"%t{len(transposed)}"
            lines.append(
                f"    {relaid} = {relayout(t.shape, t.dtype.mlir, now, then).format(name)}")
        return relaid

    def operand(item: Operand, t: TensorType, then: Layout) -> str:
        if program.owner(item) is not None:
            item = program.behind(item)
            if program.owner(item) is not None:
                assert isinstance(item, Result)
                return loops.result(item)
        if isinstance(item, Result):
            n, r = item
            return in_layout(results[n][r], t, assigned[n].results[r], then)
        if isinstance(item, Leaf):
            return in_layout(f"%in{item.number}", t, identity(t.ndim), then)
        if isinstance(item, Baked):
            if item not in constants:
                constants[item] = f"%c{len(constants)}"
            return constants[item]
        assert item is not None, "an absent operand has no type"
        name = scalar_names.get(item)
        if name is None:
            name = scalar_names[item] = f"%s{len(scalar_names)}"
        return name

    def stopped(name: str, value: str, type_: str) -> str:
        stop = f"stop_{re.sub('[^a-z0-9]', '_', type_)}"
        functions[stop] = _STOP.format(name=stop, type=type_)
        return (f"    {name} = func.call @{stop}({value}) {{mhlo.frontend_attributes"
                f' = {{inlineable = "false"}}}} : ({type_}) -> {type_}')

    def handed_on(n: int, r: int, name: str, type_: str) -> str:
        """Add the barrier of a result, if it has one; return the result's name behind it."""
        if (n, r) not in through:
            return name
        then = re.sub(r"\W", "_", name[1:])
        if through[n, r]:
            line, function, text = rounded(f"%kept_{then}", name, type_)
            functions[function] = text
        else:
            line = hidden(f"%kept_{then}", name, type_)
        lines.append(line)
        return f"%kept_{then}"

    def plain(item: Operand, t: TensorType) -> str:
        return operand(item, t, identity(t.ndim))

    def after(number: int, arguments: list[str], types: list[str]) -> list[str]:
        """Have the operands of a collective depend on the result of the one before it.

        XLA would schedule independent ones as it likes, which need not be the same in processes
        whose programs differ elsewhere. It does not look into the call. A collective of no elements
        is none for XLA, and would end the row: others may have some of them.
        """
        before = together[-1] if together else None
        if number < len(instructions) and not any(t.size for t in instructions[number].types):
            return arguments
        together.append(number)
        if before is None:
            return arguments
        awaited = results[before]
        awaited_types = assigned[before].lowered.results
        name = f"after_{number}"
        given = ", ".join(f"%arg{k}: {t}" for k, t in enumerate([*types, *awaited_types]))
        passed = ", ".join(f"%arg{k}" for k in range(len(types)))
        listed = ", ".join(types)
        functions[name] = (
            f"  func.func private @{name}({given}) -> ({listed}) {{\n"
            f"    return {passed} : {listed}\n  }}")
        result = f"%{name}" if len(types) == 1 else f"%{name}:{len(types)}"
        lines.append(
            f"    {result} = func.call @{name}({', '.join([*arguments, *awaited])}) "
            '{mhlo.frontend_attributes = {inlineable = "false"}} : '
            f"({', '.join([*types, *awaited_types])}) -> ({listed})")
        return [f"%{name}"] if len(types) == 1 else [f"%{name}#{k}" for k in range(len(types))]

    #: the instructions that several processes run together, so far
    together: list[int] = []
    unforeseen = Unforeseen(instructions)
    loops = LoopWriter(program, lowerings, stopped, ends, handed_on, plain, lines.append)
    begins = {loop.start: loop for loop in program.loops}
    for number, i in enumerate(instructions):
        lowered, layouts, _ = assigned[number]
        functions[lowered.name] = lowered.text
        if program.owners[number] >= 0:
            results.append([])
            if number in begins:
                loops.write(begins[number], counts)
            continue
        arguments: list[str] = []
        types: list[str] = []
        for item, t, layout in zip(i.operands, i.operand_types, layouts, strict=True):
            if t is not None and layout is not None:
                arguments.append(operand(item, t, layout))
                types.append(tensor_type(tuple(t.shape[d] for d in layout), t.dtype).mlir)
        if number in dynamic:
            arguments.insert(0, "%extents")
            types.insert(0, extents)
        if i.spec.shared:
            arguments = unforeseen.hidden(number, arguments, types, lines)
            arguments = after(number, arguments, types)
        line, names = call(
            lowered, f"%{number}", arguments, types, f"{number}:{i.spec.op.name}",
            opaque=i.spec.op.execution.opaque)
        lines.append(line)
        to = i.spec.placement
        if mesh is not None and to is not None and to.mesh == mesh and to.spec is not None:
            divided = placing.attribute(to, i.types[0].ndim)
            lines.append(f"    %placed{number} = sdy.sharding_constraint {names[0]} {divided} : "
                         f"{lowered.results[0]}")
            names = [f"%placed{number}"]
        results.append([handed_on(number, r, name, type_) for r, (name, type_) in enumerate(
            zip(names, lowered.results, strict=True))])
        if number in ends:
            for r, type_ in enumerate(lowered.results):
                name = f"%stop{number}_{r}"
                lines.append(stopped(name, results[number][r], type_))
                results[number][r] = name

    heads: list[str] = []
    parameters = []
    for k, t in enumerate(structure.leaf_types):
        given = []
        if mesh is not None:
            assert placement is not None
            lies = placement if t.placement.mesh is None else t.placement
            given.append(f"sdy.sharding = #sdy.sharding{placing.attribute(lies, t.ndim)}")
        if k in aliases:
            # XLA pairs what is divided in the same way, which is not known before
            given.append(f"tf.aliasing_output = {aliases[k]} : i32" if mesh is None
                         else "jax.buffer_donor = true")
        parameters.append(
            f"%in{k}: {t.mlir}{' {' + ', '.join(given) + '}' if given else ''}")
    for dtype, n in counts.items():
        if scalars is not None:
            # XLA would fold what it knows into other steps, with other results than a run's
            vector = f"tensor<{n}x{dtype.mlir}>"
            heads.append(vectors(f"%known_{dtype.name}", scalars[dtype], dtype))
            heads.append(hidden(f"%scalars_{dtype.name}", f"%known_{dtype.name}", vector))
            continue
        whole = ""
        if mesh is not None:
            assert placement is not None
            whole = f" {{sdy.sharding = #sdy.sharding{placing.attribute(placement, 1)}}}"
        parameters.append(f"%scalars_{dtype.name}: tensor<{n}x{dtype.mlir}>{whole}")
    if structure.padding is not None:
        parameters.append(f"%extents: {extents}")
    parameters += [f"%in{len(structure.leaf_types) + k}: {t.mlir}"
                   for k, t in enumerate(leaf_types[len(structure.leaf_types):])]
    head = [_scalar_lines(slot, name, counts) for slot, name in scalar_names.items()]
    for c, name in constants.items():
        if c.dtype.kind in "fc":
            # hidden as a run-time scalar: XLA folds a constant that it knows into other steps
            head.append(constant(f"{name}_", c.number, c.dtype))
            head.append(hidden(name, f"{name}_", scalar_type(c.dtype).mlir))
        else:
            head.append(constant(name, c.number, c.dtype))
    out = [instructions[n].types[r] for n, r in outputs]
    out_types = [t.mlir for t in out]
    out_attributes = [
        _divided(t, placing.stated(t.placement, placement)) if mesh is not None and (
            placement is not None) else t.mlir for t in out]
    returned = [plain(Result(n, r), t) for (n, r), t in zip(outputs, out, strict=True)]
    replicas = replicas_of(structure)
    if joined(structure):
        lines.append(_FINISHED[0])
        begin = ["%replica_b"]
        if together:
            # the last collective runs as well where nothing here needs its result
            begin = after(len(instructions), begin, [_FINISHED_TYPE])
        lines.append(_FINISHED[1].format(begin=begin[0]))
        returned.append("%finished")
        out_types.append(_FINISHED_TYPE)
        out_attributes.append(_FINISHED_TYPE if mesh is None else (
            f"{_FINISHED_TYPE} {{sdy.sharding = #sdy.sharding<@mesh, [{{}}, {{}}]>}}"))
    return "\n".join([
        "module @lazyloom attributes "
        f"{{mhlo.num_partitions = {1 if mesh is None else mesh.size} : i32, "
        f"mhlo.num_replicas = {replicas} : i32}} {{",
        *([] if mesh is None else [placing.mesh_line(mesh)]),
        f"  func.func public @main({', '.join(parameters)}) -> ({', '.join(out_attributes)}) {{",
        *first,
        *heads,
        *head,
        *lines,
        f"    return {', '.join(returned)} : {', '.join(out_types)}",
        "  }",
        *functions.values(),
        "}",
    ])  # fmt: skip


def _divided(t: TensorType, placement: Placement | None) -> str:
    """Return the type of a result, with how it is divided if that is stated."""
    if placement is None:
        return t.mlir
    return f"{t.mlir} {{sdy.sharding = #sdy.sharding{placing.attribute(placement, t.ndim)}}}"


def loops_of(
    instructions: list[Instruction], outputs: Sequence[tuple[int, int]],
    assigned: Sequence[Assigned], padded: bool = False,
) -> Loops:  # fmt: skip
    """Return the loops of a program. One with values in other layouts has none."""
    lowered = [a.lowered for a in assigned]
    logical = not padded and all(
        layout is None or layout == identity(len(layout))
        for a in assigned for layout in (*a.operands, *a.results))
    return Loops(
        instructions, outputs, handed_on(instructions, lowered) if logical else {}, logical)


def _scalar_lines(slot: ScalarSlot, name: str, counts: Mapping[DType, int]) -> str:
    d, k = slot.dtype, slot.ordinal
    vector = f"tensor<{counts[d]}x{d.mlir}>"
    return (
        f"    {name}v = stablehlo.slice %scalars_{d.name} [{k}:{k + 1}] : ({vector}) -> "
        f"tensor<1x{d.mlir}>\n"
        f"    {name} = stablehlo.reshape {name}v : (tensor<1x{d.mlir}>) -> tensor<{d.mlir}>")
