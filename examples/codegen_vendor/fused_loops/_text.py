"""The text in C of a region."""

from __future__ import annotations

from lazyloom.codegen import Leaf, Region, Result
from lazyloom.program.stream import Operand

#: of an op, its result; of a derivative, the cotangent of each operand of the op
EXPRESSIONS = {
    "add": ("{0} + {1}",),
    "subtract": ("{0} - {1}",),
    "multiply": ("{0} * {1}",),
    "divide": ("{0} / {1}",),
    "negative": ("-({0})",),
    "abs": ("fabsf({0})",),
    "square": ("{0} * {0}",),
    "sqrt": ("sqrtf({0})",),
    # where an operand is NaN, so is the result
    "maximum": ("({0} > {1}) | ({0} != {0}) ? {0} : {1}",),
    "minimum": ("({0} < {1}) | ({0} != {0}) ? {0} : {1}",),
    "relu": ("{0} <= 0.0f ? 0.0f : {0}",),
    "add.vjp": ("{2}", "{2}"),
    "subtract.vjp": ("{2}", "-({2})"),
    "multiply.vjp": ("{2} * {1}", "{2} * {0}"),
    "relu.vjp": ("{0} <= 0.0f ? 0.0f : {1}",),
}

#: fmaf where the processor has it; elsewhere it is a slow function of the library
HEAD = """#include <math.h>
#ifdef __FP_FAST_FMAF
#define MULTIPLY_ADD(a, b, c) fmaf(a, b, c)
#else
#define MULTIPLY_ADD(a, b, c) ((a) * (b) + (c))
#endif
"""


def text_of(region: Region) -> str:
    """A function that computes the results of a region element by element."""
    instructions = region.program.structure.instructions
    #: of each sum that a pattern found, its product
    product = {add: multiply for _, (multiply, add) in region.composites}
    before, loop = [], []

    def named(item: Operand) -> str:
        if isinstance(item, Leaf):
            return f"a{item.number}" + ("[k]" if region.operands[item.number].shape else "")
        if isinstance(item, Result):
            return f"v{item.instruction}_{item.number}"
        return f"{item.number}.0f"  # type: ignore[union-attr]  # a constant: 0, 1 or -1

    for n, t in enumerate(region.operands):
        before.append(f"const float *restrict a{n} = p[{n}];" if t.shape else
                      f"const float a{n} = *(const float *)p[{n}];")
    for n, i in enumerate(instructions):
        given = [named(item) for item in i.operands]
        if n in product:
            factors = [named(item) for item in instructions[product[n]].operands]
            (term,) = [name for name in given if name != f"v{product[n]}_0"]
            loop.append(f"const float v{n}_0 = MULTIPLY_ADD({', '.join(factors)}, {term});")
        elif n not in product.values():
            # a derivative has a result for each operand that it is asked for
            for r, operand in enumerate(i.spec.attrs.get("argnums1", (0,))):
                expression = EXPRESSIONS[i.spec.op.name][operand].format(*given)
                loop.append(f"const float v{n}_{r} = {expression};")
    for r, (n, number) in enumerate(region.program.outputs):
        before.append(f"float *restrict r{r} = p[{len(region.operands) + r}];")
        loop.append(f"r{r}[k] = v{n}_{number};")
    size = region.results[0].size
    lines = [*before, f"for (long k = 0; k < {size}; k++) {{", *loop, "}", "return 0;"]
    return HEAD + "\n".join(["const char *region(void *const *p) {", *lines, "}\n"])
