"""``python -m lazyloom run``: ranks, output, signals and deaths."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from lazyloom.__main__ import main

pytestmark = pytest.mark.slow

#: seconds after which a launch is given up
LIMIT = 30


def start(*arguments: str, **options: Any) -> subprocess.Popen[str]:
    # without it a process writes what it prints at once, as it ends
    env = {k: v for k, v in os.environ.items() if k != "PYTHONUNBUFFERED"}
    return subprocess.Popen(
        [sys.executable, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        stdin=subprocess.DEVNULL, env=env, **options)


def launched(*arguments: str, program: str = "lazyloom", **options: Any) -> tuple[int, str, str]:
    """Exit status, output and errors of a launch."""
    with start("-m", program, "run", *arguments, **options) as p:
        try:
            out, err = p.communicate(timeout=LIMIT)
        finally:
            p.kill()
        return p.returncode, out, err


def until(holds: Callable[[], bool]) -> None:
    """Wait until something holds."""
    end = time.monotonic() + LIMIT
    while not holds():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.02)


def running(pid: int) -> bool:
    """Whether a process is there and no zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


@pytest.fixture
def script(tmp_path: Path) -> Callable[[str], str]:
    def made(text: str) -> str:
        path = tmp_path / "script.py"
        path.write_text(
            "import os, sys, time, signal\nrank = int(os.environ['RANK'])\n"
            f"def note(name):\n    open({str(tmp_path)!r} + f'/{{name}}{{rank}}', 'w')"
            ".write(str(os.getpid()))\n" + text)
        return str(path)

    return made


def noted(folder: Path, name: str, *ranks: int) -> list[int]:
    """The processes that called ``note``."""
    paths = [folder / f"{name}{rank}" for rank in ranks]
    until(lambda: all(p.exists() and p.read_text() for p in paths))
    return [int(p.read_text()) for p in paths]


def test_each_process_is_told_what_torchrun_tells(script: Callable[[str], str]) -> None:
    path = script("""
names = ["RANK", "LOCAL_RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE", "GROUP_RANK", "ROLE_RANK"]
print(*[os.environ[n] for n in names], os.environ["MASTER_ADDR"], sys.argv[1:], __name__)
assert 0 < int(os.environ["MASTER_PORT"]) < 65536
""")
    code, out, err = launched("-n", "3", path, "-n", "7", "--flag")
    assert code == 0 and not err
    assert sorted(out.splitlines()) == [
        f"{r} {r} 3 3 0 {r} 127.0.0.1 ['-n', '7', '--flag'] __main__" for r in range(3)]


def test_the_second_of_two_machines(script: Callable[[str], str]) -> None:
    path = script("print(rank, *[os.environ[n] for n in ('LOCAL_RANK', 'WORLD_SIZE', 'GROUP_RANK',"
                  " 'MASTER_ADDR', 'MASTER_PORT')])")
    code, out, err = launched("-n", "2", "--nnodes", "2", "--node-rank", "1", "--master-addr",
                              "192.0.2.1", "--master-port", "1234", path)
    assert code == 0, err
    assert sorted(out.splitlines()) == ["2 0 4 1 192.0.2.1 1234", "3 1 4 1 192.0.2.1 1234"]


def test_a_module_and_a_command(tmp_path: Path) -> None:
    (tmp_path / "my_module.py").write_text("import sys; print('module', *sys.argv[1:])")
    code, out, _ = launched("-n", "2", "-m", "my_module", "-m", "x", cwd=tmp_path)
    assert code == 0 and out == "module -m x\n" * 2
    code, out, _ = launched("--no-python", "echo", "a", "-n")
    assert code == 0 and out == "a -n\n"


def test_a_script_that_imports_torch(script: Callable[[str], str]) -> None:
    path = script("import torch\nprint(torch.__file__, int(torch.ones(2).sum()), sys.argv[1:])")
    for code, out, err in (launched("-n", "2", path, "a", program="lazyloom_torch"),
                           launched("-n", "2", "-m", "lazyloom_torch", path, "a")):
        assert code == 0, err
        assert len(out.splitlines()) == 2 and out.count("lazyloom_torch") == 2
        assert out.count("2 ['a']") == 2


