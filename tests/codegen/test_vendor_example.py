"""The generator in ``examples/codegen_vendor``, installed as its users install it."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import shlex
import shutil
import site
import subprocess
import sys
import venv
from pathlib import Path

import pytest

from docs.pages import ROOT, Block, blocks
from lazyloom.backends.xla.regions import engines
from lazyloom.host.c_source.library import compiler

EXAMPLE = ROOT / "examples" / "codegen_vendor"

pytestmark = [
    pytest.mark.slow,
    pytest.mark.xla,
    pytest.mark.skipif(bool(engines.available()), reason=engines.available() or "there is none"),
    pytest.mark.skipif(shutil.which(compiler()[0]) is None, reason="there is no C compiler"),
]


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder that the package is installed in, which nothing else is."""
    if importlib.util.find_spec("pip") is None:
        pytest.skip("pip is not installed")
    try:
        setuptools = importlib.metadata.version("setuptools")
    except importlib.metadata.PackageNotFoundError:
        setuptools = "0"
    if int(setuptools.partition(".")[0]) < 77:
        pytest.skip("setuptools 77 or later is not installed")
    folder = tmp_path_factory.mktemp("vendor")
    # setuptools writes beside what it builds
    shutil.copytree(EXAMPLE, folder / "source", ignore=shutil.ignore_patterns(
        "build", "*.egg-info", "__pycache__"))
    done = subprocess.run(
        [sys.executable, "-m", "pip", "--disable-pip-version-check", "install", "--quiet",
         "--no-index", "--no-deps", "--no-build-isolation", "--target", str(folder / "installed"),
         str(folder / "source")],
        cwd=folder, capture_output=True, text=True, timeout=300)  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return folder / "installed"


def environment(cache: Path, codegen: str | None, path: str = "") -> dict[str, str]:
    """Variables of a process that compiles what it runs, with a disk cache of its own."""
    found = {**os.environ, "LAZYLOOM_CACHE_DIR": str(cache), "LAZYLOOM_REPRODUCIBLE": "1"}
    found.pop("LAZYLOOM_CODEGEN", None)
    if codegen is not None:
        found["LAZYLOOM_CODEGEN"] = codegen
    if path:
        found["PYTHONPATH"] = os.pathsep.join(
            filter(None, [path, os.environ.get("PYTHONPATH", "")]))
    return found


class Process:
    """Python programs in processes of their own, beside the installed package.

    They run in ``folder``, and share the disk cache in it.
    """

    def __init__(self, installed: Path, folder: Path) -> None:
        self.installed = installed
        self.folder = folder

    def attempt(self, text: str, codegen: str | None = None) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-W", "error::RuntimeWarning", "-c", HEAD + text], cwd=self.folder,
            env=environment(self.folder / "cache", codegen, str(self.installed)),
            capture_output=True, text=True, timeout=300)

    def __call__(self, text: str, codegen: str | None = None) -> str:
        """What a program prints; all that it asserts holds, and no region fails."""
        done = self.attempt(text, codegen)
        assert done.returncode == 0, done.stderr
        return done.stdout


@pytest.fixture
def process(installed: Path, tmp_path: Path) -> Process:
    return Process(installed, tmp_path)


HEAD = """
import numpy, lazyloom
import lazyloom_numpy as np, lazyloom_torch as torch
from lazyloom import codegen
from fused_loops import FusedLoops

def numbers(*shape, seed=0):
    return numpy.random.default_rng(seed).standard_normal(shape).astype("float32")

def close(found, expected, tolerance=FusedLoops.tolerance):
    # the contract on precision
    unit = 2.0 ** -23 * numpy.abs(expected[numpy.isfinite(expected)]).max()
    numpy.testing.assert_allclose(found, expected, rtol=0, atol=tolerance * unit)

def report():
    return codegen.explain(lazyloom.last_evaluation().program)
"""


def test_it_is_found_and_in_use(process: Process) -> None:
    process("""
assert type(codegen.available()["fused_loops"]) is FusedLoops
assert "fused_loops" in codegen.in_use()
""")


def test_it_is_small() -> None:
    lines = sum(p.read_text().count("\n") for p in EXAMPLE.glob("*/*.py"))
    assert lines < 150


NUMPY_LIKE = """
a, b = numbers(64, 80), numbers(64, 80, seed=1)

def computed():
    x, y = np.asarray(a), np.asarray(b)
    return numpy.asarray(np.maximum(x * y + x, 0.0) * 2.5 - np.tanh(y) + 1)

found = computed()
told = report()
"""


