"""A function of a workload in a new process: ``python fresh.py WORKLOAD FUNCTION ARGUMENTS``.

The arguments are a JSON object; what the function returns is printed as one.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))


def main() -> int:
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    module = importlib.import_module(f"workloads.{sys.argv[1]}")
    found = getattr(module, sys.argv[2])(**json.loads(sys.argv[3]))
    print(json.dumps(found), file=answers)
    answers.flush()
    return 0


if __name__ == "__main__":
    sys.exit(main())
