"""A cache that is carried: what a process used, in a file; what fits elsewhere, and why not."""

from __future__ import annotations

import errno
import hashlib
import io
import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lazyloom import cache
from lazyloom.cache import carried, disk, memory, private, used
from lazyloom.codegen import verdicts
from lazyloom.errors import ArgumentError
from lazyloom.execute import carrying
from lazyloom.execute.compiling import background, programs
from tests.contract.helpers import ROOT, counted, host, number, rec, script

pytestmark = [pytest.mark.xla, pytest.mark.compiled,
              pytest.mark.once("files of the disk cache, which is no core")]

X = np.linspace(-1, 1, 24).reshape(4, 6).astype(np.float32)
PROGRAM = """
    import json, sys
    import numpy as np
    import lazyloom as ll
    def rec(op, *operands, **attributes):
        return ll.record(op, operands, attributes)
    info = ll.cache.load(sys.argv[2]) if sys.argv[1] == "load" else None
    x = ll.from_host(np.linspace(-1, 1, 24).reshape(4, 6).astype(np.float32))
    y = rec("matmul", rec("tanh", x), rec("transpose", x, axes=(1, 0)))
    result = rec("sum", y, axes=(0,), keepdims=False).read()
    if sys.argv[1] == "save":
        info = ll.cache.save(sys.argv[2])
    print(json.dumps({"result": result.tobytes().hex(), **ll.stats(),
                      "statuses": [a.status for a in info.artifacts]}))
"""


def work(op: str = "tanh") -> np.ndarray:
    y = rec("matmul", rec(op, host(X)), rec("transpose", host(X), axes=(1, 0)))
    found: np.ndarray = rec("multiply", y, number(2.5)).read()
    return found


def forget() -> None:
    """As in a new process: nothing in memory, nothing used."""
    from lazyloom.backends.xla import lowering

    memory.clear()
    lowering._memory.clear()
    lowering._placed.clear()
    disk._held.clear()
    used.forget()


@pytest.fixture
def folders(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fresh_cache: Path
) -> Iterator[Callable[[str], Path]]:
    """Makes this process one that has just begun, with another cache folder."""

    def another(name: str) -> Path:
        forget()
        monkeypatch.setenv("LAZYLOOM_CACHE_DIR", str(tmp_path / name))
        return tmp_path / name

    another("here")
    yield another
    forget()


@pytest.fixture
def saved(folders: Callable[[str], Path], tmp_path: Path) -> Path:
    """A file of a program's cache; the folder is another one, and empty."""
    work()
    info = cache.save(tmp_path / "saved.cache")
    assert Counter(a.kind for a in info.artifacts)["program"] == 1 and not info.missing
    folders("there")
    return tmp_path / "saved.cache"


def changed(path: Path, change: Callable[[Any], None]) -> None:
    """Change the list of contents of a file, with a checksum that is right."""
    data = path.read_bytes()
    _, length, _ = carried._HEAD.unpack_from(data)
    start = carried._HEAD.size
    listed = json.loads(data[start : start + length])
    change(listed)
    text = json.dumps(listed).encode()
    head = carried._HEAD.pack(carried._MAGIC, len(text), hashlib.sha256(text).digest())
    path.write_bytes(head + text + data[start + length :])


def test_another_process_with_another_folder_compiles_and_traces_nothing(tmp_path: Path) -> None:
    path = str(tmp_path / "saved.cache")
    first = json.loads(script(PROGRAM, "save", path, cache=tmp_path / "a").stdout)
    second = json.loads(script(PROGRAM, "load", path, cache=tmp_path / "b").stdout)
    assert first["programs_compiled"] == 1 and set(first["statuses"]) == {"saved"}
    assert second["programs_from_disk"] == 1 and set(second["statuses"]) == {"loaded"}
    assert second["programs_compiled"] == second["jax_traces"] == second["disk_errors"] == 0
    assert second["result"] == first["result"]


