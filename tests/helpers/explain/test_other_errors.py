"""Device errors that are no mix: memory, generators, numbers of GPUs, files, no GPU at all."""

import pytest
import torch

import simulated_cuda

GIB = 1 << 30


@pytest.fixture
def one_gpu():
    if torch.cuda.is_available():
        pytest.skip("the figures are those of the simulated device")
    with simulated_cuda.simulated(memory=4 * GIB):
        yield


@pytest.fixture
def no_gpu():
    if torch.cuda.is_available():
        pytest.skip("there is a GPU")


def on_cuda(student, code):
    """Explain `code`; return that, and the error that is left when its cure is put in."""
    names = student.names() | {"device": "cuda"}
    explanation = student.explain(code, dict(names))
    cure = explanation.cure
    left = student.error_of(cure.applied_to(code), dict(names)) if cure else "no cure"
    return explanation, left


def test_the_largest_variables_are_named_when_memory_is_full(one_gpu, student):
    code = (
        "large = torch.empty(3, 1 << 30, dtype=torch.uint8, device=device)\n"
        "small = torch.empty(8, device=device)\n"
        "def grow():\n    kept = [torch.empty(1 << 29, dtype=torch.uint8, device=device)]\n"
        "    return torch.empty(2, 1 << 30, dtype=torch.uint8, device=device), kept\n\ngrow()"
    )
    explanation, _ = on_cuda(student, code)
    assert explanation.places == (
        ("large", "takes 3.0 GiB of it"),
        ("kept", "takes 512.0 MiB of it"),
    )
    assert "beside the 3.5 GiB that are in use on cuda:0" in explanation.why


def test_a_tensor_larger_than_the_device_is_said_to_be_so(one_gpu, student):
    explanation, left = on_cuda(
        student, "x = torch.empty(1 << 40, dtype=torch.uint8, device=device)"
    )
    assert explanation.why == ("The line asks for 1024.0 GiB, and the whole of cuda:0 has 4.0 GiB.")
    assert left is None


def test_where_no_smaller_size_can_be_written_there_is_advice(one_gpu, student):
    code = "n = 1 << 40\nx = torch.empty(n, dtype=torch.uint8, device=device)"
    explanation, left = on_cuda(student, code)
    assert left == "no cure"
    assert "smaller batches" in explanation.advice[0]


def test_a_generator_of_an_earlier_cell_is_made_anew_with_its_seed(one_gpu, student):
    names = student.names() | {"device": "cuda"}
    assert student.error_of("dice = torch.Generator().manual_seed(7)", names) is None
    explanation = student.explain("x = torch.rand(3, device=device, generator=dice)", names)
    assert explanation.cure.added == "dice = torch.Generator(device=device).manual_seed(7)"


def test_lengths_are_copied_to_the_cpu_and_the_data_is_not(student):
    code = (
        "x = torch.ones(2, 3, 1, device=device)\nlengths = torch.tensor([3, 2]).to(device)\n"
        "packed = nn.utils.rnn.pack_padded_sequence(x, lengths)"
    )
    explanation = student.explain(code)
    assert explanation.culprit == "lengths"
    assert explanation.cure.shown[1] == (
        "packed = nn.utils.rnn.pack_padded_sequence(x, lengths.cpu())"
    )


def test_a_gpu_of_too_high_a_number_is_answered_with_those_there_are(one_gpu, student):
    explanation, left = on_cuda(student, "x = torch.ones(3).to('cuda:3')")
    assert "cpu, cuda:0" in explanation.why
    assert left is None


def test_a_state_that_stayed_behind_is_named_by_its_parameter(one_gpu, student):
    code = (
        "net = nn.Linear(3, 1)\noptimizer = torch.optim.SGD(net.parameters(), 0.1, momentum=0.9)\n"
        "net(torch.ones(1, 3)).sum().backward()\noptimizer.step()\nnet.to(device)\n"
        "optimizer.step()"
    )
    explanation, left = on_cuda(student, code)
    assert explanation.culprit == "optimizer.state[net.weight]['momentum_buffer']"
    assert left is None


def test_a_total_that_is_added_to_in_place_is_moved_itself(one_gpu, student):
    code = (
        "class Meter:\n    def __init__(self):\n        self.total = torch.zeros(3)\n\n"
        "    def add(self, x):\n        self.total += x\n\n"
        "Meter().add(torch.ones(3, device=device))"
    )
    explanation, left = on_cuda(student, code)
    assert explanation.cure.added == "self.total = self.total.to(x.device)"
    assert left is None


def test_rows_written_into_a_cpu_tensor_move_that_tensor_and_no_copy_of_it(one_gpu, student):
    code = (
        "class Memory:\n    def __init__(self):\n        self.rows = torch.zeros(3, 2)\n\n"
        "    def put(self, i, row):\n        self.rows[i] = row\n\nmemory = Memory()\n"
        "memory.put(torch.tensor([0], device=device), torch.ones(1, 2, device=device))"
    )
    explanation, left = on_cuda(student, code)
    assert explanation.cure.added == "self.rows = self.rows.to(i.device)"
    assert left is None


def test_with_two_gpus_the_data_goes_to_the_network(student):
    if torch.cuda.is_available():
        pytest.skip("takes two GPUs")
    with simulated_cuda.simulated(devices=2):
        explanation, left = on_cuda(
            student, "net = nn.Linear(3, 2).to('cuda:1')\nx = torch.ones(1, 3).cuda()\nnet(x)"
        )
    assert explanation.cure.added == "x = x.to('cuda:1')"
    assert left is None


WITHOUT = [
    ("net = nn.Linear(2, 1).cuda()", "net = nn.Linear(2, 1).to(device)"),
    ("x = torch.zeros(3, device='cuda')", "x = torch.zeros(3, device=device)"),
    ("x = torch.ones(3).to('mps')", "x = torch.ones(3).to(device)"),
    ("torch.cuda.synchronize()", "    torch.cuda.synchronize()"),
    (
        "device = 'cuda'\nx = torch.zeros(3, device=device)",
        "device = 'cuda' if torch.cuda.is_available() else 'cpu'",
    ),
    (
        "def make(place):\n    return torch.zeros(2, device=place)\n\nx = make('cuda:0')",
        "x = make(device)",
    ),
]


@pytest.mark.parametrize(("code", "line"), WITHOUT)
def test_without_a_gpu_the_line_is_written_for_both(no_gpu, student, code, line):
    names = student.names()
    del names["device"]
    explanation = student.explain(code, dict(names))
    assert explanation.title == "This machine has no GPU that torch can use"
    mended = explanation.cure.applied_to(code)
    assert line in mended.split("\n")
    assert student.error_of(mended, dict(names)) is None


def test_a_file_sent_to_a_gpu_that_is_not_here_is_loaded_to_the_cpu(no_gpu, student, tmp_path):
    path = tmp_path / "weights.pt"
    torch.save(torch.ones(2), path)
    code = f"state = torch.load({str(path)!r}, map_location='cuda')"
    explanation = student.explain(code)
    assert explanation.places == ((repr(str(path)), "is sent to a GPU"),)
    assert student.error_of(explanation.cure.applied_to(code)) is None
