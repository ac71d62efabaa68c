"""What an op costs to compile is kept under a bound, by counts that every machine agrees on.

``docs/op_compile_time.md`` has the times. An op that unrolls what is a loop, and a chain of an op
whose code grows faster than the chain, show here.
"""

from __future__ import annotations

import numpy as np
import pytest

import lazyloom as ll
from lazyloom.ops.spec import TABLE, lookup, table
from tests.conformance import compile_cost as cost

pytestmark = [
    pytest.mark.usefixtures("quick_compiler"), pytest.mark.slow,
    pytest.mark.once("definitions of ops are lowered and compiled without the core")]

#: how many steps an op, or its derivative, may lower to
MOST = 250
#: where it is more: what many series and polynomials, or several rejection samplers, come to
LARGE = {
    "airy_ai": 350, "bessel_i0": 350, "bessel_i1": 500, "bessel_i1e": 400,
    "bessel_j0": 375, "bessel_j1": 600,
    "bessel_k0e": 350, "bessel_k1e": 350, "bessel_y0": 500, "bessel_y1": 500, "betainc": 670,
    "gammainc": 600, "gammaincc": 600, "log_ndtr": 300, "random_beta": 400, "random_binomial": 500,
    "random_gamma": 600, "random_hypergeometric": 600, "random_multinomial": 650,
    "random_multivariate_hypergeometric": 700, "random_poisson": 410, "random_von_mises": 400,
    "random_zipf": 350, "step_nadam": 260, "step_radam": 260, "zeta": 450,
}  # fmt: skip
#: how much more code twelve in a row have than three: four times, and what is computed again
#: where a fusion ends
GROWTH = 6
#: where it grows with the square up to the end of a fusion, and with the length from there on
STEEPER = {"chebyshev_polynomial": 11, "entr": 9, "log_softmax": 8, "selu": 7,
           "spherical_bessel_j0": 7}
#: other tests enter ops of their own
OPS = sorted(n for n, op in table().items() if op.version == TABLE)
CHAINED = [n for n in OPS if (s := cost.sample(lookup(n))) and cost.fits(lookup(n), s)]


@pytest.mark.parametrize("name", OPS)
def test_an_op_lowers_to_few_steps(name: str) -> None:
    op = lookup(name)
    given = cost.sample(op)
    if given is None:
        pytest.skip("no sample has an operand with anything in it")
    found = max(cost.steps(x) for x in (cost.forward(op, given), cost.backward(op, given)) if x)
    assert found <= LARGE.get(name, MOST), (
        f"{found} steps: write the loop in its definition as one (lax.fori_loop, lax.scan)")
    assert name not in LARGE or found > MOST, "it is no exception any more"


@pytest.mark.parametrize("name", CHAINED)
def test_the_code_of_a_chain_grows_with_its_length(name: str) -> None:
    op = lookup(name)
    given = cost.sample(op)
    assert given is not None
    few, many = (cost.size_of_code(cost.chain(op, given, times)) for times in (3, 12))
    assert many <= STEEPER.get(name, GROWTH) * few + 50, (
        f"{few} instructions for 3 in a row, {many} for 12")


@pytest.mark.parametrize("name", ["tanh", "log1p", "atanh", "cosh", "exp", "sqrt"])
def test_a_chain_with_two_users_is_not_computed_again_at_each_step(name: str) -> None:
    def size(times: int) -> int:
        x = ll.from_host(np.full(1000, 0.5))
        for _ in range(times):
            x = ll.apply("add", [ll.apply(name, [x], {}), 0.1], {})
        return cost.size_of_code([x, ll.apply("slice", [x], {
            "starts": (0,), "stops": (1,), "strides": (1,)})])

    few, many = size(4), size(16)
    assert many <= 6 * few, f"{few} instructions for 4 in a row, {many} for 16"
