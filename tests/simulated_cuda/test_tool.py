"""The command `python -m simulated_cuda` and the search for missing moves."""

import pytest

from simulated_cuda import missing_moves, settings


@pytest.mark.parametrize(
    ("text", "nbytes"), [("16GiB", 16 << 30), ("512 mib", 512 << 20), ("1000", 1000)]
)
def test_sizes(text, nbytes):
    assert settings.parse_size(text) == nbytes


SOURCE = """
import torch

def tested(x, device):
    return torch.zeros(2, device=device) + x.to(device, non_blocking=True)

def untested(x, device):
    x = x.to(device)
    return x.cuda() + torch.ones(2, dtype=torch.long, device=device).to(torch.float32)
"""


def test_moves_of_a_file(tmp_path):
    path = tmp_path / "module.py"
    path.write_text(SOURCE)
    moves = missing_moves.moves_in(path)
    assert [(move.line, move.text) for move in moves] == [
        (5, ", device=device"),
        (5, ".to(device, non_blocking=True)"),
        (8, ".to(device)"),
        (9, ".cuda()"),
        (9, ", device=device"),
    ]
    for move in moves:
        compile(move.removed_from(path.read_bytes()), "mutant", "exec")
    assert b"zeros(2) + x.to" in moves[0].removed_from(path.read_bytes())