def test_a_numpy_like_program_runs_through_it(process: Process) -> None:
    process(NUMPY_LIKE + """
close(found, numpy.maximum(a * b + a, 0) * numpy.float32(2.5) - numpy.tanh(b) + 1)
ops = [i.spec.op.name for i in told.program.structure.instructions]
assert ops == ["multiply", "add", "maximum", "multiply", "tanh", "subtract", "add"]
assert [told.generator(n) for n in range(7)] == [
    "xla" if op == "tanh" else "fused_loops" for op in ops]
text = told.text()
assert "%0 = multiply : float32[64,80] -> fused_loops, region 0" in text
assert "fused_loops: tanh is not in its table" in text
assert "7 ops: fused_loops 6, xla 1; 1 regions" in text
assert "as multiply_add" in text and "us estimated" in text
with codegen.use("xla"):
    close(found, computed())
    assert "fused_loops" not in report().text()
assert not codegen.failures()
""")


def test_a_torch_like_program_with_a_gradient_runs_through_it(process: Process) -> None:
    process("""
a, w = numbers(96, 64), numbers(64, 64, seed=1) / 8

def step():
    x, m = torch.tensor(a), torch.tensor(w, requires_grad=True)
    y = x @ m
    loss = (torch.relu(y * y + y) * 0.5 - x).square().mean()
    loss.backward()
    return loss.item(), m.grad.numpy()

loss, gradient = step()
told = report()
text = told.text()
for op in ("multiply", "relu", "relu.vjp", "multiply.vjp"):
    assert any(f" = {op} :" in line and "-> fused_loops" in line for line in text.split("\\n")), op
assert "%0 = matmul" in text and "%0 = matmul : float32[96,64] -> fused_loops" not in text
y = a @ w
positive = y * y + y
u = numpy.maximum(positive, 0) * numpy.float32(0.5) - a
assert abs(loss - numpy.square(u).mean()) < 1e-5 * loss
expected = a.T @ (u * (positive > 0) * (2 * y + 1) / u.size)
numpy.testing.assert_allclose(gradient, expected, rtol=1e-3, atol=1e-5 * abs(expected).max())
with codegen.use("xla"):
    other, gradient_of_xla = step()
    assert abs(loss - other) < 1e-6 * loss
    # of the product, whoever does it
    close(gradient, gradient_of_xla, max(g.tolerance for g in codegen.available().values()))
assert not codegen.failures()
""")


def test_every_op_of_its_table_is_as_xlas(process: Process) -> None:
    """On numbers, zeros of both signs, infinities and NaN; with scalars and constants."""
    process("""
from fused_loops._text import EXPRESSIONS
special = [0.0, -0.0, 1.0, -1.0, float("inf"), float("-inf"), float("nan"), 2.5]
pairs = numpy.array([(p, q) for p in special for q in special], "float32")
a = numpy.concatenate([numbers(5000), pairs[:, 0]])
b = numpy.concatenate([numbers(5000, seed=1), pairs[:, 1]])
functions = {
    "add": lambda x, y: x + y, "subtract": lambda x, y: x - y, "multiply": lambda x, y: x * y,
    "divide": lambda x, y: x / y, "negative": lambda x, y: -x, "abs": lambda x, y: torch.abs(x),
    "square": lambda x, y: torch.square(x), "sqrt": lambda x, y: torch.sqrt(y),
    "maximum": torch.maximum, "minimum": torch.minimum, "relu": lambda x, y: torch.relu(x),
    "scalars": lambda x, y: 1 - (x * 0.3 + 1) * -1 - y / 3,
    "fused": lambda x, y: (x + x * y) + (y * y + (-1 * x)) * (x * 0.7 + x),
}

def values(function):
    x, y = torch.tensor(a, requires_grad=True), torch.tensor(b, requires_grad=True)
    z = function(x, y)
    ((z * 1.5 - x) * 1.25 + y).sum().backward()
    found = [z.detach().numpy(), x.grad.numpy(), y.grad.numpy()]
    told = report()
    names = [i.spec.op.name for i in told.program.structure.instructions]
    return found, {op for n, op in enumerate(names) if told.generator(n) == "fused_loops"}

done = set()
for name, function in functions.items():
    found, ops = values(function)
    done |= ops
    with codegen.use("xla"):
        expected, ops = values(function)
        assert not ops
    for one, other in zip(found, expected, strict=True):
        close(one, other)
assert done == set(EXPRESSIONS), set(EXPRESSIONS) - done
assert not codegen.failures()
""")


