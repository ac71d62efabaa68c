"""Types of parameters in the stubs of the NumPy-like frontend, by their names.

The source has ``Any``, as functions take anything array-like and check it themselves.
"""

from __future__ import annotations

from typing import Final

#: lines of the stub that name the types
ALIASES: Final = (
    "#: what ``asarray`` takes",
    "_Array: TypeAlias = ndarray | lazyloom.Tensor | _ArraysOfNumpy | Sequence[Any]",
    "_Ints: TypeAlias = SupportsIndex | Sequence[SupportsIndex]",
    "_Axes: TypeAlias = SupportsIndex | Sequence[SupportsIndex] | None",
    "_Shape: TypeAlias = SupportsIndex | Sequence[SupportsIndex] | ndarray",
    "_File: TypeAlias = str | os.PathLike[str] | IO[Any]",
    "_Out: TypeAlias = ndarray | onp.ndarray[Any, Any] | tuple[ndarray, ...] | None",
)

PARAMETERS: Final = {
    **dict.fromkeys(
        "a b x y x1 x2 arr m ary ar ar1 ar2 a1 a2 v val values where initial weights q condition z "
        "indices repeats fill_value A mask vals element test_elements ind prepend append to_end "
        "to_begin xp fp choices u X src filt sorter fweights aweights keys arys operands xi "
        "prototype array start stop sample base min max a_min a_max nan posinf neginf mean "
        "period left right tol rtol atol rcond discont".split(), "_Array"),
    **dict.fromkeys("axis axes".split(), "_Axes"),
    **dict.fromkeys("axis1 axis2 shift reps kth source destination".split(), "_Ints"),
    **dict.fromkeys("shape new_shape dimensions dims".split(), "_Shape"),
    **dict.fromkeys("dtype from_ to type1 type2".split(), "_DTypes | None"),
    **dict.fromkeys(
        "keepdims endpoint retstep returned density overwrite_input assume_unique invert "
        "return_index return_inverse return_counts return_indices descending stable hermitian "
        "full_matrices compute_uv upper sparse increasing subok".split(), "bool"),
    **dict.fromkeys("order casting mode kind side method norm device indexing UPLO bitorder "
                    "encoding newline header footer".split(), "str"),
    **dict.fromkeys("k offset N M n num minlength decimals ndmin ndmax count edge_order "
                    "precision max_rows skiprows".split(), "int"),
    **dict.fromkeys("ddof correction".split(), "float"),
    "copy": "bool | None", "s": "Sequence[int]", "out": "_Out", "like": "object",
    "arrays": "Sequence[_Array] | ndarray",
    "tup": "Sequence[_Array] | ndarray", "indices_or_sections": "int | Sequence[int] | ndarray",
    "ord": "float | str", "range": "tuple[float, float] | Sequence[tuple[float, float]]",
    **dict.fromkeys("p step dx f varargs w seq_of_zeros sample beta".split(), "_Array"),
    **dict.fromkeys("func func1d function mask_func".split(), "Callable[..., Any]"),
    **dict.fromkeys("all divide over under invalid delimiter quotechar".split(), "str"),
    **dict.fromkeys("pad_left pad_right min_digits exp_digits max_line_width width".split(), "int"),
    **dict.fromkeys("requirements fmt comments".split(), "str | Sequence[str]"),
    "bins": "_Array | str | Sequence[_Array]", "object": "object", "iter": "Iterable[Any]",
    "buffer": "object", "string": "str | bytes", "multi_index": "Sequence[_Array] | ndarray",
    "pad_width": "int | Sequence[int] | Sequence[Sequence[int]] | ndarray | dict[int, Any]",
    "suppress_small": "bool", "dst": "ndarray | onp.ndarray[Any, Any]",
    **dict.fromkeys("file fid".split(), "_File"), "fname": "_File | Iterable[str | bytes]",
    "max_work": "int | None", "optimize": "bool | str | Sequence[Any]", "obj": "slice | _Array",
    "usecols": "int | Sequence[int] | None", "unpack": "bool", "identity": "object",
    "cov": "bool | str", "funclist": "Sequence[Any]", "mmap_mode": "str | None", "d": "float",
    "converters": "Callable[[str], Any] | Mapping[int, Callable[[str], Any]] | None",
    "stream": "object", "strides": "Sequence[int]",
    "condlist": "Sequence[_Array]", "choicelist": "Sequence[_Array]", "default": "_Array",
}  # fmt: skip

