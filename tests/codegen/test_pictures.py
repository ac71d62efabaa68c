"""Reports as drawings: what is in them, and that nothing lies on anything else."""

from __future__ import annotations

import itertools
import random
import re
import xml.etree.ElementTree as xml
from collections import Counter
from pathlib import Path
from typing import NamedTuple

import pytest

from lazyloom.codegen import YES, No, Pattern, Report, any_value, match, partition
from lazyloom.codegen.layered import Line, layered, ranks
from lazyloom.errors import ArgumentError

from .programs import Doing, Written, theirs, written

SVG = "{http://www.w3.org/2000/svg}"


class Box(NamedTuple):
    x: float
    y: float
    width: float
    height: float

    def holds(self, other: Box) -> bool:
        return (self.x <= other.x and self.y <= other.y
                and other.x + other.width <= self.x + self.width
                and other.y + other.height <= self.y + self.height)

    def touches(self, other: Box) -> bool:
        return (self.x < other.x + other.width and other.x < self.x + self.width
                and self.y < other.y + other.height and other.y < self.y + self.height)


class Drawn:
    """What a drawing shows: boxes and colours of ops and regions by number, and all its words."""

    def __init__(self, text: str) -> None:
        self.root = xml.fromstring(text.encode())
        assert self.root.tag == f"{SVG}svg"
        self.ops: dict[int, Box] = {}
        self.regions: dict[int, Box] = {}
        self.colours: dict[int, str] = {}
        self.left: set[int] = set()
        self.titles: dict[str, str] = {}
        for g in self.root.iter(f"{SVG}g"):
            name = g.get("id")
            if name is None:
                continue
            kind, _, number = name.partition("-")
            rect, title = g.find(f"{SVG}rect"), g.find(f"{SVG}title")
            assert rect is not None and title is not None and title.text
            where = Box(*(float(rect.attrib[a]) for a in ("x", "y", "width", "height")))
            place = {"op": self.ops, "region": self.regions}[kind]
            assert int(number) not in place, f"{name} is drawn twice"
            place[int(number)] = where
            self.titles[name] = title.text
            if kind == "op":
                self.colours[int(number)] = rect.attrib["fill"]
                if "left" in g.attrib["class"].split():
                    self.left.add(int(number))
        self.words = ["".join(t.itertext()) for t in self.root.iter(f"{SVG}text")]
        self.lines = [p.attrib["d"] for p in self.root.iter(f"{SVG}path")
                      if p.get("class") == "line"]
        self.size = Box(0, 0, float(self.root.attrib["width"]), float(self.root.attrib["height"]))


def report(program: Written, outputs: str, *generators: Doing) -> Report:
    whole = program.program(outputs)
    return Report(whole, partition(whole.structure, whole.outputs, generators or [Doing()]))


def drawn(told: Report) -> Drawn:
    """The drawing, which shows each op and each region once and lays none on another."""
    found = Drawn(told.svg())
    owner = told.partition.owner
    assert sorted(found.ops) == list(range(len(owner)))
    assert sorted(found.regions) == list(range(len(told.partition.parts)))
    if len(owner) < 300:
        for a, b in itertools.combinations(found.ops.values(), 2):
            assert not a.touches(b)
        for a, b in itertools.combinations(found.regions.values(), 2):
            assert not a.touches(b)
    for n, box in found.ops.items():
        assert found.size.holds(box)
        for p, frame in found.regions.items():
            if len(owner) < 300 or p == owner[n]:
                assert frame.holds(box) if p == owner[n] else not frame.touches(box)
        assert found.titles[f"op-{n}"] == told.line(n)
    for p in found.regions:
        assert found.titles[f"region-{p}"] == told.describe(p)
    return found


MIXED = "A:t(x) B:t(A) C:u(B) D:d(B,C) E:t(D,A) F:t(E) G:u(F) H:u(G,D) I:barrier(H,F) J:t(I.1,$)"