def test_what_it_leaves_to_xla_has_a_reason(process: Process) -> None:
    process("""
x, y = np.asarray(numbers(5000)), np.asarray(numbers(80, 80))
small, double, total = x[:4095], x.astype("float64"), x.sum()
for z, reason in [
    (small * small + small, "4095 elements, expected 4096 or more"),
    (x * x, "1 ops, expected 2 or more to be worth a call"),
    (double * double + double, "float64[5000], expected float32 throughout"),
    ((y + y[0]) * 2.5, "float32[80], float32[80,80], expected one shape, and scalars"),
    (total * total + total, "the result is a scalar, expected an array"),
    (sum(np.asarray(numbers(5000)) for _ in range(300)), "301 arrays, expected at most 256"),
]:
    text = codegen.explain(lazyloom.program_of(z)).text()
    assert reason in text and "-> fused_loops" not in text, text
    numpy.asarray(z)
assert not codegen.failures()
""")


def test_the_environment_turns_it_off(process: Process) -> None:
    process(NUMPY_LIKE + """
assert codegen.in_use() == () and "fused_loops" in codegen.available()
assert "fused_loops" not in told.text() and not told.partition.parts
""", codegen="xla")
    # and chooses it alone
    process("assert codegen.in_use() == ('fused_loops',)", codegen="fused_loops, xla")


def test_a_name_that_is_unknown_is_an_error(process: Process) -> None:
    done = process.attempt(NUMPY_LIKE, codegen="nonsense")
    assert done.returncode == 1
    last = done.stderr.strip().splitlines()[-1]
    assert "ArgumentError: LAZYLOOM_CODEGEN: the code generator 'nonsense' is not known" in last
    assert "'fused_loops'" in last and "'xla'" in last


def test_another_process_finds_the_program_on_disk(process: Process) -> None:
    counted = NUMPY_LIKE + """
assert told.partition.parts
print(*(lazyloom.stats()[name] for name in ("programs_compiled", "programs_from_disk")))
"""
    assert process(counted) == "1 0\n"
    assert process(counted) == "0 1\n"
    # what XLA alone runs is another program
    assert process(counted.replace("assert told", "assert not told"), codegen="xla") == "1 0\n"


IN_C = """
#include <stdio.h>
#include <string.h>
#include "lazyloom_ops.h"

#define COUNT 5000
#define TRY(call)                                          \\
  do {                                                     \\
    if ((call) != LOOM_OK) {                               \\
      fprintf(stderr, "%s\\n", loom_error_message());       \\
      return 1;                                            \\
    }                                                      \\
  } while (0)

int main(int argc, char **argv) {
  static float numbers[COUNT], y[COUNT], slope[COUNT];
  const int64_t shape[1] = {COUNT};
  const char *given[1];
  char names[200], explained[4000], again[4000];
  int64_t compiled, failed;
  loom_tensor x, square, both, above, total, gradient;
  loom_program program;
  int k;
  for (k = 0; k < COUNT; k++) numbers[k] = (float)(k % 7 - 3);
  TRY(loom_initialize());
  TRY(loom_codegen_available(names, sizeof names, NULL));
  if (strstr(names, "fused_loops") == NULL) return 2;
  if (argc > 1) {
    given[0] = argv[1];
    TRY(loom_codegen_use(given, 1));
    TRY(loom_codegen_in_use(names, sizeof names, NULL));
    if (strcmp(names, argv[1]) != 0) return 3;
  }
  TRY(loom_tensor_from_host(numbers, sizeof numbers, LOOM_FLOAT32, shape, 1, &x));
  TRY(loom_tensor_require_grad(x, true));
  TRY(loom_multiply(x, x, &square));
  TRY(loom_add(square, x, &both));
  TRY(loom_relu(both, &above));
  TRY(loom_sum(above, NULL, 0, LOOM_DTYPE_NONE, false, &total));
  TRY(loom_grad(&total, 1, &x, 1, NULL, false, &gradient));
  TRY(loom_program_of(&above, 1, &program));
  TRY(loom_program_explain(program, explained, sizeof explained, NULL));
  TRY(loom_program_release(program));
  TRY(loom_tensor_read(above, y, sizeof y));
  TRY(loom_last_program(&program));
  TRY(loom_program_explain(program, again, sizeof again, NULL));
  TRY(loom_program_release(program));
  if (strcmp(explained, again) != 0) return 4;
  TRY(loom_tensor_read(gradient, slope, sizeof slope));
  for (k = 0; k < COUNT; k++) {
    const float sum = numbers[k] * numbers[k] + numbers[k];
    if (y[k] != (sum > 0 ? sum : 0) || slope[k] != (sum > 0 ? 2 * numbers[k] + 1 : 0)) {
      fprintf(stderr, "element %d: %g, %g\\n", k, y[k], slope[k]);
      return 1;
    }
  }
  TRY(loom_stat("programs_compiled", &compiled));
  TRY(loom_stat("regions_failed", &failed));
  printf("compiled %d, failed %d\\n%s\\n", (int)compiled, (int)failed, explained);
  return loom_shutdown() == LOOM_OK ? 0 : 1;
}
"""


