"""Code generators as shared libraries: the example, and a plug-in that does what it should not."""

from __future__ import annotations

import ctypes
import gc
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy
import pytest

import lazyloom
import lazyloom_numpy as np
import lazyloom_torch as torch
from docs.pages import blocks
from lazyloom import codegen
from lazyloom.backends.xla.regions import engines
from lazyloom.cache import memory
from lazyloom.codegen import plugin, plugin_table, region_json, registry
from lazyloom.errors import ArgumentError
from lazyloom_capi import header
from lazyloom_capi.client import Client

ROOT = Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "examples" / "codegen_json" / "json_graph.c"
OWN = Path(__file__).with_name("plugin.c")

pytestmark = [
    pytest.mark.xla,
    pytest.mark.skipif(bool(engines.available()), reason=engines.available() or "there is none"),
    pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler"),
]

#: the modes of plugin.c
(WELL, NO_COMPILE, NO_MEMORY, NO_RUN, SILENT, NO_ENGINE, HANG, LONG_BYTES, STALE,
 SMALL, HANG_RESTORING, HANG_SERIALIZING, ENDLESS_BYTES) = range(13)  # fmt: skip


def compiled(source: Path, library: Path, *flags: str) -> Path:
    done = subprocess.run(
        ["cc", "-std=c99", "-D_DEFAULT_SOURCE", "-O1", "-Wall", "-Wextra", "-Wpedantic", "-Werror",
         "-fPIC", "-shared", "-fvisibility=hidden", f"-I{header.include_dir()}", *flags,
         str(source), "-o", str(library), "-lm"], capture_output=True, text=True)  # fmt: skip
    assert done.returncode == 0, done.stderr
    return library


