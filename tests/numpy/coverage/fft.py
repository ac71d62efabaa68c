"""Cases of ``numpy.fft``."""

from __future__ import annotations

from typing import Any

from tests.numpy.coverage.case import COMPLEX, FLOATS, Case, case

REAL = ["int32", *FLOATS]
ANY = ["int64", "float32", "complex128"]
#: of these NumPy rounds the factor of a scaled transform to half precision
REST = ["bool", "uint8", "float16", "float64", "complex64"]


def _with_out(f: str, dtype: str) -> Any:
    """The transform written into an array of that dtype, which is what is returned."""

    def call(m: Any, x: Any) -> Any:
        out = m.ones(x.shape, dtype)
        result = getattr(m.fft, f)(x, out=out)
        assert result is out
        return out

    return call


CASES: list[Case] = [
    case("numpy.fft.fft", lambda m, x: (
        m.fft.fft(x), m.fft.fft(x, 4, axis=0, norm="ortho"), m.fft.fft(x, 2, norm="forward"),
        m.fft.fft(x, n=9)), shapes=[((6,),), ((3, 4),), ((2, 0, 3),)], dtypes=ANY, scale=8),
    case("numpy.fft.ifft", lambda m, x: (
        m.fft.ifft(x), m.fft.ifft(x, 4, 0, "ortho"), m.fft.ifft(x, 2, norm="forward"),
        m.fft.ifft(x, n=7)), shapes=[((5,),), ((3, 1),)], dtypes=ANY, scale=8),
    case(("numpy.fft.fft", "numpy.fft.ifft", "numpy.fft.irfft", "numpy.fft.hfft"), lambda m, x: (
        m.fft.fft(x), m.fft.ifft(x), m.fft.irfft(x, 4), m.fft.hfft(x)),
         shapes=[((3, 4),)], dtypes=REST, scale=200),
    case(("numpy.fft.rfft", "numpy.fft.ihfft"), lambda m, x: (m.fft.rfft(x), m.fft.ihfft(x)),
         shapes=[((3, 5),)], dtypes=["bool", "uint8", "float16"], scale=200),
    case(("numpy.fft.fft", "numpy.fft.ifft"), lambda m, x: (m.fft.fft(x), m.fft.ifft(x)),
         shapes=[((1,),), ((97,),), ((2, 64),), ((211,),)], dtypes=["float32", "complex128"],
         scale=60),
    case("numpy.fft.rfft", lambda m, x: (
        m.fft.rfft(x), m.fft.rfft(x, 4, axis=0, norm="ortho"), m.fft.rfft(x, 3, norm="forward"),
        m.fft.rfft(x, n=9)), shapes=[((6,),), ((3, 5),), ((1,),)], dtypes=REAL, scale=8),
    case("numpy.fft.irfft", lambda m, x: (
        m.fft.irfft(x), m.fft.irfft(x, 5, axis=0, norm="ortho"),
        m.fft.irfft(x, 3, norm="forward"), m.fft.irfft(x, n=9)),
         shapes=[((6,),), ((3, 5),), ((2,),)], dtypes=ANY, scale=8),
    case("numpy.fft.hfft", lambda m, x: (
        m.fft.hfft(x), m.fft.hfft(x, 5, axis=0, norm="ortho"), m.fft.hfft(x, 3, norm="forward")),
         shapes=[((6,),), ((3, 5),)], dtypes=ANY, scale=8),
    case("numpy.fft.ihfft", lambda m, x: (
        m.fft.ihfft(x), m.fft.ihfft(x, 5, axis=0, norm="ortho"),
        m.fft.ihfft(x, 3, norm="forward")), shapes=[((6,),), ((3, 5),)], dtypes=REAL, scale=8),
    case(("numpy.fft.fft2", "numpy.fft.ifft2"), lambda m, x: (
        m.fft.fft2(x), m.fft.ifft2(x), m.fft.fft2(x, s=(2, 5)), m.fft.ifft2(x, (5, 3), (0, 1)),
        m.fft.fft2(x, axes=(1, 0), norm="ortho"), m.fft.ifft2(x, axes=(0,), norm="forward")),
         shapes=[((3, 4),), ((2, 3, 4),)], dtypes=["int32", "complex64"], scale=8),
    case(("numpy.fft.fftn", "numpy.fft.ifftn"), lambda m, x: (
        m.fft.fftn(x), m.fft.ifftn(x), m.fft.fftn(x, axes=(0, -1, 0)),
        m.fft.ifftn(x, (2, -1), (0, 1)), m.fft.fftn(x, axes=(1,), norm="ortho"),
        m.fft.ifftn(x, axes=(0, 2), norm="forward"), m.fft.fftn(x, axes=())),
         shapes=[((3, 4, 2),), ((2, 3, 2, 2, 3),)], dtypes=["float32", "complex128"], scale=8),
    case(("numpy.fft.rfft2", "numpy.fft.irfft2"), lambda m, x: (
        m.fft.rfft2(x), m.fft.irfft2(x), m.fft.rfft2(x, s=(2, 5)), m.fft.irfft2(x, (5, 3), (0, 1)),
        m.fft.rfft2(x, axes=(1, 0), norm="ortho"), m.fft.irfft2(x, axes=(0, 1), norm="forward")),
         shapes=[((3, 4),), ((2, 3, 5),)], dtypes=["uint8", "float32"], scale=8),
    case(("numpy.fft.rfftn", "numpy.fft.irfftn"), lambda m, x: (
        m.fft.rfftn(x), m.fft.irfftn(x), m.fft.rfftn(x, axes=(0, -1, 0)),
        m.fft.irfftn(x, axes=(0, -1, 0)), m.fft.rfftn(x, (4, -1), (0, 1)),
        m.fft.irfftn(x, (2, -1), (0, 1)), m.fft.rfftn(x, axes=(1,), norm="ortho"),
        m.fft.irfftn(x, axes=(0, 2), norm="forward")),
         shapes=[((3, 4, 3),)], dtypes=["int64", "float32"], scale=8),
    case("numpy.fft.irfftn", lambda m, x: (
        m.fft.irfftn(x), m.fft.irfftn(x, (4, 3), (1, 0), "ortho")),
         shapes=[((3, 4, 3),)], dtypes=COMPLEX, scale=8),
    case(("numpy.fft.fftfreq", "numpy.fft.rfftfreq"), lambda m: [
        f(n, d) for f in (m.fft.fftfreq, m.fft.rfftfreq) for n in (1, 2, 7, 8)
        for d in (1.0, 0.1, 3)], exact=True),
    case(("numpy.fft.fftfreq", "numpy.fft.rfftfreq"), lambda m: (
        m.fft.fftfreq(5, device="cpu"), m.fft.rfftfreq(5, 2.0, device=None))),
    case("numpy.fft.fftfreq", lambda m: m.fft.fftfreq(2.0)),
    case("numpy.fft.rfftfreq", lambda m: m.fft.rfftfreq("3")),
    case("numpy.fft.rfftfreq", lambda m: m.fft.rfftfreq(0)),
    case(("numpy.fft.fftn", "numpy.fft.irfftn"), lambda m, x: (
        m.fft.fftn(x, (2, None), (0, 1)), m.fft.irfftn(x, (2, None), (0, 1)), m.fft.fftn(x, (2,)),
        m.fft.irfftn(x.astype("f2")).dtype), shapes=[((3, 2),)], dtypes=["float32"], scale=8),
    case("numpy.fft.fftfreq", lambda m: m.fft.fftfreq(-3)),
    case(("numpy.fft.fftshift", "numpy.fft.ifftshift"), lambda m, x: (
        m.fft.fftshift(x), m.fft.ifftshift(x), m.fft.fftshift(x, 0), m.fft.ifftshift(x, -1),
        m.fft.fftshift(x, (0, -1)), m.fft.ifftshift(x, [0])),
         shapes=[((5,),), ((4, 3),), ((0, 2),)], dtypes=["bool", "float32", "complex128"],
         exact=True),
    case("numpy.fft.fft", _with_out("fft", "complex64"), shapes=[((6,),)], dtypes=FLOATS, scale=8),
    case("numpy.fft.ifftn", _with_out("ifftn", "complex128"), shapes=[((2, 6),)], scale=8),
    case("numpy.fft.fft", _with_out("fft", "float64"), shapes=[((6,),)]),
    # what NumPy refuses
    case("numpy.fft.fft", lambda m, x: m.fft.fft(x), shapes=[((0,),), ((),)]),
    case("numpy.fft.fft", lambda m, x: m.fft.fft(x, 0), shapes=[((3,),)]),
    case("numpy.fft.fft", lambda m, x: m.fft.fft(x, 3, axis=2), shapes=[((3,),)]),
    case("numpy.fft.fft", lambda m, x: m.fft.fft(x, axis=2), shapes=[((3,),)]),
    case("numpy.fft.fft", lambda m, x: m.fft.fft(x, norm="both"), shapes=[((3,),)]),
    case("numpy.fft.fft", lambda m, x: m.fft.fft(x, 2.5), shapes=[((3,),)]),
    case("numpy.fft.fft", lambda m, x: m.fft.fft(x, out=m.zeros(4, complex)), shapes=[((3,),)]),
    case("numpy.fft.irfft", lambda m, x: m.fft.irfft(x), shapes=[((1,),)]),
    case("numpy.fft.rfft", lambda m, x: m.fft.rfft(x), shapes=[((3,),)], dtypes=["complex128"]),
    case("numpy.fft.fftn", lambda m, x: m.fft.fftn(x, (2, 3), (0,)), shapes=[((3, 3),)]),
    case("numpy.fft.fft2", lambda m, x: m.fft.fft2(x), shapes=[((3,),)]),
    case("numpy.fft.rfftn", lambda m, x: m.fft.rfftn(x, axes=()), shapes=[((3,),)]),
]  # fmt: skip
