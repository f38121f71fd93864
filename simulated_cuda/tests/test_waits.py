"""Where the CPU waits for a GPU: `waits.toml`, the debug mode of `torch.cuda`, and the counter."""

import tomllib
import warnings
from pathlib import Path

import pytest
import torch
from torch.overrides import _get_current_function_mode_stack as functions
from torch.utils._python_dispatch import _get_current_dispatch_mode_stack as dispatches

import simulated_cuda

TABLE = tomllib.loads(Path(__file__).with_name("waits.toml").read_text(encoding="utf-8"))
WAITS = [row for group in TABLE["waits"] for row in group["rows"]]
ROWS = WAITS + [[0, code] for code in TABLE["none"]["rows"]]


@pytest.mark.parametrize(("expected", "code"), ROWS, ids=lambda value: str(value)[:40])
def test_waits_are_counted_and_reported_as_on_cuda(gpu, expected, code):
    names = {}
    exec(TABLE["setup"], names)
    with simulated_cuda.count_waits() as counter:
        exec(code, names)
    assert len(counter) == expected
    exec(TABLE["setup"], names)
    torch.cuda.set_sync_debug_mode("warn")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        exec(code, names)
    reported = [w for w in caught if str(w.message) == "called a synchronizing CUDA operation"]
    assert len(reported) == expected
    torch.cuda.set_sync_debug_mode("default")
    exec(TABLE["setup"], names)
    torch.cuda.set_sync_debug_mode("error")
    if expected:
        with pytest.raises(RuntimeError, match=r"^called a synchronizing CUDA operation$"):
            exec(code, names)
    else:
        exec(code, names)


def test_a_wait_names_its_operation_and_the_line_of_the_user(gpu):
    x = torch.ones(3, device=gpu)
    with simulated_cuda.count_waits() as counter:
        torch.nn.utils.clip_grad_norm_([x], 1.0)
        x[x > 0].sum()
        torch.nn.functional.gaussian_nll_loss(x, x, x)
    assert [wait.operation for wait in counter.waits] == ["__getitem__", "gaussian_nll_loss"]
    assert [Path(wait.file).name for wait in counter.waits] == ["test_waits.py"] * 2
    assert counter.waits[1].line == counter.waits[0].line + 1
    assert str(counter.waits[0]).endswith("x[x > 0].sum()")


def test_waits_in_a_backward_pass_are_counted(gpu):
    x = torch.ones(3, device=gpu, requires_grad=True)
    loss = x[x > 0].sum()
    with simulated_cuda.count_waits() as counter:
        loss.backward()
    assert [wait.operation for wait in counter.waits] == ["backward"]


def test_copies_are_recorded_with_devices_and_bytes(two_gpus):
    x = torch.ones(3)
    with simulated_cuda.count_waits() as counter:
        y = x.to("cuda", non_blocking=True)
        y.to("cuda:1").cpu()
    copies = [(copy.source, copy.target, copy.bytes, copy.waits) for copy in counter.copies]
    assert copies == [("cpu", "cuda:0", 12, False), ("cuda:0", "cuda:1", 12, False),
                      ("cuda:1", "cpu", 12, True)]  # fmt: skip
    assert len(counter) == 1


def test_a_tensor_of_numbers_on_the_gpu_reads_each(gpu):
    x, mask = torch.ones(2, device=gpu), torch.ones(2) > 0
    with simulated_cuda.count_waits() as counter:
        torch.tensor([x[0], x[1]])
    assert [wait.operation for wait in counter.waits] == 2 * ["tensor"]
    with simulated_cuda.count_waits() as counter:
        x[mask]
    assert [(copy.source, copy.bytes) for copy in counter.copies] == [("cpu", 2)]


def test_nothing_waits_on_the_cpu(simulation_off):
    x = torch.ones(3)
    with simulated_cuda.count_waits() as counter:
        x[x > 0].sum().item(), x.tolist(), x.unique(), x.to(torch.float64), repr(x)
    assert counter.waits == counter.copies == []


def test_debug_mode_ends_with_the_simulation_and_keeps_other_modes(simulation_off):
    before = functions(), dispatches()
    with simulated_cuda.simulated(over_real=True):
        with simulated_cuda.count_waits() as counter:
            torch.cuda.set_sync_debug_mode("error")
            with pytest.raises(RuntimeError, match="synchronizing"):
                torch.ones(1, device="cuda").item()
            assert torch.cuda.get_sync_debug_mode() == 2
            torch.cuda.set_sync_debug_mode(0)
            torch.ones(1, device="cuda").item()
        assert len(counter) == 2
        torch.cuda.set_sync_debug_mode("error")
    assert (functions(), dispatches()) == before
