"""Memory, generators, device indices, lengths and files; and which of two tensors a fix moves."""

import pytest
import torch

import simulated_cuda

GIB = 1 << 30


@pytest.fixture
def one_gpu():
    if torch.cuda.is_available():
        pytest.skip("the expected numbers are for the simulated GPU")
    with simulated_cuda.simulated(memory=4 * GIB):
        yield


@pytest.fixture
def no_gpu():
    if torch.cuda.is_available():
        pytest.skip("there is a GPU")


def explain_on_cuda(student, code):
    """Return the explanation of the error in `code`, and the error that remains after the fix."""
    names = student.names() | {"device": "cuda"}
    explanation = student.explain(code, dict(names))
    fix = explanation.fix
    remaining_error = student.error_of(fix.text, dict(names)) if fix else "no fix"
    return explanation, remaining_error


def test_the_largest_variables_are_named_when_memory_is_full(one_gpu, student):
    code = (
        "large = torch.empty(3, 1 << 30, dtype=torch.uint8, device=device)\n"
        "small = torch.empty(8, device=device)\n"
        "def grow():\n    kept = [torch.empty(1 << 29, dtype=torch.uint8, device=device)]\n"
        "    return torch.empty(2, 1 << 30, dtype=torch.uint8, device=device), kept\n\ngrow()"
    )
    explanation, _ = explain_on_cuda(student, code)
    assert explanation.places == (
        ("large", "uses 3.0 GiB"),
        ("kept", "uses 512.0 MiB"),
    )
    assert "3.5 GiB is in use on cuda:0" in explanation.why


def test_out_of_memory_has_advice_and_no_fix_that_would_change_the_result(one_gpu, student):
    code = "x = torch.empty(1 << 40, dtype=torch.uint8, device=device)"
    explanation, _ = explain_on_cuda(student, code)
    assert explanation.fix is None
    assert "smaller batches" in explanation.advice[0]


def test_a_generator_from_an_earlier_cell_is_not_seeded_again(one_gpu, student):
    names = student.names() | {"device": "cuda"}
    assert student.error_of("generator = torch.Generator().manual_seed(7)", names) is None
    explanation = student.explain("x = torch.rand(3, device=device, generator=generator)", names)
    assert (explanation.culprit, explanation.fix) == ("generator", None)
    assert "torch.Generator(device=device)" in explanation.advice[0]


def test_lengths_are_copied_to_the_cpu_and_the_data_is_not(student):
    code = (
        "x = torch.ones(2, 3, 1, device=device)\nlengths = torch.tensor([3, 2]).to(device)\n"
        "packed = nn.utils.rnn.pack_padded_sequence(x, lengths)"
    )
    explanation = student.explain(code)
    assert explanation.culprit == "lengths"
    assert explanation.fix.shown[1] == (
        "packed = nn.utils.rnn.pack_padded_sequence(x, lengths.cpu())"
    )


def test_a_gpu_number_out_of_range_lists_the_available_devices(one_gpu, student):
    explanation, remaining_error = explain_on_cuda(student, "x = torch.ones(3).to('cuda:3')")
    assert "cpu, cuda:0" in explanation.why
    assert remaining_error is None


def test_optimizer_state_left_behind_is_named_by_its_parameter(one_gpu, student):
    code = (
        "net = nn.Linear(3, 1)\noptimizer = torch.optim.SGD(net.parameters(), 0.1, momentum=0.9)\n"
        "net(torch.ones(1, 3)).sum().backward()\noptimizer.step()\nnet.to(device)\n"
        "optimizer.step()"
    )
    explanation, remaining_error = explain_on_cuda(student, code)
    assert explanation.culprit == "optimizer.state[net.weight]['momentum_buffer']"
    assert remaining_error is None


def test_fix_moves_the_tensor_that_is_modified_in_place(one_gpu, student):
    code = (
        "class Meter:\n    def __init__(self):\n        self.total = torch.zeros(3)\n\n"
        "    def add(self, x):\n        self.total += x\n\n"
        "Meter().add(torch.ones(3, device=device))"
    )
    explanation, remaining_error = explain_on_cuda(student, code)
    assert explanation.fix.added == "self.total = self.total.to(x.device)"
    assert remaining_error is None


def test_fix_moves_the_tensor_whose_rows_are_assigned(one_gpu, student):
    code = (
        "class Memory:\n    def __init__(self):\n        self.rows = torch.zeros(3, 2)\n\n"
        "    def put(self, i, row):\n        self.rows[i] = row\n\nmemory = Memory()\n"
        "memory.put(torch.tensor([0], device=device), torch.ones(1, 2, device=device))"
    )
    explanation, remaining_error = explain_on_cuda(student, code)
    assert explanation.fix.added == "self.rows = self.rows.to(i.device)"
    assert remaining_error is None


def test_with_two_gpus_the_data_moves_to_the_network(student):
    if torch.cuda.is_available():
        pytest.skip("the expected numbers are for two simulated GPUs")
    with simulated_cuda.simulated(devices=2):
        explanation, remaining_error = explain_on_cuda(
            student, "net = nn.Linear(3, 2).to('cuda:1')\nx = torch.ones(1, 3).cuda()\nnet(x)"
        )
    assert explanation.fix.added == "x = x.to('cuda:1')"
    assert remaining_error is None


def test_without_a_gpu_the_box_says_how_to_choose_the_device(no_gpu, student):
    explanation = student.explain("net = nn.Linear(2, 1).cuda()")
    assert explanation.title == "This machine has no GPU that torch can use"
    assert "`device = 'cuda' if torch.cuda.is_available() else 'cpu'`" in explanation.advice[0]


def test_a_file_mapped_to_a_missing_gpu_is_loaded_to_the_cpu(no_gpu, student, tmp_path):
    path = tmp_path / "weights.pt"
    torch.save(torch.ones(2), path)
    code = f"state = torch.load({str(path)!r}, map_location='cuda')"
    explanation = student.explain(code)
    assert explanation.places == ((repr(str(path)), "is loaded to a GPU"),)
    assert student.error_of(explanation.fix.text) is None