def test_it_has_what_was_used_and_nothing_else(
    folders: Callable[[str], Path], tmp_path: Path
) -> None:
    work("sin")
    forget()
    work("tanh")  # in this "process", which shares its folder with the one before
    compiled = cache.save(tmp_path / "one")
    forget()
    work("tanh")  # found on disk
    found = cache.save(tmp_path / "two")
    forget()
    whole = cache.save(tmp_path / "all", everything=True)
    programs_of = [{a.name for a in info.artifacts if a.kind == "program"}
                   for info in (compiled, found, whole)]
    assert programs_of[0] == programs_of[1] < programs_of[2]
    assert list(map(len, programs_of)) == [1, 1, 2]
    # what was found on disk was not lowered
    assert {a.kind for a in found.artifacts} == {"program"}
    assert "lowering" in {a.kind for a in compiled.artifacts}
    assert cache.save(tmp_path / "none").artifacts == ()


def test_what_a_compiler_process_used_is_told(folders: Callable[[str], Path]) -> None:
    used.join([["program", "0" * 64, "1" * 64]])
    assert used.entries() == [used.Used("program", "0" * 64, "1" * 64)]
    assert used.entries(1) == []


def test_programs_compiled_beside_the_program_are_in_it(tmp_path: Path) -> None:
    done = script("""
        import sys
        import numpy as np, lazyloom as ll
        from lazyloom.execute import costs
        costs.WORTH, costs.PART, costs.SLOWER, costs.START_EARLY = 0.0, 0.0, float("inf"), 0.0
        costs.EAGER_FACTOR = 1e9
        x = ll.from_host(np.full(4, 0.5, np.float32))
        for _ in range(20):
            y = x
            for _ in range(8):
                y = ll.record("sin", [y])
            y.read()
            if ll.last_evaluation().form == "compiled":
                break
            ll.finish_compiling()
        info = ll.cache.save(sys.argv[1])
        assert not info.compiling, info
        kinds = [a.kind for a in info.artifacts if a.status == "saved"]
        assert ll.stats()["background_compiles"] == 1, ll.stats()
        # compiled by another process, with lowerings that this one never saw
        assert kinds.count("program") == 1 and "lowering" in kinds, info
        """, str(tmp_path / "saved"), cache=tmp_path / "cache", LAZYLOOM_REPRODUCIBLE="0")
    assert done.returncode == 0


