"""Kernels run without a GPU; every access is checked, and recorded as it happened."""

import math
import random
import re
import sys
import time
from unittest import mock

import pytest
import torch

from helpers import kernels
from helpers.checks import lab_10
from helpers.checks.check_box import CheckFailed
from tests.helpers.checks.lab_10.edits import LAB, define

triton = pytest.importorskip("triton", reason="Triton's packages are for Linux")
tl = pytest.importorskip("triton.language")
kernels.enable()


@triton.jit
def scale(x, out, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + offsets, 2 * tl.load(x + offsets, mask=offsets < n), mask=offsets < n)


@triton.jit
def double(x):
    return 2 * x


@triton.jit
def reduce(x, out, row_stride, columns, BLOCK: tl.constexpr):
    column = tl.arange(0, BLOCK)
    row = tl.load(x + tl.program_id(0) * row_stride + column, mask=column < columns, other=0)
    tl.store(out + tl.program_id(0), double(row.sum(axis=0)) + tl.max(row, axis=0))


@triton.jit
def access(x, shift, limit, KIND: tl.constexpr, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK) + shift
    if KIND == "read":
        tl.load(x + offsets, mask=offsets < limit)
    elif KIND == "write":
        tl.store(x + offsets, 7, mask=offsets < limit)
    else:
        tl.atomic_add(x + offsets, 7, mask=offsets < limit)


@triton.jit
def count(x, counts, ATOMIC: tl.constexpr):
    digit = tl.load(x + tl.program_id(0))
    if ATOMIC:
        tl.atomic_add(counts + digit, 1)
    else:
        tl.store(counts + digit, tl.load(counts + digit) + 1)


