"""The clock of a modelled card: cards by name, queues, copies, waits, and the command line."""

import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
import torch
from torch import nn
from torch.nn import functional as F

import simulated_cuda
from simulated_cuda.cards import Card, find_card, load_cards
from simulated_cuda.kernel_time import kernel_seconds
from simulated_cuda.work import Work

ROOT = Path(__file__).parents[2]


SHORT_NAMES = {
    "T4": "T4", "tesla t4": "T4", "A100": "A100 SXM 80GB", "a100-40gb": "A100 SXM 40GB",
    "RTX4090": "RTX 4090", "H100": "H100 SXM", "v100": "V100 SXM2 16GB",
    "2080ti": "RTX 2080 Ti", "gtx1080ti": "GTX 1080 Ti", "Quadro RTX 8000": "Quadro RTX 8000",
}  # fmt: skip


def test_cards_are_found_by_short_names_and_by_their_names_in_torch():
    assert {name: find_card(name).name for name in SHORT_NAMES} == SHORT_NAMES
    for card in load_cards().values():
        assert find_card(card.torch_name) == find_card(card) == card


def test_an_unknown_card_is_an_error_with_a_suggestion():
    with pytest.raises(ValueError, match=r"no card named 'T44'. Did you mean 'T4'\? Known cards"):
        find_card("T44")


def test_a_card_of_ones_own_needs_only_its_data_sheet():
    with pytest.raises(ValueError, match=r"'X' has no peak for fp32; tflops has: \['tf32'\]. Add"):
        Card("X", "X", "Hopper", (9, 0), 132, 80, 6700, 50, 700, 63, {"tf32": 495})
    card = Card("X", "NVIDIA X", "Hopper", (9, 0), 132, 80, 6700, 50, 700, 63, {"fp32": 67})
    work = Work("elementwise", 1e9)
    assert 0.5 < kernel_seconds(work, card) / kernel_seconds(work, find_card("H100")) < 0.65


@pytest.fixture
def clock(simulation_off):
    """The clock of a simulated T4."""
    with simulated_cuda.simulated(gpu="T4", over_real=True):
        yield simulated_cuda._installation().machine.clock


def test_the_device_has_the_properties_of_the_card(clock):
    properties = torch.cuda.get_device_properties(0)
    assert (properties.name, properties.major, properties.minor) == ("Tesla T4", 7, 5)
    assert 14 << 30 < properties.total_memory < 16 << 30


def test_small_kernels_wait_for_launches_and_the_cpu_runs_ahead_of_large_ones(clock):
    x = torch.ones(8, device="cuda")
    for _ in range(20):
        x += 1
    assert clock.end - clock.now < 2 * clock.launch_seconds
    y = torch.ones(1500, 1500, device="cuda")
    for _ in range(20):
        y @ y
    assert clock.end - clock.now > 20 * clock.launch_seconds
    torch.cuda.synchronize()
    assert clock.now == clock.end


def test_streams_overlap_and_events_measure_modelled_time(clock):
    x = torch.ones(1500, 1500, device="cuda")
    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))

    def milliseconds(second):
        torch.cuda.synchronize()
        start.record()
        x @ x
        with torch.cuda.stream(second):
            x @ x
        torch.cuda.current_stream().wait_stream(second)
        end.record()
        return start.elapsed_time(end)

    alone, both = milliseconds(torch.cuda.Stream()), milliseconds(torch.cuda.current_stream())
    assert 1 < alone < 0.6 * both < 10


@pytest.mark.parametrize("pinned", [True, False])
def test_only_pinned_copies_run_while_the_cpu_goes_on(clock, pinned):
    x = torch.ones(1 << 20)
    before = clock.now
    (x.pin_memory() if pinned else x).to("cuda", non_blocking=True)
    (copy,) = (span for span in clock.spans if span.row == "copy to GPU 0")
    assert (clock.now < copy.end) == pinned
    assert copy.seconds > 4 * clock.launch_seconds and clock.now > before