@pytest.fixture(scope="module")
def example(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("example")
    return compiled(EXAMPLE, folder / "liblazyloom_codegen_json_graph.so")


class Own:
    """The plug-in of plugin.c, whose variables tests read and set.

    Attributes:
        library: the library, as ctypes has it.
        generator: its generator.
    """

    def __init__(self, path: Path) -> None:
        self.library = ctypes.CDLL(str(path))
        self.generator = codegen.load(path)

    def set(self, name: str, value: int) -> None:
        ctypes.c_int.in_dll(self.library, f"test_{name}").value = value

    def count(self, name: str) -> int:
        return ctypes.c_long.in_dll(self.library, f"test_{name}").value


@pytest.fixture(scope="module")
def own_library(tmp_path_factory: pytest.TempPathFactory) -> Own:
    return Own(compiled(OWN, tmp_path_factory.mktemp("own") / "own.so"))


@pytest.fixture
def own(
    own_library: Own, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Own]:
    monkeypatch.setenv("LAZYLOOM_CACHE_DIR", str(tmp_path / "cache"))
    for name in ("mode", "turned", "constants"):
        own_library.set(name, 0)
    with codegen.use(own_library.generator.name):
        yield own_library
    own_library.set("mode", WELL)


#: arrays of each test have other shapes, so that each has engines of its own
_rows = iter(range(3, 1000))


@pytest.fixture
def arrays() -> tuple[Any, Any]:
    rows = next(_rows)
    a = numpy.linspace(-1, 1, 4 * rows, dtype="float32").reshape(rows, 4)
    return a, numpy.cos(a)


def computed(a: Any, b: Any) -> Any:
    x, y = np.asarray(a), np.asarray(b)
    return numpy.asarray((x + y) * y)


def expected(a: Any, b: Any) -> Any:
    return (a + b) * b


def test_structures_are_those_of_the_header(tmp_path: Path) -> None:
    structures = {
        "loom_codegen_error": plugin_table.ErrorStruct,
        "loom_codegen_array": plugin_table.ArrayStruct,
        "loom_codegen_host": plugin_table.HostStruct,
        "loom_codegen_plugin": plugin_table.PluginStruct,
        "PluginCall": plugin_table.CallStruct,
    }
    lines = [f'#include "{ROOT}/runtime/native/regions/plugin_call.h"', "int main(void) {",
             "(void)call_plugin;"]
    python = []
    for name, structure in structures.items():
        lines.append(f'printf("{name} %zu\\n", sizeof({name}));')
        python.append(f"{name} {ctypes.sizeof(structure)}")
        for field, *_ in structure._fields_:
            lines.append(f'printf("{name}.{field} %zu\\n", offsetof({name}, {field}));')
            python.append(f"{name}.{field} {getattr(structure, field).offset}")
    lines.append('printf("%d %d %d %d %d %d %u %u\\n", LOOM_CODEGEN_MAJOR, LOOM_CODEGEN_MINOR, '
                 'LOOM_CODEGEN_OK, LOOM_CODEGEN_NO, LOOM_CODEGEN_TOO_SMALL, '
                 'LOOM_CODEGEN_OUT_OF_MEMORY, LOOM_CODEGEN_EACH_OP_ALONE, '
                 'LOOM_CODEGEN_PORTABLE_ENGINES); return 0; }')
    t = plugin_table
    numbers = (t.MAJOR, t.MINOR, t.OK, t.NO, t.TOO_SMALL, t.OUT_OF_MEMORY, t.EACH_OP_ALONE,
               t.PORTABLE_ENGINES)
    python.append(" ".join(map(str, numbers)))
    source = tmp_path / "sizes.c"
    source.write_text("\n".join(lines))
    subprocess.run(["cc", "-std=gnu11", f"-I{header.include_dir()}", str(source), "-o",
                    str(tmp_path / "sizes")], check=True)
    told = subprocess.run([str(tmp_path / "sizes")], capture_output=True, text=True, check=True)
    assert told.stdout.split("\n")[:-1] == python


# ---- the example


def test_the_example_is_small() -> None:
    assert len(EXAMPLE.read_text().splitlines()) < 200


def test_the_page_shows_the_example() -> None:
    text = EXAMPLE.read_text()
    shown = blocks(ROOT / "docs" / "codegen_plugin.md", "c")
    assert len(shown) == 3
    for block in shown:
        assert block.text in text


_PROGRAM = """
import numpy, lazyloom
import lazyloom_numpy as np, lazyloom_torch as torch
from lazyloom import codegen
assert "json_graph" in codegen.in_use()
a = numpy.linspace(-2, 2, 12, dtype="float32").reshape(3, 4)
with lazyloom.options(reproducible=True):
    x, y = np.asarray(a), np.asarray(a.T)
    found = numpy.asarray(np.tanh(np.maximum(x @ y * 2.5 + 1, 0)) - x @ y)
    expected = numpy.tanh(numpy.maximum(a @ a.T * 2.5 + 1, 0)) - a @ a.T
    numpy.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)
    print(lazyloom.last_evaluation().regions.text())
    x = torch.tensor(a)
    found = (torch.relu(x) + x * x).numpy()
    numpy.testing.assert_allclose(found, numpy.maximum(a, 0) + a * a, rtol=1e-6)
    print(lazyloom.last_evaluation().regions.text())
assert not codegen.failures()
stats = lazyloom.stats()
print(stats["engines_built"], stats["engines_restored"], stats["programs_compiled"])
"""

#: an engine is compiled by a copy of the table that writes a line each time
_COUNTED = """
#define loom_codegen_plugin_1 example_plugin
#include "{example}"
#undef loom_codegen_plugin_1
#include <stdio.h>
static loom_codegen_status counted(void *context, const char *region,
    const loom_codegen_array *const *operands, size_t count, void **engine,
    loom_codegen_error *error) {{
  fputs("compiled\\n", stderr);
  return PLUGIN.compile(context, region, operands, count, engine, error);
}}
static loom_codegen_plugin mine;
LOOM_CODEGEN_EXPORT const loom_codegen_plugin *loom_codegen_plugin_1(
    const loom_codegen_host *host, loom_codegen_error *error) {{
  mine = *example_plugin(host, error);
  mine.compile = counted;
  return &mine;
}}
"""


def process(library: Path | str, cache: Path, program: str = _PROGRAM, **more: str) -> Any:
    return subprocess.run(
        [sys.executable, "-W", "error::RuntimeWarning", "-c", program], capture_output=True,
        text=True, timeout=300,
        env={**os.environ, "LAZYLOOM_CODEGEN_PLUGINS": str(library),
             "LAZYLOOM_CACHE_DIR": str(cache), **more})  # fmt: skip


def test_a_second_process_builds_nothing(tmp_path: Path) -> None:
    source = tmp_path / "counted.c"
    source.write_text(_COUNTED.format(example=EXAMPLE))
    library = compiled(source, tmp_path / "counted.so")
    cache = tmp_path / "cache"
    for engines_told, compiles, programs in (("2 0", 2, 2), ("0 2", 0, 0), ("0 2", 0, 2)):
        done = process(library, cache)
        assert done.returncode == 0, done.stderr
        assert done.stderr.count("compiled\n") == compiles
        assert done.stdout.split("\n") == [
            "1 by json_graph", "1 by json_graph", f"{engines_told} {programs}", ""]
        if not compiles:
            # the third process finds engines alone
            shutil.rmtree(cache / "program")


def test_it_is_found_by_its_name(example: Path, tmp_path: Path) -> None:
    done = process("json_graph", tmp_path, "from lazyloom import codegen; print(codegen.in_use())",
                   LD_LIBRARY_PATH=str(example.parent))
    assert done.returncode == 0 and "json_graph" in done.stdout, done.stderr


def test_a_library_in_the_environment_that_is_none_is_left_out(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", "from lazyloom import codegen; print(codegen.available())"],
        capture_output=True, text=True, env={
            **os.environ, "LAZYLOOM_CODEGEN_PLUGINS": f"{tmp_path}/none.so"})
    assert done.returncode == 0
    assert "cannot be used: LAZYLOOM_CODEGEN_PLUGINS: the code generator" in done.stderr


class Asking(codegen.Generator):
    """Does nothing, and has the numbers of products become constants."""

    name = "asking"
    version = "1"

    def supports(self, call: codegen.Call) -> codegen.Answer:
        return codegen.No("nothing")

    def numbers(self, call: codegen.Call) -> list[int]:
        return [0, 1] if call.op == "multiply" else []

    def build(self, region: codegen.Region) -> codegen.Code:
        raise NotImplementedError


def test_numbers_that_another_generator_asks_for_are_constants(example: Path) -> None:
    codegen.register(Asking())
    a = numpy.linspace(0, 1, 30, dtype="float32").reshape(5, 6)
    with (codegen.use("asking", codegen.load(example).name),
          lazyloom.options(reproducible=True)):
        x = np.asarray(a)
        for number in (0.375, -2.0, 1e30, float("-inf")):
            with numpy.errstate(all="ignore"):
                wanted = a * numpy.float32(number) + a
            assert numpy.array_equal((x * number + x), wanted, equal_nan=True)
            evaluation = lazyloom.last_evaluation()
            assert evaluation is not None and evaluation.regions.text() == "1 by json_graph"


@pytest.mark.parametrize("number, text", [
    (0.5, "0.5"), (1.0, "1"), (-0.0, "-0.0"), (float("nan"), '"nan"'), (True, "1"), (7, "7")])
def test_numbers_in_json(number: float, text: str) -> None:
    call = codegen.Call("abs", {}, (None,), (), [number])
    assert f'"values": [{text}]' in region_json.call_json(call)


_NUMBERS = """
#include <locale.h>
#include <stdio.h>
#include "lazyloom_codegen_json.h"
int main(int count, char **given) {
  if (!setlocale(LC_ALL, given[1])) return 3;
  for (int k = 2; k < count; ++k) {
    const double found = loom_codegen_number(given[k], 9);
    printf("%d ", found == strtod(given[++k], NULL));
  }
  return 0;
}
"""


@pytest.mark.parametrize("locale", ["C", "de_DE.UTF-8"])
def test_c_reads_numbers_in_any_locale(tmp_path: Path, locale: str) -> None:
    source = tmp_path / "numbers.c"
    source.write_text(_NUMBERS)
    subprocess.run(["cc", "-std=gnu11", "-Wall", "-Werror", f"-I{header.include_dir()}",
                    str(source), "-o", str(tmp_path / "numbers")], check=True)
    folder = tmp_path / "locales"
    folder.mkdir()
    if locale != "C" and (shutil.which("localedef") is None or subprocess.run(
        ["localedef", "-i", "de_DE", "-f", "UTF-8", str(folder / locale)], capture_output=True
    ).returncode > 1):
        pytest.skip("no locale with a comma can be made here")
    given = ["0.5", "-1.25e-05,", "3", "-7}", "1e+300]", '"inf"', '"-inf"', '"text"', "null"]
    wanted = ["0.5", "-1.25e-05", "3", "-7", "1e+300", "inf", "-inf", "9", "9"]
    if locale != "C":
        wanted = [text.replace(".", ",") for text in wanted]
    words = [word for pair in zip(given, wanted, strict=True) for word in pair]
    done = subprocess.run([str(tmp_path / "numbers"), locale, *words], capture_output=True,
                          text=True, env={**os.environ, "LOCPATH": str(folder)})
    assert done.stdout.split() == ["1"] * len(given), done


def test_c_loads_it(example: Path) -> None:
    client = Client()
    name = client.text(client.lib.loom_codegen_load, client.ffi.new("char[]", bytes(example)))
    assert name == "json_graph"
    names = [client.ffi.new("char[]", name.encode())]
    client.check(client.lib.loom_codegen_use(client.ffi.new("char *[]", names), 1))
    a = numpy.linspace(0, 1, 30, dtype="float32").reshape(5, 6)
    x = client.from_numpy(a)
    with lazyloom.options(reproducible=True):
        found = client.apply("add", [client.apply("multiply", [x, x]), x]).read()
    assert numpy.array_equal(found, a * a + a)
    evaluation = lazyloom.last_evaluation()
    assert evaluation is not None and evaluation.regions.text() == "1 by json_graph"
    wrong = client.ffi.new("char[]", b"/no/such/library.so")
    with pytest.raises(ArgumentError, match="'/no/such/library.so' cannot be loaded: "):
        client.text(client.lib.loom_codegen_load, wrong)


# ---- the contract


def test_it_runs_from_numpy_and_torch(own: Own, arrays: tuple[Any, Any]) -> None:
    a, b = arrays
    compiles, runs = own.count("compiled"), own.count("runs")
    assert numpy.array_equal(computed(a, b), expected(a, b))
    x, y = torch.tensor(a), torch.tensor(b)
    found = ((x + y) * y).numpy()
    assert numpy.array_equal(found, expected(a, b))
    assert (own.count("compiled") - compiles, own.count("runs") - runs) == (1, 2)
    report = codegen.explain(lazyloom.program_of(np.asarray(a) + np.asarray(b)))
    assert report.generator(0) == "test_plugin" and "250000 us estimated" in report.text()
    report = codegen.explain(lazyloom.program_of(np.asarray(a) - np.asarray(b)))
    assert "test_plugin: neither a sum nor a product" in report.text()
    report = codegen.explain(lazyloom.program_of(np.asarray(a[0]) + np.asarray(b[0])))
    assert "test_plugin: its supports says no" in report.text()


def test_what_its_table_says(own: Own) -> None:
    generator = own.generator
    assert generator.name == "test_plugin" and generator.version.startswith("3+")
    assert len(generator.version) == 14 and generator.priority == 4 and generator.tolerance == 8
    assert generator.merges and not generator.portable_engines
    assert generator.requirements() == {"plugin": "device=7"}


def test_strides_are_those_of_the_order_that_it_wants(own: Own, arrays: tuple[Any, Any]) -> None:
    a, b = arrays
    own.set("turned", 1)
    memory.clear()
    assert numpy.array_equal(computed(a, b), expected(a, b))
    evaluation = lazyloom.last_evaluation()
    assert evaluation is not None and evaluation.regions.text() == "1 by test_plugin"


def test_constants_have_their_values(own: Own, arrays: tuple[Any, Any]) -> None:
    a, b = arrays
    own.set("constants", 1)
    memory.clear()
    known, bound = own.count("known"), lazyloom.stats()["constants_bound"]
    b = numpy.full_like(a, 5.0)
    y = np.asarray(b)
    lazyloom.sync(y)
    for _ in range(3):
        found = numpy.asarray((np.asarray(a) + y) * y)
        assert numpy.array_equal(found, expected(a, b))
    assert lazyloom.stats()["constants_bound"] == bound + 1
    assert own.count("known") == known + 5


def test_engines_are_destroyed_once(own: Own, arrays: tuple[Any, Any]) -> None:
    engine = own.generator.build(_region(own, arrays))
    destroyed = own.count("destroyed")
    del engine
    gc.collect()
    assert own.count("destroyed") == destroyed + 1


def _region(own: Own, arrays: tuple[Any, Any]) -> codegen.Region:
    a, b = arrays
    program = lazyloom.program_of(np.asarray(a) + np.asarray(b))
    found = codegen.partition(program.structure, program.outputs, [own.generator])
    return found.parts[0].region


@pytest.mark.parametrize(("mode", "error"), [
    (NO_COMPILE, "PluginError: the compiler is not here"),
    (NO_MEMORY, "MemoryError: its compile had no memory"),
    (NO_ENGINE, "PluginError: it gave no engine, and no error"),
])
def test_what_is_not_compiled_is_xlas(
    own: Own, arrays: tuple[Any, Any], mode: int, error: str
) -> None:
    own.set("mode", mode)
    with pytest.warns(RuntimeWarning, match="'test_plugin' failed to build a region of 2 ops"):
        found = computed(*arrays)
    numpy.testing.assert_allclose(found, expected(*arrays), rtol=1e-6, atol=1e-6)
    # the whole, and then each op by itself
    failures = codegen.failures()
    assert sorted(len(failure.ops) for failure in failures) == [1, 1, 2]
    assert {(failure.error, failure.when) for failure in failures} == {(error, "build")}


@pytest.mark.parametrize(("mode", "error"), [
    (NO_RUN, "the device is off"), (SILENT, "its run gave status 3")])
def test_a_run_that_fails_costs_no_value(
    own: Own, arrays: tuple[Any, Any], mode: int, error: str
) -> None:
    own.set("mode", mode)
    with pytest.warns(RuntimeWarning, match=f"failed to run a region .*{error}"):
        found = computed(*arrays)
    numpy.testing.assert_allclose(found, expected(*arrays), rtol=1e-6, atol=1e-6)
    runs = own.count("runs")
    computed(*arrays)
    assert own.count("runs") == runs


def test_a_compile_that_hangs_is_given_up(own: Own, arrays: tuple[Any, Any]) -> None:
    own.set("mode", HANG)
    destroyed = own.count("destroyed")
    with (
        lazyloom.options(build_seconds=1),
        pytest.warns(RuntimeWarning, match="failed to build .* longer than 1 s"),
    ):
        found = computed(*arrays)
    numpy.testing.assert_allclose(found, expected(*arrays), rtol=1e-6, atol=1e-6)
    own.set("mode", WELL)
    # what it returns in the end is destroyed
    for _ in range(200):
        if own.count("destroyed") > destroyed:
            break
        time.sleep(0.05)
    assert own.count("destroyed") == destroyed + 1


def test_what_is_too_small_is_left_to_xla_on_purpose(own: Own, arrays: tuple[Any, Any]) -> None:
    own.set("mode", SMALL)
    a, b = arrays
    report = codegen.explain(lazyloom.program_of(np.asarray(a) + np.asarray(b)))
    assert report.generator(0) == "xla" and "test_plugin: too few ops" in report.text()


def test_bytes_that_it_refuses_are_compiled_again(own: Own, arrays: tuple[Any, Any]) -> None:
    region = _region(own, arrays)
    data = own.generator.serialize(region, own.generator.build(region))
    assert data is not None
    restored = own.count("restored")
    assert isinstance(own.generator.deserialize(region, data), codegen.NativeCode)
    assert own.count("restored") == restored + 1
    own.set("mode", STALE)
    with pytest.raises(plugin_table.PluginError, match="these bytes are of an older device"):
        own.generator.deserialize(region, data)
    own.set("mode", LONG_BYTES)
    with pytest.raises(plugin_table.PluginError, match=f"{len(data) + 1} bytes, after it asked"):
        own.generator.serialize(region, own.generator.build(region))
    own.set("mode", ENDLESS_BYTES)
    with pytest.raises(plugin_table.PluginError, match=f"asked for {2**64 - 1} bytes, which"):
        own.generator.serialize(region, own.generator.build(region))


def test_bytes_that_hang_are_given_up(own: Own, arrays: tuple[Any, Any]) -> None:
    a, b = arrays
    with lazyloom.options(build_seconds=1, reproducible=True):
        own.set("mode", HANG_SERIALIZING)
        with pytest.warns(RuntimeWarning, match="failed to serialise .* longer than 1 s"):
            assert numpy.array_equal(computed(a, b), expected(a, b))
        own.set("mode", WELL)
        # another shape, whose engine is stored, and then restored
        a, b = a[1:], b[1:]
        computed(a, b)
        memory.clear()
        gc.collect()
        own.set("mode", HANG_RESTORING)
        compiles = own.count("compiled")
        with pytest.warns(RuntimeWarning, match="failed to restore .* longer than 1 s"):
            assert numpy.array_equal(computed(a, b), expected(a, b))
        assert own.count("compiled") == compiles + 1


@pytest.mark.parametrize(("flags", "error"), [
    (["-DNO_SYMBOL"], "it has no function loom_codegen_plugin_1"),
    (["-DNOT_HERE"], "there is no such device"),
    (["-DMAJOR=2"], "it is of version 2.0 of the interface, expected 1; compile it with the h"),
    (["-DSIZE=8"], "its table has a size of 8, expected 16 or more"),
    (["-DSIZE=64"], "its supports is NULL"),
    (['-DNAME="xla"'], "its name is 'xla', expected letters, .* other than 'xla'"),
    (['-DNAME="a b"'], "its name is 'a b', expected letters"),
])
def test_a_library_that_is_no_plugin(tmp_path: Path, flags: list[str], error: str) -> None:
    library = compiled(OWN, tmp_path / "wrong.so", "-Wno-unused", *flags)
    with pytest.raises(ArgumentError, match=f"load: the code generator .*{error}"):
        codegen.load(library)


@pytest.mark.parametrize("first", ["serialize", "deserialize"])
def test_a_table_that_ends_early_has_no_more(tmp_path: Path, first: str) -> None:
    """As one that was compiled with an earlier header: what is behind its size is not read.

    Bytes that nothing could be made of again are not made either.
    """
    offset = getattr(plugin_table.PluginStruct, first).offset
    library = compiled(OWN, tmp_path / "early.so", f"-DSIZE={offset}", f'-DNAME="no_{first}"')
    generator = codegen.load(library)
    assert isinstance(generator, plugin.PluginGenerator)
    region = _region(Own(library), (numpy.ones((2, 2), "float32"),) * 2)
    assert generator.serialize(region, generator.build(region)) is None
    assert codegen.load(library) is generator


def test_a_library_that_is_not_whole(tmp_path: Path) -> None:
    """The dynamic linker would end the process with a signal."""
    data = compiled(OWN, tmp_path / "own.so").read_bytes()
    for size in (64, 70, 1000, 5000, len(data) // 2):
        library = tmp_path / f"{size}.so"
        library.write_bytes(data[:size])
        done = subprocess.run(
            [sys.executable, "-c", "import sys; from lazyloom import codegen\n"
             "codegen.load(sys.argv[1])", str(library)], capture_output=True, text=True)
        assert done.returncode == 1
        assert f"it has {size} bytes, expected " in done.stderr


def test_a_library_that_was_replaced(tmp_path: Path) -> None:
    """It is never taken for the one that took its place, whose programs would be its own."""
    path = tmp_path / "mine.so"
    generator = codegen.load(compiled(OWN, path, '-DNAME="mine"'))
    assert codegen.load(path) is generator
    new = compiled(OWN, tmp_path / "new.so", '-DNAME="mine"', "-O2")
    other = codegen.load(new)
    assert other.version != generator.version
    new.replace(path)
    with pytest.raises(ArgumentError, match="its file was replaced after .* another path"):
        codegen.load(path)
    path.unlink()
    assert codegen.load(path) is generator


@pytest.mark.parametrize("aside", [True, False])
def test_a_library_that_was_replaced_before_it_is_a_generator(tmp_path: Path, aside: bool) -> None:
    path = compiled(OWN, tmp_path / "early.so")
    ctypes.CDLL(str(path))
    if aside:
        path.rename(tmp_path / "old.so")
    compiled(OWN, tmp_path / "new.so", "-O2").replace(path)
    with pytest.raises(ArgumentError, match="its file was replaced after"):
        codegen.load(path)


def test_a_library_of_two_paths_is_one_generator(tmp_path: Path) -> None:
    path = compiled(OWN, tmp_path / "a plug-in \u00e4.so", '-DNAME="twice"')
    (tmp_path / "link.so").symlink_to(path)
    (tmp_path / "same.so").hardlink_to(path)
    (tmp_path / "copy.so").write_bytes(path.read_bytes())
    generator = codegen.load(path)
    assert codegen.load(tmp_path / "link.so") is generator
    assert codegen.load(tmp_path / "same.so") is generator
    # what is on disk is of the library, not of how often one of its name was loaded
    copy = codegen.load(tmp_path / "copy.so")
    assert copy is not generator and registry.identity(copy) == copy.version == generator.version
    assert codegen.load(path) is generator and registry.identity(generator) == generator.version


def test_two_libraries_of_one_name_in_the_environment(tmp_path: Path) -> None:
    first, second = (compiled(OWN, tmp_path / f"{n}.so", f"-O{n}") for n in (1, 2))
    done = subprocess.run(
        [sys.executable, "-c", "from lazyloom import codegen\n"
         f"print(codegen.available()['test_plugin'] is codegen.load({str(first)!r}))"],
        capture_output=True, text=True, env={
            **os.environ, "LAZYLOOM_CODEGEN_PLUGINS": f"{first}:{first}:{second}"})
    assert done.stdout == "True\n", done.stderr
    assert done.stderr.count("RuntimeWarning") == 1
    assert f"'test_plugin', as the code generator of '{first}' before it" in done.stderr


def test_estimates_that_are_no_times_are_left_out(
    own: Own, arrays: tuple[Any, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    a, b = arrays
    program = lazyloom.program_of(np.asarray(a) + np.asarray(b))
    for seconds, shown in ((2.0, True), (float("nan"), False), (-1.0, False)):
        monkeypatch.setattr(plugin.PluginGenerator, "seconds", lambda self, region, s=seconds: s)
        assert ("estimated" in codegen.explain(program).text()) is shown


@pytest.mark.parametrize(("given", "error"), [
    ("\udcff/no.so", "'.udcff/no.so' cannot be loaded: it is not found; expected"),
    ("\ud800/no.so", "'.ud800/no.so' cannot be loaded: it is not found; expected"),
    (5, "load: a int was given, expected the path of a library"),
    ("", "load: '' was given, expected a path or a name"),
    ("a\0b", "expected a path or a name"),
    ("no_such_plugin", "'no_such_plugin' cannot be loaded: liblazyloom_codegen_no_such_plugin.so"),
])
def test_wrong_arguments(given: Any, error: str) -> None:
    load: Callable[[Any], Any] = codegen.load
    with pytest.raises(ArgumentError, match=error):
        load(given)
