"""Line 12: bad bytes, a full disk, a killed process or a second writer cost a recompile at most."""

from __future__ import annotations

import fcntl
import json
import os
import pickle
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import lazyloom as ll
from lazyloom.cache import disk, memory, private
from tests.contract.helpers import ROOT, counted, host, in_threads, number, script


def rec(op: str, *operands: Any, **attributes: Any) -> Any:
    return ll.record(op, operands, attributes)


X = np.linspace(-1, 1, 24).reshape(4, 6).astype(np.float32)


def work() -> np.ndarray:
    """A program with lowerings worth storing."""
    x = host(X)
    y = rec("matmul", rec("tanh", x), rec("transpose", x, axes=(1, 0)))
    result: np.ndarray = rec("multiply", rec("sum", y, axes=(0,), keepdims=False),
                             number(2.5)).read()  # fmt: skip
    return result


def forget() -> None:
    """As in a new process: nothing in memory."""
    from lazyloom.backends.xla import lowering

    memory.clear()
    lowering._memory.clear()


@pytest.fixture
def filled(fresh_cache: Path) -> tuple[Path, np.ndarray]:
    """A disk cache that holds the program, and the program's result."""
    forget()
    expected = work()
    forget()
    assert list(disk.files(str(fresh_cache / "program")))
    return fresh_cache, expected


def stored(folder: Path) -> list[Path]:
    return sorted(Path(e.path) for e in disk.files(str(folder)))


SECOND = """
    import json, numpy as np, lazyloom as ll
    X = np.linspace(-1, 1, 24).reshape(4, 6).astype(np.float32)
    def rec(op, *operands, **attributes):
        return ll.record(op, operands, attributes)
    x = ll.from_host(X)
    y = rec("matmul", rec("tanh", x), rec("transpose", x, axes=(1, 0)))
    r = rec("multiply", rec("sum", y, axes=(0,), keepdims=False),
            ll.Scalar(2.5, ll.dtypes.float32)).read()
    print(json.dumps({"result": r.tobytes().hex(), **ll.stats()}))
"""


@pytest.mark.xla
def test_a_second_process_compiles_and_traces_nothing(fresh_cache: Path) -> None:
    first = json.loads(script(SECOND, cache=fresh_cache).stdout)
    second = json.loads(script(SECOND, cache=fresh_cache).stdout)
    assert first["programs_compiled"] == 1 and first["jax_traces"] >= 4
    assert second["programs_compiled"] == second["jax_traces"] == second["eval_shapes"] == 0
    assert second["programs_from_disk"] == 1
    assert second["result"] == first["result"]


