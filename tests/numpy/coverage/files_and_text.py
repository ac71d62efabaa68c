"""Cases of files, printing and numbers as text."""

from __future__ import annotations

import io
from typing import Any

from tests.numpy.coverage.case import ALL, Case, case

FILE = "a file is written"
PRINT = "printing"


def _n(*names: str) -> tuple[str, ...]:
    return tuple(f"numpy.{name}" for name in names)


def _binary(m: Any, x: Any) -> list[Any]:
    one, many, packed = io.BytesIO(), io.BytesIO(), io.BytesIO()
    m.save(one, x.T)
    m.savez(many, x, named=x[..., None])
    m.savez_compressed(packed, a=x)
    for file in (one, many, packed):
        file.seek(0)
    loaded = m.load(one)
    with m.load(many) as archive:
        found = [sorted(archive.files), archive["arr_0"], archive["named"], "named" in archive]
    return [loaded, loaded.flags.f_contiguous, one.getvalue(), *found, m.load(packed)["a"]]


def _text(m: Any, x: Any) -> list[Any]:
    file = io.StringIO()
    m.savetxt(file, x, fmt="%.3f", delimiter=",", header="a\nb", footer="end", comments="# ")
    text = file.getvalue()

    def load(**options: Any) -> Any:
        return m.loadtxt(io.StringIO(text), delimiter=",", **options)

    return [text, load(), load(skiprows=3, usecols=(0, 2)), load(unpack=True, max_rows=1),
            load(dtype="f4", ndmin=2), m.loadtxt(io.StringIO("1 2\n3 4"), dtype=int)]  # fmt: skip


def _printed(m: Any, x: Any) -> list[str]:
    with m.printoptions(precision=2, suppress=True, threshold=5, edgeitems=1):
        short = [str(x), repr(x)]
    old = m.get_printoptions()
    m.set_printoptions(linewidth=20, sign="+", floatmode="fixed")
    try:
        wide = [str(x), repr(x.ravel()), repr(x[:0])]
    finally:
        m.set_printoptions(**old)
    return [str(x), repr(x), repr(x[0, 0]), *short, *wide, m.array_str(x, precision=1),
            m.array_repr(x, max_line_width=30), m.array2string(x, separator=", ", prefix="  "),
            m.array2string(x, precision=2, threshold=2, edgeitems=1, floatmode="maxprec",
                           sign=" "), m.array2string(x, formatter={"all": lambda v: f"<{v:.1f}>"}),
            format(x[0, 0], ".3f"), f"{x}"]  # fmt: skip


CASES: list[Case] = [
    case(_n("save", "load", "savez", "savez_compressed"), _binary,
         shapes=[((2, 3),), ((0, 2),)], dtypes=ALL, reads=FILE),
    case(_n("savetxt", "loadtxt"), _text, shapes=[((2, 3),)], dtypes=["int32", "float64"],
         reads=FILE),
    case("numpy.load", lambda m: m.load(io.BytesIO(b"no such format"))),
    case(_n("array2string", "array_repr", "array_str", "printoptions", "get_printoptions",
            "set_printoptions"), _printed, shapes=[((2, 4),), ((1, 1),)],
         dtypes=["bool", "int32", "uint8", "float16", "float32", "float64", "complex64"],
         reads=PRINT),
    case(_n("base_repr", "binary_repr"), lambda m, x: (
        m.base_repr(37, 5), m.base_repr(-9, 16, padding=2), m.binary_repr(5), m.binary_repr(-3, 8),
        m.binary_repr(x[0], 12)), shapes=[((1,),)], dtypes=["int32"], reads=PRINT),
    case(_n("format_float_positional", "format_float_scientific"), lambda m, x: (
        m.format_float_positional(x[0]), m.format_float_positional(x[0], 3, trim="-", sign=True),
        m.format_float_positional(1e-10, pad_left=4, precision=12),
        m.format_float_scientific(x[0], precision=4, unique=False),
        m.format_float_scientific(12345.678, exp_digits=3, trim="0")),
         shapes=[((1,),)], dtypes=["float16", "float32", "float64"], reads=PRINT),
]  # fmt: skip
