"""In a real kernel, the check of a hostile function ends in time, and later cells run."""

import textwrap

import pytest
from nbval.kernel import CURRENT_ENV_KERNEL_NAME, start_new_kernel

from helpers.checks.check_box import CHECK_TYPE

SET_UP = """
import os, sys, time, threading, random, signal, torch
from torch.overrides import _get_current_function_mode_stack
from helpers import lesson
import simulated_cuda
from helpers.checks import lab_01 as check
simulated_cuda.enable(devices=2, over_real=True)
device = lesson.start(practice=True, gpus=2)

def good(X):
    return [x[0].clone() for x in X]

def settings():
    return (
        torch.get_default_dtype(), torch.get_default_device(), torch.is_grad_enabled(),
        torch.cuda.current_device(), torch.get_num_threads(), torch.get_rng_state().sum().item(),
        hash(random.getstate()), sys.stdout, sys.stderr, input, os._exit, get_ipython().ask_exit,
        get_ipython().display_pub.publish, signal.getsignal(signal.SIGALRM),
        signal.getitimer(signal.ITIMER_REAL), _get_current_function_mode_stack(),
        open("/proc/self/limits").read(),
    )

before = settings()
"""
# What the function does, by the hint that it must get.
HOSTILE = {
    "takes-too-long": [
        "while True: pass",
        "while True: X = X + X[:0]",
        "while True:\n    try: time.sleep(0.01)\n    except: pass",
        "lock = threading.Lock(); lock.acquire(); lock.acquire()",
        "while True: print('x' * 1000); print('x', file=sys.stderr)",
        "while True: display(X)",
    ],
    "ends-the-program": ["exit()", "sys.exit('enough')", "os._exit(1)"],
    "too-deep": ["return hostile(X)"],
    "too-much-memory": [
        "return torch.ones(10 * 2**30, dtype=torch.uint8, device=device)",
        "rows = []\nwhile True: rows.append(torch.empty(50 * 2**20))",
    ],
    "asks-for-input": ["return X * int(input('how often? '))"],
    "raised": ["class Odd(Exception):\n    def __str__(self): raise ValueError\nraise Odd"],
    "unusable-result": [
        "class Odd:\n    def __getattribute__(self, name): raise ValueError(name)\nreturn Odd()"
    ],
    None: [
        "result = good(X)\ntorch.set_default_dtype(torch.float64)\ntorch.manual_seed(99)\n"
        "torch.set_default_device('cuda:1')\ntorch.set_grad_enabled(False)\n"
        "torch.cuda.set_device(1)\nrandom.seed(99)\nreturn result"
    ],
}
CASES = [(code, hint) for hint, codes in HOSTILE.items() for code in codes]


class Notebook:
    """A kernel that runs cells one after the other."""

    def __init__(self):
        self.manager, self.client = start_new_kernel(120, CURRENT_ENV_KERNEL_NAME)

    def run(self, code):
        """Run a cell; return its displayed outputs, its printed text, and its error or None."""
        contents = {"display_data": [], "execute_result": [], "stream": [], "error": []}

        def save(message):
            contents.get(message["msg_type"], []).append(message["content"])

        self.client.execute_interactive(code, allow_stdin=False, timeout=120, output_hook=save)
        outputs = [content["data"] for content in contents["display_data"]]
        outputs += [content["data"] for content in contents["execute_result"]]
        printed = "".join(content["text"] for content in contents["stream"])
        return outputs, printed, next(iter(contents["error"]), None)

    def check(self, code, seconds=10):
        """Define `hostile(X)` with this body, and run a check of it."""
        assert self.run(f"def hostile(X):\n{textwrap.indent(code, '    ')}")[2] is None
        return self.run(f"check.exercise_6.seconds = {seconds}\ncheck.exercise_6(hostile)")


@pytest.fixture(scope="module")
def notebook():
    notebook = Notebook()
    assert notebook.run(SET_UP)[2] is None
    yield notebook
    notebook.client.stop_channels()
    notebook.manager.shutdown_kernel(now=True)


@pytest.mark.parametrize(("code", "hint"), CASES, ids=[code[:40] for code, _ in CASES])
def test_check_shows_its_box_and_the_next_cells_run(notebook, code, hint):
    outputs, printed, error = notebook.check(code, 0.5 if hint == "takes-too-long" else 10)
    assert [box[CHECK_TYPE]["hint"] for box in outputs] == [hint]
    assert (error is None) == (hint is None)
    assert len(printed) < 3000
    changed = "[i for i, (a, b) in enumerate(zip(before, settings())) if a != b]"
    assert notebook.run(changed)[0] == [{"text/plain": "[]"}]
    [box], _, error = notebook.check("return good(X)")
    assert box[CHECK_TYPE]["passed"]
    assert error is None
    assert notebook.run("torch.ones(1, device='cuda:1').device.index")[0] == [{"text/plain": "1"}]


@pytest.mark.parametrize(
    ("statement", "name", "undo"),
    [("torch = 5", "torch", "import torch"), ("len = 3", "len", "del len")],
)
def test_reassigned_name_is_reported(notebook, statement, name, undo):
    answer = "return [torch.clone(X[i][0]) for i in range(len(X))]"
    notebook.run(statement)
    [box], _, _ = notebook.check(answer)
    notebook.run(undo)
    assert box[CHECK_TYPE]["hint"] == "name-shadowed"
    assert f"has reassigned `{name}`: it is now" in box["text/plain"]
    assert notebook.check(answer)[2] is None


def test_interrupted_check_leaves_the_notebook_usable(notebook):
    assert notebook.check("raise KeyboardInterrupt")[2]["ename"] == "KeyboardInterrupt"
    assert notebook.run("1 + 1")[0] == [{"text/plain": "2"}]


def test_failing_cell_shows_the_box_the_printed_text_and_one_line(notebook):
    outputs, printed, error = notebook.check("print('here' * 3000)\nreturn X + torch.ones(3)")
    assert len(outputs) == 1
    assert "Your code printed:\nhere" in printed
    assert printed.endswith("... (truncated)\n")
    assert error["ename"] == "CheckFailed"
    assert error["evalue"].startswith("exercise 6: `keep_rows` raises")
    assert len(error["traceback"]) == 1
    assert "\n" not in error["traceback"][0]
