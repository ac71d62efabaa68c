"""The array API standard, version 2024.12, without its public suite (see docs/array_api.md).

Every name with the standard's parameters, what the namespace says of itself, device and dtype
rules, named results, errors; and that the list of known failures is what it says.
"""

from __future__ import annotations

import inspect
import itertools
import operator
from pathlib import Path
from typing import Any

import numpy as onp
import pytest

import lazyloom
import lazyloom_numpy as np
from tests.conformance import array_api

#: The standard's functions as they are called: parameters before ``/`` by position, those after
#: ``*`` by name, the others by either; ``=`` marks what may be left out.
FUNCTIONS = """
arange(start, /, stop=, step=, *, dtype=, device=)
asarray(obj, /, *, dtype=, device=, copy=)
empty(shape, *, dtype=, device=)
empty_like(x, /, *, dtype=, device=)
eye(n_rows, n_cols=, /, *, k=, dtype=, device=)
from_dlpack(x, /, *, device=, copy=)
full(shape, fill_value, *, dtype=, device=)
full_like(x, /, fill_value, *, dtype=, device=)
linspace(start, stop, /, num, *, dtype=, device=, endpoint=)
meshgrid(*arrays, indexing=)
ones(shape, *, dtype=, device=)
ones_like(x, /, *, dtype=, device=)
tril(x, /, *, k=)
triu(x, /, *, k=)
zeros(shape, *, dtype=, device=)
zeros_like(x, /, *, dtype=, device=)
astype(x, dtype, /, *, copy=, device=)
can_cast(from_, to, /)
finfo(type, /)
iinfo(type, /)
isdtype(dtype, kind)
result_type(*arrays_and_dtypes)
clip(x, /, min=, max=)
imag(x, /)
real(x, /)
round(x, /)
take(x, indices, /, *, axis=)
take_along_axis(x, indices, /, *, axis=)
matrix_transpose(x, /)
tensordot(x1, x2, /, *, axes=)
vecdot(x1, x2, /, *, axis=)
broadcast_arrays(*arrays)
broadcast_to(x, /, shape)
concat(arrays, /, *, axis=)
expand_dims(x, /, axis)
flip(x, /, *, axis=)
moveaxis(x, source, destination, /)
permute_dims(x, /, axes)
repeat(x, repeats, /, *, axis=)
reshape(x, /, shape, *, copy=)
roll(x, /, shift, *, axis=)
squeeze(x, /, axis)
stack(arrays, /, *, axis=)
tile(x, repetitions, /)
unstack(x, /, *, axis=)
argmax(x, /, *, axis=, keepdims=)
argmin(x, /, *, axis=, keepdims=)
count_nonzero(x, /, *, axis=, keepdims=)
nonzero(x, /)
searchsorted(x1, x2, /, *, side=, sorter=)
where(condition, x1, x2, /)
unique_all(x, /)
unique_counts(x, /)
unique_inverse(x, /)
unique_values(x, /)
argsort(x, /, *, axis=, descending=, stable=)
sort(x, /, *, axis=, descending=, stable=)
cumulative_prod(x, /, *, axis=, dtype=, include_initial=)
cumulative_sum(x, /, *, axis=, dtype=, include_initial=)
max(x, /, *, axis=, keepdims=)
mean(x, /, *, axis=, keepdims=)
min(x, /, *, axis=, keepdims=)
prod(x, /, *, axis=, dtype=, keepdims=)
std(x, /, *, axis=, correction=, keepdims=)
sum(x, /, *, axis=, dtype=, keepdims=)
var(x, /, *, axis=, correction=, keepdims=)
all(x, /, *, axis=, keepdims=)
any(x, /, *, axis=, keepdims=)
diff(x, /, *, axis=, n=, prepend=, append=)
__array_namespace_info__()
linalg.cholesky(x, /, *, upper=)
linalg.cross(x1, x2, /, *, axis=)
linalg.det(x, /)
linalg.diagonal(x, /, *, offset=)
linalg.eigh(x, /)
linalg.eigvalsh(x, /)
linalg.inv(x, /)
linalg.matmul(x1, x2, /)
linalg.matrix_norm(x, /, *, keepdims=, ord=)
linalg.matrix_power(x, n, /)
linalg.matrix_rank(x, /, *, rtol=)
linalg.matrix_transpose(x, /)
linalg.outer(x1, x2, /)
linalg.pinv(x, /, *, rtol=)
linalg.qr(x, /, *, mode=)
linalg.slogdet(x, /)
linalg.solve(x1, x2, /)
linalg.svd(x, /, *, full_matrices=)
linalg.svdvals(x, /)
linalg.tensordot(x1, x2, /, *, axes=)
linalg.trace(x, /, *, offset=, dtype=)
linalg.vecdot(x1, x2, /, *, axis=)
linalg.vector_norm(x, /, *, axis=, keepdims=, ord=)
fft.fft(x, /, *, n=, axis=, norm=)
fft.ifft(x, /, *, n=, axis=, norm=)
fft.fftn(x, /, *, s=, axes=, norm=)
fft.ifftn(x, /, *, s=, axes=, norm=)
fft.rfft(x, /, *, n=, axis=, norm=)
fft.irfft(x, /, *, n=, axis=, norm=)
fft.rfftn(x, /, *, s=, axes=, norm=)
fft.irfftn(x, /, *, s=, axes=, norm=)
fft.hfft(x, /, *, n=, axis=, norm=)
fft.ihfft(x, /, *, n=, axis=, norm=)
fft.fftfreq(n, /, *, d=, dtype=, device=)
fft.rfftfreq(n, /, *, d=, dtype=, device=)
fft.fftshift(x, /, *, axes=)
fft.ifftshift(x, /, *, axes=)
ndarray.__array_namespace__(self, /, *, api_version=)
ndarray.__dlpack__(self, /, *, stream=, max_version=, dl_device=, copy=)
ndarray.__dlpack_device__(self, /)
ndarray.__setitem__(self, key, value, /)
ndarray.__getitem__(self, key, /)
ndarray.to_device(self, device, /, *, stream=)
""".split("\n")[1:-1]

