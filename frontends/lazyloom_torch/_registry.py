"""The registry: the functions of ``torch`` and the methods of ``Tensor``, each declared once.

A module declares its functions at its end, by groups, whose words say where they are found:

* ``function``: in ``torch``; ``method``: of ``Tensor``;
* ``inplace``: a method ``name_``, which writes to its tensor;
* ``inplace-function``: such a method that is in ``torch``, too;
* ``out``: the function in ``torch`` takes ``out``;
* ``as-is``: without what all others get: other libraries' tensors, NumPy's names of parameters;
* ``converting``: the function of ``torch`` takes other libraries' tensors without a wrapper;
* ``fast``: a wrapper has the function's own parameters, since programs call it most.

So ``Tensor.amax`` is where a search for ``amax`` finds a group with ``method``.
:mod:`lazyloom_torch._attaching` puts into both what is declared, and has the operators.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple


class Entry(NamedTuple):
    """What was declared under a name, and the words of its group."""

    value: Any
    words: frozenset[str]


functions: dict[str, Entry] = {}
methods: dict[str, Entry] = {}
#: by the names without underscore
inplace: dict[str, Entry] = {}
_PLACES = {"function": functions, "method": methods, "inplace": inplace,
           "inplace-function": inplace}  # fmt: skip
_WORDS = {*_PLACES, "out", "as-is", "converting", "fast"}


def declare(groups: Mapping[str, Iterable[Callable[..., Any] | tuple[str, Any]]]) -> dict[str, Any]:
    """Declare functions by their own names, and pairs of a name and a value; all of them by name.

    Raises ValueError for a word that is not known, or a name that is there.
    """
    declared: dict[str, Any] = {}
    for text, members in groups.items():
        words = frozenset(text.split())
        if not words <= _WORDS:
            raise ValueError(f"{text!r}: expected words of {sorted(_WORDS)}")
        named = dict([m if isinstance(m, tuple) else (m.__name__, m) for m in members])
        for place in [_PLACES[word] for word in words if word in _PLACES]:
            if twice := place.keys() & named.keys():
                raise ValueError(f"{sorted(twice)}: declared twice")
            place.update({name: Entry(value, words) for name, value in named.items()})
        declared.update(named)
    return declared
