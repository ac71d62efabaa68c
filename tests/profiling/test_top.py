"""``python -m lazyloom top``: a process is asked what it does, from outside."""

import json
import os
import signal
import socket
import stat
import subprocess
import sys
import tempfile
import textwrap
import threading
import time

import pytest

import lazyloom
import lazyloom_numpy as np
from lazyloom.__main__ import main
from lazyloom.monitoring import activity, command, server, sockets
from lazyloom.trace import graph

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="sockets tell users on Linux only")
#: seconds that anything here may take
LONGEST = 60


@pytest.fixture
def folder(monkeypatch):
    # short, since the path of a socket is
    with tempfile.TemporaryDirectory(dir="/tmp") as path:
        monkeypatch.setenv("XDG_RUNTIME_DIR", path)
        yield os.path.join(path, "lazyloom")


@pytest.fixture
def answering(folder):
    yield lazyloom.monitor()
    lazyloom.monitor(False)


def asked(*words):
    return subprocess.run(
        [sys.executable, "-m", "lazyloom", "top", *words], capture_output=True, text=True,
        timeout=LONGEST)


def started(program, **streams):
    """A process that answers, once it has written a line."""
    process = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(program)], stdout=subprocess.PIPE,
        stdin=subprocess.PIPE, bufsize=0, env={**os.environ, "LAZYLOOM_TOP": "1"}, **streams)
    assert process.stdout.readline().strip() == b"ready"
    return process


def thread_of(told, name):
    return next(t for t in told["threads"] if t["name"] == name)


def until(found):
    """What a function returns that is not None, asked again for a while."""
    end = time.monotonic() + LONGEST
    while time.monotonic() < end:
        result = found()
        if result is not None:
            return result
    raise AssertionError("it did not come about")


def test_only_its_owner_can_open_the_socket(answering, folder):
    assert stat.S_IMODE(os.stat(folder).st_mode) == 0o700
    info = os.stat(answering)
    assert stat.S_ISSOCK(info.st_mode) and stat.S_IMODE(info.st_mode) == 0o600
    assert answering == os.path.join(folder, f"{os.getpid()}.sock")


def test_a_folder_that_others_can_enter_is_refused(folder):
    os.mkdir(folder)
    os.chmod(folder, 0o755)
    with pytest.raises(PermissionError, match="has the mode 755, expected 700"):
        lazyloom.monitor()
    assert os.listdir(folder) == []


def test_another_user_gets_no_answer(answering, monkeypatch):
    monkeypatch.setattr(server, "peer", lambda connection: (1, os.geteuid() + 1))
    with pytest.raises(sockets.NoProcessError, match="has ended"):
        command.ask(os.getpid())


def test_counters_grow_with_what_runs(answering):
    y = np.arange(7.0)
    lazyloom.sync(y)
    before = command.ask(os.getpid())
    for k in range(5):
        y = np.tanh(y) + k
        float(y.sum())
    now = command.ask(os.getpid())
    assert now["counters"]["reads"] - before["counters"]["reads"] == 5
    rates = command.rates(before, now)
    seconds = now["seconds"] - before["seconds"]
    assert rates["reads"] == pytest.approx(5 / seconds)
    assert rates["programs"] == pytest.approx(5 / seconds)
    assert now["newest_run"]["reason"] == "read"
    assert os.path.basename(now["newest_run"]["line"]).startswith("test_top.py:")


def test_an_answer_takes_no_lock_of_the_runtime(answering):
    with graph.trace.lock:
        told = command.ask(os.getpid())
    assert told["process"] == os.getpid()


def test_a_thread_that_compiles_is_said_to(answering, monkeypatch):
    from lazyloom.execute.compiling import programs

    inside, go = threading.Event(), threading.Event()
    compiling = programs.backend

    def waits():
        if sys._getframe(1).f_code.co_name == "compiled":
            inside.set()
            assert go.wait(LONGEST)
        return compiling()

    monkeypatch.setattr(programs, "backend", waits)

    x = np.asarray([0.5] * 11)

    def compiles():
        with lazyloom.options(reproducible=True):
            float((x * 2 + np.cos(x)).sum())

    thread = threading.Thread(target=compiles, name="the compiling one")
    thread.start()
    try:
        assert inside.wait(LONGEST)
        told = thread_of(command.ask(os.getpid()), "the compiling one")
    finally:
        go.set()
        thread.join()
    assert told["state"] == activity.COMPILING
    assert told["line"].rpartition(":")[0] == __file__
    assert told["what"].startswith("read of ")
    newest = command.ask(os.getpid())["newest_compile"]["text"]
    assert newest.startswith("compiled a program of 4 ops for the read at")
    # why it was, which depends on what this process has run
    assert " ms; " in newest