UNARY = """abs acos acosh asin asinh atan atanh bitwise_invert ceil conj cos cosh exp expm1 floor
    isfinite isinf isnan log log1p log2 log10 logical_not negative positive reciprocal sign signbit
    sin sinh square sqrt tan tanh trunc""".split()

BINARY = """add atan2 bitwise_and bitwise_left_shift bitwise_or bitwise_right_shift bitwise_xor
    copysign divide equal floor_divide greater greater_equal hypot less less_equal logaddexp
    logical_and logical_or logical_xor matmul maximum minimum multiply nextafter not_equal pow
    remainder subtract""".split()

METHODS = """__abs__ __bool__ __complex__ __float__ __index__ __int__ __invert__ __neg__ __pos__
    __eq__ __ge__ __gt__ __le__ __lt__ __ne__""".split()
OPERATORS = """add and floordiv lshift matmul mod mul or pow rshift sub truediv xor""".split()
ATTRIBUTES = "dtype device mT ndim shape size T".split()

SIGNED = ("int8", "int16", "int32", "int64")
UNSIGNED = ("uint8", "uint16", "uint32", "uint64")
REAL = ("float32", "float64")
COMPLEX = ("complex64", "complex128")
DTYPES = ("bool", *SIGNED, *UNSIGNED, *REAL, *COMPLEX)


def found(path: str) -> Any:
    module: Any = np
    for part in path.split("."):
        module = getattr(module, part)
    return module


def call_of(line: str) -> tuple[str, inspect.Signature]:
    """The function's name, and its parameters as the line has them."""
    name, _, parameters = line.partition("(")
    code = parameters[:-1].replace("=,", "=None,")
    if code.endswith("="):
        code += "None"
    return name, inspect.signature(eval(f"lambda {code}: None"))


# ------------------------------------------------------------------------------ names


