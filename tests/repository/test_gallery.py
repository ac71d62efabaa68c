"""The programs of the gallery compute what their pictures show, at small sizes, and draw."""

from __future__ import annotations

import itertools

import numpy
import pytest

from docs.gallery_pictures import PICTURES, PROGRAMS, SIZES, picture, program
from docs.pages import ROOT, blocks

#: as for users, who do not wait for a compiler
pytestmark = pytest.mark.op_by_op

PAGE = ROOT / "docs" / "gallery.md"
#: arguments of ``draw`` that take a second or less
SMALL = {
    "boundary": {"count": 20, "steps": 5, "points_a_side": 10}, "digits": {"epochs": 1},
    "fit": {}, "heat": {"points": 12, "sweeps": 20}, "life": {"size": 12, "generations": (0, 2)},
    "mandelbrot": {"width": 24, "height": 16, "turns": 10},
}  # fmt: skip


def test_every_program_has_a_picture_and_a_place_in_the_page() -> None:
    names = {p.stem for p in PROGRAMS.glob("*.py")}
    assert names == set(SIZES) == {p.stem for p in PICTURES.iterdir()} == set(SMALL)
    text = PAGE.read_text()
    assert not [n for n in names if f"](gallery/{n}.png)" not in text]


def test_pictures_are_small() -> None:
    sizes = {p.name: p.stat().st_size for p in PICTURES.iterdir()}
    assert not {name: size for name, size in sizes.items() if size > 60_000}


def test_the_page_shows_the_programs_as_they_are() -> None:
    """A definition in the page stands in a program of the gallery word for word."""
    sources = [p.read_text() for p in PROGRAMS.glob("*.py")]
    shown = [
        part.strip() for b in blocks(PAGE, "python") for part in b.text.split("\n\n\n")]
    definitions = [part for part in shown if part.startswith(("def ", "OPTIMIZERS"))]
    assert len(definitions) >= 9
    assert not [part for part in definitions if not any(part in source for source in sources)]


@pytest.mark.parametrize("name", SMALL)
def test_a_program_draws(name: str) -> None:
    pytest.importorskip("matplotlib", reason="pictures need matplotlib: make env-test")
    assert picture(name, **SMALL[name]).startswith(b"\x89PNG")


def test_mandelbrot() -> None:
    counted = program("mandelbrot").mandelbrot(31, 25, 20)
    x, y = numpy.linspace(-2.2, 0.8, 31), numpy.linspace(-1.2, 1.2, 25)
    for row, column in itertools.product(range(0, 25, 6), range(0, 31, 5)):
        z, c, turns = 0j, complex(x[column], y[row]), 0
        while abs(z) <= 2 and turns < 20:
            z, turns = z * z + c, turns + 1
        assert counted[row, column] == turns


def test_heat_settles() -> None:
    u = numpy.asarray(program("heat").plate(12, 800))
    inner = (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:]) / 4
    assert numpy.allclose(u[1:-1, 1:-1], inner, atol=1e-9) and 0 < u[6, 6] < u[1, 6] < 1


def test_a_glider_moves() -> None:
    life = program("life")
    cells = numpy.zeros((8, 8), bool)
    cells[[0, 1, 2, 2, 2], [1, 2, 0, 1, 2]] = True
    moved = life.np.asarray(cells)
    for _ in range(4):
        moved = life.generation(moved)
    assert (numpy.asarray(moved) == numpy.roll(cells, (1, 1), (0, 1))).all()


def test_the_curve_is_found() -> None:
    fit = program("fit")
    t = fit.np.linspace(0, 6, 40)
    found, squares = fit.fit(t, fit.swing((2.0, 0.4, 3.0, 0.5), t), fit.GUESS)
    assert numpy.allclose(numpy.asarray(found), [2.0, 0.4, 3.0, 0.5])
    assert float(squares[-1]) < 1e-12 < float(squares[0])


def test_the_spirals_are_told_apart() -> None:
    boundary = program("boundary")
    boundary.torch.manual_seed(0)
    points, labels = boundary.spirals(40)
    model = boundary.train(points, labels, 300)
    assert (model(points).argmax(dim=1) == labels).float().mean().item() > 0.8
    surface = boundary.surface(model, 5)
    assert surface.shape == (5, 5) and ((surface >= 0) & (surface <= 1)).all()


def test_losses_fall() -> None:
    digits = program("digits")
    images, labels = digits.load()
    assert images.shape == (1437, 64) and labels.shape == (1437,)
    for name, make_optimizer in digits.OPTIMIZERS.items():
        means = digits.losses(images[:320], labels[:320], make_optimizer, 3)
        assert means[2] < means[1] < means[0], name
