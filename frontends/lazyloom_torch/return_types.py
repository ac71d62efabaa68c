"""The types of results that have several parts with names, such as those of ``torch.max``."""

from __future__ import annotations

from collections import namedtuple
from typing import Any


def _text(self: Any) -> str:
    lines = ",\n".join(f"{name}={value!r}" for name, value in zip(self._fields, self, strict=True))
    return f"torch.return_types.{type(self).__name__}(\n{lines})"


def named(name: str, *fields: str) -> Any:
    """A type of tuples with these parts, kept here under its name; the same one each time."""
    known = globals().get(name)
    if known is not None:
        return known
    plain = namedtuple(name, fields)  # type: ignore[misc]
    made = type(name, (plain,), {
        "__slots__": (), "__repr__": _text, "__module__": __name__, "n_fields": len(fields),
        "n_sequence_fields": len(fields), "n_unnamed_fields": 0,
        "__doc__": f"What ``{name}`` gives: {', '.join(fields)}."})
    globals()[name] = made
    return made


#: types that a function makes when it is first called, and those of results written to ``out=``
_FIELDS = {
    **dict.fromkeys(("sort topk kthvalue mode median nanmedian max min cummax cummin").split(),
                    "values indices"),
    "aminmax": "min max", "frexp": "mantissa exponent", "histogram": "hist bin_edges",
    "histogramdd": "hist bin_edges", "geqrf": "a tau", "qr": "Q R", "svd": "U S V",
    "slogdet": "sign logabsdet", "triangular_solve": "solution cloned_coefficient",
    "lu_unpack": "P L U", "linalg_cholesky_ex": "L info", "linalg_eig": "eigenvalues eigenvectors",
    "linalg_eigh": "eigenvalues eigenvectors", "linalg_inv_ex": "inverse info",
    "linalg_ldl_factor": "LD pivots", "linalg_ldl_factor_ex": "LD pivots info",
    "linalg_lstsq": "solution residuals rank singular_values",
    "linalg_lu": "P L U", "linalg_lu_factor": "LU pivots", "linalg_lu_factor_ex": "LU pivots info",
    "linalg_qr": "Q R", "linalg_slogdet": "sign logabsdet", "linalg_solve_ex": "result info",
    "linalg_svd": "U S Vh",
}  # fmt: skip


def __getattr__(name: str) -> Any:
    fields = _FIELDS.get(name.removesuffix("_out"))
    if fields is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return named(name, *fields.split())