@pytest.mark.parametrize("line", FUNCTIONS)
def test_functions_take_the_standards_parameters(line: str) -> None:
    name, wanted = call_of(line)
    function = found(name)
    if inspect.isclass(function) and name in ("finfo", "iinfo"):
        return  # NumPy's own classes, called below
    ours = list(inspect.signature(function).parameters.values())
    by_name = {p.name: p for p in ours}
    for i, p in enumerate(wanted.parameters.values()):
        optional = p.default is not p.empty
        if p.kind is p.KEYWORD_ONLY:
            match = by_name[p.name]
            assert match.kind in (p.KEYWORD_ONLY, p.POSITIONAL_OR_KEYWORD)
        else:
            match = ours[i]
            if p.kind is p.POSITIONAL_OR_KEYWORD:
                assert match.name == p.name
            allowed = {p.kind, p.POSITIONAL_OR_KEYWORD}
            assert match.kind in allowed
        assert not optional or match.default is not match.empty, f"{p.name} may be left out"


@pytest.mark.parametrize("name", [*UNARY, *BINARY])
def test_elementwise_functions_take_operands_by_position(name: str) -> None:
    function = found(name)
    assert function.nin == (1 if name in UNARY else 2) and function.nout == 1
    with pytest.raises(TypeError):
        function(*[np.ones(2)] * (function.nin - 1))


def test_the_array_has_the_standards_attributes_and_methods() -> None:
    x = np.ones((2, 2))
    for name in ATTRIBUTES:
        assert hasattr(x, name)
    for name in METHODS:
        assert callable(getattr(x, name))
    for name in OPERATORS:
        for prefix in ("", "r", "i"):
            assert callable(getattr(x, f"__{prefix}{name}__"))


def test_constants_and_dtypes() -> None:
    assert (np.e, np.pi, np.inf, np.newaxis) == (onp.e, onp.pi, float("inf"), None)
    assert np.nan != np.nan
    assert all(isinstance(c, float) for c in (np.e, np.pi, np.inf, np.nan))
    for name in DTYPES:
        assert np.zeros(1, dtype=found(name)).dtype == found(name)


# ------------------------------------------------------------- the namespace of itself


def test_arrays_name_their_namespace() -> None:
    x = np.ones(2)
    assert np.__array_api_version__ == "2024.12"
    for version in (None, "2021.12", "2022.12", "2023.12", "2024.12"):
        assert x.__array_namespace__(api_version=version) is np
    assert x.sum().__array_namespace__() is np
    for version in ("2020.01", "2099.12", "", 2024):
        with pytest.raises(ValueError, match="is not supported"):
            x.__array_namespace__(api_version=version)  # type: ignore[arg-type]


def test_inspection() -> None:
    info = np.__array_namespace_info__()
    assert info.capabilities() == {
        "boolean indexing": True, "data-dependent shapes": True, "max dimensions": 64}
    assert info.devices()[0] == info.default_device()
    assert len(set(info.devices())) == len(info.devices()) == len(lazyloom.devices())
    for device in (None, *info.devices()):
        assert info.default_dtypes(device=device) == {
            "real floating": np.float64, "complex floating": np.complex128,
            "integral": np.int64, "indexing": np.int64}  # fmt: skip
        assert tuple(info.dtypes(device=device)) == DTYPES
    for default, made in (("real floating", np.zeros(1)), ("integral", np.arange(2)),
                          ("complex floating", np.asarray(1j)),
                          ("indexing", np.argmax(np.ones(2)))):  # fmt: skip
        assert info.default_dtypes()[default] == made.dtype


@pytest.mark.parametrize("kind, names", [
    ("bool", ("bool",)), ("signed integer", SIGNED), ("unsigned integer", UNSIGNED),
    ("integral", SIGNED + UNSIGNED), ("real floating", REAL), ("complex floating", COMPLEX),
    ("numeric", SIGNED + UNSIGNED + REAL + COMPLEX), (("bool", "complex floating"),
                                                       ("bool", *COMPLEX)), ((), ()),
])  # fmt: skip
def test_dtypes_by_kind(kind: Any, names: tuple[str, ...]) -> None:
    listed = np.__array_namespace_info__().dtypes(kind=kind)
    assert listed == {n: found(n) for n in names}
    for name in DTYPES:
        assert (kind != () and np.isdtype(found(name), kind)) is (name in names)


@pytest.mark.parametrize("bad", ["float", "signed", 3, ["bool"], ("bool", "no kind")])
def test_unknown_kinds_are_errors(bad: Any) -> None:
    with pytest.raises(ValueError, match="is not known"):
        np.__array_namespace_info__().dtypes(kind=bad)


