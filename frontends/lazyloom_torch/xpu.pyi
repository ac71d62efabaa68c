# Written by docs/stubs.py; do not edit.

from typing import Any

from lazyloom_torch._devices import *

