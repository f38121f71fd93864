"""Limits of time and memory stop code on any thread, and restore timers and signal handlers."""

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


def run_in_thread(action):
    """Run `action` on a thread, as on Windows, and return the names of the exceptions it raised.

    The thread runs in a separate process: stopping a thread this way can make later signals on the
    main thread interrupt each other.
    """
    processes = multiprocessing.get_context("fork")
    result = processes.SimpleQueue()
    process = processes.Process(target=lambda: result.put(exceptions_in_thread(action)))
    process.start()
    process.join(20)
    assert process.exitcode == 0
    return result.get()


def exceptions_in_thread(action):
    names = []

    def run():
        try:
            with CodeLimits(0.3):
                action()
        except BaseException as error:
            names.append(type(error).__name__)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(10)
    assert not thread.is_alive()
    return names


@pytest.mark.parametrize("action", [loop, loop_that_catches_everything])
def test_loop_is_stopped_on_the_main_thread(action):
    start = time.monotonic()
    with pytest.raises(OutOfTime), CodeLimits(0.3):
        action()
    assert time.monotonic() - start < 5


def test_time_spent_importing_does_not_count(tmp_path, monkeypatch):
    (tmp_path / "slow_module.py").write_text(
        "import time\nend = time.monotonic() + 1\nwhile time.monotonic() < end:\n    pass\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    with CodeLimits(0.4):
        importlib.import_module("slow_module")
    with pytest.raises(OutOfTime), CodeLimits(0.4):
        loop()


@pytest.mark.skipif(
    not hasattr(os, "sched_setaffinity"), reason="cannot pin processes to one processor"
)
@pytest.mark.skipif(
    not Path("/proc/self/schedstat").exists(), reason="the system does not report waiting times"
)
def test_time_spent_waiting_for_a_processor_does_not_count():
    allowed = os.sched_getaffinity(0)
    processor = {min(allowed)}
    busy_loop = f"import os\nos.sched_setaffinity(0, {processor})\nwhile True: pass"
    processes = [subprocess.Popen([sys.executable, "-c", busy_loop]) for _ in range(5)]
    try:
        time.sleep(0.5)
        os.sched_setaffinity(0, processor)
        start, end = time.monotonic(), time.thread_time() + 0.5
        with CodeLimits(1.5):
            while time.thread_time() < end:
                pass
        assert time.monotonic() - start > 1.5
        with pytest.raises(OutOfTime), CodeLimits(0.2):
            loop()
    finally:
        os.sched_setaffinity(0, allowed)
        for process in processes:
            process.kill()
            process.wait()


def test_endless_import_is_stopped_and_leaves_no_partial_module(tmp_path, monkeypatch):
    monkeypatch.setattr(limits, "_MAX_IMPORT_SECONDS", 0.3)
    (tmp_path / "takes_long.py").write_text("started = True\nwhile True:\n    pass\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(OutOfTime), CodeLimits(0.3):
        importlib.import_module("takes_long")
    assert "takes_long" not in sys.modules


@pytest.mark.parametrize("action", [loop, loop_that_catches_errors])
def test_loop_is_stopped_on_another_thread(action):
    assert run_in_thread(action) == ["OutOfTime"]


def test_code_within_its_limits_is_not_interrupted():
    results = []
    with CodeLimits(5):
        results.append(sum(range(1000)))
    assert run_in_thread(lambda: sum(range(1000))) == []
    assert results == [499500]


def test_signals_do_not_interrupt_each_other(monkeypatch):
    active_frames, depths = [], []

    class RecordingLimits(CodeLimits):
        def _on_signal(self, number, frame):
            active_frames.append(frame)
            depths.append(len(active_frames))
            super()._on_signal(number, frame)

        def _exceeded_limit(self, frame):
            time.sleep(0.05)
            active_frames.clear()
            return super()._exceeded_limit(frame)

    monkeypatch.setattr(limits, "_TICK", 0.4)
    with RecordingLimits(0.1):
        try:
            loop()
        except OutOfTime:
            # The block continues, and the limits are checked again.
            end = time.monotonic() + 0.6
            while time.monotonic() < end:
                pass
    assert len(depths) > 1
    assert set(depths) == {1}


def test_memory_is_checked_if_the_system_cannot_limit_it(monkeypatch):
    if not memory._STATM.exists():
        pytest.skip("this system does not report the memory of a process")
    monkeypatch.setattr(limits, "limit_address_space", lambda more: None)
    blocks = []
    with pytest.raises(OutOfMemory), CodeLimits(20, memory=100 * MIB):
        while True:
            blocks.append(bytearray(10 * MIB))
    assert len(blocks) < 200


def test_huge_tensor_is_refused_at_once():
    if not memory._STATM.exists():
        pytest.skip("this system does not limit the address space")
    if torch.cuda.is_available():
        pytest.skip("the address space is not limited on a machine with a real GPU")
    with CodeLimits(20), pytest.raises(RuntimeError, match="can't allocate memory"):
        torch.empty(10 << 30, dtype=torch.uint8)


def test_timer_signal_handler_and_tracing_are_restored():
    def handler(number, frame):
        """Never called."""

    before = signal.signal(signal.SIGALRM, handler)
    signal.setitimer(signal.ITIMER_REAL, 1000, 7)
    trace = sys.gettrace()
    try:
        with pytest.raises(OutOfTime), CodeLimits(0.1):
            loop()
        assert signal.getsignal(signal.SIGALRM) is handler
        remaining, interval = signal.getitimer(signal.ITIMER_REAL)
        assert 900 < remaining < 1000
        assert interval == 7
        assert sys.gettrace() is trace
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
