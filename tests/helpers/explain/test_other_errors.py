"""Device errors other than mixes: memory, generators, GPU numbers, files, no GPU."""

import pytest
import torch

import simulated_cuda

GIB = 1 << 30


@pytest.fixture
def one_gpu():
    if torch.cuda.is_available():
        pytest.skip("the numbers are those of the simulated device")
    with simulated_cuda.simulated(memory=4 * GIB):
        yield


@pytest.fixture
def no_gpu():
    if torch.cuda.is_available():
        pytest.skip("there is a GPU")


def on_cuda(student, code):
    """Return the explanation of `code`, and the error that is left with its fix applied."""
    names = student.names() | {"device": "cuda"}
    explanation = student.explain(code, dict(names))
    fix = explanation.fix
    left = student.error_of(fix.applied_to(code), dict(names)) if fix else "no fix"
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
        ("large", "uses 3.0 GiB"),
        ("kept", "uses 512.0 MiB"),
    )
    assert "3.5 GiB are in use on cuda:0" in explanation.why


def test_a_tensor_larger_than_the_whole_gpu_is_reported_as_such(one_gpu, student):
    code = "x = torch.empty(1 << 40, dtype=torch.uint8, device=device)"
    explanation, _ = on_cuda(student, code)
    assert explanation.why == "The line needs 1024.0 GiB; cuda:0 has 4.0 GiB in all."


def test_out_of_memory_has_advice_and_no_fix_that_would_change_the_result(one_gpu, student):
    code = "x = torch.empty(1 << 40, dtype=torch.uint8, device=device)"
    explanation, _ = on_cuda(student, code)
    assert explanation.fix is None
    assert "smaller batches" in explanation.advice[0]


def test_a_generator_in_a_loop_is_not_seeded_again_in_each_iteration(one_gpu, student):
    names = student.names() | {"device": "cuda"}
    assert student.error_of("dice = torch.Generator().manual_seed(7)", names) is None
    code = "for _ in range(2):\n    x = torch.rand(3, device=device, generator=dice)"
    explanation = student.explain(code, names)
    assert (explanation.culprit, explanation.fix) == ("dice", None)


def test_a_generator_of_an_earlier_cell_is_created_again_with_its_seed(one_gpu, student):
    names = student.names() | {"device": "cuda"}
    assert student.error_of("dice = torch.Generator().manual_seed(7)", names) is None
    explanation = student.explain("x = torch.rand(3, device=device, generator=dice)", names)
    assert explanation.fix.added == "dice = torch.Generator(device=device).manual_seed(7)"


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
    explanation, left = on_cuda(student, "x = torch.ones(3).to('cuda:3')")
    assert "cpu, cuda:0" in explanation.why
    assert left is None


def test_optimizer_state_left_behind_is_named_by_its_parameter(one_gpu, student):
    code = (
        "net = nn.Linear(3, 1)\noptimizer = torch.optim.SGD(net.parameters(), 0.1, momentum=0.9)\n"
        "net(torch.ones(1, 3)).sum().backward()\noptimizer.step()\nnet.to(device)\n"
        "optimizer.step()"
    )
    explanation, left = on_cuda(student, code)
    assert explanation.culprit == "optimizer.state[net.weight]['momentum_buffer']"
    assert left is None


def test_a_tensor_modified_in_place_is_moved_itself(one_gpu, student):
    code = (
        "class Meter:\n    def __init__(self):\n        self.total = torch.zeros(3)\n\n"
        "    def add(self, x):\n        self.total += x\n\n"
        "Meter().add(torch.ones(3, device=device))"
    )
    explanation, left = on_cuda(student, code)
    assert explanation.fix.added == "self.total = self.total.to(x.device)"
    assert left is None


def test_a_tensor_whose_rows_are_assigned_is_moved_itself(one_gpu, student):
    code = (
        "class Memory:\n    def __init__(self):\n        self.rows = torch.zeros(3, 2)\n\n"
        "    def put(self, i, row):\n        self.rows[i] = row\n\nmemory = Memory()\n"
        "memory.put(torch.tensor([0], device=device), torch.ones(1, 2, device=device))"
    )
    explanation, left = on_cuda(student, code)
    assert explanation.fix.added == "self.rows = self.rows.to(i.device)"
    assert left is None


def test_with_two_gpus_the_data_moves_to_the_network(student):
    if torch.cuda.is_available():
        pytest.skip("takes two GPUs")
    with simulated_cuda.simulated(devices=2):
        explanation, left = on_cuda(
            student, "net = nn.Linear(3, 2).to('cuda:1')\nx = torch.ones(1, 3).cuda()\nnet(x)"
        )
    assert explanation.fix.added == "x = x.to('cuda:1')"
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
def test_without_a_gpu_the_line_is_rewritten_for_both_devices(no_gpu, student, code, line):
    names = student.names()
    del names["device"]
    explanation = student.explain(code, dict(names))
    assert explanation.title == "This machine has no GPU that torch can use"
    fixed = explanation.fix.applied_to(code)
    assert line in fixed.split("\n")
    assert student.error_of(fixed, dict(names)) is None


def test_a_file_mapped_to_a_missing_gpu_is_loaded_to_the_cpu(no_gpu, student, tmp_path):
    path = tmp_path / "weights.pt"
    torch.save(torch.ones(2), path)
    code = f"state = torch.load({str(path)!r}, map_location='cuda')"
    explanation = student.explain(code)
    assert explanation.places == ((repr(str(path)), "is loaded to a GPU"),)
    assert student.error_of(explanation.fix.applied_to(code)) is None