@triton.jit
def last_program(out):
    tl.store(out + tl.arange(0, 4) // 2, tl.program_id(0))


@triton.jit
def misspelled(x):
    tl.store(x, undefined_name)  # noqa: F821


@pytest.mark.parametrize("order", ["forward", "reversed", 3])
def test_records_what_each_program_reads_and_writes(order):
    x, out = torch.arange(10.0), torch.zeros(10)
    with kernels.recording(order) as launches:
        scale[lambda meta: (triton.cdiv(10, meta["BLOCK"]),)](x, out, 10, BLOCK=4)
    (launch,) = launches
    assert torch.equal(out, 2 * x)
    assert (launch.kernel, launch.grid, launch.shapes["out"]) == ("scale", (3, 1, 1), (10,))
    assert (launch.bytes_read, launch.bytes_written, launch.races()) == (40, 40, [])
    assert launch.elements("out", "write") == {0: [0, 1, 2, 3], 1: [4, 5, 6, 7], 2: [8, 9]}
    assert launch.elements("out", "read") == {0: [], 1: [], 2: []}


@pytest.mark.parametrize(("order", "last"), [("forward", 4), ("reversed", 0)])
def test_the_order_of_the_programs_is_as_requested(order, last):
    out = torch.zeros(2, dtype=torch.int32)
    with kernels.recording(order):
        last_program[(5,)](out)
    assert out.tolist() == [last, last]


def check_wrong_mask(seed):
    """A random access that leaves its tensor is an error and changes nothing around it."""
    choose = random.Random(seed)
    n, block = choose.randint(1, 200), choose.choice([16, 32, 64])
    kind, dtype = choose.choice(kernels.KINDS), choose.choice([torch.float32, torch.int32])
    beyond = choose.choice([1, 5, 3000]) if choose.random() < 0.5 else 0
    shift = 0 if beyond else -choose.choice([1, 10, 10**6])
    arena = torch.zeros(n + 200, dtype=dtype)
    with pytest.raises(kernels.OutOfBounds) as caught, kernels.recording(seed):
        grid = (triton.cdiv(n + beyond, block),)
        access[grid](arena[100 : 100 + n], shift, n + beyond, KIND=kind, BLOCK=block)
    error = caught.value
    assert (error.kind, error.tensor, error.shape) == (kind, "x", (n,))
    assert not 0 <= error.element < n
    assert "x + offsets" in error.line
    assert arena[:100].count_nonzero() == arena[100 + n :].count_nonzero() == 0


@pytest.mark.parametrize("seed", range(50))
def test_wrong_mask_is_an_error_and_changes_nothing_outside(seed):
    check_wrong_mask(seed)


@pytest.mark.slow
def test_a_thousand_wrong_masks_do_not_end_the_process():
    for seed in range(1000):
        check_wrong_mask(seed)


def test_kernel_uses_library_and_other_kernels_and_leaves_modules_unchanged():
    modules = [globals(), *map(vars, (tl, tl.core, tl.math, tl.standard, tl.tensor))]
    before = [dict(module) for module in modules]
    x, out = torch.rand(4, 16)[:, :6], torch.zeros(4)
    reduce[(4,)](x, out, 16, 6, BLOCK=8)
    torch.testing.assert_close(out, 2 * x.sum(1) + x.amax(1))
    for module, names in zip(modules, before, strict=True):
        assert {n: module.get(n) for n in names} == names
        # What rewritten code needs, and inherited methods, which Triton's interpreter sets itself.
        added = {name for name in set(module) - set(names) if not name.startswith("__")}
        assert added <= {"interpreter_semantic"}


@pytest.mark.parametrize(("atomic", "races"), [(True, []), (False, [(1, (0, 1))])])
def test_race_is_an_element_that_two_programs_use_and_not_all_atomically(atomic, races):
    counts = torch.zeros(3, dtype=torch.int32)
    with kernels.recording() as launches:
        count[(3,)](torch.tensor([1, 1, 2]), counts, ATOMIC=atomic)
        last_program[(1,)](torch.zeros(2))  # stores each element twice
    assert counts.tolist() == [0, 2, 1]
    assert [(race.element, race.programs) for race in launches[0].races()] == races
    assert [race.programs for race in launches[1].races()] == [(0,), (0,)]


def test_errors_of_a_kernel_keep_their_type_and_bfloat16_is_refused():
    with pytest.raises(NameError, match="undefined_name"):
        misspelled[(1,)](torch.zeros(1))
    with pytest.raises(TypeError, match="use float32 or float16"):
        misspelled[(1,)](torch.zeros(1, dtype=torch.bfloat16))


def test_kernels_are_compiled_on_a_real_gpu_and_recorded_on_copies(monkeypatch):
    compiled = []
    monkeypatch.setattr(kernels, "_is_on_real_gpu", lambda value: True)
    monkeypatch.setattr(type(scale), "run_unguarded", lambda *a, **k: compiled.append(k))
    with kernels.recording() as launches:
        scale[(1,)](torch.ones(4), torch.ones(4), 4, BLOCK=4)
    scale[(1,)](torch.ones(4), torch.ones(4), 4, BLOCK=4)
    assert (len(launches), len(compiled)) == (1, 2)


def test_without_triton_each_later_error_and_check_says_what_to_do(monkeypatch, capsys):
    shell = mock.Mock()
    monkeypatch.setitem(sys.modules, "triton.runtime", None)
    monkeypatch.setattr(kernels, "missing", [])
    monkeypatch.setattr(kernels, "get_ipython", lambda: shell)
    with pytest.raises(ImportError, match="macOS, open this notebook in Colab") as caught:
        kernels.enable()
    assert caught.value.__suppress_context__  # a single traceback
    _, show = shell.set_custom_exc.call_args.args
    for error, expected in ((NameError("add"), ["NameError: add"]), (caught.value, [])):
        show(shell, type(error), error, None, tb_offset=None)
        lines = shell._showtraceback.call_args.args[2]
        assert [line for line in lines if "Colab" not in line] == expected
        assert len(lines) == len(expected) + 1
    with pytest.raises(CheckFailed):  # although `add` is not defined
        lab_10.exercise_1(add)  # noqa: F821
    assert "not yet. `add` raises ImportError: Triton is missing" in capsys.readouterr().out


@pytest.mark.parametrize("grid", [(5000,), (10**6,), (65, 64), (10**9, 10**9)])
def test_too_many_programs_are_refused_before_the_first_one(grid):
    started, x = time.process_time(), torch.zeros(300)
    with pytest.raises(kernels.TooManyPrograms, match=r"300 .* divide 300 by") as caught:
        scale[grid](x, x, 300, BLOCK=4)
    assert f"{math.prod(grid):,} programs" in str(caught.value)
    assert time.process_time() - started < 1


@pytest.mark.slow
@pytest.mark.parametrize("capability", [75, 80, 90])
@pytest.mark.parametrize("folder", ["notebooks", "labs"])
def test_kernels_of_lesson_and_lab_compile_without_a_gpu(folder, capability, monkeypatch, tmp_path):
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path))
    text = (LAB.parents[2] / folder / "source" / LAB.name).read_text()
    cells = [cell for cell in re.split("^# %%", text, flags=re.M) if "@triton.jit" in cell]
    assert len(cells) >= 6
    for number, cell in enumerate(cells):
        code = re.sub("^.*\n", "", cell.partition("\n\n\ntry:")[0], count=1)
        names = define(code, f"{folder} {number}")
        (kernel,) = [x for x in names.values() if isinstance(x, type(scale))]
        kinds, constants = {}, {}
        for name in kernel.arg_names:
            pointer = "*i32" if "histogram" in code else "*fp32"
            kinds[name] = pointer if "_ptr" in name else "fp32" if name == "eps" else "i32"
            if name.isupper() and len(name) > 1:
                kinds[name], constants[name] = "constexpr", 16
        source = ASTSource(kernel, kinds, constants)
        compiled = triton.compile(source, GPUTarget("cuda", capability, 32))
        assert f".target sm_{capability}" in compiled.asm["ptx"]
