# Written by docs/stubs.py; do not edit.

from typing import Any

from builtins import bool as _bool
from lazyloom_torch._devices import *

def current_accelerator(check_available: _bool = ...) -> None: ...