def test_everything_is_there_once() -> None:
    told = report(written(MIXED), "J I.0", Doing(), theirs())
    found = drawn(told)
    assert len(told.partition.parts) >= 4
    for p in found.regions:
        assert any(words.startswith(f"region {p}: ") for words in found.words)
    assert "10 ops: " in found.words[0] and found.words[0] == told.summary()
    assert any(words.startswith("mine: ") and "ops in" in words for words in found.words)
    assert any(words.startswith("theirs: ") for words in found.words)
    assert {"%3 subtract", "float32[4]", "a result of the program"} <= set(found.words)
    assert "float32[4], +1" in found.words


def test_what_is_needed_lies_above() -> None:
    program = written(MIXED)
    found = drawn(report(program, "J I.0", Doing(), theirs()))
    for n, i in enumerate(program.structure.instructions):
        for item in i.operands:
            before = getattr(item, "instruction", None)
            if before is not None:
                assert found.ops[before].y + found.ops[before].height < found.ops[n].y


def test_colours_are_of_generators() -> None:
    """Each op is another generator's but the first, which is XLA's; the last two are one's."""
    kinds = ("negative abs exp tanh sin cos sqrt square floor ceil sign log log1p expm1 erf atan "
             "sinh cosh asinh reciprocal").split()
    text = " ".join(f"o{k}:{kind}({f'o{k - 1}' if k else 'x'})" for k, kind in enumerate(kinds))
    generators = [Doing(f"of {kind}", kind) for kind in kinds[1:-2]]
    generators.append(Doing("of two", " ".join(kinds[-2:]), merges=False))
    found = drawn(report(written(text), f"o{len(kinds) - 1}", *generators))
    last = len(kinds) - 1
    assert len(set(found.colours.values())) == last
    assert found.colours[last] == found.colours[last - 1]
    for colour in found.colours.values():
        # the words on it are dark
        assert min(int(colour[k : k + 2], 16) for k in (1, 3, 5)) > 100


def test_heavy_work_that_is_left_is_marked() -> None:
    program = written("A:matmul(x,y) B:t(A) C:d(B)")
    told = report(program, "C")
    assert told.left_behind() == [0]
    found = drawn(told)
    assert found.left == {0}
    assert any("heavy work that no generator does: 1 op" in words for words in found.words)
    done = drawn(report(program, "C", Doing(ops="matmul negative")))
    assert not done.left and not any("heavy work" in words for words in done.words)


def test_a_program_that_is_empty() -> None:
    told = report(written(""), "")
    found = drawn(told)
    assert not found.lines and found.size.width > 100 and found.size.height > 20


@pytest.mark.parametrize("name", ["<b>&\"'", "]]>", "\x00\x1b[0m", "a\ud800", "<!--", "x" * 500])
def test_names_and_reasons_of_any_text(name: str) -> None:
    root = match("add", match("negative", any_value()), any_value())
    generator = Doing(
        name, supports=lambda call: No(f"reason {name}") if call.op == "exp" else YES,
        patterns=[Pattern(f"group {name}", root)])
    told = report(written("A:t(x) B:t(A,y) C:d(B)"), "C", generator)
    assert told.partition.parts and not told.partition.owner[2] >= 0
    found = Drawn(told.svg())
    expected = re.sub("[\x00\x1b\ud800]", "\ufffd", name)
    assert expected in found.titles["op-1"] and expected in found.titles["region-0"]
    assert f"reason {expected}" in found.titles["op-2"]


def random_report(number: int) -> Report:
    rng = random.Random(number)
    count = rng.choice((5, 20, 60))
    words = []
    for k in range(count):
        near = [f"o{max(k - rng.choice((1, 1, 2, 5, 30)), 0)}" for _ in range(rng.randint(1, 3))]
        words.append(f"o{k}:{rng.choice('tud')}({','.join(near) if k else 'x'})")
    outputs = sorted({count - 1, *(rng.randrange(count) for _ in range(3))})
    return report(
        written(" ".join(words)), " ".join(f"o{k}" for k in outputs),
        Doing(merges=rng.random() < 0.8), theirs(merges=rng.random() < 0.8))