def test_what_is_being_compiled_is_waited_for_or_left_out(
    folders: Callable[[str], Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    waits: list[Any] = []
    monkeypatch.setattr(background, "wait", lambda timeout: waits.append(timeout) or False)
    monkeypatch.setattr(background, "unfinished", lambda: 3)
    info = cache.save(tmp_path / "saved", timeout=0)
    assert info.compiling == 3 and "3 programs were still being compiled" in str(info)
    cache.save(tmp_path / "saved")
    assert waits == [0, None]
    with pytest.raises(ArgumentError, match="timeout is -1, expected seconds"):
        cache.save(tmp_path / "saved", timeout=-1)


def other_version(listed: Any) -> None:
    for e in listed["environments"]:
        e["fingerprint"] = "0" * 64
        e["about"]["jaxlib"] = "0.0.1"


def other_processor(listed: Any) -> None:
    for e in listed["environments"]:
        flags = e["about"].get("cpu flags", e["about"].get("cpu Features", ""))
        e["fingerprint"] = "0" * 64
        e["about"]["cpu flags"] = f"{flags} amx_of_the_test " + "x" * 80


def other_flags(listed: Any) -> None:
    for e in listed["environments"]:
        e["fingerprint"] = "0" * 64
        e["about"]["XLA_FLAGS"] = "--xla_of_the_test"


def other_scope(listed: Any) -> None:
    for e in listed["environments"]:
        e["scope"] = "graphs"


@pytest.mark.parametrize(("change", "reason"), [
    (other_version, "jaxlib 0.0.1, here "), (other_processor, "without amx_of_the_test"),
    (other_flags, "XLA_FLAGS --xla_of_the_test, here none"), (other_scope, "valid for 'graphs'"),
])
def test_what_was_made_elsewhere_is_refused_part_by_part(
    saved: Path, change: Callable[[Any], None], reason: str
) -> None:
    changed(saved, change)
    info = cache.load(saved)
    assert len(info.refused) == len(info.artifacts) > 1
    assert all(reason in a.reason for a in info.refused), info
    assert reason in str(info)
    with counted() as delta:
        work()
    assert delta.programs_compiled == 1 and delta.programs_from_disk == 0


def test_one_environment_fits_and_the_other_does_not(saved: Path) -> None:
    """Kernels depend on less than programs do."""
    folder = Path(os.environ["LAZYLOOM_CACHE_DIR"])
    from lazyloom.host import storage

    storage.store("kernel", b"of the test", b"text")
    cache.load(saved)
    work()
    cache.save(saved)
    forget()
    for path in disk.files(str(folder)):
        os.unlink(path.path)

    def one(listed: Any) -> None:
        (e,) = [e for e in listed["environments"] if e["scope"] == "programs"]
        e["fingerprint"] = "0" * 64
        e["about"]["threads"] = "1000"

    changed(saved, one)
    info = cache.load(saved)
    assert {a.kind for a in info.usable} == {"kernel"}
    assert {a.kind for a in info.refused} >= {"program"}
    assert storage.load("kernel", b"of the test") == b"text"


def test_programs_of_other_code_generators_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    description = b"structure\ngenerators old=0\ndonate"
    assert programs.generators_text(description) == ""
    made = description + b"\ngenerators nobodys=3.1 c=0\nmeasured abc+"
    assert programs.generators_text(made) == "nobodys=3.1 c=0"
    why = carrying.refusal("program", made)
    assert why.startswith("code generators nobodys=3.1 c=0, here ")
    assert carrying.refusal("program", description) == ""
    here = carrying.registry.versions(carrying.registry.at_first())
    assert not here or carrying.refusal(
        "program", description + f"\ngenerators {here}".encode()) == ""


def test_libraries_for_other_processors_are_refused() -> None:
    level = carrying.native.level()
    assert carrying.refusal("library", f"abc {level}".encode()) == ""
    assert carrying.refusal("function", f"abc {level + 1}".encode()) == (
        f"for processors of level x86-64-v{level + 1}, here {level}")
    march = carrying.march()
    assert carrying.refusal("c", "\0".join(["cc", *march, "text"]).encode()) == ""
    assert "-march=of-the-test" in carrying.refusal("c", b"cc\0-march=of-the-test\0text")


@pytest.mark.parametrize("part", ["first", "middle", "last"])
def test_a_damaged_entry_is_refused_and_the_others_are_not(saved: Path, part: str) -> None:
    data = bytearray(saved.read_bytes())
    _, length, _ = carried._HEAD.unpack_from(data)
    base = carried._HEAD.size + length
    at = {"first": base + 4, "middle": (base + len(data)) // 2, "last": len(data) - 1}[part]
    data[at] ^= 0x40
    saved.write_bytes(data)
    info = cache.load(saved)
    (bad,) = info.refused
    assert bad.reason.startswith("damaged") and len(info.usable) == len(info.artifacts) - 1
    work()


def test_a_truncated_file_gives_what_it_has(saved: Path) -> None:
    data = saved.read_bytes()
    _, length, _ = carried._HEAD.unpack_from(data)
    base = carried._HEAD.size + length
    saved.write_bytes(data[: (base + len(data)) // 2])
    info = cache.load(saved)
    assert info.usable and info.refused
    assert {a.reason for a in info.refused} == {"damaged: it is not what was written, or not whole"}


def test_what_is_no_such_file_is_an_error(saved: Path, tmp_path: Path) -> None:
    data = saved.read_bytes()
    _, length, _ = carried._HEAD.unpack_from(data)
    for bad, message in (
        (b"", "is no file of lazyloom.cache.save"), (b"PK\3\4" * 100, "is no file of"),
        (data[:20], "is no file of"), (data[: carried._HEAD.size + 3], "is damaged"),
        (data[:60] + b"?" + data[61:], "is damaged"),
        (data[:8] + b"\xff" * 8 + data[16:], "is damaged"),
    ):  # fmt: skip
        saved.write_bytes(bad)
        for function in (cache.load, cache.contents):
            with pytest.raises(ArgumentError, match=message):
                function(saved)
    with pytest.raises(FileNotFoundError):
        cache.load(tmp_path / "none")


@pytest.mark.parametrize("row", [
    ["../../etc", "0" * 64, 0, 0, 1, 1], ["program", "../" * 21 + "x", 0, 0, 1, 1],
    ["/tmp", "0" * 64, 0, 0, 1, 1], ["program", "0" * 64, 99, 0, 1, 1],
    ["program", "0" * 64, 0, -1, 1, 1], ["program", "0" * 64, 0, 0, 1, 1.5], ["program"],
    [None, "0" * 64, 0, 0, 1, 1],
])
def test_a_list_that_names_other_places_is_refused(saved: Path, row: list[Any]) -> None:
    changed(saved, lambda listed: listed["entries"].append(row))
    with pytest.raises(ArgumentError, match="has a list of contents that this version"):
        cache.load(saved)
    assert not Path(os.environ["LAZYLOOM_CACHE_DIR"]).exists()


def test_an_entry_goes_where_its_own_bytes_say(saved: Path) -> None:
    """Names that are exchanged in the list, with its checksum, are noticed."""

    def exchange(listed: Any) -> None:
        first, second = listed["entries"][:2]
        first[1], second[1] = second[1], first[1]

    changed(saved, exchange)
    info = cache.load(saved)
    assert len(info.refused) == 2 and all("damaged" in a.reason for a in info.refused)


def test_an_entry_that_unpacks_to_more_than_it_says_is_refused(saved: Path) -> None:
    def shrink(listed: Any) -> None:
        listed["entries"][0][5] -= 1

    changed(saved, shrink)
    (bad,) = cache.load(saved).refused
    assert bad.reason.startswith("damaged")


def test_what_is_there_already_stays(saved: Path) -> None:
    first, second = cache.load(saved), cache.load(saved)
    assert {a.status for a in first.artifacts} == {"loaded"}
    assert {a.status for a in second.artifacts} == {"present"}


def test_the_program_that_returns_more_is_kept() -> None:
    few = programs._packed(((0, 0),), {}, b"few")
    more = programs._packed(((0, 0), (1, 0)), {}, b"more")
    other = programs._packed(((2, 0),), {}, b"other")
    assert carrying.joined("program", few, more) == more
    for existing, given in ((more, few), (few, few), (few, other), (few, b"")):
        assert carrying.joined("program", existing, given) is None
    assert carrying.joined("kernel", b"a", b"b") is None


def test_verdicts_are_joined() -> None:
    def packed(*names: str) -> bytes:
        one = verdicts.Verdict("c", ("a",), 1e-6, 2e-6, 9, True, True)
        return verdicts.Verdicts(dict.fromkeys(names, one)).packed().encode()

    whole = carrying.joined("verdict", packed("one"), packed("one", "two"))
    assert whole is not None and set(verdicts.unpacked(whole).found) == {"one", "two"}
    assert carrying.joined("verdict", packed("one"), packed("one")) is None
    assert carrying.joined("verdict", packed("one"), b"[") is None


@pytest.mark.parametrize("code", [errno.EROFS, errno.ENOSPC])
def test_where_the_folder_cannot_be_written_the_process_holds_it(
    saved: Path, monkeypatch: pytest.MonkeyPatch, code: int, tmp_path: Path
) -> None:
    def refuse(*given: Any) -> None:
        raise OSError(code, os.strerror(code))

    with monkeypatch.context() as patch:
        patch.setattr(private, "write", refuse)
        info = cache.load(saved)
        assert {a.status for a in info.artifacts} == {"in memory"} == {
            a.status for a in info.usable}
        assert all(os.strerror(code) in a.reason for a in info.artifacts)
        with counted() as delta:
            work()
        assert delta.programs_from_disk == 1 and delta.programs_compiled == 0
        # and what it holds can be saved again
        again = cache.save(tmp_path / "again")
        assert not again.missing and any(a.kind == "program" for a in again.artifacts)


def test_what_could_not_be_stored_is_saved_from_memory_or_said_to_be_missing(
    folders: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def refuse(*given: Any) -> None:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))

    with monkeypatch.context() as patch:
        patch.setattr(private, "write", refuse)
        expected = work()
        info = cache.save(tmp_path / "saved")
    assert {a.kind for a in info.artifacts if a.status == "saved"} == {"program"}
    assert {a.kind for a in info.missing} == {"lowering"} and "missing" in str(info)
    folders("there")
    cache.load(tmp_path / "saved")
    with counted() as delta:
        np.testing.assert_array_equal(work(), expected)
    assert delta.programs_from_disk == 1 and delta.jax_traces == 0


def test_a_full_disk_leaves_no_part_of_a_file(
    folders: Callable[[str], Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    work()
    place = tmp_path / "files"
    place.mkdir()
    (place / "saved").write_bytes(b"before")

    def full(handle: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        cache.save(place / "saved")
    assert [p.name for p in place.iterdir()] == ["saved"]
    assert (place / "saved").read_bytes() == b"before"
    with pytest.raises(FileNotFoundError):
        cache.save(place / "none" / "saved")


def test_where_there_is_no_room_the_process_holds_it(
    saved: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LAZYLOOM_CACHE_LIMIT", "10")
    info = cache.load(saved)
    assert {a.status for a in info.artifacts} == {"in memory"}
    assert "LAZYLOOM_CACHE_LIMIT" in info.artifacts[0].reason


def test_without_the_disk_cache_both_are_errors(
    saved: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LAZYLOOM_CACHE", "0")
    with pytest.raises(ArgumentError, match=r"cache.save: the disk cache is off \(LAZYLOOM_CACHE"):
        cache.save(saved)
    with pytest.raises(ArgumentError, match=r"cache.load: the disk cache is off \(LAZYLOOM_CACHE"):
        cache.load(saved)
    assert cache.contents(saved).artifacts


def test_two_processes_at_once(saved: Path, tmp_path: Path) -> None:
    code = """
        import sys
        import lazyloom as ll
        for _ in range(5):
            refused = ll.cache.load(sys.argv[1]).refused
            assert not refused, refused
            info = ll.cache.save(sys.argv[2], everything=True)
            assert not ll.cache.contents(sys.argv[2]).missing
        print(len(info.artifacts))
    """
    import textwrap

    env = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), *(p for p in sys.path if p)]),
           "LAZYLOOM_CACHE_DIR": str(tmp_path / "both")}
    begun = [subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(code), str(saved), str(tmp_path / "out")],
        env=env, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE) for _ in range(2)]
    ends = [p.communicate(timeout=300) for p in begun]
    assert [p.returncode for p in begun] == [0, 0], ends
    number_of = len(cache.contents(saved).artifacts)
    assert [int(out) for out, _ in ends] == [number_of] * 2
    assert len(cache.load(tmp_path / "out").usable) == number_of


def test_files_that_are_open(saved: Path) -> None:
    work()
    written = io.BytesIO()
    info = cache.save(written)
    assert info.nbytes == len(written.getvalue()) and info.file == "the given file"
    written.seek(0)
    assert len(cache.contents(written).artifacts) == len(info.artifacts)
    written.seek(0)
    assert {a.status for a in cache.load(written).artifacts} == {"present"}


def test_the_command_line(tmp_path: Path) -> None:
    def run(*arguments: str, check: bool = True, **environment: str) -> Any:
        env = {**os.environ, **environment,
               "PYTHONPATH": os.pathsep.join([str(ROOT), *(p for p in sys.path if p)])}
        done = subprocess.run([sys.executable, "-m", "lazyloom", "cache", *arguments],
                              env=env, text=True, capture_output=True, timeout=120)
        assert not check or done.returncode == 0, done
        return done

    here = {"LAZYLOOM_CACHE_DIR": str(tmp_path / "here")}
    there = {"LAZYLOOM_CACHE_DIR": str(tmp_path / "there")}
    script_of = tmp_path / "program.py"
    script_of.write_text(
        "import sys\nimport lazyloom_numpy as np\n"
        "print(float((np.arange(9.0) * 2).sum()), sys.argv[1:], __name__)\n"
        "sys.exit(int(sys.argv[1]))")
    file = str(tmp_path / "file")
    done = run("save", file, str(script_of), "0", "--flag", **here)
    assert done.stdout == "72.0 ['0', '--flag'] __main__\n" and "saved" in done.stderr
    assert run("save", str(tmp_path / "no"), str(script_of), "3", check=False,
               **here).returncode == 3
    assert not (tmp_path / "no").exists()
    assert "saved" in run("save", str(tmp_path / "all"), **here).stdout
    listed = run("list", file, **there).stdout
    assert "listed" in listed and "jaxlib" in listed and not (tmp_path / "there").exists()
    assert "loaded" in run("load", file, **there).stdout
    assert (tmp_path / "there").exists()
    changed(Path(file), other_version)
    done = run("load", file, check=False, **there)
    assert done.returncode == 1 and "refused: jaxlib 0.0.1, here" in done.stdout
    for wrong in (("load", str(script_of)), ("load", str(tmp_path / "none")),
                  ("list", str(script_of)), ("save", str(tmp_path / "none" / "file"))):
        done = run(*wrong, check=False, **here)
        assert done.returncode == 1 and done.stderr.startswith("python -m lazyloom cache "), done
        assert len(done.stderr.splitlines()) == 1