# ---------------------------------------------------------------------------- devices

CREATE: dict[str, Any] = {
    "arange": lambda **k: np.arange(3, **k), "asarray": lambda **k: np.asarray([1, 2], **k),
    "empty": lambda **k: np.empty(2, **k), "eye": lambda **k: np.eye(2, **k),
    "empty_like": lambda **k: np.empty_like(np.ones(2), **k),
    "full": lambda **k: np.full(2, 1, **k), "zeros": lambda **k: np.zeros(2, **k),
    "full_like": lambda **k: np.full_like(np.ones(2), 1, **k),
    "linspace": lambda **k: np.linspace(0, 1, 3, **k), "ones": lambda **k: np.ones(2, **k),
    "ones_like": lambda **k: np.ones_like(np.ones(2), **k),
    "zeros_like": lambda **k: np.zeros_like(np.ones(2), **k),
    "astype": lambda **k: np.astype(np.ones(2), np.int8, **k),
    "from_dlpack": lambda **k: np.from_dlpack(onp.ones(2), **k),
    "fftfreq": lambda **k: np.fft.fftfreq(3, **k), "rfftfreq": lambda **k: np.fft.rfftfreq(3, **k),
    "default_dtypes": lambda **k: np.__array_namespace_info__().default_dtypes(**k),
    "dtypes": lambda **k: np.__array_namespace_info__().dtypes(**k),
}  # fmt: skip


@pytest.mark.parametrize("name", CREATE)
def test_devices_are_checked_where_they_are_given(name: str) -> None:
    create = CREATE[name]
    device = np.__array_namespace_info__().default_device()
    for known in (None, device, np.ones(1).device):
        made = create(device=known)
        assert not isinstance(made, np.ndarray) or made.device == device
    for unknown in ("abacus", 0, f"{device}:99"):
        with pytest.raises(ValueError, match="abacus|0|99"):
            create(device=unknown)


def test_to_device() -> None:
    x = np.arange(3)
    assert x.to_device(x.device) is x
    for bad in ("abacus", None, 0):
        with pytest.raises(ValueError, match="to_device"):
            x.to_device(bad)
    with pytest.raises(ValueError, match="stream"):
        x.to_device(x.device, stream=object())


def test_the_device_is_where_the_data_lies() -> None:
    kinds = {"cpu": 1, "gpu": 2}
    x = np.ones(2)
    assert x.device == lazyloom.platform()
    assert x.__dlpack_device__()[0] == kinds[x.device]


# ----------------------------------------------------------------------------- dtypes


def promoted(a: str, b: str) -> str:
    """What the standard's tables say of two dtypes of it that promote to each other."""
    kinds = [("bool",), SIGNED, UNSIGNED, REAL, COMPLEX]
    i, j = (next(k for k, names in enumerate(kinds) if n in names) for n in (a, b))
    if i == j:
        return max(a, b, key=kinds[i].index)
    if i > j:
        (a, i), (b, j) = (b, j), (a, i)
    if (i, j) == (1, 2):  # a signed integer that holds both
        wide = SIGNED[min(UNSIGNED.index(b) + 1, 3)]
        return max(a, wide, key=SIGNED.index)
    # float64 meets complex64 in complex128
    return COMPLEX[max(REAL.index(a), COMPLEX.index(b))]


PAIRS = [
    (a, b) for group in (("bool",), (*SIGNED, *UNSIGNED), (*REAL, *COMPLEX))
    for a, b in itertools.combinations_with_replacement(group, 2)
    if (a in UNSIGNED) == (b in UNSIGNED) or "uint64" not in (a, b)
]  # fmt: skip


@pytest.mark.parametrize("a, b", PAIRS)
def test_promotion(a: str, b: str) -> None:
    expected = found(promoted(a, b))
    x, y = np.ones(2, dtype=found(a)), np.ones((), dtype=found(b))
    assert np.result_type(found(a), found(b)) == expected
    assert np.result_type(y, found(a)) == expected
    for result in (x + y, y + x, np.where(x.astype(bool), x, y), np.concat([x, y[None]])):
        assert result.dtype == expected  # 0-d arrays count like others


