"""Where the library is built: a folder that only its user can have written."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from lazyloom_capi import build


def test_the_folder_in_the_cache_is_private(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setattr(build, "HERE", tmp_path / "file" / "installed")  # cannot be written
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    umask = os.umask(0)
    try:
        found = build.library_dir()
    finally:
        os.umask(umask)
    assert found.parent == tmp_path / "cache" / "lazyloom"
    for folder in (found, found.parent, found.parent.parent):
        assert folder.stat().st_mode & 0o777 == 0o700
    found.chmod(0o777)
    with pytest.raises(build.BuildError, match="not private"):
        build.library_dir()
