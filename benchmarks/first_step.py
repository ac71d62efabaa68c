"""Time from the start of a process to the first loss: ``python first_step.py lazyloom|jax``.

Prints one JSON object. The cache is the one that ``LAZYLOOM_CACHE_DIR`` names.
"""

from __future__ import annotations

import json
import sys
import time

BEGIN = time.perf_counter()

from workloads import step_jax, step_lazyloom  # noqa: E402

run = {"lazyloom": step_lazyloom, "jax": step_jax}[sys.argv[1]]()
loss = run()
print(json.dumps({"seconds": time.perf_counter() - BEGIN, "loss": loss}))
