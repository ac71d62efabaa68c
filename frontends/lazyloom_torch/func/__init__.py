"""``torch.func``: transformations of functions."""

from __future__ import annotations

from ._derivatives import grad, grad_and_value, hessian, jacfwd, jacrev, jvp, linearize, vjp
from ._modules import debug_unwrap, functional_call, functionalize, stack_module_state
from ._vmap import vmap

__all__ = [
    "debug_unwrap", "functional_call", "functionalize", "grad", "grad_and_value", "hessian",
    "jacfwd", "jacrev", "jvp", "linearize", "stack_module_state", "vjp", "vmap",
]
