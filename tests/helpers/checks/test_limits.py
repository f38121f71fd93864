"""Limits of time and memory stop code without changing the modes of torch."""

import contextlib
import os
import subprocess
import sys
import time

import pytest
import torch
from torch.overrides import _get_current_function_mode_stack as functions
from torch.utils._python_dispatch import _get_current_dispatch_mode_stack as dispatches

import simulated_cuda
from helpers.checks import limits
from helpers.checks.limits import CodeLimits, OutOfMemory, OutOfTime
from helpers.checks.sandbox import restore_settings


def loop():
    while True:
        pass


def loop_in_a_backward_pass():
    weights = torch.ones(3, requires_grad=True)
    weights.register_hook(lambda gradient: loop())
    weights.sum().backward()


def show_tensors():
    while True:
        repr(torch.ones(2, device="cuda"))


@pytest.mark.parametrize("action", [loop_in_a_backward_pass, show_tensors])
def test_code_is_stopped_without_changing_the_modes_of_torch(action):
    with simulated_cuda.simulated(over_real=True), simulated_cuda.count_waits(), restore_settings():
        before = functions(), dispatches()
        for _ in range(10):
            with pytest.raises(OutOfTime):
                CodeLimits(0.05).run(action)
            assert (functions(), dispatches()) == before


def test_time_spent_importing_does_not_count(tmp_path, monkeypatch):
    source = "from time import time\nend = time() + 1\nwhile time() < end: pass\n"
    (tmp_path / "slow_module.py").write_text(source)
    monkeypatch.syspath_prepend(tmp_path)
    code_limits = CodeLimits(0.4)
    with pytest.raises(OutOfTime):
        code_limits.run(__import__, "slow_module")
        code_limits.run(loop)
    del sys.modules["slow_module"]


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs the times in /proc")
def test_time_spent_waiting_for_a_processor_does_not_count():
    allowed = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(allowed)})
    processes = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(5)]

    def use_half_a_second():
        end = time.thread_time() + 0.5
        while time.thread_time() < end:
            pass

    try:
        time.sleep(0.5)
        start = time.monotonic()
        CodeLimits(1.5).run(use_half_a_second)
        assert time.monotonic() - start > 1.5
    finally:
        os.sched_setaffinity(0, allowed)
        for process in processes:
            process.kill()
            process.wait()


@pytest.mark.skipif(not limits._STATM.exists(), reason="the memory of a process is not reported")
def test_memory_is_checked_if_the_system_cannot_limit_it(monkeypatch):
    monkeypatch.setattr(limits, "_address_space_limit", contextlib.nullcontext)
    monkeypatch.setattr(limits, "MEMORY_LIMIT", 1 << 27)
    with pytest.raises(OutOfMemory):
        CodeLimits(20).run(lambda: [bytearray(1 << 24) for _ in iter(int, 1)])