def test_a_user_without_a_home_has_a_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not one named ~ in the folder that the process works in."""
    for name in ("LAZYLOOM_CACHE_DIR", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(os.path, "expanduser", lambda path: path)
    found = disk.folder()
    assert os.path.isabs(found) and found.endswith(f"lazyloom-{os.getuid()}")


def test_it_can_be_turned_off(fresh_cache: Path) -> None:
    done = json.loads(script(SECOND, cache=fresh_cache, LAZYLOOM_CACHE="0").stdout)
    assert done["programs_compiled"] == 1
    assert not fresh_cache.exists()


def test_what_is_found_is_used(filled: tuple[Path, np.ndarray]) -> None:
    with counted() as delta:
        np.testing.assert_array_equal(work(), filled[1])
    assert delta.programs_from_disk == 1 and delta.programs_compiled == delta.jax_traces == 0


REGIONS = ["empty", "one byte", "header", "half", "last byte", "magic", "checksum", "length",
           "description", "payload", "end", "zeros", "garbage", "pickle", "longer"]  # fmt: skip


def damage(data: bytes, how: str) -> bytes:
    head = disk._HEAD.size
    cut = {"empty": 0, "one byte": 1, "header": head, "half": len(data) // 2,
           "last byte": len(data) - 1}  # fmt: skip
    if how in cut:
        return data[: cut[how]]
    at = {"magic": 0, "checksum": 12, "length": 41, "description": head + 3,
          "payload": len(data) - max(2, (len(data) - head) // 4), "end": len(data) - 1}  # fmt: skip
    if how in at:
        k = at[how]
        return data[:k] + bytes([data[k] ^ 0x40]) + data[k + 1 :]
    if how == "longer":
        return data + b"x"
    if how == "pickle":
        return pickle.dumps(Explosive())
    return b"\0" * len(data) if how == "zeros" else random.Random(0).randbytes(len(data))


class Explosive:
    """Ends the process if it is ever unpickled."""

    def __reduce__(self) -> Any:
        return os._exit, (99,)


@pytest.mark.parametrize("how", REGIONS)
def test_damaged_files_cost_a_recompile(filled: tuple[Path, np.ndarray], how: str) -> None:
    folder, expected = filled
    for path in stored(folder):
        path.write_bytes(damage(path.read_bytes(), how))
    with counted() as delta:
        np.testing.assert_array_equal(work(), expected)
    assert delta.programs_compiled == 1 and delta.programs_from_disk == 0
    assert delta.disk_errors >= 1
    # and what was stored anew is good
    forget()
    with counted() as delta:
        np.testing.assert_array_equal(work(), expected)
    assert delta.programs_compiled == 0 and delta.programs_from_disk == 1


def test_no_single_flipped_byte_is_used(filled: tuple[Path, np.ndarray]) -> None:
    folder, _ = filled
    rng = random.Random(1)
    for path in stored(folder):
        data = path.read_bytes()
        head = disk._HEAD.size
        (length,) = (int.from_bytes(data[40:48], "little"),)
        description = data[head : head + length]
        assert disk._verified(data, description) is not None
        places = {*range(head + 64), *(rng.randrange(len(data)) for _ in range(200)), len(data) - 1}
        for k in places:
            bad = data[:k] + bytes([data[k] ^ (1 << rng.randrange(8))]) + data[k + 1 :]
            assert disk._verified(bad, description) is None, f"byte {k} of {path}"


def test_an_entry_of_another_program_is_not_used(filled: tuple[Path, np.ndarray]) -> None:
    """Files moved to another's place (as if hashes had met) hold another description."""
    folder, expected = filled
    rec("exp", host(X)).read()
    forget()
    paths = [p for p in stored(folder) if p.relative_to(folder).parts[0] == "program"]
    contents = [p.read_bytes() for p in paths]
    assert len(paths) == 2
    for path, data in zip(paths, reversed(contents)):
        path.write_bytes(data)
    with counted() as delta:
        np.testing.assert_array_equal(work(), expected)
        np.testing.assert_array_equal(rec("abs", host(X)).read(), np.abs(X))
        np.testing.assert_allclose(rec("exp", host(X)).read(), np.exp(X), rtol=1e-5)
    assert delta.programs_from_disk == 0


@pytest.mark.parametrize("payload", [b"", b"\0" * 8, b"\xff" * 64, b"[]", b"{}", b'["a"]'])
def test_well_formed_files_of_foreign_contents_cost_a_recompile(
    filled: tuple[Path, np.ndarray], payload: bytes
) -> None:
    """A right checksum over a payload that this version does not understand."""
    import hashlib

    folder, expected = filled
    for path in stored(folder):
        data = path.read_bytes()
        length = int.from_bytes(data[40:48], "little")
        body = data[disk._HEAD.size : disk._HEAD.size + length] + payload
        path.write_bytes(disk._HEAD.pack(disk._MAGIC, hashlib.sha256(body).digest(), length) + body)
    with counted() as delta:
        np.testing.assert_array_equal(work(), expected)
    assert delta.programs_compiled == 1


def test_foreign_files_and_folders_are_left_alone(filled: tuple[Path, np.ndarray]) -> None:
    folder, expected = filled
    (folder / "program" / "notes.txt").write_text("mine")
    (folder / "zz").mkdir()
    (folder / "program" / "dangling").symlink_to("/nonexistent")
    np.testing.assert_array_equal(work(), expected)
    assert (folder / "program" / "notes.txt").read_text() == "mine"
    disk.info()


def test_a_folder_in_the_place_of_a_file_costs_a_recompile(
    filled: tuple[Path, np.ndarray],
) -> None:
    folder, expected = filled
    for path in stored(folder):
        path.unlink()
        path.mkdir()
    for _ in range(2):
        np.testing.assert_array_equal(work(), expected)
        forget()