@pytest.mark.parametrize("name", DTYPES)
def test_python_numbers_take_the_arrays_dtype(name: str) -> None:
    x = np.ones(2, dtype=found(name))
    numbers: list[Any] = [True] if name == "bool" else [True, 1]
    numbers += [2.5] if name in REAL + COMPLEX else []
    numbers += [1j] if name in COMPLEX else []
    for number in numbers:
        assert (x * number).dtype == (number * x).dtype == x.dtype
        assert np.result_type(x, number) == x.dtype
    if name in SIGNED + UNSIGNED:
        with pytest.raises(OverflowError):
            x + 2**64
        assert not bool((x == 2**64).any())


def test_reductions_have_the_standards_dtypes() -> None:
    for name in DTYPES[1:]:
        x = np.ones(2, dtype=found(name))
        wide = {"i": np.int64, "u": np.uint64}.get(x.dtype.kind, x.dtype)
        for f in (np.sum, np.prod, np.cumulative_sum, np.cumulative_prod):
            assert f(x).dtype == wide
            assert f(x, dtype=np.float64 if name in REAL else x.dtype).dtype.itemsize >= 1
        if name in REAL + COMPLEX:
            assert np.mean(x).dtype == x.dtype
    for f in (np.argmax, np.argmin, np.count_nonzero, np.argsort):
        assert f(np.ones(2)).dtype == np.int64
    assert np.searchsorted(np.ones(2), np.ones(3)).dtype == np.int64


@pytest.mark.parametrize("name", [*REAL, *COMPLEX])
def test_finfo(name: str) -> None:
    for given in (found(name), np.dtype(name), np.ones(1, dtype=found(name))):
        info = np.finfo(given)
        size = {"float32": 32, "float64": 64, "complex64": 32, "complex128": 64}[name]
        assert (info.bits, info.dtype) == (size, found(f"float{size}"))
        assert float(info.eps) == 2.0 ** (-23 if size == 32 else -52)
        assert float(info.smallest_normal) == 2.0 ** (-126 if size == 32 else -1022)
        assert info.max == -info.min > 1e38


@pytest.mark.parametrize("name", [*SIGNED, *UNSIGNED])
def test_iinfo(name: str) -> None:
    bits = int(name.lstrip("uint"))
    for given in (found(name), np.ones(1, dtype=found(name))):
        info = np.iinfo(given)
        low = -(2 ** (bits - 1)) if name in SIGNED else 0
        assert (info.bits, info.min, info.max) == (bits, low, low + 2**bits - 1)
        assert info.dtype == found(name)


def test_can_cast_and_isdtype() -> None:
    assert np.can_cast(np.int8, np.int16) and not np.can_cast(np.int16, np.int8)
    assert np.can_cast(np.ones(1, dtype=np.float32), np.complex64)
    assert np.isdtype(np.ones(1).dtype, (np.float64, "bool"))
    assert not np.isdtype(np.int8, "unsigned integer")
    with pytest.raises((TypeError, ValueError)):
        np.isdtype(np.int8, "no kind")


def test_complex_arrays_do_not_become_real() -> None:
    x = np.asarray(1 + 1j)
    for convert in (float, int, operator.index):
        with pytest.raises(TypeError):
            convert(x)
    # an element stands for NumPy's scalar, which warns
    element = np.asarray([1 + 1j])[0]
    with pytest.warns(np.exceptions.ComplexWarning):
        assert float(element) == 1
    with pytest.raises(TypeError):
        operator.index(element)


# --------------------------------------------------------------- results and behaviour


def test_results_are_named() -> None:
    square = np.asarray([[2.0, 1.0], [1.0, 3.0]])
    named = {
        np.unique_all: "values indices inverse_indices counts",
        np.unique_counts: "values counts", np.unique_inverse: "values inverse_indices",
        np.linalg.eigh: "eigenvalues eigenvectors", np.linalg.qr: "Q R",
        np.linalg.slogdet: "sign logabsdet", np.linalg.svd: "U S Vh",
    }  # fmt: skip
    for function, fields in named.items():
        result = function(square)
        assert isinstance(result, tuple) and result._fields == tuple(fields.split())