def test_waits_have_the_line_of_the_program(clock):
    x = torch.ones(3, device="cuda")
    x.sum().item()
    line = sys._getframe().f_lineno - 1
    waits = [span for span in clock.spans if span.row == "CPU"]
    assert [(span.name, span.line) for span in waits] == [("item", f"test_clock.py:{line}")]


def test_kernels_are_counted_as_cuda_launches_them(clock):
    x = torch.randn(2, 4, 32, 16, device="cuda", requires_grad=True)
    images = torch.randn(2, 4, 8, 8, device="cuda")
    norm = nn.BatchNorm2d(4).cuda()
    parameters = [torch.zeros(9, device="cuda", requires_grad=True) for _ in range(50)]
    for parameter in parameters:
        parameter.grad = torch.ones_like(parameter)
    optimizer = torch.optim.AdamW(parameters)
    optimizer.step()

    def kernels(function):
        clock.clear()
        function()
        return Counter(span.name for span in clock.spans if span.work is not None)

    result = F.scaled_dot_product_attention(x, x, x, is_causal=True)
    assert kernels(lambda: F.scaled_dot_product_attention(x, x, x)) == {"attention": 1}
    assert kernels(lambda: result.sum().backward())["attention backward"] == 1
    assert kernels(lambda: F.dropout(x, 0.1)) == {"dropout": 1}
    assert kernels(lambda: norm.train()(images))["native_batch_norm"] == 1
    assert 5 < kernels(optimizer.step).total() < 40 < 50 * 10


def test_nothing_is_timed_without_a_card(gpu):
    machine, mode = simulated_cuda._installation().machine, simulated_cuda._installation().mode
    torch.ones(3, device=gpu).sum().item()
    assert machine.clock is None
    assert not torch.utils._python_dispatch._get_current_dispatch_mode_stack()
    assert F.dropout not in mode.handlers


PROGRAM = """
import sys
import torch

net = torch.nn.Linear(64, 8).cuda()
optimizer = torch.optim.AdamW(net.parameters())
for _ in range(5):
    images = torch.randn(32, 64).to("cuda")
    net(images).sum().backward()
    optimizer.step()
print(torch.cuda.get_device_name(), net.weight.isfinite().all().item())
sys.exit(3)
"""


def run(folder, *arguments):
    return subprocess.run(
        [sys.executable, "-m", "simulated_cuda", *arguments], cwd=folder, capture_output=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)}, text=True, check=False,
    )  # fmt: skip


def test_command_prints_the_cost_of_a_step_and_writes_a_timeline(tmp_path):
    (tmp_path / "train.py").write_text(PROGRAM)
    result = run(tmp_path, "--gpu", "t4", "--timeline", "trace.json", "train.py")
    assert result.returncode == 3
    assert result.stdout == "Tesla T4 True\n"
    assert "T4, modelled" in result.stderr
    assert "per step (median of 3); limited by the CPU" in result.stderr
    assert "train.py:8: copy 8,192 bytes" in result.stderr
    events = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    rows = [event["args"]["name"] for event in events if event["ph"] == "M"]
    assert rows == ["CPU", "GPU 0", "copy to GPU 0"]
    assert any(event["name"].endswith("at train.py:8") for event in events)
    assert 'role="img" aria-label="T4, modelled' in (tmp_path / "trace.svg").read_text()


@pytest.mark.parametrize("program, status, text", [
    (PROGRAM, 0, "per step; limited by the CPU"),
    (PROGRAM.replace("optimizer.step()", "pass").replace("(5)", "(11)"), 1, "no optimizer"),
])  # fmt: skip
def test_command_stops_after_a_number_of_steps(tmp_path, program, status, text):
    (tmp_path / "train.py").write_text(program)
    result = run(tmp_path, "--gpu", "T4", "--steps", "1", "train.py")
    assert result.returncode == status and text in result.stderr


def test_command_lists_the_known_cards(tmp_path):
    result = run(tmp_path, "--gpu", "T44", "train.py")
    assert result.returncode == 2
    assert "argument --gpu: There is no card named 'T44'" in result.stderr
