"""What another thread throws into one (``PyThreadState_SetAsyncExc``) leaves nobody waiting.

IDEs, notebooks and servers with time limits stop threads so. It comes between any two instructions
of interpreted code, again while what the first one broke off is put in order, and at a thread that
is just being started.
"""

from __future__ import annotations

import pytest

from tests.contract.helpers import script

pytestmark = pytest.mark.xla

THROWN = """
    import ctypes, os, sys, threading, time
    import numpy as np
    import lazyloom as ll
    from lazyloom.execute.compiling import background
    from lazyloom.interrupts import start, uninterrupted
    from lazyloom.program.evaluations import Dispatched

    sys.setswitchinterval(1e-5)
    sys.unraisablehook = lambda error: None  # in destructors, which is said and goes on

    def throw_into(body, turns, pause=0.0):
        '''Throw while a thread calls ``body`` again and again; it goes on, until stopped.'''
        called, begun, stop = [], [], threading.Lock()

        def work():
            while not stop.locked():
                try:
                    while not stop.locked():
                        try:
                            begun.append(None)
                            body()
                            called.append(None)
                        except KeyboardInterrupt:
                            pass
                except KeyboardInterrupt:
                    pass

        thread = threading.Thread(target=work, daemon=True)
        thread.start()
        while not begun:
            time.sleep(0.001)
        for _ in range(turns):
            ctypes.pythonapi.PyThreadState_SetAsyncExc(
                ctypes.c_ulong(thread.ident), ctypes.py_object(KeyboardInterrupt))
            time.sleep(pause)
        before = len(called)
        end = time.monotonic() + 60
        while len(called) < before + 3:
            assert time.monotonic() < end, "it waits for ever"
            time.sleep(0.001)
        stop.acquire()
        thread.join(60)
        assert not thread.is_alive()

    def soon(body):
        '''Another thread comes to the end of ``body``.'''
        thread = threading.Thread(target=body, daemon=True)
        thread.start()
        thread.join(60)
        assert not thread.is_alive(), "it waits for ever"
"""


def test_a_wait_for_the_compiler_can_be_broken_off() -> None:
    done = script(THROWN + """
    throw_into(lambda: background.wait(0.0), 3000)
    soon(lambda: ll.finish_compiling(1.0))
    print("fine")
    sys.stdout.flush(); os._exit(0)
    """)
    assert done.stdout.strip() == "fine"


def test_a_wait_for_another_threads_run_can_be_broken_off() -> None:
    done = script(THROWN + """
    run = [Dispatched()]
    done = threading.Lock()
    count = [0]

    def runs():
        while not done.locked():
            before, run[0] = run[0], Dispatched()
            before.set()
            count[0] += 1

    setting = threading.Thread(target=runs, daemon=True)
    setting.start()
    throw_into(lambda: run[0].wait(), 3000)
    before = count[0]
    time.sleep(0.1)
    assert count[0] > before, "who has run something waits for ever"
    done.acquire()
    setting.join(60)
    print("fine")
    sys.stdout.flush(); os._exit(0)
    """)
    assert done.stdout.strip() == "fine"


def test_what_puts_things_in_order_is_called_to_its_end_once() -> None:
    done = script(THROWN + """
    begun, ended = [], []

    def body():
        def put_in_order():
            begun.append(None)
            for _ in range(20):
                time.sleep(0)
            ended.append(None)

        uninterrupted(put_in_order)

    throw_into(body, 2000)
    assert len(begun) == len(ended) > 0, (len(begun), len(ended))
    print("fine")
    sys.stdout.flush(); os._exit(0)
    """)
    assert done.stdout.strip() == "fine"


def test_a_thread_of_ours_starts_whatever_is_thrown_at_who_starts_it() -> None:
    done = script(THROWN + """
    ran, wanted = [], []

    def body():
        thread = threading.Thread(target=ran.append, args=(None,))
        wanted.append(thread)
        start(thread)

    throw_into(body, 2000)
    for thread in wanted[-20:]:
        if thread.ident is not None:
            thread.join(60)
            assert not thread.is_alive()
    assert ran
    print("fine")
    sys.stdout.flush(); os._exit(0)
    """)
    assert done.stdout.strip() == "fine"


def test_the_import_of_jax_can_be_broken_off_and_goes_on() -> None:
    done = script(THROWN + """
    from lazyloom.backends.xla import jax_compat

    assert "jax" not in sys.modules
    throw_into(jax_compat.client, 100, 0.02)
    soon(lambda: ll.record("add", [ll.from_host(np.ones(7))] * 2, {}).read())
    with ll.options(reproducible=True):
        assert ll.record("add", [ll.from_host(np.ones(7))] * 2, {}).read()[0] == 2.0
    print("fine")
    sys.stdout.flush(); os._exit(0)
    """)
    assert done.stdout.strip() == "fine"
