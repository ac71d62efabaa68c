"""The first use of the runtime changes nothing of the program's process, in whichever form."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.contract.helpers import script

pytestmark = [
    pytest.mark.xla,
    pytest.mark.skipif(sys.platform != "linux", reason="looks at what Linux says of a process"),
]

BEGIN = """
    import json, os, sys, threading, time
    import numpy as np
    import lazyloom as ll
    from tests.runtime.process_state import changed, state

    state()  # imports
    x = ll.Tensor(ll.from_host(np.full((8, 8), 0.5, np.float32)))
"""

#: what is done first in a process, by form
USES = {
    "op by op": """
    # any extent: kernels are traced with symbols
    for n in (3, 4, 5):
        y = ll.Tensor(ll.from_host(np.full((n, n), 2.0, np.float64)))
        assert ll.apply("integer_power", [y], {"exponent": 3}).read()[0, 0] == 8.0
        assert ll.last_evaluation().form == "op_by_op"
    """,
    "compiled": """
    with ll.options(reproducible=True):
        assert ll.apply("exp", [ll.apply("tanh", [x])]).read()[0, 0] > 1
        assert ll.last_evaluation().form != "op_by_op"
    """,
    "captured": """
    step = ll.jit(lambda a: ll.apply("multiply", [a, a]))
    for _ in range(5):
        assert step(x).read()[0, 0] == 0.25
    """,
}
USES["compiled beside"] = """
    from lazyloom.execute import costs
    from lazyloom.execute.compiling import background

    costs.WORTH, costs.PART, costs.SLOWER, costs.START_EARLY = 0.0, 0.0, float("inf"), 0.0
    costs.EAGER_FACTOR = 1e9
    background.IDLE = 0.1
    deadline = time.time() + 100
    while ll.apply("exp", [ll.apply("tanh", [x])]).read()[0, 0] > 1:
        if ll.last_evaluation().form == "compiled":
            break
        assert time.time() < deadline
    ll.finish_compiling()
    for thread in threading.enumerate():
        if thread.name == "lazyloom-compiler":  # it ends with the other process, without work
            thread.join()
    """
#: what a page says of (docs/process.md)
SAID = {"callbacks of the collector"}


@pytest.mark.parametrize("name", ["lazyloom", "lazyloom_numpy", "lazyloom_torch"])
def test_an_import_leaves_the_process_as_it_was(name: str) -> None:
    done = script(f"""
    import json, sys
    from tests.runtime.process_state import changed, state

    assert "lazyloom" not in sys.modules
    state()  # imports
    before = state()
    finders = list(sys.meta_path)
    import {name}
    # of NumPy's own modules, einops and pandas, and of PyTorch's modules that are out of scope
    ours = [f for f in sys.meta_path
            if getattr(f, "__module__", "").startswith("lazyloom_")]
    assert [f for f in sys.meta_path if f not in ours] == finders
    assert len(ours) == {{"lazyloom": 0, "lazyloom_numpy": 3, "lazyloom_torch": 1}}[{name!r}]
    sys.meta_path[:] = finders
    after = state()
    before.pop("threads of BLAS")
    print(json.dumps(changed(before, after)))
    """)
    assert json.loads(done.stdout) == {} and not done.stderr


@pytest.mark.parametrize("use", USES)
def test_a_first_use_leaves_the_process_as_it_was(use: str, tmp_path: Path) -> None:
    done = script(BEGIN + """
    before = state()
    """ + USES[use] + """
    after = state()
    # a thread of ours that waits for work, which ends without any
    after["threads"] = {t for t in after["threads"] if not t.startswith("lazyloom-")}
    found = changed(before, after)
    ours = {name for name in after["open files"].values() if "lazyloom" in name}
    if set(after["open files"].values()) - ours == set(before["open files"].values()):
        found.pop("open files", None)  # kernels that come with the package
    print(json.dumps(found))
    """, cache=tmp_path, LAZYLOOM_REPRODUCIBLE="0", LAZYLOOM_KERNELS="0")
    found = json.loads(done.stdout)
    assert not set(found) - SAID, found
    assert not done.stderr


@pytest.mark.parametrize("use", ["op by op", "compiled"])
def test_what_the_program_does_meanwhile_is_as_it_was(use: str, tmp_path: Path) -> None:
    """Another thread draws, and looks at the environment, while JAX is imported."""
    done = script(BEGIN + """
    import random
    drawn, uniform, seen, stop = [], [], set(), threading.Event()
    np.random.seed(7)
    random.seed(7)

    def at_work():
        while not stop.is_set():
            drawn.append(np.random.rand())
            uniform.append(random.random())
            seen.update(os.environ)
            os.environ["LOOKED"] = str(len(drawn))
            time.sleep(1e-4)

    before = set(os.environ)
    worker = threading.Thread(target=at_work, daemon=True)
    worker.start()
    """ + USES[use] + """
    stop.set()
    worker.join()
    assert "jax" in sys.modules and len(drawn) > 10
    assert drawn == np.random.RandomState(7).rand(len(drawn)).tolist()
    expected = random.Random(7)
    assert uniform == [expected.random() for _ in uniform]
    assert seen == before | {"LOOKED"}, seen - before
    assert os.environ["LOOKED"] == str(len(drawn))
    """, cache=tmp_path, LAZYLOOM_REPRODUCIBLE="0", LAZYLOOM_KERNELS="0")
    assert not done.stderr


def test_the_main_thread_draws_on_while_others_import_jax() -> None:
    script("""
    import os, sys, threading
    import numpy as np
    from lazyloom.backends.xla import jax_compat
    from lazyloom.jaxprs import tracing

    real, kind, drawn, order = np.random.rand, type(os.environ), [], []
    np.random.seed(7)
    threads = [threading.Thread(target=tracing.load) for _ in range(3)]
    for thread in threads: thread.start()
    while any(thread.is_alive() for thread in threads):
        drawn += [*np.random.rand(2), np.random.random()]
        order += np.random.permutation(3).tolist()
    assert "jax" in sys.modules and np.random.rand is real and type(os.environ) is kind
    expected = np.random.RandomState(7)
    for k in range(len(drawn) // 3):
        assert drawn[3 * k : 3 * k + 3] == expected.rand(3).tolist()
        assert order[3 * k : 3 * k + 3] == expected.permutation(3).tolist()
    """)


def test_an_import_of_jax_that_fails_is_an_error_and_can_be_repeated() -> None:
    script("""
    import sys
    import numpy as np
    import lazyloom as ll
    from lazyloom.backends.xla import jax_compat
    from lazyloom.jaxprs import tracing

    real = np.random.rand
    class Missing:
        def find_spec(self, name, path=None, target=None):
            if name == "jax._src.core":
                raise ImportError("no such module just now")
    sys.meta_path.insert(0, Missing())
    try:
        jax_compat.client()
        raise SystemExit("it was imported")
    except ImportError as error:
        assert "just now" in str(error)
    assert np.random.rand is real
    sys.meta_path.pop(0)
    for name in [name for name in sys.modules if name.split(".")[0] == "jax"]:
        del sys.modules[name]
    assert jax_compat.client() is not None
    """)


#: what may be the first to need JAX
FIRST = {
    "a kernel for any extent": "tracing.with_symbols(lambda symbols, conditions: 0, {'n': 5})",
    "a call of another generator": "jax_compat.know_call('none', None)",
    "the client": "jax_compat.client()",
    "an array": "jax_compat.upload(np.ones(3))",
    "a trace": "tracing.trace(lambda a: a, [((3,), np.float32)])",
}


@pytest.mark.parametrize("first", FIRST)
def test_draws_go_on_where_they_were_whatever_is_first_to_import_jax(first: str) -> None:
    script(f"""
    import sys
    import numpy as np
    import lazyloom
    from lazyloom.backends.xla import jax_compat
    from lazyloom.jaxprs import tracing

    assert "jax" not in sys.modules
    np.random.seed(3)
    drawn = np.random.rand(2)
    try:
        {FIRST[first]}
    except TypeError:
        pass  # that is no handler
    assert "jax" in sys.modules
    drawn = [*drawn, *np.random.rand(2)]
    np.testing.assert_array_equal(drawn, np.random.RandomState(3).rand(4))
    """)


def test_what_the_system_does_at_signals_stays(tmp_path: Path) -> None:
    """C code has a handler where Python has one, and calls go on after a signal."""
    done = script(BEGIN + """
    import faulthandler, signal
    arrived = []
    for name in ("SIGALRM", "SIGUSR1", "SIGUSR2", "SIGTERM"):
        signal.signal(getattr(signal, name), lambda number, frame: arrived.append(number))
    signal.siginterrupt(signal.SIGALRM, False)
    # in C, which Python does not know of; of one thread, since others may end meanwhile
    faulthandler.register(signal.SIGUSR1, all_threads=False)
    before = state()
    """ + USES["op by op"] + USES["compiled"] + """
    found = changed(before, state())
    assert not [name for name in found if "handler" in name], found
    signal.raise_signal(signal.SIGUSR1)
    signal.raise_signal(signal.SIGUSR2)
    assert arrived == [signal.SIGUSR2]
    """, cache=tmp_path, LAZYLOOM_REPRODUCIBLE="0", LAZYLOOM_KERNELS="0")
    assert "most recent call first" in done.stderr  # of faulthandler, where it was asked for


def test_a_fork_after_a_first_use_warns_of_nothing_that_the_program_does_not_know(
    tmp_path: Path,
) -> None:
    done = script(BEGIN + USES["compiled"] + """
    import warnings
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        child = os.fork()
        if not child:
            os._exit(0)
        os.waitpid(child, 0)
    # Python itself warns from 3.12 on where there are threads
    assert not [w for w in said if "JAX" in str(w.message)], said
    """, cache=tmp_path)
    assert not done.stderr


def test_nothing_is_said_of_devices_that_jax_could_use_with_other_packages() -> None:
    done = script("""
    from lazyloom.backends.xla import jax_compat
    from lazyloom.jaxprs import tracing

    tracing.load()
    from jax._src import hardware_utils, xla_bridge

    assert hasattr(xla_bridge, "_suggest_missing_backends")
    hardware_utils.has_visible_nvidia_gpu = lambda: True
    hardware_utils.num_available_tpu_chips_and_device_id = lambda: (4, "v5")
    jax_compat.client()
    """, JAX_PLATFORMS="")
    assert not done.stderr


def test_what_a_program_that_imports_jax_itself_gets_of_it_stays(tmp_path: Path) -> None:
    script("""
    import os, warnings
    import jax
    assert os.environ["TF_CPP_MIN_LOG_LEVEL"]
    """ + BEGIN + USES["compiled"] + """
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        child = os.fork()
        if not child:
            os._exit(0)
        os.waitpid(child, 0)
    assert [w for w in said if "JAX" in str(w.message)]
    """, cache=tmp_path)


def test_the_number_of_threads_of_products_that_a_program_sets_meanwhile_stays() -> None:
    script("""
    from lazyloom.execute.op_by_op import blas_threads
    from lazyloom.execute.op_by_op.blas_threads import Threads, using

    library = blas_threads._library
    library.looked, calls = True, [4]
    library.get, library.set = (lambda: calls[-1]), calls.append
    with using(Threads.ONE):
        assert calls[-1] == 1
    assert calls == [4, 1, 4]
    with using(Threads.ONE):
        calls.append(3)  # the program, on another thread
    assert calls == [4, 1, 4, 1, 3]
    """)


def test_the_process_wide_settings_can_be_switched_off() -> None:
    script("""
    from lazyloom import allocation
    from lazyloom.execute.op_by_op import blas_threads

    assert not blas_threads.several() and blas_threads._library.get is None
    allocation.keep_pages()
    assert not allocation.one_heap()
    """, LAZYLOOM_BLAS_THREADS="0", LAZYLOOM_MALLOC="0")


@pytest.mark.parametrize("name", ["queue", "platform", "logging"])
def test_a_file_beside_the_script_that_is_named_as_a_module_of_pythons(
    name: str, tmp_path: Path
) -> None:
    (tmp_path / f"{name}.py").write_text("value = 1")
    (tmp_path / "main.py").write_text(
        "import lazyloom_numpy as np\nprint(float((np.arange(10.) * 2).sum()))\n")
    done = subprocess.run(
        [sys.executable, str(tmp_path / "main.py")], text=True, capture_output=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)})
    if name == "logging":
        # JAX needs it, whose import fails in such a folder as well
        assert f"is {tmp_path / 'logging.py'} here, not Python's own" in done.stderr
        assert "another name" in done.stderr and "LAZYLOOM_BACKEND" not in done.stderr
    elif "needs: give that file another name" in done.stderr:
        # where no kernel was at hand JAX is needed
        assert name == "platform" and f"{tmp_path / 'platform.py'}" in done.stderr
    else:
        assert done.stdout == "90.0\n", done.stderr
