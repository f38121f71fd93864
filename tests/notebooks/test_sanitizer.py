import re
from pathlib import Path

import pytest
from nbval.plugin import get_sanitize_patterns

SANITIZER = Path(__file__).parents[1] / "nbval_sanitize.cfg"
PATTERNS = get_sanitize_patterns(SANITIZER.read_text(encoding="utf-8"))


def mask(text):
    for regex, replacement in PATTERNS:
        text = re.sub(regex, replacement, text)
    return text


def test_file_is_ascii():
    # nbval opens the file with the machine's default encoding.
    assert SANITIZER.read_bytes().isascii()


MASKED = {
    "after 12.3 s; 850 ms, 4 µs, 4 us, 7 ns": "after TIME; TIME, TIME, TIME, TIME",
    "1 min 12 s; 1.37 times as fast": "TIME TIME; RATIO times as fast",
    "1,234 images/s": "RATE",
    "12.5 images/s.": "RATE.",
    "Training: loss 1.234, 5,678 images/s, 9.1 s": "Training: LOSS, RATE, TIME",
    "epoch 2 of 2, step 12,500 of 12,500, loss 1.234, 5,678 images/s": (
        "epoch 2 of 2, every step, LOSS, RATE"
    ),
    "paso 9,000 de 9,000, loss 1.234, 56 images/s": "paso all, LOSS, RATE",
    "ステップ50/50, loss 1.234, 56 images/s": "ステップall, LOSS, RATE",
    "第 50 步\uff0c共 50 步, loss 1.234, 56 images/s": "第 all 步, LOSS, RATE",
    '<progress value="500" max="500" ': '<progress value="ALL" max="ALL" ',
    "accuracy ≈ 54.3 %; loss ≈ 1.234; ≈ 1,234.5; ≈ -0.1": (
        "accuracy MEASURED; loss MEASURED; MEASURED; MEASURED"
    ),
    '<img alt="A." src="data:image/png;base64,iVBO+/A=">': (
        '<img alt="A." src="data:image/png;base64,PIXELS">'
    ),
}


@pytest.mark.parametrize("text", MASKED)
def test_masks_measurements(text):
    assert mask(text) == MASKED[text]


def test_does_not_mask_values_that_lessons_teach():
    text = """\
cuda:0; device(type='cuda', index=0); on cpu; NVIDIA H200; torch.Size([50000, 3, 32, 32]); float32;
62,006 parameters; 1 sample, 3 steps, 2 multiplications, 5 messages, 4 hours; 3 times as many;
153.6 MB as uint8; 12 MB/s; 5 m/s; images/s; v1.2 s; loss: 1.234; loss 1.234; accuracy 0.543;
step 12,500 of 12,500; step 12,499 of 12,500; <progress value="499" max="500"; 54.3 %;
Expected all tensors to be on the same device, but found at least two devices, cuda:0 and cpu!"""
    assert mask(text) == text