def test_lines_are_tagged_with_ranks(script: Callable[[str], str]) -> None:
    path = script("""
print("out\\nfurther")
sys.stderr.write("err\\n")
sys.stderr.write("no end")
""")
    code, out, err = launched("-n", "2", "--tag-output", path)
    assert code == 0
    assert sorted(out.splitlines()) == sorted(
        f"[rank {r}] {t}" for r in range(2) for t in ("out", "further"))
    assert sorted(err.splitlines()) == sorted(
        f"[rank {r}] {t}" for r in range(2) for t in ("err", "no end"))


def test_much_output_is_whole(script: Callable[[str], str]) -> None:
    path = script("for i in range(20000): sys.stderr.write(f'{rank} line {i}\\n')")
    code, _, err = launched("-n", "2", path)
    lines = err.splitlines()
    assert code == 0 and len(lines) == 40000
    for r in range(2):
        assert [x for x in lines if x[0] == str(r)] == [f"{r} line {i}" for i in range(20000)]


def test_one_that_exits_ends_the_others_and_is_named(
    script: Callable[[str], str], tmp_path: Path
) -> None:
    path = script("""
note("begun")
if rank == 1:
    here = os.path.dirname(__file__)
    while not all(os.path.exists(f"{here}/begun{r}") for r in (0, 2)): time.sleep(.01)
    sys.stderr.write("one\\ntwo\\n")
    sys.exit(7)
time.sleep(100)
""")
    code, _, err = launched("-n", "3", path)
    assert code == 7
    assert "rank 1 (process " in err and "exited with code 7 after" in err
    assert "its last lines on stderr:\n  | one\n  | two\n" in err
    assert "ending ranks 0, 2: SIGTERM, and SIGKILL after 30 s" in err
    assert not any(map(running, noted(tmp_path, "begun", 0, 1, 2)))


def test_one_that_is_killed_takes_what_it_started_along(
    script: Callable[[str], str], tmp_path: Path
) -> None:
    path = script("""
import subprocess
if rank == 1:
    worker = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(100)"])
    open(os.path.dirname(__file__) + "/worker", "w").write(str(worker.pid))
    os.kill(os.getpid(), signal.SIGKILL)
time.sleep(100)
""")
    code, _, err = launched("-n", "2", path)
    assert code == 137
    assert "rank 1 (process" in err and "was killed by SIGKILL (signal 9)" in err
    assert "with nothing on stderr" in err
    until(lambda: not running(int((tmp_path / "worker").read_text())))


def test_one_that_does_not_end_is_killed_after_the_stated_time(
    script: Callable[[str], str], tmp_path: Path
) -> None:
    path = script("""
signal.signal(signal.SIGTERM, lambda *_: note("asked"))
note("begun")
if rank == 1:
    while not os.path.exists(os.path.dirname(__file__) + "/begun0"): time.sleep(.01)
    sys.exit(1)
for _ in range(1000): time.sleep(.1)
""")
    begun = time.monotonic()
    code, _, err = launched("-n", "2", "--grace", "0.5", path)
    assert code == 1 and time.monotonic() - begun < LIMIT
    assert "SIGKILL after 0.5 s" in err and "rank 0 did not end in 0.5 s: SIGKILL" in err
    assert not any(map(running, noted(tmp_path, "asked", 0)))


