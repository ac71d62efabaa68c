"""Decision 3: an op and its vjp hold no more heavy HLO ops than ``jax.grad`` of the body."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

import numpy as np
import pytest

import lazyloom as ll
from tests.contract.helpers import host

pytestmark = pytest.mark.xla

F = np.float32
RNG = np.random.default_rng(0)
M = RNG.normal(size=(4, 4)).astype(F)
P = (M @ M.T + 4 * np.eye(4)).astype(F)
V = RNG.normal(size=(4, 6)).astype(F)

HEAVY = re.compile(
    r"= .*? (dot|convolution|sort|while|reduce-window|cholesky|triangular-solve|custom-call)\(")
#: op, operands, attributes
CASES: dict[str, tuple[str, list[np.ndarray], dict[str, Any]]] = {
    "matmul": ("matmul", [M, P], {}),
    "einsum": ("einsum", [M, P], {"equation": "ij,jk->ik"}),
    "sort": ("sort", [V], {"axis": 1}),
    "cumsum": ("cumsum", [V], {"axis": 1}),
    "cumprod": ("cumprod", [V], {"axis": 1}),
    "cummax": ("cummax", [V], {"axis": 1}),
    "logcumsumexp": ("logcumsumexp", [V], {"axis": 1}),
    "cholesky": ("cholesky", [P], {}),
    "inv": ("inv", [P], {}),
    "solve": ("solve", [P, V], {}),
    "det": ("det", [P], {}),
    "eigh": ("eigh", [P], {}),
    "qr": ("qr", [P], {}),
    "svd": ("svd", [M], {}),
    "conv": ("conv", [V.reshape(1, 4, 6), V[:, :3].reshape(1, 4, 3)],
             {"strides": (1,), "padding_low": (0,), "padding_high": (0,), "dilation": (1,)}),
    "softmax": ("softmax", [V], {"axis": 1}),
    "layer_norm": ("layer_norm", [V], {"normalized_ndim": 1, "eps": 1e-5}),
    "cumsum along a long axis": ("cumsum", [RNG.normal(size=(1, 300)).astype(F)], {"axis": 1}),
    "sort_with_indices": ("sort_with_indices", [V], {"axis": 1}),
    "top_k": ("top_k", [V], {"k": 2, "axis": 1}),
    "ctc_loss": ("ctc_loss", [V.reshape(4, 1, 6), np.array([[1, 2]]), np.array([4]),
                              np.array([2])], {"blank": 0}),
    "scaled_dot_product_attention": (
        "scaled_dot_product_attention", [V.reshape(1, 1, 4, 6)] * 3, {}),
}  # fmt: skip


def heavy(hlo: str) -> Counter[str]:
    """Heavy instructions of a compiled module; Python callbacks and the like do not occur."""
    found: Counter[str] = Counter()
    for line in hlo.splitlines():
        match = HEAVY.search(line)
        if match:
            target = re.search(r'custom_call_target="([^"]+)"', line)
            found[target.group(1) if target else match.group(1)] += 1
    return found


def of_runtime(op: str, operands: list[np.ndarray], attributes: dict[str, Any]) -> Counter[str]:
    """Of the program that the runtime compiles for all results and all gradients."""
    from lazyloom.cache import memory

    given = [host(a).as_leaf(i) if a.dtype.kind == "f" else ll.from_host(a)
             for i, a in enumerate(operands)]
    leaves = [x for x, a in zip(given, operands, strict=True) if a.dtype.kind == "f"]
    made = ll.record(op, given, attributes)
    results = [r for r in (made if isinstance(made, tuple) else (made,)) if r.requires_grad]
    cotangents = [host(np.ones(r.shape)) for r in results]
    grads = ll.gradients(results, leaves, cotangents)
    assert all(g is not None for g in grads)
    grads[0].read()  # type: ignore[union-attr]
    record = ll.last_evaluation()
    assert record is not None and record.program is not None
    assert record.program.structure is not None
    (entry,) = [e for e in memory.entries() if e.structure == record.program.structure]
    return heavy("\n".join(m.to_string() for m in entry.program.executable.hlo_modules()))


def of_jax(op: str, operands: list[np.ndarray], attributes: dict[str, Any]) -> Counter[str]:
    """Of ``jax.vjp`` of the table's function, compiled as a whole."""
    import jax
    import jax.numpy as jnp

    definition = ll.ops.lookup(op)
    attrs = definition.canonical_attributes(attributes)

    def both(*given: Any) -> Any:
        def f(*xs: Any) -> Any:
            smooth = iter(xs)
            out = definition.fn(*[next(smooth) if a.dtype.kind == "f" else x
                                  for x, a in zip(given, operands, strict=True)], **attrs)
            return out if isinstance(out, (tuple, list)) else (out,)

        out, pull = jax.vjp(f, *[x for x, a in zip(given, operands, strict=True)
                                 if a.dtype.kind == "f"])
        return tuple(out), pull(type(out)(jnp.ones_like(o) for o in out))

    with jax.enable_x64(True):
        return heavy(jax.jit(both).lower(*operands).compile().as_text())


@pytest.mark.parametrize("case", CASES)
def test_an_op_and_its_vjp_are_as_heavy_as_the_gradient_of_the_whole(
    case: str, fresh_cache: Any
) -> None:
    op, operands, attributes = CASES[case]
    if op not in ll.ops.names():
        pytest.skip(f"the table has no {op}")
    ours, theirs = of_runtime(op, operands, attributes), of_jax(op, operands, attributes)
    print(case, dict(ours), dict(theirs))
    more = {k: (n, theirs[k]) for k, n in ours.items() if n > theirs[k]}
    assert not more, f"{op}: (ours, jax.vjp of the whole): {more}"
