"""``torch.testing`` and the settings that programs make at their start."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import lazyloom_torch as torch
from tests.contract.helpers import script


@pytest.mark.parametrize(("a", "b", "options", "text"), [
    ([1.0, 2.0], [1.0, 2.1], {}, "1 / 2"),
    ([1, 2], [1, 3], {}, "not equal"),
    ([1.0], [1], {}, "'dtype'"),
    ([1.0, 2.0], [1.0], {}, "'shape'"),
    ([float("nan")], [float("nan")], {}, "1 / 1"),
    ([1.0], [2.0], {"rtol": 0.1, "atol": 0.1, "msg": "my words"}, "my words"),
])  # fmt: skip
def test_what_is_not_close_is_told(a: Any, b: Any, options: Any, text: str) -> None:
    with pytest.raises(AssertionError, match=text):
        torch.testing.assert_close(torch.tensor(a), torch.tensor(b), **options)


def test_what_is_close_passes() -> None:
    x = torch.tensor([[1.0, 2.0], [3.0, float("nan")]])
    torch.testing.assert_close({"a": [x, 1.0]}, {"a": [x + 1e-7, 1.0]}, equal_nan=True)
    torch.testing.assert_close(x[:0], x[:0].double(), check_dtype=False)
    with pytest.raises(AssertionError, match=r"item \['a'\]\[0\]"):
        torch.testing.assert_close({"a": [x, 1.0]}, {"a": [x + 1, 1.0]}, equal_nan=True)
    with pytest.raises(ValueError, match="both"):
        torch.testing.assert_close(x, x, rtol=1.0)


@pytest.mark.parametrize("dtype", ["float32", "complex64", "int64", "uint8", "bool"])
def test_made_tensors_are_in_range(dtype: str) -> None:
    kind = getattr(torch, dtype)
    made = torch.testing.make_tensor((50, 4), dtype=kind, device="cpu", noncontiguous=True)
    assert made.shape == (50, 4) and made.dtype is kind and made.stride() == (8, 2)
    if dtype == "int64":
        assert -9 <= int(made.min()) < 0 < int(made.max()) < 10


def test_settings_are_kept_and_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    assert torch.compile(torch.sin).__wrapped__ is torch.sin
    assert torch.compile(mode="max-autotune")(torch.sin).__wrapped__ is torch.sin
    with pytest.raises(TypeError, match="int"):
        torch.compile(3)
    assert torch.jit.script(torch.sin) is torch.sin and not torch.jit.is_scripting()
    assert torch.jit.ignore(torch.sin) is torch.jit.ignore(drop=True)(torch.sin)
    from lazyloom_torch.backends import cudnn

    monkeypatch.setattr(cudnn, "benchmark", True)
    assert torch.backends.cudnn.benchmark and not torch.backends.mps.is_available()
    with cudnn.flags(benchmark=False):
        assert not cudnn.benchmark
    torch.backends.cuda.enable_flash_sdp(False)
    assert not torch.backends.cuda.flash_sdp_enabled() and torch.version.cuda is None
    torch.backends.cuda.enable_flash_sdp(True)
    assert torch.compiler.disable(torch.sin) is torch.sin and not torch.compiler.is_compiling()
    with pytest.raises(AssertionError, match="is_available"):
        torch.cuda.synchronize()
    torch.use_deterministic_algorithms(True, warn_only=True)
    assert torch.are_deterministic_algorithms_enabled()
    torch.use_deterministic_algorithms(False)
    with pytest.raises(ValueError, match="'fast'"):
        torch.set_float32_matmul_precision("fast")
    with pytest.raises(RuntimeError, match="positive"):
        torch.set_num_threads(0)
    assert torch.__version__.split(".")[0] == "2"


def test_types_construct_as_older_programs_write() -> None:
    x = torch.FloatTensor([[1, 2], [3, 4]])
    assert isinstance(x, torch.FloatTensor) and not isinstance(x, torch.LongTensor)
    assert torch.LongTensor(2, 3).shape == (2, 3) and torch.HalfTensor().numel() == 0
    with pytest.raises(TypeError, match="torch.float32"):
        torch.LongTensor(x)
    with pytest.raises(TypeError, match="str"):
        torch.FloatTensor("12")


def test_cache_artifacts(tmp_path: Path) -> None:
    script("""
        import os, sys, warnings
        import lazyloom_torch as torch
        assert torch.compiler.save_cache_artifacts() is None
        (torch.arange(7.0) * 3).sum().item()
        data, info = torch.compiler.save_cache_artifacts()
        assert len(data) == info.nbytes > 0 and info.artifacts and not info.missing
        os.environ["LAZYLOOM_CACHE_DIR"] = sys.argv[1]
        loaded = torch.compiler.load_cache_artifacts(data)
        assert {a.status for a in loaded.artifacts} == {"loaded"}, loaded
        with warnings.catch_warnings(record=True) as caught:
            assert torch.compiler.load_cache_artifacts(data[:60]) is None
        assert "is damaged" in str(caught[0].message)
        """, str(tmp_path / "there"), cache=tmp_path / "here")