def test_one_that_is_stopped_is_left_alone(script: Callable[[str], str], tmp_path: Path) -> None:
    path = script("note('begun')\nfor _ in range(5): time.sleep(.1)\nprint('end')")
    with start("-m", "lazyloom", "run", "-n", "2", path) as p:
        stopped, _ = noted(tmp_path, "begun", 0, 1)
        os.kill(stopped, signal.SIGSTOP)
        time.sleep(1)
        assert p.poll() is None
        os.kill(stopped, signal.SIGCONT)
        out, err = p.communicate(timeout=LIMIT)
    assert p.returncode == 0 and out == "end\n" * 2 and not err


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_reaches_every_process_once(
    script: Callable[[str], str], tmp_path: Path, number: int
) -> None:
    path = script("""
def got(number, frame):
    global count
    count += 1
count = 0
for n in (signal.SIGINT, signal.SIGTERM): signal.signal(n, got)
note("begun")
while not count: time.sleep(.01)
time.sleep(.3)
print(rank, count)
""")
    # a session of its own, all of which gets the signal, as from a terminal
    with start("-m", "lazyloom", "run", "-n", "2", path, start_new_session=True) as p:
        noted(tmp_path, "begun", 0, 1)
        os.killpg(p.pid, number)
        out, err = p.communicate(timeout=LIMIT)
    assert p.returncode == 0 and sorted(out.splitlines()) == ["0 1", "1 1"]
    assert f"{signal.Signals(number).name} is passed on to ranks 0, 1" in err


def test_ctrl_c_ends_all(script: Callable[[str], str], tmp_path: Path) -> None:
    path = script("note('begun')\ntime.sleep(100)")
    with start("-m", "lazyloom", "run", "-n", "2", path) as p:
        pids = noted(tmp_path, "begun", 0, 1)
        p.send_signal(signal.SIGINT)
        _, err = p.communicate(timeout=LIMIT)
    assert p.returncode == 130 and err.count("\nKeyboardInterrupt") == 2
    assert "exited" not in err and not any(map(running, pids))


def test_ctrl_c_again_kills(script: Callable[[str], str], tmp_path: Path) -> None:
    path = script("signal.signal(signal.SIGINT, lambda *_: note('asked'))\nnote('begun')\n"
                  "for _ in range(1000): time.sleep(.1)")
    with start("-m", "lazyloom", "run", "-n", "2", path) as p:
        noted(tmp_path, "begun", 0, 1)
        p.send_signal(signal.SIGINT)
        pids = noted(tmp_path, "asked", 0, 1)
        p.send_signal(signal.SIGINT)
        p.communicate(timeout=LIMIT)
    assert p.returncode == 130 and not any(map(running, pids))


@pytest.mark.skipif(sys.platform != "linux", reason="the kernel's part is Linux's")
def test_a_killed_launcher_leaves_no_process(
    script: Callable[[str], str], tmp_path: Path
) -> None:
    path = script("note('begun')\ntime.sleep(100)")
    with start("-m", "lazyloom", "run", "-n", "2", path) as p:
        pids = noted(tmp_path, "begun", 0, 1)
        p.kill()
        p.communicate(timeout=LIMIT)
    until(lambda: not any(map(running, pids)))


def test_nobody_reads_on(script: Callable[[str], str]) -> None:
    path = script("for i in range(100000): print(i)")
    with start("-m", "lazyloom", "run", "--tag-output", path) as p:
        assert p.stdout is not None
        p.stdout.readline()
        p.stdout.close()
        assert p.wait(LIMIT) == 1
        assert p.stderr is not None and "BrokenPipeError" in p.stderr.read()


def test_what_does_not_fit_is_said_before_anything_starts(
    script: Callable[[str], str], tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    path = script("note('begun')")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        for arguments, said in (
            (["-n", "0", path], "-n is 0, expected at least 1"),
            (["--nnodes", "2", path], "give --master-addr and --master-port"),
            (["--nnodes", "2", "--node-rank", "2", path], "--node-rank is 2, expected 0 to 1"),
            (["--master-port", port, path], f"port {port} of 127.0.0.1 cannot be used"),
            (["--master-port", "70000", path], "--master-port is 70000"),
            (["--master-addr", "192.0.2.1", path], "give --master-port as well"),
            (["--grace", "-1", path], "--grace is -1"),
            (["no_such.py"], "there is no file 'no_such.py'"),
            (["--no-python", "./no_such"], "'./no_such' cannot be started"),
        ):
            assert main(["run", *arguments]) == 2
            assert said in capfd.readouterr().err
    assert not (tmp_path / "begun0").exists()
