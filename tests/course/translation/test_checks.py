"""Each check accepts good translations and finds its kind of mistake."""

import pytest

from course.translation.checks import find_differences

GOOD = [
    ("The **CPU** has 2 cores.", "La **CPU** tiene 2 núcleos."),
    ("It takes two GPUs and `net.to(x)`.", "`net.to(x)` と 2 枚の GPU が必要です。"),
    ("14 million against 456", "1,400 万 vs. 456"),
    ("65,536 multipliers", "乘法器有 6 万 5,536 个"),
    ("12 million images", "12 millones de imágenes"),
    ("Half of it, once.", "その 2 分の 1 を 1 回。"),
    ("| a few | `x` |", "| algunos | `x` |"),
    ("{count} lessons, {size:,} bytes", "{size:,} 바이트, 수업 {count}개"),
    ("[Help](help.md#no-gpu)", "[도움말](help.md#no-gpu)"),
    ("print each <code>.device</code>", "imprime cada <code>.device</code>"),
    ("*First Draft*, 1945, by von Neumann", "von Neumann 著『First Draft』、1945 年"),
    ("Here $s$ is 1.", "Aquí $s$ es 1."),
    ("NVIDIA, *CUDA C++ Guide*", "NVIDIA, *CUDA C++ Guide*"),
]
BAD = [
    ("code", "Call `x.to(d)`.", "Llama a `x.to()`."),
    ("code", "Call <code>x</code>.", "Llama a <code>y</code>."),
    ("links", "[Help](help.md)", "[Ayuda](ayuda.md)"),
    ("links", "[Help](help.md)", "Ayuda"),
    ("tags", "one<br>two", "uno dos"),
    ("math", "Here $s$ is one.", "Aquí $t$ es uno."),
    ("bold", "The **CPU** runs.", "La CPU funciona."),
    ("bold", "The **CPU** runs.", "**「CPU」**は動きます。"),
    ("placeholders", "{count} lessons", "{cuenta} lecciones"),
    ("placeholders", "{size:,} bytes", "{size} bytes"),
    ("numbers", "It takes 12 cycles.", "Tarda 10 ciclos."),
    ("numbers", "It takes 3.5 s.", "Tarda 3,5 s."),
    ("numbers", "14 million", "14 万"),
    ("columns", "| a few | more |", "| algunos |"),
    ("markup", "The *CPU* runs.", "**CPU*は動きます。"),
    ("markup", "A lot of cells.", "- Muchas celdas."),
    ("markup", "A lot of cells.", "Muchas\n\nceldas."),
    ("spaces", "A lot of cells.", " Muchas celdas."),
    ("english", "This is a sentence with many words.", "This is a sentence with many words."),
]


@pytest.mark.parametrize(("original", "translation"), GOOD)
def test_accepts_good_translation(original, translation):
    assert find_differences(original, translation) == []


@pytest.mark.parametrize(("check", "original", "translation"), BAD)
def test_finds_mistake(check, original, translation):
    assert check in [finding.split(":")[0] for finding in find_differences(original, translation)]


def test_comment_allows_one_check_and_finding_suggests_a_fix():
    [finding] = find_differences("12 `x`", "`y` 12", "allow numbers: a reason")[:1]
    assert finding == "code: x is missing. Keep `code` as in the English text."
    assert find_differences("12", "13", "allow numbers: a reason") == []