def test_a_thread_that_waits_for_data_is_said_to(answering, monkeypatch):
    from lazyloom.evaluate import reading

    inside, go = threading.Event(), threading.Event()
    x = np.arange(9.0) + 1
    lazyloom.sync(x, wait=True)
    taken = reading.user_site

    def waits():
        inside.set()
        assert go.wait(LONGEST)
        return taken()

    monkeypatch.setattr(reading, "user_site", waits)
    thread = threading.Thread(target=lambda: x.copy().tolist(), name="the waiting one")
    thread.start()
    try:
        if not inside.wait(5):
            pytest.skip("the core is compiled, and calls the function itself")
        told = thread_of(command.ask(os.getpid()), "the waiting one")
    finally:
        go.set()
        thread.join()
    assert told["state"] == activity.WAITING


def test_nothing_is_left_where_it_ends(folder):
    path = lazyloom.monitor()
    assert lazyloom.monitor() == path
    lazyloom.monitor(False)
    assert not os.path.exists(path)
    assert lazyloom.monitor(False) is None
    from lazyloom.hooks import hooks

    assert hooks.observer is None
    assert not [t for t in threading.enumerate() if t.name == "lazyloom-top"]
    with pytest.raises(sockets.NoProcessError, match="LAZYLOOM_TOP=1"):
        command.ask(os.getpid())


def test_a_profile_and_top_go_together(answering):
    x = np.asarray([0.5] * 5)
    with lazyloom.profile() as watched:
        float(np.cos(x).sum())
        assert command.ask(os.getpid())["counters"]["reads"]
    assert watched.report.data["about"]["runs"] == 1
    with pytest.raises(lazyloom.errors.ArgumentError), lazyloom.profile(), lazyloom.profile():
        pass
    from lazyloom.hooks import hooks

    assert isinstance(hooks.observer, activity.Activity)


@pytest.mark.once("processes of their own")
def test_a_process_that_is_stuck_in_a_run_answers(folder):
    # a loop of the device that takes long
    process = started("""
        import lazyloom, lazyloom_numpy as np
        x = np.ones((64, 64), dtype=np.float32)
        def body(state):
            k, x = state
            return k + 1, np.tanh(x @ x)
        k, x = lazyloom.while_loop(lambda s: s[0] < 10_000_000, body, (np.asarray(0), x))
        print("ready", flush=True)
        with lazyloom.options(reproducible=True):
            float(x.sum())
    """)
    try:
        def stuck():
            told = command.ask(process.pid)
            main = thread_of(told, "MainThread")
            return told if main["state"] == activity.WAITING and main["seconds"] > 0.2 else None

        told = until(stuck)
        assert told["newest_run"]["form"] == "compiled"
        shown = asked(str(process.pid), "--once")
        assert shown.returncode == 0, shown.stderr
        assert "MainThread  waiting" in shown.stdout and "<string>" in shown.stdout
    finally:
        process.kill()
        process.wait()
    # a killed process leaves its socket, which the next look removes
    assert os.listdir(folder) == [f"{process.pid}.sock"]
    listed = asked()
    assert listed.returncode == 1 and "LAZYLOOM_TOP=1" in listed.stderr
    assert os.listdir(folder) == []


WAITS = """
    import os, sys, time
    import lazyloom
    {more}
    print("ready", flush=True)
    sys.stdin.read()
"""


@pytest.mark.once("processes of their own")
def test_the_end_and_ctrl_c_leave_no_file(folder):
    for number in (None, signal.SIGINT):
        process = started(WAITS.format(more=""))
        assert os.listdir(folder) == [f"{process.pid}.sock"]
        if number is not None:
            process.send_signal(number)
        process.communicate(b"", timeout=LONGEST)
        assert process.returncode == (0 if number is None else -signal.SIGINT)
        assert os.listdir(folder) == []


@pytest.mark.once("processes of their own")
def test_a_child_has_no_socket_and_leaves_the_parents(folder):
    process = started(WAITS.format(more="""
    child = os.fork()
    if child == 0:
        sys.exit(0)
    assert os.waitpid(child, 0)[1] == 0
    child = os.fork()
    if child == 0:
        os.close(1)
        time.sleep(60)
        os._exit(0)
    os.write(2, str(child).encode())
    """), stderr=subprocess.PIPE)
    child = 0
    try:
        child = int(process.stderr.read(16))
        assert os.listdir(folder) == [f"{process.pid}.sock"]
        assert command.ask(process.pid)["process"] == process.pid
        process.kill()
        process.wait()
        # the child that lives does not answer in its parent's place
        with pytest.raises(sockets.NoProcessError, match="has ended"):
            command.ask(process.pid)
    finally:
        process.kill()
        if child:
            os.kill(child, signal.SIGKILL)
        process.communicate()


