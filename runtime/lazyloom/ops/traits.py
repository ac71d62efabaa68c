"""The traits of ops: what the runtime asks of one beside its types and its definition.

They are declared in four groups, each of which is a parameter of :func:`lazyloom.ops.op`. Operands,
attributes and outputs are named in them, several in one string with spaces between.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple, TypeAlias

#: operands by name, "x y" for two of them; a tuple for several groups; or a function of attributes
Groups: TypeAlias = "str | tuple[str, ...] | Callable[[Mapping[str, Any]], str | tuple[str, ...]]"
#: for each operand, as bits, the operands by which the derivative depends on its data
Dependence: TypeAlias = "tuple[int, ...]"
#: of (op, attributes, number of operands, whether any is complex)
DependenceRule: TypeAlias = "Callable[[Any, Mapping[str, Any], int, bool], Dependence]"
#: of (op, number of operands, number of results, a result): the operand whose new value it is
Aliases: TypeAlias = "Callable[[Any, int, int, int], int]"
#: of (attributes, positions of operands or None for all): why no cotangents can be pulled back
Irreversible: TypeAlias = "Callable[[Mapping[str, Any], Sequence[int] | None], str]"


class Residuals(NamedTuple):
    """What an op keeps for its vjp, where the entry says it and not ``jax.vjp``.

    Attributes:
        forward: ``(*operands, argnums, **attributes) -> (results, residuals)``, for derivatives by
            the operands at ``argnums``; tuples of arrays.
        backward: ``(types, residuals, cotangents, argnums, **attributes) -> cotangents`` of these
            operands. ``types`` are those of the operands, ``cotangents`` those of the results,
            both with None for what there is not.
    """

    forward: Callable[..., Any]
    backward: Callable[..., Any]


class Signature:
    """How an op is called, and what it gives.

    Attributes:
        outputs: the names of the results.
        lists: one of ``outputs`` stands for any number of results, as the call has it.
        optional_outputs: outputs that are there only where the attribute of that name is set.
        output_notes: what to say about outputs whose number depends on the call.
        bodies: the attributes that hold a recorded function (:mod:`lazyloom.ops.bodies`).
        over_mesh: each device of a mesh runs these functions, on its own parts of values.
        messages: the attributes that errors tell of and results do not depend on.
        of_numbers: operands are mostly plain numbers: C has a form for these, even for only one.
        factors: attributes of earlier C ABIs, by each of which an operand at a position was scaled.
    """

    __slots__ = ("outputs", "lists", "optional_outputs", "output_notes", "bodies", "messages",
                 "of_numbers", "factors", "over_mesh")  # fmt: skip

    def __init__(
        self, *, outputs: tuple[str, ...] = ("result",), lists: bool = False,
        optional_outputs: Mapping[str, str] | None = None,
        output_notes: Mapping[str, str] | None = None, bodies: tuple[str, ...] = (),
        messages: tuple[str, ...] = (), of_numbers: bool = False,
        factors: Mapping[str, int] | None = None, over_mesh: bool = False,
    ) -> None:  # fmt: skip
        self.outputs: Final = outputs
        self.lists: Final = lists
        self.optional_outputs: Final[Mapping[str, str]] = optional_outputs or {}
        self.output_notes: Final[Mapping[str, str]] = output_notes or {}
        self.bodies: Final = bodies
        self.over_mesh: Final = over_mesh
        self.messages: Final = messages
        self.of_numbers: Final = of_numbers
        self.factors: Final[Mapping[str, int]] = factors or {}


class Derivative:
    """How an op is differentiated.

    What an operand is linear in by declaration is not kept for second derivatives: a wrong name
    gives wrong ones.

    Attributes:
        differentiable: whether it has gradients, or the names of the operands that have one.
        residuals: the forward op keeps what the backward op needs: as ``jax.vjp`` does, or as said.
        linear: the operands in which it is linear together while the others stay as they are.
        multilinear: the operands in each of which, or of whose elements, it is linear by itself.
        piecewise_linear: as ``linear``, for real operands and wherever there is a derivative.
        constant_derivative: the operands by which its derivative needs no data: that of a step, 0.
        irreversible: says why no cotangents can be pulled back to operands, "" if they can.
        dependence: gives :meth:`OpDef.dependences`, for an op that is derived.
    """

    __slots__ = ("differentiable", "residuals", "linear", "multilinear", "piecewise_linear",
                 "constant_derivative", "irreversible", "dependence")  # fmt: skip

    def __init__(
        self, *, differentiable: bool | tuple[str, ...] = True, residuals: bool | Residuals = False,
        linear: Groups = (), multilinear: str = "", piecewise_linear: Groups = (),
        constant_derivative: Groups = (), irreversible: Irreversible | None = None,
        dependence: DependenceRule | None = None,
    ) -> None:  # fmt: skip
        self.differentiable: Final = differentiable
        self.residuals: Final = residuals
        self.linear: Final = linear
        self.multilinear: Final = multilinear
        self.piecewise_linear: Final = piecewise_linear
        self.constant_derivative: Final = constant_derivative
        self.irreversible: Final = irreversible
        self.dependence: Final = dependence


class Execution:
    """How an op is run, and what its results take over or need.

    Attributes:
        heavy: results are kept, not computed again, where a read falls before a backward pass.
        fallible: it can fail while it runs, as it calls foreign code.
        effect: it has effects beyond its results, and is never removed, merged or mapped.
        collective: several processes run it together (:mod:`lazyloom.distributed`), in one order.
        checked: its second result is looked at before what depends on the first is read.
        aliases: which operand a result is the new value of; else that of its number and type.
        usual: an installation has more kernels of it: for all ranks and ways to broadcast.
        places: its result lies where its attribute ``placement`` says.
        opaque: XLA does not look into it, and begins nothing of it before all operands are there.
        rounds: it rounds to integers: where numbers differ in last bits, one may be the next.
    """

    __slots__ = ("heavy", "fallible", "effect", "collective", "checked", "aliases", "usual",
                 "places", "opaque", "rounds")

    def __init__(
        self, *, heavy: bool = False, fallible: bool = False, effect: bool = False,
        collective: bool = False, checked: bool = False, aliases: Aliases | None = None,
        usual: bool = False, places: bool = False, opaque: bool = False,
        rounds: bool = False,
    ) -> None:  # fmt: skip
        self.heavy: Final = heavy
        self.fallible: Final = fallible
        self.effect: Final = effect
        self.collective: Final = collective
        self.checked: Final = checked
        self.aliases: Final = aliases
        self.usual: Final = usual
        self.places: Final = places
        self.opaque: Final = opaque
        self.rounds: Final = rounds


class Access:
    """Which elements an op reads and how it orders them, for bounds, fusions and layouts.

    Attributes:
        data_movement: each element of the result is one of the first operand.
        offset_reads: it reads its first operand at other indices than it writes the result at.
        spreads: with ``offset_reads``, it reads no element twice, however large the result.
        layout: "reshape" or "transpose", where that is all it does to the order of the elements.
        positions: the number of the result with positions along attribute ``axis`` of the first.
    """

    __slots__ = ("data_movement", "offset_reads", "spreads", "layout", "positions")

    def __init__(
        self, *, data_movement: bool = False, offset_reads: bool = False, spreads: bool = False,
        layout: str = "", positions: int | None = None,
    ) -> None:  # fmt: skip
        self.data_movement: Final = data_movement
        self.offset_reads: Final = offset_reads
        self.spreads: Final = spreads
        self.layout: Final = layout
        self.positions: Final = positions


#: the groups of an op of which nothing is said
SIGNATURE: Final = Signature()
DERIVATIVE: Final = Derivative()
EXECUTION: Final = Execution()
ACCESS: Final = Access()
#: what many ops have: no gradients; results that are kept
NOT_DIFFERENTIABLE: Final = Derivative(differentiable=False)
HEAVY: Final = Execution(heavy=True)
