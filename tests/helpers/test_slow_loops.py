"""Each of lesson 08's slow loops has its own mistake and no other."""

import pytest
import torch
from torch.profiler import ProfilerActivity, profile

from helpers.slow_loops import loop_a, loop_b, loop_c

IMAGES = torch.randint(0, 256, (8, 3, 32, 32), dtype=torch.uint8)
LABELS = torch.arange(8)


@pytest.mark.parametrize(
    ("loop", "items", "losses"), [(loop_a, 2, 1), (loop_b, 0, 1), (loop_c, 0, 8)]
)
def test_counts_per_step_show_the_mistake(loop, items, losses):
    with profile(activities=[ProfilerActivity.CPU]) as profiler:
        loop(IMAGES, LABELS, torch.device("cpu"), 2)
    counts = {event.key: event.count for event in profiler.key_averages()}
    assert counts.get("aten::_local_scalar_dense", 0) == 2 * items
    assert counts["aten::cross_entropy_loss"] == 2 * losses
    assert all(counts[part] == 2 for part in ("data", "forward", "backward", "optimizer", "log"))