def test_a_read_only_folder_is_read(filled: tuple[Path, np.ndarray]) -> None:
    folder, expected = filled
    if os.geteuid() == 0:
        pytest.skip("root writes into read-only folders")
    for path in [folder, *folder.rglob("*")]:
        if path.is_dir():
            path.chmod(0o500)
    try:
        with counted() as delta:
            np.testing.assert_array_equal(work(), expected)
        assert delta.programs_from_disk == 1
        rec("exp", host(X)).read()
    finally:
        for path in [folder, *folder.rglob("*")]:
            if path.is_dir():
                path.chmod(0o700)


def test_a_folder_that_refuses_every_write(
    fresh_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a read-only or full file system does, also for root."""
    import errno

    real = os.open
    for code in (errno.EROFS, errno.ENOSPC, errno.EDQUOT, errno.EIO):

        def refuse(path: Any, flags: int, *rest: Any, code: int = code, **named: Any) -> Any:
            if flags & os.O_CREAT and str(path).startswith(".new-"):
                raise OSError(code, os.strerror(code))
            return real(path, flags, *rest, **named)

        forget()
        with monkeypatch.context() as patch, counted() as delta:
            patch.setattr(os, "open", refuse)
            result = work()
        np.testing.assert_allclose(result, (np.tanh(X) @ X.T).sum(0) * 2.5, rtol=1e-3, atol=1e-5)
        assert delta.programs_compiled == 1 and delta.disk_errors >= 1
    assert stored(fresh_cache) == []


def test_a_file_in_the_place_of_the_folder(tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("a file")
    done = script(SECOND, cache=tmp_path / "cache")
    assert json.loads(done.stdout)["programs_compiled"] == 1
    assert "cannot be used" in done.stderr and "LAZYLOOM_CACHE_DIR" in done.stderr


@pytest.mark.xla
def test_a_disk_that_is_full(tmp_path: Path) -> None:
    """No file may grow beyond 1 KB: each write of an entry fails half way."""
    limited = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (1024, 1024))"
    code = limited + "\n" + textwrap.dedent(SECOND)
    first = json.loads(script(code, cache=tmp_path / "c").stdout)
    assert first["programs_compiled"] == 1 and first["disk_errors"] >= 1
    left = stored(tmp_path / "c")
    assert not [p for p in left if p.name.startswith(".new-")], "a partial file was left"
    second = json.loads(script(SECOND, cache=tmp_path / "c").stdout)
    assert second["result"] == first["result"]


@pytest.mark.parametrize("mode", [0o777, 0o770, 0o722])
def test_a_folder_that_others_can_write_is_refused(tmp_path: Path, mode: int) -> None:
    folder = tmp_path / "cache"
    folder.mkdir()
    folder.chmod(mode)
    done = script(SECOND, cache=folder)
    assert json.loads(done.stdout)["programs_compiled"] == 1
    assert "not private" in done.stderr
    assert stored(folder) == []


def test_the_folder_is_made_private(fresh_cache: Path) -> None:
    work()
    assert fresh_cache.stat().st_mode & 0o777 == 0o700
    for path in fresh_cache.rglob("*"):
        assert path.stat().st_mode & 0o077 == 0, path


def modes(root: Path) -> dict[str, int]:
    return {str(p.relative_to(root)): p.lstat().st_mode & 0o777
            for p in (root, *root.rglob("*"))}  # fmt: skip


def test_all_folders_are_private_also_when_they_are_made_again(
    fresh_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = fresh_cache / "above" / "cache"
    monkeypatch.setenv("LAZYLOOM_CACHE_DIR", str(root))
    umask = os.umask(0)
    try:
        for _ in range(2):
            forget()
            work()
            assert stored(root)
            found = modes(fresh_cache)
            assert set(found.values()) == {0o700, 0o600}, found
            shutil.rmtree(fresh_cache)
        forget()
        work()
        shutil.rmtree(root / "program")
        forget()
        work()
        assert set(modes(fresh_cache).values()) == {0o700, 0o600}
    finally:
        os.umask(umask)
        forget()


def fifo(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def link(path: Path) -> None:
    aside = path.with_name("aside")
    path.rename(aside)
    path.symlink_to(aside)


def writable(path: Path) -> None:
    path.chmod(0o620)


@pytest.mark.parametrize("change", [fifo, link, writable])
def test_what_is_no_file_of_ours_is_not_opened(
    filled: tuple[Path, np.ndarray], change: Callable[[Path], None]
) -> None:
    folder, expected = filled
    for path in stored(folder):
        change(path)
    with counted() as delta:
        np.testing.assert_array_equal(work(), expected)
    assert delta.programs_from_disk == 0 and delta.programs_compiled == 1
    assert delta.disk_errors > 0
    forget()
    with counted() as delta:
        np.testing.assert_array_equal(work(), expected)
    assert delta.programs_from_disk == 1  # what was there has been replaced


@pytest.mark.xla
@pytest.mark.parametrize("level", [1, 2])
@pytest.mark.parametrize("how", ["writable", "link", "another's"])
def test_folders_below_the_root_have_to_be_private(
    filled: tuple[Path, np.ndarray], level: int, how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    root, expected = filled
    for folder in root.glob("/".join("*" * level)):
        if how == "writable":
            folder.chmod(0o777)
        elif how == "link":
            aside = folder.with_name("aside-" + folder.name)
            folder.rename(aside)
            folder.symlink_to(aside)
    if how == "another's":
        inner = {p.stat().st_ino for p in root.glob("/".join("*" * level))}
        real = os.fstat

        def fstat(handle: int) -> Any:
            info = real(handle)
            if info.st_ino not in inner:
                return info
            return os.stat_result((*info[:4], info.st_uid + 1, *info[5:10]))

        monkeypatch.setattr(os, "fstat", fstat)
    with counted() as delta:
        np.testing.assert_array_equal(work(), expected)
    assert delta.programs_from_disk == 0 and delta.jax_traces > 0


def test_clearing_follows_no_link(fresh_cache: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "kept").write_bytes(b"x")
    fresh_cache.mkdir(mode=0o700)
    (fresh_cache / "program").symlink_to(elsewhere)
    assert disk.clear() == 0 and (elsewhere / "kept").exists()


def test_two_processes_that_fill_it_at_once(tmp_path: Path) -> None:
    env = {**os.environ, "LAZYLOOM_CACHE_DIR": str(tmp_path / "c"),
           "PYTHONPATH": os.pathsep.join([str(ROOT), *filter(None, sys.path)])}  # fmt: skip
    processes = [
        subprocess.Popen([sys.executable, "-c", textwrap.dedent(SECOND)], env=env,
                         stdout=subprocess.PIPE, text=True)
        for _ in range(3)
    ]
    done = [json.loads(p.communicate(timeout=120)[0]) for p in processes]
    assert all(p.returncode == 0 for p in processes)
    assert len({d["result"] for d in done}) == 1
    after = json.loads(script(SECOND, cache=tmp_path / "c").stdout)
    assert after["programs_compiled"] == 0 and after["result"] == done[0]["result"]
    assert not [p for p in stored(tmp_path / "c") if p.name.startswith(".new-")]


def test_a_killed_writer_leaves_nothing_that_is_used(filled: tuple[Path, np.ndarray]) -> None:
    folder, expected = filled
    for path in stored(folder):
        data = path.read_bytes()
        (path.parent / ".new-abc").write_bytes(data[: len(data) // 2])
        path.unlink()
    np.testing.assert_array_equal(work(), expected)


def test_a_writer_that_is_killed(tmp_path: Path) -> None:
    kill = """
        import os, signal
        import lazyloom.cache.disk as disk
        replace = os.replace
        disk.os.replace = lambda *_, **__: os.kill(os.getpid(), signal.SIGKILL)
    """
    code = textwrap.dedent(kill) + textwrap.dedent(SECOND)
    done = script(code, cache=tmp_path / "c", check=False)
    assert done.returncode == -9
    after = json.loads(script(SECOND, cache=tmp_path / "c").stdout)
    assert after["programs_compiled"] == 1 and after["disk_errors"] == 0


@pytest.mark.xla
def test_the_size_is_bounded(fresh_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    limit = 400_000
    monkeypatch.setenv("LAZYLOOM_CACHE_LIMIT", str(limit))
    for n in range(2, 40):
        rec("exp", host(np.ones(n))).read()
        size = sum(p.stat().st_size for p in stored(fresh_cache))
        assert size <= limit, f"{size} bytes after {n} programs"
    assert size > limit // 4, "the limit left too little to be of use"
    # the newest is there
    forget()
    with counted() as delta:
        rec("exp", host(np.ones(39))).read()
    assert delta.programs_from_disk == 1


WRITER = """
    import fcntl, os, sys, threading
    from lazyloom.cache import disk

    folder, limit, number = disk.folder(), disk.limit(), int(sys.argv[1])
    sizes = []

    def size():
        # while nobody writes
        with open(os.path.join(folder, ".size"), "rb") as counts:
            fcntl.flock(counts, fcntl.LOCK_EX)
            return sum(entry.stat().st_size for entry in disk.files(folder))

    def write(thread):
        for k in range(40):
            disk.store("program", b"%d %d %d" % (number, thread, k), os.urandom(3000 + 97 * k))
            sizes.append(size())

    threads = [threading.Thread(target=write, args=(k,)) for k in range(2)]
    for thread in threads: thread.start()
    for thread in threads: thread.join()
    print(max(sizes), size())
"""


def test_several_writers_keep_the_limit_together(tmp_path: Path) -> None:
    limit = 200_000
    done = in_threads([
        lambda k=k: script(  # type: ignore[misc]
            WRITER, str(k), cache=tmp_path / "c", LAZYLOOM_CACHE_LIMIT=str(limit))
        for k in range(3)], timeout=120)
    for each in done:
        most, last = map(int, each.stdout.split())
        # the other processes may have written since
        assert max(most, last) <= limit, f"{most} and {last} bytes of {limit}"
    assert last > limit // 2


def test_what_is_larger_than_the_limit_is_not_stored(
    fresh_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LAZYLOOM_CACHE_LIMIT", "1000")
    disk.store("program", b"small", b"x" * 300)
    disk.store("program", b"large", b"x" * 2000)
    assert disk.load("program", b"large") is None
    assert disk.load("program", b"small") == b"x" * 300


def test_a_writer_that_is_stopped_in_the_middle_stops_no_other(
    fresh_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from lazyloom.cache import room

    disk.store("program", b"first", b"x")
    monkeypatch.setattr(room, "PATIENCE", 0.05)
    with open(fresh_cache / room.NAME, "r+b") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        disk.store("program", b"second", b"x")
    assert disk.load("program", b"second") is None
    disk.store("program", b"second", b"x")
    assert disk.load("program", b"second") == b"x"


def test_a_signals_handler_stores_while_the_program_does(
    fresh_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from lazyloom.cache import room

    def write(at: int, name: str, data: bytes) -> None:
        signal.raise_signal(signal.SIGALRM)
        inner(at, name, data)

    def handler(*_: object) -> None:
        monkeypatch.setattr(private, "write", inner)
        disk.store("program", b"second", b"x")
        stored.append(disk.load("program", b"second"))

    stored: list[bytes | None] = []
    inner = private.write
    monkeypatch.setattr(private, "write", write)
    # it would wait for the lock that the program has
    monkeypatch.setattr(room, "PATIENCE", 0.05)
    before = signal.signal(signal.SIGALRM, handler)
    try:
        disk.store("program", b"first", b"x")
    finally:
        signal.signal(signal.SIGALRM, before)
    assert stored == [b"x"]
    assert disk.load("program", b"first") == b"x"


def test_counts_that_are_damaged_are_made_again(fresh_cache: Path) -> None:
    from lazyloom.cache import room

    disk.store("program", b"first", b"x")
    counts = fresh_cache / room.NAME
    whole = counts.read_bytes()
    for damage in (b"", b"short", b"x" * 100):
        counts.write_bytes(damage)
        disk.store("program", b"first", b"x")
        assert disk.load("program", b"first") == b"x"
        assert len(counts.read_bytes()) >= len(whole)


@pytest.mark.parametrize("mode", [0o777, 0o775, 0o757])
def test_a_folder_that_others_can_exchange_is_refused(tmp_path: Path, mode: int) -> None:
    above = tmp_path / "shared"
    (above / "deep" / "cache").mkdir(parents=True, mode=0o700)
    # a group that others may be in
    os.chown(above, -1, _another_group(above))
    above.chmod(mode)
    root = str(above / "deep" / "cache")
    link = tmp_path / "link"
    link.symlink_to(above / "deep")
    through = str(tmp_path / "x" / ".." / "link" / "cache")
    (tmp_path / "x").mkdir()
    for path in (root, through):
        with pytest.raises(private.NotPrivateError, match=f"lies below {above}, where others"):
            private.check_above(path)
    with pytest.raises(private.NotPrivateError), private.folder(root, create=True):
        pass
    # only what is one's own can be renamed there
    above.chmod(mode | 0o1000)
    private.check_above(root)
    with private.folder(root, create=True):
        pass


def _another_group(path: Path) -> int:
    others = [g for g in os.getgroups() if not private._is_own_group(g)]
    return 12345 if os.geteuid() == 0 else others[0] if others else path.stat().st_gid


def test_a_link_that_others_can_exchange_is_refused(tmp_path: Path) -> None:
    shared = tmp_path / "shared"
    (tmp_path / "cache").mkdir(mode=0o700)
    shared.mkdir()
    (shared / "link").symlink_to(tmp_path / "cache")
    shared.chmod(0o777)
    with pytest.raises(private.NotPrivateError, match="shared, where others"):
        private.check_above(str(shared / "link" / "inner"))
    shared.chmod(0o1777)
    private.check_above(str(shared / "link" / "inner"))
    (tmp_path / "round").symlink_to(tmp_path / "round")
    with pytest.raises(OSError, match=r"[Ss]ymbolic links"):
        private.check_above(str(tmp_path / "round" / "cache"))


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give folders away")
def test_a_folder_or_link_of_another_user_is_refused(tmp_path: Path) -> None:
    theirs = tmp_path / "theirs"
    (theirs / "cache").mkdir(parents=True, mode=0o700)
    os.chown(theirs, 12345, -1)
    with pytest.raises(private.NotPrivateError, match="owner 12345"):
        private.check_above(str(theirs / "cache"))
    link = tmp_path / "link"
    link.symlink_to(tmp_path)
    os.chown(link, 12345, -1, follow_symlinks=False)
    with pytest.raises(private.NotPrivateError, match="of user 12345"):
        private.check_above(str(link / "cache"))


def test_the_group_of_a_user_alone_may_write_above(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    above = tmp_path / "above"
    above.mkdir()
    above.chmod(0o775)
    monkeypatch.setattr(private, "_is_own_group", lambda group: True)
    private.check_above(str(above / "cache"))
    above.chmod(0o777)
    with pytest.raises(private.NotPrivateError):
        private.check_above(str(above / "other"))


@pytest.mark.xla
def test_no_library_is_loaded_from_temporary_files_that_others_can_exchange(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from lazyloom.backends.xla.regions.c_compiler import library_of

    shared = tmp_path / "tmp"
    shared.mkdir()
    shared.chmod(0o777)
    monkeypatch.setattr(tempfile, "tempdir", str(shared))
    with pytest.raises(private.NotPrivateError, match=f"lies below {shared}"):
        library_of("int one(void) { return 1; }", [], 30)
    assert not list(shared.iterdir())


def test_a_cache_that_others_can_exchange_is_not_used(tmp_path: Path) -> None:
    above = tmp_path / "shared"
    above.mkdir()
    above.chmod(0o777)
    done = script(SECOND, cache=above / "cache")
    assert json.loads(done.stdout)["programs_compiled"] == 1
    assert "lies below" in done.stderr and "LAZYLOOM_CACHE_DIR" in done.stderr
    assert not (above / "cache").exists()


def test_no_module_of_the_runtime_unpickles() -> None:
    for path in (ROOT / "runtime").rglob("*.py"):
        text = path.read_text()
        for word in ("import pickle", "pickle.load", "marshal", "shelve", "dill"):
            assert word not in text, f"{path}: {word}"


@pytest.mark.xla
def test_another_environment_uses_none_of_it(fresh_cache: Path) -> None:
    script(SECOND, cache=fresh_cache)
    other = json.loads(script(
        SECOND, cache=fresh_cache, XLA_FLAGS="--xla_cpu_enable_fast_math=false").stdout)
    assert other["programs_from_disk"] == 0 and other["programs_compiled"] == 1


def test_what_is_learned_of_outputs_is_stored(fresh_cache: Path) -> None:
    def run(keep: bool) -> None:
        a = rec("exp", host(X))
        b = rec("add", a, number(2.5))
        kept = [a] if keep else []
        del a
        b.read()
        del kept

    run(False)
    run(True)
    forget()
    with counted() as delta:
        run(True)
        run(False)
    assert delta.programs_compiled == 0 and delta.programs_from_disk == 1


def test_local_ops_are_never_stored(fresh_cache: Path, handlers: Any) -> None:
    rec("test_count_local", host([1.0])).read()
    assert stored(fresh_cache) == []
