"""``python -m lazyloom run``: several processes of one program, each told its rank.

The launcher imports neither JAX nor the rest of the runtime: it starts interpreters, passes on what
they print and what signals it gets, and says which of them died.
"""

from __future__ import annotations

from .command import add_arguments as add_arguments
from .command import main as main
from .command import run as run