def test_ops_in_a_row_are_one_stack() -> None:
    """A picture of 70 ops in a row was 6,008 pixels high."""
    kinds = "dddtttttd"
    words = [f"o{k}:{kinds[k % 9]}({f'o{k - 1}' if k else 'x'})" for k in range(70)]
    program = written(" ".join(words))
    found = drawn(report(program, "o69"))
    assert len(found.regions) == 8
    assert found.size.height <= 3004 and found.size.width < 800
    one, two = found.ops[3], found.ops[4]
    assert two.x == one.x and two.width == one.width and 0 < two.y - one.y - one.height < 4
    # what something else uses, too, or the program gives, ends a stack
    program = written("A:d(x) B:d(A) C:d(B) D:d(C,A)")
    apart = drawn(report(program, "D B"))
    ends = [apart.ops[n].y + apart.ops[n].height for n in range(4)]
    assert apart.ops[1].y - ends[0] > 10 and apart.ops[2].y - ends[1] > 10


@pytest.mark.parametrize("number", range(12))
def test_random_programs(number: int) -> None:
    told = random_report(number)
    found = drawn(told)
    assert told.svg() == told.svg(), "the same program, another drawing"
    # a line ends at a box or a frame, or where it leaves another line
    corners = {round(y) for b in (*found.ops.values(), *found.regions.values())
               for y in (b.y, b.y + b.height)}
    for line in found.lines:
        last = float(re.findall(r"-?[\d.]+", line)[-1])
        assert any(abs(last - y) <= 1 for y in corners)


@pytest.mark.parametrize("shape", [
    "star", *(pytest.param(name, marks=pytest.mark.slow)
              for name in ("chain", "regions", "back and forth", "no lines"))])
def test_ten_thousand_ops(shape: str) -> None:
    n = 10_000
    words = {
        "chain": lambda k: f"d({f'o{k - 1}' if k else 'x'})",
        "regions": lambda k: f"{'td'[k // 5 % 2]}({f'o{k - 1}' if k else 'x'})",
        # all use the first
        "star": lambda k: f"d(o0,o{k - 1})" if k else "d(x)",
        "back and forth": lambda k: (
            f"d(o{n - 1 - k},o{k - 1})" if k > n // 2 else f"d({f'o{k - 1}' if k else 'x'})"),
        "no lines": lambda k: "d(x)",
    }[shape]
    program = written(" ".join(f"o{k}:{words(k)}" for k in range(n)))
    text = report(program, f"o{n - 1}").svg()
    assert len(text) < 15_000_000
    assert Counter(re.findall(r'id="(op|region)-', text)) == Counter(
        op=n, **({"region": 1000} if shape == "regions" else {}))


def test_save(tmp_path: Path) -> None:
    told = report(written(MIXED), "J")
    told.save(tmp_path / "program.svg")
    assert (tmp_path / "program.svg").read_text("utf-8") == told.svg()
    told.save(str(tmp_path / "program.txt"))
    assert (tmp_path / "program.txt").read_text("utf-8") == told.text() + "\n"
    with pytest.raises(ArgumentError, match=r"program\.png' was given, expected a name that ends"):
        told.save(tmp_path / "program.png")


# the layout by itself


def test_layers() -> None:
    lines = [Line(0, 1), Line(1, 2), Line(0, 2), Line(3, 2)]
    # 3 has time: it lies beside what the same op needs
    assert ranks([(10, 10)] * 4, lines) == [0, 1, 2, 1]
    assert ranks([(10, 10)] * 4, lines, first=[3], last=[]) == [0, 1, 2, 0]
    # what does not fit into a layer goes on in the next
    wide = ranks([(1000, 10)] * 5, [])
    assert Counter(wide) == {0: 2, 1: 2, 2: 1}


def test_few_lines_cross() -> None:
    """Two chains that are recorded in turns lie beside each other."""
    lines = [Line(k, k + 2) for k in range(20)] + [Line(0, 21)]
    found = layered([(50, 20)] * 22, lines)
    one, other = ([found.middle[k] for k in range(side, 22, 2)] for side in (0, 1))
    assert len({a < b for a, b in zip(one, other, strict=True)}) == 1
    # the long line passes by what it has nothing to do with
    route = found.routes[-1]
    for x, y in route[1:-2]:
        for k in range(1, 21):
            inside = abs(x - found.middle[k]) < 25 and found.top[k] < y < found.top[k] + 20
            assert not inside
