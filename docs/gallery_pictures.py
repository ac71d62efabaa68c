"""Draw ``docs/gallery/*.png`` by the programs of ``examples/gallery``.

``python docs/gallery_pictures.py [NAME ...]``: all of them, or those named; matplotlib has to be
there (the extra ``demo``).
"""

from __future__ import annotations

import importlib.util
import io
import os
import sys
from pathlib import Path
from typing import Any, Final

ROOT: Final = Path(__file__).resolve().parents[1]
PROGRAMS: Final = ROOT / "examples" / "gallery"
PICTURES: Final = ROOT / "docs" / "gallery"
#: width and height of each picture in inches, at 100 dots an inch
SIZES: Final = {
    "boundary": (4.2, 4.0), "digits": (5.4, 3.4), "fit": (5.4, 3.4), "heat": (4.6, 3.6),
    "life": (6.0, 2.3), "mandelbrot": (4.8, 3.84),
}
#: pictures without a margin
FULL: Final = {"mandelbrot"}
COLOURS: Final = 96


def program(name: str) -> Any:
    """The module of a program of the gallery."""
    spec = importlib.util.spec_from_file_location(f"gallery_{name}", PROGRAMS / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def picture(name: str, **sizes: Any) -> bytes:
    """The PNG file that a program draws; ``sizes`` are arguments of its ``draw``."""
    os.environ.setdefault("MPLBACKEND", "Agg")
    import matplotlib.pyplot as plt
    from PIL import Image

    figure = plt.figure(figsize=SIZES[name], layout=None if name in FULL else "constrained")
    program(name).draw(figure, **sizes)
    drawn = io.BytesIO()
    figure.savefig(drawn, dpi=100)
    plt.close(figure)
    # few colours make a small file
    small = Image.open(drawn).convert("RGB").quantize(COLOURS)
    written = io.BytesIO()
    small.save(written, format="png", optimize=True)
    return written.getvalue()


if __name__ == "__main__":
    PICTURES.mkdir(exist_ok=True)
    for chosen in sys.argv[1:] or SIZES:
        data = picture(chosen)
        (PICTURES / f"{chosen}.png").write_bytes(data)
        print(f"docs/gallery/{chosen}.png: {len(data) / 1000:.0f} kB")
