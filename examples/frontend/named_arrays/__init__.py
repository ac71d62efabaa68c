"""Arrays whose dimensions have names, as an example of a frontend for lazyloom.

``array(data, "time", "place")`` names the dimensions of data. Operators align by name, so that no
axis is ever inserted by hand; reductions and indices take names. What is written to a part is
written to the whole, as in NumPy.
"""

from ._array import NamedArray, array
from ._functions import concat, dot, exp, grad, log, tanh

__all__ = ["NamedArray", "array", "concat", "dot", "exp", "grad", "log", "tanh"]
