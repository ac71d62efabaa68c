"""``as_torch`` and ``python -m lazyloom_torch``: ``import torch`` means lazyloom_torch.

Each program runs in a process of its own; none needs another package.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest


def run(folder: Path, code: str, *command: str, **files: str) -> subprocess.CompletedProcess[str]:
    """A program, with modules beside it, by a command that ends in its name or ``-m`` module."""
    for name, text in files.items():
        (folder / f"{name}.py").write_text(dedent(text))
    program = folder / "program.py"
    program.write_text(dedent(code))
    command = command or (str(program),)
    # what this process imports, and nothing that would hide the folder of the program
    path = os.pathsep.join(p for p in sys.path if p)
    return subprocess.run([sys.executable, *command], cwd=folder, capture_output=True, text=True,
                          env={**os.environ, "PYTHONPATH": path}, timeout=120)


def check(done: subprocess.CompletedProcess[str], *said: str) -> None:
    assert done.returncode == 0, done.stderr
    for text in said:
        assert text in done.stdout, done.stdout + done.stderr


#: a library that says ``import torch`` in each way that libraries do
LIBRARY = """
    import importlib
    import torch
    import torch.nn.functional as F
    import torch.utils.checkpoint
    from torch import Tensor, nn, optim
    from torch.nn.modules.utils import _pair
    from torch.utils.data import DataLoader, TensorDataset

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.fc = nn.Linear(3, 2)

        def forward(self, x: Tensor) -> Tensor:
            return F.relu(self.fc(x))

    def loss(net):
        x = torch.arange(12.0).reshape(4, 3)
        for batch, in DataLoader(TensorDataset(x), batch_size=4):
            return net(batch).square().mean()

    special = importlib.import_module("torch.special")
"""


def test_libraries_import_torch_and_get_this(tmp_path: Path) -> None:
    check(run(tmp_path, """
        import sys
        import lazyloom_torch
        with lazyloom_torch.as_torch() as installed:
            import library
            torch = library.torch
            net = library.Net()
            optimizer = library.optim.SGD(net.parameters(), lr=0.1)
            library.loss(net).backward()
            optimizer.step()
            assert torch is lazyloom_torch is sys.modules["torch"]
            assert library.F is sys.modules["torch.nn.functional"] is lazyloom_torch.nn.functional
            assert isinstance(net.fc.weight.grad, library.Tensor)
            assert library.special is lazyloom_torch.special
            assert torch.__spec__.name == "lazyloom_torch"
            print(installed)
        print(installed)
        assert not [name for name in sys.modules if name.partition(".")[0] == "torch"]
        assert library.loss(net).item() >= 0  # what was imported keeps what it imported
        """, library=LIBRARY), "<as_torch: installed>", "<as_torch: taken back>")


def test_holders_are_counted_and_a_forbidden_import_is_lifted(tmp_path: Path) -> None:
    check(run(tmp_path, """
        import sys
        sys.modules["torch"] = None
        import lazyloom_torch
        first = lazyloom_torch.as_torch()
        with lazyloom_torch.as_torch():
            pass
        import torch
        first.uninstall()
        first.uninstall()
        assert "torch" not in sys.modules
        with lazyloom_torch.as_torch():
            import torch
        """))


def test_what_is_said_of_the_package_torch(tmp_path: Path) -> None:
    check(run(tmp_path, """
        import importlib.metadata as metadata, importlib.util as util
        import lazyloom_torch
        before = [d.name for d in metadata.distributions()]
        with lazyloom_torch.as_torch():
            assert metadata.version("torch") == lazyloom_torch.__version__ == "2.13.0"
            assert "torch" in metadata.packages_distributions()["torch"]
            assert [d.name for d in metadata.distributions(name="numpy")] == ["numpy"]
            assert util.find_spec("torch") and util.find_spec("torch.nn.functional")
            assert util.find_spec("torch.fx") and not util.find_spec("torch.nothing")
            try:
                import torch.nothing
            except ModuleNotFoundError as error:
                assert error.name == "torch.nothing"
            try:
                import torch.nn.functional.nothing
            except ModuleNotFoundError:
                print("no such module")
        assert [d.name for d in metadata.distributions()] == before
        """), "no such module")


def test_pytorch_in_the_process_is_an_error(tmp_path: Path) -> None:
    done = run(tmp_path, """
        import torch
        import lazyloom_torch
        try:
            lazyloom_torch.as_torch()
        except RuntimeError as error:
            print(error)
        import sys
        assert torch.mine and sys.modules["torch"] is torch
        assert not lazyloom_torch._as_torch._holders
        """, torch="mine = True")  # another package of that name stands for PyTorch
    check(done, "imported PyTorch already", "torch.py", "python -m lazyloom_torch script.py")


def test_what_is_installed_is_imported_afterwards(tmp_path: Path) -> None:
    check(run(tmp_path, """
        import lazyloom_torch
        with lazyloom_torch.as_torch():
            import torch
            assert torch is lazyloom_torch
        import torch
        assert torch.mine
        """, torch="mine = True"))


SCRIPT = """
    import sys
    import library, torch
    if __name__ == "__main__":
        print(__file__, sys.argv, torch.__name__, library.loss(library.Net()).item() >= 0)
        sys.exit(7)
"""


def test_the_command_runs_scripts_and_modules(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    for how in ((str(program),), ("-m", "program")):
        done = run(tmp_path, SCRIPT, "-m", "lazyloom_torch", *how, "a", "-b", library=LIBRARY)
        assert done.returncode == 7, done.stderr
        assert f"{program} ['{program}', 'a', '-b'] torch True" in done.stdout
    done = subprocess.run(  # the libraries beside a script are found from elsewhere
        [sys.executable, "-m", "lazyloom_torch", str(program)], cwd=elsewhere, text=True,
        capture_output=True, timeout=120,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)})
    assert done.returncode == 7, done.stderr


@pytest.mark.parametrize("given, code, said", [
    ((), 1, "usage: python -m lazyloom_torch"), (("--help",), 0, "usage: python -m lazyloom_torch"),
    (("-m",), 1, "usage:"), (("nowhere.py",), 1, "there is no file 'nowhere.py'"),
])  # fmt: skip
def test_what_the_command_says(tmp_path: Path, given: Any, code: int, said: str) -> None:
    done = run(tmp_path, "", "-m", "lazyloom_torch", *given)
    assert done.returncode == code
    assert said in done.stdout + done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("method", ["spawn", "forkserver"])
def test_worker_processes_have_it_too(tmp_path: Path, method: str) -> None:
    check(run(tmp_path, f"""
        import multiprocessing
        import torch, library
        def work(n):
            return library.torch.ones(n).sum().item(), torch.__name__
        if __name__ == "__main__":
            with multiprocessing.get_context("{method}").Pool(1) as pool:
                print(pool.apply(work, (3,)))
            data = library.TensorDataset(torch.arange(4.0))
            loader = library.DataLoader(data, 2, num_workers=1,
                                        multiprocessing_context="{method}")
            print([batch[0].tolist() for batch in loader])
        """, "-m", "lazyloom_torch", "program.py", library=LIBRARY),
        "(3.0, 'torch')", "[[0.0, 1.0], [2.0, 3.0]]")