def test_sorting_downwards_keeps_equal_elements_in_order() -> None:
    x = np.asarray([3, 1, 3, 2, 1])
    assert np.sort(x, descending=True).tolist() == [3, 3, 2, 1, 1]
    assert np.argsort(x, descending=True).tolist() == [0, 2, 3, 1, 4]
    assert np.argsort(x).tolist() == [1, 4, 3, 0, 2]
    assert np.sort(np.asarray([[1, 2], [3, 0]]), axis=0, descending=True).tolist() == [
        [3, 2], [1, 0]]  # fmt: skip


def test_clip_by_the_names_of_the_standard_and_of_numpy() -> None:
    x = np.arange(5)
    for result in (np.clip(x, 1, 3), np.clip(x, min=1, max=3), np.clip(x, a_min=1, a_max=3),
                   np.clip(x, 1, max=3), np.clip(x, np.asarray(1), 3)):  # fmt: skip
        assert result.tolist() == [1, 1, 2, 3, 3]
    assert np.clip(x, 2).tolist() == [2, 2, 2, 3, 4]
    assert np.clip(x).tolist() == x.tolist()
    with pytest.raises(ValueError, match="forbidden"):
        np.clip(x, min=1, a_min=1)


def test_spread_with_a_correction() -> None:
    x = onp.array([[1.0, 2.0, 4.0], [0.0, 3.0, 9.0]])
    for f, g in ((np.var, onp.var), (np.std, onp.std)):
        ours = f(np.asarray(x), axis=1, correction=1, keepdims=True)
        onp.testing.assert_allclose(onp.asarray(ours), g(x, axis=1, ddof=1, keepdims=True))
        middle = onp.array([[2.0], [3.0]])
        ours = f(np.asarray(x), axis=1, mean=np.asarray(middle))
        onp.testing.assert_allclose(onp.asarray(ours), g(x, axis=1, mean=middle))
        with pytest.raises(ValueError, match="ddof and correction"):
            f(np.asarray(x), ddof=1, correction=1)


def test_copies() -> None:
    x = np.asarray([1, 2, 3])
    same, other = np.asarray(x, copy=False), np.asarray(x, copy=True)
    other[0] = 7
    assert same is x and x.tolist() == [1, 2, 3]
    assert np.astype(x, x.dtype, copy=False) is x
    moved = np.astype(x, x.dtype)
    moved[0] = 7
    assert x.tolist() == [1, 2, 3]
    column = np.reshape(x, (3, 1), copy=True)
    column[0] = 7
    assert x.tolist() == [1, 2, 3] and column.tolist() == [[7], [2], [3]]
    for impossible in (lambda: np.asarray([1, 2], copy=False),
                       lambda: np.asarray(x, dtype=np.float32, copy=False)):  # fmt: skip
        with pytest.raises(ValueError, match="copy"):
            impossible()


@pytest.mark.parametrize("call", [
    lambda: np.astype([1, 2], np.int8),
    lambda: np.zeros(2, dtype="no dtype"),
    lambda: np.ones(2).__array_namespace__("2024.12"),
    lambda: np.sum(np.ones(2), keep=True),
])  # fmt: skip
def test_wrong_arguments_are_type_errors(call: Any) -> None:
    with pytest.raises(TypeError):
        call()


def test_arange_by_position_and_by_name() -> None:
    assert np.arange(3).tolist() == np.arange(stop=3).tolist() == [0, 1, 2]
    assert np.arange(1, stop=6, step=2).tolist() == [1, 3, 5]
    with pytest.raises(TypeError, match="stop"):
        np.arange()
    with pytest.raises(ValueError, match="Maximum allowed size"):
        np.arange(np.inf)


def test_there_are_64_dimensions_at_most() -> None:
    most = np.ones((1,) * 64)
    assert most.ndim == np.__array_namespace_info__().capabilities()["max dimensions"]
    for call in (lambda: np.ones((1,) * 65), lambda: np.expand_dims(most, 0),
                 lambda: np.reshape(most, (1,) * 65), lambda: np.broadcast_to(most, (1,) * 65)):
        with pytest.raises(ValueError, match="found 65"):
            call()


