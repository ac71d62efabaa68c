"""The process that compiles for a program: begun apart from it, watched, and replaced."""

from __future__ import annotations

import os
import shlex
import signal
import socket
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from lazyloom.execute.compiling import compiler_start, detached, process_errors
from lazyloom.execute.compiling.connection import Connection, SilentError
from tests.contract.helpers import ROOT, script

pytestmark = [
    pytest.mark.xla, pytest.mark.once("the process, and what begins and watches it, is no core"),
    pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")]

BEGIN = """
    import os, signal, sys, threading, time
    import numpy as np
    import lazyloom as ll
    from lazyloom.execute import costs
    from lazyloom.execute.compiling import background, compiler_start
    from lazyloom.execute.compiling import process as compiler_process
    from tests.runtime.process_state import children

    costs.WORTH, costs.PART, costs.SLOWER, costs.START_EARLY = 0.0, 0.0, float("inf"), 0.0
    costs.EAGER_FACTOR = 1e9
    x = ll.from_host(np.full(4, 0.5, np.float32))
    process = background._compiler.process

    def run(op="sin", n=8):
        y, e = x, np.full(4, 0.5, np.float32)
        for _ in range(n):
            y, e = ll.record(op, [y]), getattr(np, op)(e)
        np.testing.assert_allclose(y.read(), e, rtol=1e-5)
        return ll.last_evaluation()

    def settle(op="sin", n=8):
        # until it is compiled, or cannot be
        record = run(op, n)
        while record.form == "op_by_op" and record.estimate != float("inf"):
            assert background.wait(100)
            record = run(op, n)
        return record

    def alive(pid):
        # what has ended, all its threads with it, may be listed until it is looked after
        try:
            state = open(f"/proc/{pid}/stat").read().rpartition(")")[2].split()[0]
            return state != "Z" or len(os.listdir(f"/proc/{pid}/task")) > 1
        except OSError:
            return False

    def opened(link):
        try:
            return os.readlink(link)
        except OSError:  # closed meanwhile
            return ""
"""
#: puts a statement before the first that such a process does with a request
WRAPPER = """\
#!{python} -IS
import sys
at = sys.argv.index("-c")
code = sys.argv[at + 1].replace("serve(link)", '''
import os, signal
from lazyloom.execute.compiling import programs
compiled = programs.compiled
def first(request):
    ops = [i.spec.op.name for i in request.structure.instructions]
    {statement}
    return compiled(request)
programs.compiled = first
serve(link)
''')
sys.argv[:at + 2] = ["-c"]
exec(code)
"""


def wrapper(folder: Path, statement: str) -> str:
    """The path of an interpreter whose compilations begin with a statement."""
    path = folder / "python"
    path.write_text(WRAPPER.format(python=os.path.realpath(sys.executable), statement=statement))
    path.chmod(0o700)
    return str(path)


def test_it_imports_nothing_of_the_programs_folder(tmp_path: Path) -> None:
    (tmp_path / "cache").mkdir(mode=0o700)
    for name in ("json", "socket", "struct", "re", "signal", "sitecustomize"):
        (tmp_path / f"{name}.py").write_text("import os; os.makedirs('taken')\nraise SystemExit")
    paths = os.pathsep.join([str(ROOT), *(p for p in sys.path if p)])
    done = subprocess.run(
        [sys.executable, "-P", "-c", textwrap.dedent(BEGIN) + textwrap.dedent("""
        import pathlib
        sys.path[:0] = ["", "."]
        sys.path.append(pathlib.Path("/tmp"))
        assert settle().form == "compiled"
        assert ll.stats()["compilers_begun"] == 1 and not background.failures()
        assert os.listdir("cache")  # what it stored
        """)], cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False,
        env={**os.environ, "PYTHONPATH": paths, "LAZYLOOM_CACHE_DIR": "cache",
             "LAZYLOOM_REPRODUCIBLE": "0"})
    assert done.returncode == 0 and not done.stderr, done.stderr
    assert not (tmp_path / "taken").exists()


def test_it_is_no_child_of_the_program_and_leaves_nothing_open(tmp_path: Path) -> None:
    done = script(BEGIN + """
    import subprocess
    arrived, waited = [], []
    signal.signal(signal.SIGCHLD, lambda number, frame: arrived.append(number))
    child = subprocess.Popen(["cat"], stdin=subprocess.PIPE)
    waiting = threading.Thread(target=lambda: waited.append(os.wait()[0]), daemon=True)
    waiting.start()
    ours = open(os.environ["OURS"], "w")
    os.set_inheritable(ours.fileno(), True)
    before = set(os.listdir("/proc/self/fd")), threading.active_count()
    background.IDLE = 0.2
    while not process.pid:
        run()
    pid = process.pid
    # neither Ctrl-C nor killpg() reaches it, and it ends before the program does
    assert os.getsid(pid) == pid != os.getsid(0) and os.getpriority(os.PRIO_PROCESS, pid) >= 10
    assert int(open(f"/proc/{pid}/oom_score_adj").read()) >= 500
    files = {opened(f"/proc/{pid}/fd/{n}") for n in os.listdir(f"/proc/{pid}/fd")}
    # what it imports may be open, but nothing of this process: no pipe and no file
    assert "/dev/null" in files and any(name.startswith("socket:") for name in files), files
    assert ours.name not in files and not any(name.startswith("pipe:") for name in files), files
    assert settle().form == "compiled"
    while background._compiler.thread or alive(pid):
        time.sleep(0.01)
    assert not waited and not arrived and children().split() == [str(child.pid)]
    child.stdin.close()
    waiting.join()
    assert waited == [child.pid] and len(arrived) == 1
    # a thread that has ended is listed for a moment
    while threading.active_count() > before[1] - 1:
        time.sleep(0.01)
    assert len(os.listdir("/proc/self/fd")) <= len(before[0])
    """, cache=tmp_path / "cache", LAZYLOOM_REPRODUCIBLE="0", OURS=str(tmp_path / "ours"))
    assert not done.stderr


@pytest.mark.slow
def test_a_process_that_adopts_orphans_keeps_no_zombie(tmp_path: Path) -> None:
    script(BEGIN + """
    import ctypes
    adopts = 36  # PR_SET_CHILD_SUBREAPER, as the first process of a container is one
    assert ctypes.CDLL(None).prctl(adopts, 1, 0, 0, 0) == 0
    background.IDLE = 0.2
    assert settle().form == "compiled"
    deadline = time.time() + 60
    while children() or background._compiler.thread:
        assert time.time() < deadline, children()
        time.sleep(0.01)
    """, cache=tmp_path, LAZYLOOM_REPRODUCIBLE="0")


def test_a_program_that_ends_it_stays_op_by_op_and_others_are_compiled(tmp_path: Path) -> None:
    script(BEGIN + """
    compiler_process.PAUSE = 0.01
    assert settle("sin").form == "compiled"
    process_of_sin = process.pid
    record = settle("tanh")
    assert "compiling failed: the process that compiled it ended" in record.text(), record.text()
    found = ll.stats()
    assert (found["compilers_begun"], found["compilers_lost"]) == (2, 2), found
    assert (found["background_failures"], len(background.failures())) == (1, 1)
    assert settle("cos").form == "compiled" and process.pid != process_of_sin
    assert run("tanh").form == "op_by_op"
    # asked for whole, it is an error and not the end of this process
    with ll.options(reproducible=True):
        y = x
        for _ in range(8):
            y = ll.record("tanh", [y])
        try:
            y.read()
            raise SystemExit("it was compiled here")
        except ll.LoomError as error:
            assert "not compiled in this process" in str(error), error
    assert run("tanh").form == "op_by_op"
    """, cache=tmp_path / "cache", LAZYLOOM_REPRODUCIBLE="0", LAZYLOOM_COMPILER=wrapper(
        tmp_path, "if 'tanh' in ops: os.kill(os.getpid(), signal.SIGSEGV)"))


def test_later_processes_know_a_program_that_ends_it(tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    script(BEGIN + """
    compiler_process.PAUSE = 0.01
    assert settle("tanh").form == "op_by_op"
    assert ll.stats()["compilers_lost"] == 2
    """, cache=cache, LAZYLOOM_REPRODUCIBLE="0", LAZYLOOM_COMPILER=wrapper(
        tmp_path, "if 'tanh' in ops: os.kill(os.getpid(), signal.SIGSEGV)"))
    script(BEGIN + """
    with ll.options(reproducible=True):
        try:
            run("tanh")
            raise SystemExit("it was compiled here")
        except ll.LoomError as error:
            assert "in an earlier process" in str(error), error
    record = settle("tanh")
    assert record.form == "op_by_op" and "in an earlier process" in record.text(), record.text()
    assert ll.stats()["compilers_begun"] == ll.stats()["programs_compiled"] == 0
    assert settle("sin").form == "compiled"
    """, cache=cache, LAZYLOOM_REPRODUCIBLE="0")
    # what may compile it in another way tries again
    script(BEGIN + """
    assert settle("tanh").form == "compiled"
    """, cache=cache, LAZYLOOM_REPRODUCIBLE="0", XLA_FLAGS="--xla_cpu_prefer_vector_width=128")


@pytest.mark.slow
def test_one_that_is_ended_or_stopped_or_not_reached_is_replaced(tmp_path: Path) -> None:
    marker = tmp_path / "stopped"
    statement = (f"assert sys.prefix == {sys.prefix!r}; "
                 f"os.path.exists({str(marker)!r}) or os.mkdir({str(marker)!r}) or "
                 "os.kill(os.getpid(), signal.SIGSTOP)")
    script(BEGIN + """
    compiler_process.SILENCE = 3.0
    while not ll.stats()["compilers_lost"]:
        run()
        time.sleep(0.01)
    compiler_process.SILENCE = 60.0  # on a machine that is busy
    assert settle("sin").form == "compiled"  # by the second: the first stops
    found = ll.stats()
    assert (found["compilers_begun"], found["compilers_lost"]) == (2, 1), found
    os.kill(process.pid, signal.SIGKILL)  # with nothing to do
    while alive(process.pid):
        time.sleep(0.01)
    assert settle("cos").form == "compiled"
    found = ll.stats()
    assert (found["compilers_begun"], found["compilers_lost"]) == (3, 1), found
    assert not background.failures() and found["compiler_process_us"] > 0

    # as a daemon does
    number = process._connection._link.fileno()
    os.closerange(3, 256)
    mine = [open(sys.argv[1] + str(k), "w+") for k in range(10)]
    assert number in [file.fileno() for file in mine]
    assert settle("sqrt").form == "compiled"
    process.close()
    for file in mine:
        file.write("mine")
        file.seek(0)
        assert file.read() == "mine"
    """, str(tmp_path / "file"), cache=tmp_path / "cache", timeout=300, LAZYLOOM_REPRODUCIBLE="0",
        LAZYLOOM_COMPILER=wrapper(tmp_path, statement))


def test_a_frozen_application_is_not_begun_once_more(tmp_path: Path) -> None:
    application = tmp_path / "python3"  # named like one
    application.write_text(f"#!/bin/sh\ntouch {tmp_path}/begun\n")
    application.chmod(0o700)
    script(BEGIN + """
    sys.frozen, sys.executable = True, sys.argv[1]
    # on a thread of this process
    assert settle("sin").form == settle("cos").form == "compiled"
    (site, error), = background.failures()
    assert "frozen" in str(error) and "LAZYLOOM_COMPILER" in str(error)
    assert ll.stats()["compilers_begun"] == 0 and ll.stats()["background_failures"] == 0
    """, str(application), cache=tmp_path / "cache", LAZYLOOM_REPRODUCIBLE="0")
    assert not (tmp_path / "begun").exists()


@pytest.mark.parametrize("cloned", [True, False])
def test_a_command_is_started_without_a_child(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, cloned: bool
) -> None:
    if not cloned:
        # where the system does not let us, a shell is a child for a moment
        monkeypatch.setattr(detached, "_cloned", lambda text: False)
    arrived: list[int] = []
    before = signal.signal(signal.SIGCHLD, lambda number, frame: arrived.append(number))
    written = tmp_path / "with a 'blank'"
    try:
        mask = signal.pthread_sigmask(signal.SIG_BLOCK, [])
        detached.start(shlex.join(["sh", "-c", 'echo $PPID >"$1.new"; mv "$1.new" "$1"', "",
                                   str(written)]))
        assert signal.pthread_sigmask(signal.SIG_BLOCK, []) == mask
        while not written.exists():
            time.sleep(0.005)
        assert len(arrived) == (0 if cloned else 1)
    finally:
        signal.signal(signal.SIGCHLD, before)


def test_the_interpreter_is_a_python(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    expected = compiler_start.interpreter()
    assert expected == os.path.abspath(sys.executable)
    for executable in (None, "", "/bin/true", str(tmp_path / "python3")):
        monkeypatch.setattr(sys, "executable", executable)
        assert os.path.basename(compiler_start.interpreter()).startswith("python")
    for name in ("prefix", "base_prefix"):
        monkeypatch.setattr(sys, name, str(tmp_path))
    monkeypatch.setattr(sys, "_base_executable", None)
    with pytest.raises(process_errors.NoCompilerError, match="no Python was found"):
        compiler_start.interpreter()
    monkeypatch.setenv("LAZYLOOM_COMPILER", expected)
    assert compiler_start.interpreter() == expected
    monkeypatch.setenv("LAZYLOOM_COMPILER", str(tmp_path / "python3"))
    with pytest.raises(process_errors.NoCompilerError, match="cannot be executed"):
        compiler_start.interpreter()
    monkeypatch.setenv("LAZYLOOM_COMPILER", "0")
    with pytest.raises(process_errors.NoCompilerError, match="LAZYLOOM_COMPILER says so"):
        compiler_start.interpreter()


def test_packages_are_looked_for_where_this_process_has_them(
    monkeypatch: pytest.MonkeyPatch
) -> None:
    import numpy

    monkeypatch.setattr(sys, "path", ["", ".", "src", Path("/opt/x"), b"/opt/y", 3, *sys.path])
    found = compiler_start.paths()
    assert all(os.path.isabs(path) for path in found) and {"/opt/x", "/opt/y"} <= set(found)
    # before anything of the program's
    of_numpy = os.path.dirname(os.path.dirname(numpy.__file__))
    assert found.index(of_numpy) < found.index("/opt/x")


def test_what_cannot_be_begun_is_tried_again_later(monkeypatch: pytest.MonkeyPatch) -> None:
    from lazyloom.execute.compiling.process import CompilerProcess

    tries: list[int] = []

    def refuses() -> Any:
        tries.append(1)
        raise process_errors.NoCompilerError("none here")

    now = [1000.0]
    monkeypatch.setattr(compiler_start, "begin", refuses)
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    process = CompilerProcess()
    for seconds, expected in ((0, 1), (1, 1), (60, 2), (60, 2), (60, 3)):
        now[0] += seconds
        with pytest.raises(process_errors.NoCompilerError):
            process._connected()
        assert len(tries) == expected and process.pause() == 0.0


def test_only_a_process_of_this_user_is_talked_to(monkeypatch: pytest.MonkeyPatch) -> None:
    answers = [(5, os.geteuid() + 1), (6, os.geteuid())]
    monkeypatch.setattr(compiler_start, "peer", lambda link: answers.pop(0))
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(b"")
        listening.listen(2)
        with socket.socket(socket.AF_UNIX) as other, socket.socket(socket.AF_UNIX) as mine:
            other.connect(listening.getsockname())
            mine.connect(listening.getsockname())
            connection, pid = compiler_start._accepted(listening, time.monotonic() + 60)
            assert pid == 6 and other.recv(1) == b""
            Connection(mine).send(b"", b"hello")
            assert connection.receive() == b"hello"
            connection.close()


def test_a_message_to_a_process_that_is_gone_ends_no_program() -> None:
    """SIGPIPE does, in C and where a program has asked for it."""
    ours, theirs = map(Connection, socket.socketpair())
    theirs.close()
    arrived: list[int] = []
    before = signal.signal(signal.SIGPIPE, lambda number, frame: arrived.append(number))
    try:
        with pytest.raises(OSError):
            ours.send(b"x" * 100)
    finally:
        signal.signal(signal.SIGPIPE, before)
    assert not arrived
    ours.close()


def test_a_connection_tells_silence_slowness_and_ends_apart() -> None:
    ours, theirs = map(Connection, socket.socketpair())
    with pytest.raises(SilentError):
        ours.receive(silence=0.05)
    stop = threading.Event()

    def beat() -> None:
        while not stop.wait(0.005):
            theirs.send(b"")

    beating = threading.Thread(target=beat)
    beating.start()
    with pytest.raises(TimeoutError):
        ours.receive(silence=60.0, until=time.monotonic() + 0.2)
    stop.set()
    beating.join()
    theirs.send(b"a" * 100_000)
    assert ours.receive(silence=60.0) == b"a" * 100_000 and not ours.ended()
    theirs.close()
    assert ours.ended()
    with pytest.raises(EOFError):
        ours.receive(silence=60.0)
    ours.close()
    with pytest.raises(OSError, match="closed by somebody else"):
        ours.send(b"x")
