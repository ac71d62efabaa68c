"""Family rules: shapes and dtypes of results, and the errors of operands that do not fit.

A rule is ``rule(op, types, attrs) -> result types``; ``types`` holds ``None`` for
an optional operand that is absent. Operand counts and dtype classes were checked
before (:meth:`OpDef.check_operands`); a rule checks how operands and attributes relate
to each other. Every message names the op, the argument, what was given and what is
expected. A rule's name is the name of its family, by which :mod:`lazyloom.ops.samples`
finds samples.
"""

from __future__ import annotations

from .creation import counting, filled, identity_matrix, progression, spaced
from .pointwise import (
    approximated,
    bitcast,
    cast,
    chebyshev,
    comparison,
    complex_pair,
    elementwise,
    integral_power,
    orthogonal,
    predicate,
    real_part,
)
from .random import (
    check_broadcasts,
    check_key,
    chosen_class,
    class_counts,
    count_draw,
    draw,
    drawn_shape,
    folded_key,
    key_pairs,
    random_words,
    shuffled_range,
    truth_draw,
    typed_draw,
)
from .reductions import (
    accumulation,
    arg_reduction,
    count_reduction,
    cumulative,
    extremum,
    real_reduction,
    reduction,
    truth_reduction,
)
from .shared import (
    Attributes,
    Operands,
    Shape,
    Types,
    broadcast_shapes,
    check_at_least,
    check_choice,
    check_ndim,
    check_sizes,
    complex_of,
    normalize_axes,
    normalize_axis,
    one,
    operand,
    reduced_shape,
    variable_dtype,
)

__all__ = [
    "Attributes", "Operands", "Shape", "Types", "accumulation", "approximated",
    "arg_reduction", "bitcast", "broadcast_shapes", "cast", "chebyshev", "check_at_least",
    "check_broadcasts", "check_choice", "check_key", "check_ndim", "check_sizes",
    "chosen_class", "class_counts", "comparison", "complex_of", "complex_pair", "count_draw",
    "count_reduction", "counting", "cumulative", "draw", "drawn_shape", "elementwise",
    "extremum", "filled", "folded_key", "identity_matrix", "integral_power", "key_pairs",
    "normalize_axes", "normalize_axis", "one", "operand", "orthogonal", "predicate",
    "progression", "random_words", "real_part", "real_reduction", "reduced_shape", "reduction",
    "shuffled_range", "spaced", "truth_draw", "truth_reduction", "typed_draw", "variable_dtype",
]  # fmt: skip