@pytest.mark.once("processes of their own")
def test_json_is_one_object_a_line(answering):
    told = asked(str(os.getpid()), "--once", "--json")
    assert told.returncode == 0, told.stderr
    found = json.loads(told.stdout)
    assert found["process"] == os.getpid() and set(found["rates"]) == set(command.RATES)
    assert found["memory"]["resident"] > 1 << 20
    several = subprocess.Popen(
        [sys.executable, "-m", "lazyloom", "top", "--json", "--interval", "0.1"],
        stdout=subprocess.PIPE, text=True)
    lines = [json.loads(several.stdout.readline()) for _ in range(3)]
    several.send_signal(signal.SIGINT)
    several.communicate(timeout=LONGEST)
    assert several.returncode == 0
    assert [line["process"] for line in lines] == [os.getpid()] * 3
    assert lines[0]["seconds"] < lines[1]["seconds"] < lines[2]["seconds"]


@pytest.mark.parametrize("words, expected", [
    (("0",), "PID is 0, expected the number of a process"),
    (("1", "--once"), "process 1 does not answer"),
    (("--interval", "0"), "--interval is 0.0, expected at least 0.1"),
    (("--interval", "nan"), "--interval is nan"),
    (("--interval", "inf"), "--interval is inf"),
    (("--interval", "1e10"), "at most 86400"),
])
def test_wrong_arguments_say_what_to_do(folder, capsys, words, expected):
    assert main(["top", *words]) in (1, 2)
    assert expected in capsys.readouterr().err


def test_a_connection_that_reads_nothing_holds_nobody_up(answering):
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as silent:
        silent.connect(answering)
        assert command.ask(os.getpid())["process"] == os.getpid()


@pytest.mark.once("a process of its own")
def test_who_asks_and_goes_ends_no_program_that_has_sigpipe_as_c_has_it(folder):
    process = started("""
        import signal, sys, lazyloom
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
        print("ready", flush=True)
        sys.stdin.read()
    """)
    try:
        for _ in range(3):
            # as the list of those that answer does
            assert sockets.processes() == [process.pid]
        assert command.ask(process.pid)["process"] == process.pid
    finally:
        process.communicate(timeout=LONGEST)
    assert process.returncode == 0


def test_names_that_no_terminal_shows_are_escaped(answering, capsys, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["a\udcff.py", "\x1b[31m"])
    monkeypatch.setattr(threading.current_thread(), "_name", "one\ntwo")
    asker = threading.Thread(target=lambda: found.append(command.ask(os.getpid())))
    found = []
    asker.start()
    asker.join()
    (told,) = found
    text = command.shown({**told, "rates": command.rates(told, told)})
    assert text.startswith(f"process {os.getpid()}: a\\udcff.py \\x1b[31m, watched")
    assert "one\\ntwo" in text


def test_a_socket_that_was_removed_is_made_again(answering):
    os.unlink(answering)
    assert lazyloom.monitor() == answering
    assert command.ask(os.getpid())["process"] == os.getpid()


def test_off_it_costs_nothing():
    """Nothing of it is imported, and no observer is told."""
    told = subprocess.run(
        [sys.executable, "-c", "import sys, lazyloom\nfrom lazyloom.hooks import hooks\n"
         "assert hooks.observer is None\n"
         "print([m for m in sys.modules if m.startswith('lazyloom.monitoring')])"],
        capture_output=True, text=True, timeout=LONGEST,
        env={k: v for k, v in os.environ.items() if k != "LAZYLOOM_TOP"})
    assert told.stdout.strip() == "[]", told.stderr


def test_a_process_that_cannot_answer_says_so_and_goes_on(folder):
    os.mkdir(folder)
    os.chmod(folder, 0o777)
    told = subprocess.run(
        [sys.executable, "-c", "import lazyloom; print('goes on')"], capture_output=True,
        text=True, timeout=LONGEST, env={**os.environ, "LAZYLOOM_TOP": "1"})
    assert told.stdout.strip() == "goes on"
    assert "LAZYLOOM_TOP asks" in told.stderr