#: where a name means something else
OF_FUNCTIONS: Final = {
    "clip": {"min": "_Array | None", "max": "_Array | None", "a_min": "_Array | None",
             "a_max": "_Array | None"},
    "pinv": {"rtol": "_Array | None"}, "digitize": {"right": "bool"}, "dot": {"out": "_Out"},
    "concatenate": {"axis": "SupportsIndex | None"}, "histogram": {"bins": "_Array | str"},
    "from_dlpack": {"x": "object"}, "where": {"x": "_Array", "y": "_Array"},
    "take": {"mode": "str"}, "pad": {"mode": "str | Callable[..., None]"},
    "einsum": {"operands": "Any"}, "einsum_path": {"operands": "Any"},
    "broadcast_arrays": {"args": "_Array"}, "ix_": {"args": "_Array"}, "savez": {"args": "_Array"},
    "savez_compressed": {"args": "_Array"}, "savetxt": {"fname": "_File"},
    "seterrcall": {"func": "object"},
    "matrix_power": {"n": "int"}, "gradient": {"axis": "_Axes"}, "cond": {"p": "float | str"},
    "tensordot": {"axes": "int | Sequence[Any]"}, "tensorsolve": {"axes": "_Axes"},
    "sort": {"order": "str | Sequence[str]"}, "select": {"default": "_Array"},
    "argsort": {"order": "str | Sequence[str]"},
    "partition": {"order": "str | Sequence[str]"}, "block": {"arrays": "Any"},
    "argpartition": {"order": "str | Sequence[str]"}, "can_cast": {"from_": "Any", "to": "_DTypes"},
    "apply_along_axis": {"axis": "int"}, "polyfit": {"deg": "int"},
    "multi_dot": {"arrays": "Sequence[_Array]"},
}  # fmt: skip

#: types of some parameters, and of the result where they are so
Alternative = tuple[dict[str, str], str]


def _on(flag: str, without: str, with_it: str) -> tuple[Alternative, ...]:
    return (({flag: "Literal[False]"}, without), ({flag: "Literal[True]"}, with_it),
            ({flag: "_bool"}, f"{without} | {with_it}"))


#: functions whose result depends on an argument
OVERLOADS: Final[dict[str, tuple[Alternative, ...]]] = {
    "linspace": _on("retstep", "ndarray", "tuple[ndarray, ndarray]"),
    "average": _on("returned", "ndarray", "tuple[ndarray, ndarray]"),
    "intersect1d": _on("return_indices", "ndarray", "tuple[ndarray, ndarray, ndarray]"),
    "indices": _on("sparse", "ndarray", "tuple[ndarray, ...]"),
    "svd": _on("compute_uv", "ndarray", "SVDResult"),
    "qr": (({"mode": 'Literal["reduced", "complete"]'}, "QRResult"),
           ({"mode": 'Literal["r"]'}, "ndarray"), ({}, "Any")),
    "unique": ((dict.fromkeys(("return_index", "return_inverse", "return_counts"),
                              "Literal[False]"), "ndarray"), ({}, "Any")),
    "polyfit": (({"full": "Literal[False]", "cov": "Literal[False]"}, "ndarray"), ({}, "Any")),
}  # fmt: skip
#: one array gives an array, several a tuple
ARRAY_OR_TUPLE: Final = ("atleast_1d", "atleast_2d", "atleast_3d")