def test_a_program_in_c_runs_through_it(installed: Path, tmp_path: Path) -> None:
    """C programs open an environment's interpreter and look at no PYTHONPATH."""
    env = tmp_path / "env"
    venv.create(env, symlinks=True)
    python = env / "bin" / "python"
    packages = subprocess.run(
        [python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"],
        check=True, capture_output=True, text=True).stdout.strip()  # fmt: skip
    # with what the .pth files there name: an environment may be one of a checkout
    lines = [f"import site; site.addsitedir({p!r})" for p in site.getsitepackages()]
    (Path(packages) / "those.pth").write_text("\n".join([str(installed), *lines]))

    def made(*command: object) -> str:
        done = subprocess.run(
            list(map(str, command)), cwd=tmp_path, capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    library = tmp_path / "library"
    made(python, "-m", "lazyloom_capi", "--build", "--output", library)
    flags = shlex.split(made(python, "-m", "lazyloom_capi", "--cflags"))
    (tmp_path / "program.c").write_text(IN_C)
    made(*compiler(), "-std=c99", "-Wall", "-Wextra", "-Werror", "program.c", "-o", "program",
         *flags, f"-L{library}", f"-Wl,-rpath,{library}", "-llazyloom")

    def ran(codegen: str | None, *names: str) -> tuple[set[str], str]:
        """The generators whose regions a run of the program leaves on disk, and its report."""
        cache = tmp_path / f"cache-{codegen}-{names}"
        done = subprocess.run(
            [tmp_path / "program", *names], env=environment(cache, codegen), cwd=tmp_path,
            capture_output=True, text=True, timeout=300)
        assert (done.returncode, done.stderr) == (0, "")
        counted, _, report = done.stdout.partition("\n")
        assert counted == "compiled 1, failed 0"
        kept = [p.read_bytes() for p in (cache / "program").rglob("*") if p.is_file()]
        assert len(kept) == 1
        return {name for name in ("fused_loops", "onednn")
                if f'"generator": "{name}"'.encode() in kept[0]}, report

    found, report = ran(None)
    assert found == {"fused_loops"}
    assert "= relu.vjp : float32[5000] -> fused_loops, region 1" in report
    nothing, of_xla = ran("xla")
    assert nothing == set() and "; 0 regions" in of_xla
    # the program chooses, whatever the variable says
    assert ran("fused_loops", "xla") == (set(), of_xla)
    found, chosen = ran("xla", "fused_loops")
    assert found == {"fused_loops"}
    of_loops = [line for line in report.split("\n") if "fused_loops, " in line]
    assert of_loops and of_loops == [line for line in chosen.split("\n") if "fused_loops, " in line]


PAGE = ROOT / "docs" / "codegen_vendor.md"


@pytest.mark.parametrize("block", blocks(PAGE, "py", "toml"),
                         ids=lambda b: b.text.splitlines()[0].strip())  # fmt: skip
def test_the_page_quotes_the_package(block: Block) -> None:
    files = [*EXAMPLE.glob("*/*.py"), EXAMPLE / "pyproject.toml"]
    assert any(block.text in p.read_text() for p in files), f"not in the package:\n{block.text}"


def test_the_page_shows_what_it_generates(process: Process) -> None:
    (block,) = blocks(PAGE, "c")
    process(f"""
from fused_loops._text import text_of
x, y = np.asarray(numbers(5000)), np.asarray(numbers(5000, seed=1))
with codegen.use("fused_loops"):
    (part,) = codegen.explain(lazyloom.program_of(x * y + x * 0.5)).partition.parts
assert text_of(part.region).endswith({block.text!r}), text_of(part.region)
""")