def test_linspace_has_exact_ends_and_even_steps() -> None:
    for start, stop, num in ((0.0, 1.0, 207), (-0.3, 0.7, 25), (0.02, 1.885, 24), (1e30, -7.0, 9)):
        ours = np.linspace(start, stop, num)
        onp.testing.assert_array_equal(onp.asarray(ours), onp.linspace(start, stop, num))
        assert float(ours[0]) == start and float(ours[-1]) == stop
        open_end = np.linspace(start, stop, num, endpoint=False)
        closed = np.linspace(start, stop, num + 1)[:-1]
        assert bool((open_end == closed).all())


# ------------------------------------------------------------- the suite and its list


def test_every_known_failure_has_a_reason() -> None:
    known = array_api.listed()
    assert 0 < len(known) < 47  # NumPy 2.4 fails that many of the suite
    for name in known:
        assert name.startswith("array_api_tests/test_") and "::test_" in name


def test_the_reasons_are_true() -> None:
    x = np.ones(2)
    assert isinstance(np.meshgrid(x), tuple) and isinstance(np.broadcast_arrays(x), tuple)
    for name in ("float32", "complex64"):
        assert type(np.finfo(found(name)).eps) is onp.float32
    zero = np.expm1(np.asarray(complex(-0.0, 0.0)))
    assert bool(np.signbit(zero.real))
    down = np.tanh(np.asarray(complex(np.inf, 2.0)))
    assert bool(np.signbit(down.imag)) and float(down.real) == 1
    with onp.errstate(all="ignore"):
        for a, b in itertools.product((np.inf, -np.inf, 1.0, -1.0), (2.0, -2.0, np.inf, -np.inf)):
            ours, theirs = np.asarray(a) // np.asarray(b), onp.float64(a) // onp.float64(b)
            onp.testing.assert_array_equal(onp.asarray(ours), theirs)


def test_a_line_without_a_reason_is_an_error(tmp_path: Path) -> None:
    page = tmp_path / "skips.txt"
    page.write_text("# a comment\n\nfile.py::test_a[x - y]  # because\n")
    assert array_api.listed(page) == {"file.py::test_a[x - y]": "because"}
    for text in ("file.py::test_a\n", "file.py::test_a  # \n", "a  # b\na  # c\n"):
        page.write_text(text)
        with pytest.raises(ValueError, match="skips.txt:"):
            array_api.listed(page)


def test_reports_are_counted(tmp_path: Path) -> None:
    report = tmp_path / "report.xml"
    report.write_text(
        '<testsuites><testsuite><testcase classname="p.test_a" name="test_x[1 - 2]"/>'
        '<testcase classname="p.test_a" name="test_y"><failure message="m"/></testcase>'
        '<testcase classname="p.test_a.TestZ" name="test_z"><error message="m"/></testcase>'
        '<testcase classname="p.test_a" name="test_s"><skipped message="m"/></testcase>'
        "</testsuite></testsuites>")
    result = array_api.outcome("m", report)
    assert (result.passed, result.skipped) == (1, 1)
    assert result.failed == ["p/test_a.py::test_y", "p/test_a.py::TestZ::test_z"]


def test_from_dlpack() -> None:
    memory = onp.zeros(24)
    start = -memory.ctypes.data % 64 // 8
    aligned = memory[start : start + 8]  # XLA shares what lies at a multiple of 64 bytes
    shared, own = np.from_dlpack(aligned, copy=False), np.from_dlpack(aligned, copy=True)
    aligned[0] = 5
    assert float(shared[0]) == 5 and float(own[0]) == 0
    shared[1] = 7
    assert aligned[1] == 0
    odd = memory[start + 1 : start + 9]
    assert np.from_dlpack(odd).tolist() == odd.tolist()
    with pytest.raises(ValueError, match="copy"):
        np.from_dlpack(odd, copy=False)
    fixed = onp.arange(3)
    fixed.flags.writeable = False
    for host in (onp.arange(8)[::2], onp.arange(4)[::-1], fixed, onp.zeros((0, 2)), onp.ones(())):
        made = np.from_dlpack(host)
        assert (made.shape, made.dtype) == (host.shape, host.dtype)
        onp.testing.assert_array_equal(onp.asarray(made), host)
    with pytest.raises((TypeError, ValueError, AttributeError)):
        np.from_dlpack([1, 2])
