# Written by docs/stubs.py; do not edit.

from typing import Any

from builtins import bool as _bool
from lazyloom_torch._devices import *
from lazyloom_torch.cuda import amp as amp
from lazyloom_torch.cuda import random as random

class CudaError(RuntimeError): ...
class DeferredCudaCallError(Exception): ...
OutOfMemoryError: Any
default_generators: Any
has_half: _bool
has_magma: _bool
