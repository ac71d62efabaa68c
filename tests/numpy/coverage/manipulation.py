"""Cases of shapes, joining, splitting and rearranging."""

from __future__ import annotations

from typing import Any

from tests.numpy.coverage.case import ALL, NUMERIC, Case, case

FEW = ["int32", "float64"]
MODES = ("constant", "edge", "linear_ramp", "maximum", "mean", "median", "minimum", "reflect",
         "symmetric", "wrap")  # fmt: skip


def _n(*names: str) -> tuple[str, ...]:
    return tuple(f"numpy.{name}" for name in names)


def _fill(vector: Any, width: Any, axis: int, kwargs: Any) -> None:
    vector[:width[0]] = kwargs.get("value", 9) + axis
    if width[1]:
        vector[-width[1]:] = -1


def _copied(m: Any, x: Any, y: Any) -> Any:
    a, b, c = m.copy(x), m.copy(x), m.copy(x)
    m.copyto(a, y)
    m.copyto(b, 3, where=m.array([True, False, True]))
    m.copyto(c, y[0] + 0.5, casting="unsafe")
    return a, b, c


CASES: list[Case] = [
    case(_n("reshape", "ravel", "transpose", "permute_dims", "swapaxes", "moveaxis", "rollaxis",
            "matrix_transpose"), lambda m, x: (
        m.reshape(x, (3, -1)), m.reshape(x, -1, order="F"), m.ravel(x), m.ravel(x, "F"),
        m.ravel(x.T, "K"), m.transpose(x), m.transpose(x, (1, 0, 2)), m.permute_dims(x, (2, 0, 1)),
        m.swapaxes(x, 0, -1), m.moveaxis(x, 0, -1), m.moveaxis(x, (0, 1), (-1, 0)),
        m.rollaxis(x, 2), m.rollaxis(x, 0, 3), m.matrix_transpose(x)),
         shapes=[((2, 3, 4),)], dtypes=FEW),
    case(_n("expand_dims", "squeeze", "atleast_1d", "atleast_2d", "atleast_3d"), lambda m, x: (
        m.expand_dims(x, 0), m.expand_dims(x, (0, -1)), m.squeeze(m.expand_dims(x, (0, 1)), 1),
        m.squeeze(x), m.atleast_1d(x, 3), m.atleast_2d(x), m.atleast_3d(x)),
         shapes=[((3,),), ((),), ((2, 1, 3),)], dtypes=FEW),
    case("numpy.squeeze", lambda m, x: m.squeeze(x, 0), shapes=[((2, 1),)]),
    case(_n("flip", "fliplr", "flipud", "rot90", "roll"), lambda m, x: (
        m.flip(x), m.flip(x, 0), m.flip(x, (0, 1)), m.fliplr(x), m.flipud(x), m.rot90(x),
        m.rot90(x, 2), m.rot90(x, -1, (1, 0)), m.roll(x, 2), m.roll(x, 1, 0), m.roll(x, -3, 1),
        m.roll(x, (1, 2), (0, 1)), m.roll(x, 1, (0, 1)), m.roll(x, (1, 2), 0)),
         shapes=[((2, 3),), ((3, 0),)], dtypes=FEW),
    case(_n("broadcast_to", "broadcast_arrays", "broadcast_shapes"), lambda m, x, y: (
        m.broadcast_to(x, (2, 3)), m.broadcast_arrays(x, y), m.broadcast_shapes((2, 1), (3,)),
        m.broadcast_to(x, (4, 1, 3)).strides), shapes=[((3,), (2, 1)), ((), (2, 3))], dtypes=FEW),
    case("numpy.broadcast_to", lambda m, x: m.broadcast_to(x, (4,)), shapes=[((3,),)]),
    case(_n("concatenate", "concat", "stack", "vstack", "hstack", "dstack", "column_stack",
            "row_stack", "append"), lambda m, x, y: (
        m.concatenate([x, y]), m.concatenate((x, y), axis=None), m.concat([x, y], dtype="c16"),
        m.stack([x, y]), m.stack([x, y], -1), m.vstack([x, y]), m.hstack([x, y]),
        m.dstack([x, y]), m.column_stack([x, y]), getattr(m, "row_stack", m.vstack)((x, y)),
        m.append(x, y),
        m.append(x, y, -1)), shapes=[((3,), (3,)), ((2, 2), (2, 2))],
         dtypes=["complex128", ("int32", "float32"), ("bool", "uint8")]),
    case("numpy.concatenate", lambda m, x, y: m.concatenate([x, y]), shapes=[((3,), (2, 2)),
         ((), ())]),
    case("numpy.stack", lambda m, x, y: m.stack([x, y]), shapes=[((3,), (2,))]),
    case("numpy.concatenate", lambda m, x: m.concatenate([x, x], out=m.zeros(6, "f4"),
         casting="no"), shapes=[((3,),)]),
    case("numpy.block", lambda m, x: (
        m.block([[x, x], [m.zeros((1, 4))]]), m.block([1, 2]), m.block(x), m.block([[x], [x]]),
        m.block([[[x]], [[x]]])), shapes=[((2, 2),)], dtypes=FEW),
    case("numpy.block", lambda m, x: m.block([[x], x]), shapes=[((2, 2),)]),
    case("numpy.block", lambda m, x: m.block([[], []]), shapes=[((2, 2),)]),
    case(_n("split", "array_split", "hsplit", "vsplit", "dsplit", "unstack"), lambda m, x: (
        m.split(x, 2), m.split(x, [1, 3]), m.array_split(x, 3), m.array_split(x, 3, axis=1),
        m.hsplit(x, [1]), m.vsplit(x, 2), m.dsplit(x, 2), list(m.unstack(x)),
        list(m.unstack(x, axis=-1))), shapes=[((4, 2, 2),)], dtypes=FEW),
    case("numpy.split", lambda m, x: m.split(x, 3), shapes=[((4,),)]),
    case(_n("tile", "repeat", "resize"), lambda m, x: (
        m.tile(x, 2), m.tile(x, (2, 1, 2)), m.repeat(x, 2), m.repeat(x, 3, axis=0),
        m.repeat(x, [1, 2], axis=-1), m.resize(x, (3, 3)), m.resize(x, 2)),
         shapes=[((3, 2),)], dtypes=FEW),
    case(_n("delete", "insert"), lambda m, x: (
        m.delete(x, 1), m.delete(x, [0, -1], 0), m.delete(x, slice(None, None, 2), 1),
        m.delete(x, m.array([True, False, False]), 0), m.insert(x, 1, 9), m.insert(x, 1, 9, axis=1),
        m.insert(x, [1, 1], [[5], [6]], axis=0), m.insert(x, [2, 0], 7, axis=1),
        m.insert(x, slice(0, 2), 7, axis=1), m.insert(x, -1, [1, 2, 3], axis=1),
        m.insert(x, [0], x[:, :1], axis=1)),
         shapes=[((3, 4),)], dtypes=FEW, reads="a boolean mask decides on the shape"),
    case("numpy.delete", lambda m, x: m.delete(x, 7), shapes=[((3,),)]),
    case("numpy.insert", lambda m, x: m.insert(x, 7, 1), shapes=[((3,),)]),
    case("numpy.insert", lambda m, x: (m.insert(x, m.array([0, 2]), m.array([7, 8])),
         m.delete(x, m.array([0, 2]))), shapes=[((3,),)], reads="where decides on the shape"),
    case("numpy.trim_zeros", lambda m, x: (
        m.trim_zeros(x), m.trim_zeros(x, "f"), m.trim_zeros(x, "b"), m.trim_zeros(x * 0)),
         shapes=[((6,),), ((3, 2),)], dtypes=["int32", "float64"], low=0, high=2,
         reads="the shape depends on data"),
    case("numpy.pad", lambda m, x: [m.pad(x, ((2, 1), (0, 3)), mode) for mode in MODES],
         shapes=[((3, 2),)], dtypes=["int32", "float64"]),
    case("numpy.pad", lambda m, x: [m.pad(x, 2, mode) for mode in ("reflect", "wrap", "mean")],
         shapes=[((1, 4),)]),
    case("numpy.pad", lambda m, x: (
        m.pad(x, 1), m.pad(x, (1, 2), constant_values=(4, 5)),
        m.pad(x, {0: 1, -1: (2, 0)}, constant_values=3), m.pad(x, 2, "mean", stat_length=2),
        m.pad(x, 1, "median", stat_length=((1, 2), (2, 1))), m.pad(x, 2, "maximum", stat_length=1),
        m.pad(x, 2, "linear_ramp", end_values=((1, 2), (3, -4))),
        m.pad(x, 4, "reflect", reflect_type="odd"), m.pad(x, 3, "symmetric", reflect_type="odd"),
        m.pad(x, 7, "wrap"), m.pad(x, 9, "reflect"), m.pad(x, 1, _fill),
        m.pad(x, 2, _fill, value=3), m.pad(x, 2, "empty").shape),
         shapes=[((3, 2),)], dtypes=["int32", "float64"]),
    case("numpy.pad", lambda m, x: m.pad(x, 1, "unknown"), shapes=[((3,),)]),
    case("numpy.pad", lambda m, x: m.pad(x, -1), shapes=[((3,),)]),
    case("numpy.pad", lambda m, x: m.pad(x, 1, "edge", stat_length=2), shapes=[((3,),)]),
    case("numpy.copyto", _copied, shapes=[((2, 3), (2, 3))], dtypes=NUMERIC[::2]),
    case("numpy.copyto", lambda m, x: m.copyto(x, 1.5), shapes=[((3,),)], dtypes=["int32"]),
    case(_n("astype", "may_share_memory", "shares_memory", "isfortran"), lambda m, x: (
        m.astype(x, "f4"), m.astype(x, x.dtype, copy=False) is x, m.may_share_memory(x, x[::2]),
        m.shares_memory(x, m.copy(x)), m.isfortran(x), m.isfortran(x.T)),
         shapes=[((2, 3),)], dtypes=["int32", "float64"]),
    case(_n("apply_along_axis", "apply_over_axes"), lambda m, x: (
        m.apply_along_axis(m.sort, 1, x), m.apply_along_axis(lambda v: v[0] + v[-1], 0, x),
        m.apply_along_axis(m.diag, -1, x), m.apply_over_axes(m.sum, x, [0, 1]),
        m.apply_over_axes(m.max, x, -1)), shapes=[((2, 3),)], dtypes=["int32", "float64"]),
    case(_n("diagonal", "kron"), lambda m, x: (
        m.diagonal(x), m.diagonal(x, 1), m.diagonal(x, -1, 1, 0), m.kron(x, x[:1])),
         shapes=[((2, 3),)], dtypes=FEW),
    case(_n("packbits", "unpackbits"), lambda m, x: (
        m.packbits(x), m.packbits(x, axis=0), m.packbits(x, -1, bitorder="little"),
        m.unpackbits(m.abs(x).astype("u1")), m.unpackbits(x.astype("u1"), axis=1, count=5),
        m.unpackbits(x.astype("u1"), axis=0, count=-3, bitorder="little")),
         shapes=[((3, 9),)], dtypes=["bool", "int32"]),
    case("numpy.packbits", lambda m, x: m.packbits(x), shapes=[((3,),)], dtypes=["float32"]),
    case(_n("reshape",), lambda m, x: m.reshape(x, (2, -1, 2)), shapes=[((8,),)], dtypes=ALL[:4]),
]  # fmt: skip
