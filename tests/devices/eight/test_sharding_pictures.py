"""Pictures of how arrays lie on a mesh: which device has which part, as text and as SVG."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Any

import numpy
import pytest

import lazyloom
import lazyloom_numpy as np
import lazyloom_torch as torch
from lazyloom.dtypes import float32
from lazyloom.errors import ArgumentError
from lazyloom.placements import Mesh, on_mesh, parsed
from lazyloom.tensor.sharding_picture import ShardingPicture
from lazyloom.types import tensor_type

MESH = lazyloom.make_mesh({"data": 4, "model": 2})
CUBE = lazyloom.make_mesh({"a": 2, "b": 2, "c": 2})
SVG = "{http://www.w3.org/2000/svg}"


def parts(x: Any) -> dict[str, tuple[slice, ...]]:
    """Which part each device has, as JAX says."""
    array = x.value.node.buffers[x.value.index].array
    devices = lazyloom.devices()
    return {devices[s.device.id]: s.index for s in array.addressable_shards}


@pytest.mark.parametrize(("shape", "mesh", "spec"), [
    ((8, 16), MESH, ()), ((8, 16), MESH, ("data",)), ((8, 16), MESH, ("data", "model")),
    ((8, 16), MESH, (None, ("model", "data"))), ((16,), MESH, ("model",)),
    ((4, 6, 8), CUBE, ("a", "c", "b")), ((4, 6, 8), MESH, (None, "model", "data")),
    ((2, 4, 2, 2), CUBE, ("b", ("c", "a"))), ((), MESH, ()),
])  # fmt: skip
def test_blocks_are_those_of_the_devices(shape: Any, mesh: Any, spec: Any) -> None:
    x = lazyloom.shard(np.ones(shape), mesh, spec)
    lazyloom.sync(x, wait=True)
    x = lazyloom.shard(x + 1, mesh, spec)
    lazyloom.sync(x, wait=True)
    picture = lazyloom.visualize_sharding(x)
    found = {device: tuple(slice(*r) for r in block.ranges)
             for block in picture.blocks for device in block.devices}
    expected = {device: tuple(slice(*s.indices(n)[:2]) for s, n in zip(index, shape, strict=True))
                for device, index in parts(x).items()}
    assert found == expected and len(found) == 8
    # every device once, in the text and in the drawing
    drawing = ElementTree.fromstring(picture.svg())
    blocks = [g for g in drawing.iter(SVG + "g") if g.get("class") == "block"]
    assert len(blocks) == len(picture.blocks)
    assert str(picture).count("cpu:") == len(blocks)
    width, height = float(drawing.get("width", 0)), float(drawing.get("height", 0))
    corners = set()
    for g in blocks:
        rect = g.find(SVG + "rect")
        assert rect is not None
        left, top, w, h = (float(rect.get(k, 0)) for k in ("x", "y", "width", "height"))
        assert 0 <= left < left + w <= width and 0 <= top < top + h <= height
        corners.add((left, top))
    assert len(corners) == len(blocks)


def test_the_text_is_a_table() -> None:
    x = lazyloom.shard(torch.zeros(4, 8), MESH, ("data", "model"))
    picture = lazyloom.visualize_sharding(x)
    assert str(picture).splitlines() == [
        "float32[4,8] on the mesh data=4, model=2: dimension 0 by data, dimension 1 by model",
        "       0:4     4:8",
        "    ┌───────┬───────┐",
        "0:1 │ cpu:0 │ cpu:1 │",
        "    ├───────┼───────┤",
        "1:2 │ cpu:2 │ cpu:3 │",
        "    ├───────┼───────┤",
        "2:3 │ cpu:4 │ cpu:5 │",
        "    ├───────┼───────┤",
        "3:4 │ cpu:6 │ cpu:7 │",
        "    └───────┴───────┘",
    ]
    assert repr(picture) == str(picture) and picture._repr_svg_() == picture.svg()
    whole = str(lazyloom.visualize_sharding(lazyloom.shard(x, MESH, ())))
    assert "whole on every device" in whole and "│ cpu:0-7 │" in whole
    columns = str(lazyloom.visualize_sharding(lazyloom.shard(x, MESH, (None, "model"))))
    assert "│ cpu:0,2,4,6 │ cpu:1,3,5,7 │" in columns


def test_three_divided_dimensions_are_two_tables() -> None:
    x = lazyloom.shard(np.zeros((4, 6, 8)), CUBE, ("a", "c", "b"))
    text = str(lazyloom.visualize_sharding(x))
    assert text.count("┌") == 2
    first, second = text.split("[:, :, 4:8]")
    assert "[:, :, 0:4]" in first and "cpu:5" in first and "cpu:5" not in second


def test_one_device_and_no_elements() -> None:
    default = lazyloom.default_device()
    assert f"│ {default} │" in str(lazyloom.visualize_sharding(np.ones((3, 4))))
    there = lazyloom.to_device(np.ones(3), "cpu:3")
    assert lazyloom.visualize_sharding(there).blocks == ((((0, 3),), ("cpu:3",)),)
    empty = lazyloom.visualize_sharding(lazyloom.shard(np.ones((0, 2)), MESH, ("data",)))
    assert len(empty.blocks) == 4 and str(empty).count("cpu:") == 4 and empty.svg()


def test_a_result_is_computed_for_its_picture() -> None:
    x = lazyloom.shard(np.asarray(numpy.ones((8, 8))), MESH, ("data",))
    y = x @ lazyloom.shard(np.asarray(numpy.ones((8, 4))), MESH, (None, "model"))
    assert lazyloom.placement_of(y).spec is None
    picture = lazyloom.visualize_sharding(y)
    assert picture.placement.spec == (("data",), ("model",)) and len(picture.blocks) == 8
    before = lazyloom.stats()["executions"]
    lazyloom.visualize_sharding(y)
    assert lazyloom.stats()["executions"] == before


def test_files_and_what_is_no_array(tmp_path: Path) -> None:
    picture = lazyloom.visualize_sharding(lazyloom.shard(np.ones(8), MESH, ("data",)))
    picture.save(tmp_path / "a.svg")
    picture.save(tmp_path / "a.txt")
    assert (tmp_path / "a.svg").read_text() == picture.svg()
    assert (tmp_path / "a.txt").read_text() == str(picture) + "\n"
    with pytest.raises(ArgumentError, match="expected a name that ends in .svg"):
        picture.save(tmp_path / "a.png")
    with pytest.raises(ArgumentError, match="visualize_sharding: a list was given"):
        lazyloom.visualize_sharding([1.0])


def test_devices_of_several_processes_are_named_by_rank() -> None:
    uneven = Mesh({"a": 3}, "cpu", [0, 1, 3], 2)
    assert repr(uneven) == "Mesh(cpu:0,1 of rank 0; cpu:1 of rank 1[a=3])"
    assert uneven.names == ("cpu:0 of rank 0", "cpu:1 of rank 0", "cpu:1 of rank 1")
    every = Mesh({"a": 2, "b": 4}, "cpu", None, 2)
    placement = on_mesh(every, ("b",))
    assert repr(placement) == "cpu:0,1 of ranks 0,1,2,3[a=2,b=4]/(b)/row-major/device"
    assert parsed(placement.text) is placement
    picture = ShardingPicture(tensor_type((8,), float32, placement), placement)
    assert picture.blocks[1].devices == ("cpu:1 of rank 0", "cpu:1 of rank 2")
    cells = str(picture).splitlines()[3].strip("\u2502").split("\u2502")
    assert [cell.strip() for cell in cells] == [
        f"cpu:{k} of ranks {r},{r + 2}" for r in (0, 1) for k in (0, 1)]
