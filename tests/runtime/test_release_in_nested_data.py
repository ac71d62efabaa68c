"""Lists and tuples of any depth may end with what is recorded and computed in them.

CPython puts off the end of what is nested deeply, in a list that it keeps in headers for the cycle
collector. The core's compiled classes without such headers must stay out of it: what lies before
them in memory would be written over. CPython's debug allocator keeps bytes there that it looks at.
"""

from __future__ import annotations

import pytest

from lazyloom.compiled import COMPILED
from tests.contract.helpers import script

#: deeper than CPython goes at once: 50 levels in 3.11, later thousands or what the stack allows
LEVELS = 100_000

NESTED = """
    import sys
    import numpy as np, lazyloom as ll
    from lazyloom.trace.graph import Buffer

    f32, x = ll.dtypes.float32, ll.from_host(np.zeros(3, np.float32))
    made = {
        "pending value": lambda: ll.record("exp", [x]),
        "value": lambda: ll.from_host(np.zeros(3, np.float32)),
        "pending node": lambda: ll.record("exp", [x]).node,
        "node": lambda: ll.from_host(np.zeros(3, np.float32)).node,
        "buffer": lambda: Buffer(None, None, False),
        "scalar": lambda: ll.Scalar(2.5, f32),
        "site": lambda: ll.Site(sys._getframe().f_code, 0),
    }[sys.argv[1]]
    for sequence in (list, tuple):
        nest = sequence()
        for _ in range(int(sys.argv[2])):
            nest = sequence((nest, made()))
        del nest
        ll.sync(wait=True)
    assert (ll.record("add", [x, x]).read() == 0).all()
"""


@pytest.mark.skipif(not COMPILED, reason="interpreted classes have headers for the collector")
@pytest.mark.parametrize(
    "kind", ["pending value", "value", "pending node", "node", "buffer", "scalar", "site"])
def test_nested_data_ends_with_what_is_in_it(kind: str) -> None:
    script(NESTED, kind, str(LEVELS), PYTHONMALLOC="debug")
