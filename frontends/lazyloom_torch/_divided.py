"""What modules do for tensors that are divided among processes, by name.

It is there once :mod:`lazyloom_torch._dtensor` is imported, which imports modules that ask for it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

#: optimizer: steps for parameters, given the optimizer and whether it looks at whole ones;
#: loaded: a part of a loaded optimizer's state; filled: an initialiser's work; part: this process's
#: part of what all have whole; of_parts: a function of parts; attention: that over a sequence of
#: which each process has a part, while there is one
divided: dict[str, Callable[..., Any]] = {}
