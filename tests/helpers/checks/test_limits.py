"""The limits work on the main thread and on others, and restore everything."""

import importlib
import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
import torch

from helpers.checks import limits, memory
from helpers.checks.limits import CodeLimits, OutOfMemory, OutOfTime

MIB = 1 << 20


def loop():
    while True:
        pass


def loop_that_catches_errors():
    while True:
        try:
            time.sleep(0.01)
        except Exception:
            continue


def loop_that_catches_everything():
    while True:
        try:
            time.sleep(0.01)
        except BaseException:
            continue


def in_a_thread(action):
    """Run `action` on a thread, as on Windows, and return the names of the exceptions it raised.

    In a separate process: stopping a thread in this way was seen to make signals on the main thread
    interrupt each other later.
    """
    processes = multiprocessing.get_context("fork")
    answer = processes.SimpleQueue()
    process = processes.Process(target=lambda: answer.put(caught_in_a_thread(action)))
    process.start()
    process.join(20)
    assert process.exitcode == 0
    return answer.get()


def caught_in_a_thread(action):
    caught = []

    def run():
        try:
            with CodeLimits(0.3):
                action()
        except BaseException as error:
            caught.append(type(error).__name__)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(10)
    assert not thread.is_alive()
    return caught


@pytest.mark.parametrize("action", [loop, loop_that_catches_everything])
def test_loop_is_stopped_on_the_main_thread(action):
    begun = time.monotonic()
    with pytest.raises(OutOfTime), CodeLimits(0.3):
        action()
    assert time.monotonic() - begun < 5


def test_time_spent_importing_does_not_count(tmp_path, monkeypatch):
    (tmp_path / "slow_module.py").write_text(
        "import time\nend = time.monotonic() + 1\nwhile time.monotonic() < end:\n    pass\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    with CodeLimits(0.4):
        importlib.import_module("slow_module")
    with pytest.raises(OutOfTime), CodeLimits(0.4):
        loop()


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="cannot crowd one processor")
@pytest.mark.skipif(not Path("/proc/self/schedstat").exists(), reason="no waiting times")
def test_time_spent_waiting_for_a_processor_does_not_count():
    allowed = os.sched_getaffinity(0)
    one = {min(allowed)}
    hog = f"import os\nos.sched_setaffinity(0, {one})\nwhile True: pass"
    hogs = [subprocess.Popen([sys.executable, "-c", hog]) for _ in range(5)]
    try:
        time.sleep(0.5)
        os.sched_setaffinity(0, one)
        begun, end = time.monotonic(), time.thread_time() + 0.5
        with CodeLimits(1.5):
            while time.thread_time() < end:
                pass
        assert time.monotonic() - begun > 1.5
        with pytest.raises(OutOfTime), CodeLimits(0.2):
            loop()
    finally:
        os.sched_setaffinity(0, allowed)
        for each in hogs:
            each.kill()
            each.wait()


def test_endless_import_is_stopped_and_leaves_no_partial_module(tmp_path, monkeypatch):
    monkeypatch.setattr(limits, "_MAX_IMPORT_SECONDS", 0.3)
    (tmp_path / "takes_long.py").write_text("begun = True\nwhile True:\n    pass\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(OutOfTime), CodeLimits(0.3):
        importlib.import_module("takes_long")
    assert "takes_long" not in sys.modules


@pytest.mark.parametrize("action", [loop, loop_that_catches_errors])
def test_loop_is_stopped_on_another_thread(action):
    assert in_a_thread(action) == ["OutOfTime"]


def test_code_within_its_limits_is_not_interrupted():
    done = []
    with CodeLimits(5):
        done.append(sum(range(1000)))
    assert in_a_thread(lambda: sum(range(1000))) == []
    assert done == [499500]


def test_signals_do_not_interrupt_each_other(monkeypatch):
    answering, most = [], []

    class Watched(CodeLimits):
        def _on_signal(self, number, frame):
            answering.append(frame)
            most.append(len(answering))
            super()._on_signal(number, frame)

        def _verdict(self, frame):
            time.sleep(0.05)
            answering.clear()
            return super()._verdict(frame)

    monkeypatch.setattr(limits, "_TICK", 0.4)
    with Watched(0.1):
        try:
            loop()
        except OutOfTime:
            # The block continues and is checked again.
            end = time.monotonic() + 0.6
            while time.monotonic() < end:
                pass
    assert len(most) > 1
    assert set(most) == {1}


def test_memory_is_checked_where_the_system_cannot_limit_it(monkeypatch):
    if not memory._PROCESS.exists():
        pytest.skip("this system does not report the memory of a process")
    monkeypatch.setattr(limits, "limit_addresses", lambda more: None)
    kept = []
    with pytest.raises(OutOfMemory), CodeLimits(20, memory=100 * MIB):
        while True:
            kept.append(bytearray(10 * MIB))
    assert len(kept) < 200


def test_huge_tensor_is_refused_at_once():
    if not memory._PROCESS.exists():
        pytest.skip("this system does not limit addresses")
    if torch.cuda.is_available():
        pytest.skip("beside a real GPU addresses are not limited")
    with CodeLimits(20), pytest.raises(RuntimeError, match="can't allocate memory"):
        torch.empty(10 << 30, dtype=torch.uint8)


def test_timer_handler_and_tracing_are_restored():
    def handler(number, frame):
        """Never called."""

    before = signal.signal(signal.SIGALRM, handler)
    signal.setitimer(signal.ITIMER_REAL, 1000, 7)
    trace = sys.gettrace()
    try:
        with pytest.raises(OutOfTime), CodeLimits(0.1):
            loop()
        assert signal.getsignal(signal.SIGALRM) is handler
        left, interval = signal.getitimer(signal.ITIMER_REAL)
        assert 900 < left < 1000
        assert interval == 7
        assert sys.gettrace() is trace
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
