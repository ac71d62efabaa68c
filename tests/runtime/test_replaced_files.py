"""Files that are replaced when all is written."""

from __future__ import annotations

import io
import os
import stat
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

import lazyloom
import lazyloom_numpy as np
import lazyloom_torch as torch
from lazyloom import files
from lazyloom_torch.safetensors import save_file


def test_a_failure_leaves_the_old_file_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "report.json"
    path.write_text("old")
    report = lazyloom.report()

    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    def interrupted(descriptor: int) -> None:
        raise KeyboardInterrupt

    for fails, kind in ((full, OSError), (interrupted, KeyboardInterrupt)):
        monkeypatch.setattr(os, "fsync", fails)
        with pytest.raises(kind):
            report.save(path)
        assert path.read_text() == "old"
        assert os.listdir(tmp_path) == ["report.json"]
    monkeypatch.undo()
    report.save(path)
    assert path.read_text().startswith("{") and os.listdir(tmp_path) == ["report.json"]


def test_links_permissions_and_pipes(tmp_path: Path) -> None:
    path, link = tmp_path / "file", tmp_path / "link"
    path.write_bytes(b"old")
    path.chmod(0o640)
    link.symlink_to(path)
    files.replace(link, [b"n", b"ew"])
    assert link.is_symlink() and path.read_bytes() == b"new"
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    reading, writing = os.pipe()
    try:
        files.replace(f"/dev/fd/{writing}", [b"piped"])
        assert os.read(reading, 10) == b"piped"
    finally:
        os.close(reading)
        os.close(writing)
    with pytest.raises(FileNotFoundError):
        files.replace(tmp_path / "no" / "file", [b""])
    with pytest.raises(OSError):
        files.replace(tmp_path, [b""])


def full_device(folder: Path) -> Path:
    """A device beside files, which is always full, as /dev/full is."""
    path = folder / "full"
    try:
        os.mknod(path, stat.S_IFCHR | 0o666, os.makedev(1, 7))
    except PermissionError:
        pytest.skip("only root makes devices")
    return path


def test_devices_stay_devices(tmp_path: Path) -> None:
    x = np.ones(3)
    path = full_device(tmp_path)
    writers: list[Callable[[Path], object]] = [
        lambda to: lazyloom.export(lambda x: x + 1, to, x),
        lambda to: torch.save(torch.ones(3), to),
        lambda to: save_file({"x": torch.ones(3)}, to)]
    for write in writers:
        with pytest.raises(OSError, match="No space left"):
            write(path)
        assert stat.S_ISCHR(path.stat().st_mode)
        write(Path(os.devnull))
        assert os.listdir(tmp_path) == ["full"]


def test_pipes_have_the_whole_file(tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    found: list[bytes] = []
    for write in (lambda: torch.save(torch.arange(3), path),
                  lambda: lazyloom.export(lambda x: x + 1, path, torch.arange(3))):
        reader = threading.Thread(target=lambda: found.append(path.read_bytes()))
        reader.start()
        write()
        reader.join()
    assert torch.equal(torch.load(io.BytesIO(found[0])), torch.arange(3))
    loaded = lazyloom.load(io.BytesIO(found[1]))
    assert torch.equal(loaded(torch.arange(3)), torch.arange(3) + 1)


def test_paths_of_every_kind(tmp_path: Path) -> None:
    files.replace(os.fsencode(tmp_path / "bytes"), [b"1"])
    # there is no room for a longer name of the file that is written first
    files.replace(tmp_path / ("n" * 255), [b"2"])
    link = tmp_path / "to nothing"
    link.symlink_to("made")
    files.replace(link, [b"3"])
    assert link.is_symlink() and (tmp_path / "made").read_bytes() == b"3"
    assert len(os.listdir(tmp_path)) == 4
    for wrong, error in (("", FileNotFoundError), (f"{tmp_path}/no/", IsADirectoryError),
                         (f"{tmp_path}/no/file", FileNotFoundError), (tmp_path, OSError)):
        with pytest.raises(error) as raised:
            files.replace(wrong, [b""])
        # the path that was given, not that of a file beside it
        assert raised.value.filename == str(wrong) and raised.value.filename2 is None
    assert len(os.listdir(tmp_path)) == 4


def test_threads_that_write_one_file_each_write_it_whole(tmp_path: Path) -> None:
    path, failed = tmp_path / "file", []

    def write(k: int) -> None:
        try:
            for _ in range(20):
                files.replace(path, [bytes([k])] * 1000)
        except OSError as error:
            failed.append(error)

    threads = [threading.Thread(target=write, args=(k,)) for k in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not failed and len(set(path.read_bytes())) == 1 and os.listdir(tmp_path) == ["file"]


def test_a_file_that_is_moved_keeps_links_and_permissions(tmp_path: Path) -> None:
    (tmp_path / "old").write_bytes(b"old")
    (tmp_path / "old").chmod(0o600)
    (tmp_path / "link").symlink_to("old")
    (tmp_path / "new").write_bytes(b"new")
    files.move(str(tmp_path / "new"), str(tmp_path / "link"))
    assert (tmp_path / "link").is_symlink() and (tmp_path / "old").read_bytes() == b"new"
    assert stat.S_IMODE((tmp_path / "old").stat().st_mode) == 0o600
