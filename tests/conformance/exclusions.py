"""What the conformance tests leave out, with reasons.

``docs/generate.py`` lists these beside the table of (op, dtype) pairs. A key is an op; a value
is the reason.
"""

from __future__ import annotations

#: ops without a reference in NumPy or SciPy: only the frontends are compared with each other
NO_REFERENCE: dict[str, str] = {
    "dropout": "random; tests/ops compares it with random_bernoulli of the same key",
}

#: every random op
RANDOM = "random; tests/ops checks its moments and that a key always gives the same numbers"

#: differentiable ops whose derivative is not compared with a numerical one
NO_NUMERICAL: dict[str, str] = {
}
