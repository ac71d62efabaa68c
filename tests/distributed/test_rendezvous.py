"""Processes that do not come together are told why, all of them, within the timeout."""

from __future__ import annotations

import socket

import pytest

import lazyloom as ll
import lazyloom.distributed as dist

from .launch import Ended, free_port, start, wait

pytestmark = pytest.mark.slow

PROGRAM = "programs_faults.py"


def told(ended: Ended) -> str:
    """What a process that lived on was told."""
    assert ended.code == 0, ended
    (line,) = [line for line in ended.output.splitlines() if line.startswith("told after")]
    return line


def test_a_process_that_never_starts_is_named() -> None:
    port = free_port()
    ended = wait([start(PROGRAM, ["well"], r, 3, port, TIMEOUT="2") for r in (0, 2)], 20)
    for each in ended:
        assert "rank 1 of 3 did not come within 2 s" in told(each)
        assert each.seconds < 12


def test_a_wrong_world_size_is_told_to_all() -> None:
    port = free_port()
    ended = wait([start(PROGRAM, ["well"], 0, 2, port), start(PROGRAM, ["well"], 1, 3, port)], 20)
    for each in ended:
        assert "rank 1" in told(each)
        assert "world of 3 processes, and rank 0 for 2" in told(each)


def test_a_rank_that_is_given_twice_is_told_to_all() -> None:
    port = free_port()
    ended = wait([start(PROGRAM, ["well"], r, 3, port) for r in (0, 1, 1)], 20)
    for each in ended:
        assert "rank 1 was given twice" in told(each)


def test_a_port_in_use_is_told_to_rank_0_at_once_and_to_the_others_in_time() -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        ended = wait([start(PROGRAM, ["well"], r, 2, port, TIMEOUT="2") for r in (0, 1)], 25)
    assert f"rank 0 cannot listen at 127.0.0.1:{port}" in told(ended[0])
    assert f"rank 0 was not found at 127.0.0.1:{port} within 2 s" in told(ended[1])
    assert "does not answer as a process of lazyloom" in told(ended[1])


def test_an_address_at_which_nobody_listens() -> None:
    port = free_port()
    (ended,) = wait([start(PROGRAM, ["well"], 1, 2, port, TIMEOUT="1")], 20)
    assert f"rank 0 was not found at 127.0.0.1:{port} within 1 s (" in told(ended)


def test_a_late_process_is_waited_for() -> None:
    import time

    port = free_port()
    first = start(PROGRAM, ["well"], 0, 2, port)
    time.sleep(2.0)
    ended = wait([first, start(PROGRAM, ["well"], 1, 2, port)], 25)
    assert [e.code for e in ended] == [0, 0], ended
    assert not any("told" in e.output for e in ended)


@pytest.mark.parametrize("environment, text", [
    ({"WORLD_SIZE": "2"}, "the rank of this process among 2 is not given"),
    ({"WORLD_SIZE": "2", "RANK": "2"}, "the rank is 2, expected 0 to 1"),
    ({"WORLD_SIZE": "2", "RANK": "1"}, "set MASTER_ADDR and MASTER_PORT"),
    ({"WORLD_SIZE": "two", "RANK": "1"}, "WORLD_SIZE is 'two', expected an integer"),
    ({"WORLD_SIZE": "0", "RANK": "0"}, "the world size is 0"),
])
def test_arguments_that_make_no_sense(
    monkeypatch: pytest.MonkeyPatch, environment: dict[str, str], text: str
) -> None:
    for name in ("WORLD_SIZE", "RANK", "MASTER_ADDR", "MASTER_PORT"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(ll.errors.ArgumentError, match=text):
        dist.init()
    assert not dist.is_initialized()


def test_an_address_without_a_port() -> None:
    with pytest.raises(ll.errors.ArgumentError, match="expected 'host:port' of rank 0"):
        dist.init("somewhere", 2, 1)
