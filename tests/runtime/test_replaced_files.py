"""Files that are replaced when all is written."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

import lazyloom
from lazyloom import files


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
