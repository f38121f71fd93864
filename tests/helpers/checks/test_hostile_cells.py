"""A check returns in time and leaves the notebook usable, even if a student's function is hostile.

Each case runs in a real kernel, as in a notebook.
"""

import queue
import textwrap
from dataclasses import dataclass, field
from time import monotonic

import pytest
from nbval.kernel import CURRENT_ENV_KERNEL_NAME, start_new_kernel

from helpers.checks.check_box import CHECK_TYPE

# Time limits for code that must exceed the limit, and for all other code.
SHORT_LIMIT = 0.5
LONG_LIMIT = 10.0
# Additional time for ending threads and showing the box on a busy machine.
GRACE = 60.0

SET_UP = """
import os, sys, time, threading, random, signal, torch
from helpers import lesson
import simulated_cuda
from helpers.checks import lab_01 as check
simulated_cuda.enable(devices=2, over_real=True)
device = lesson.start(practice=True, gpus=2)
tensor = torch.arange(3.0, device=device)

def good(X):
    return X + torch.arange(X.shape[1], dtype=X.dtype, device=X.device)

def settings():
    return (
        torch.get_default_dtype(), torch.get_default_device(), torch.is_grad_enabled(),
        torch.cuda.current_device(), torch.get_num_threads(), torch.initial_seed(),
        torch.get_rng_state().sum().item(), hash(random.getstate()), os.getcwd(),
        sys.getrecursionlimit(), dict(os.environ), sys.gettrace(), sys.stdout, sys.stderr, input,
        os._exit, get_ipython().ask_exit, signal.getsignal(signal.SIGINT),
        signal.getsignal(signal.SIGALRM), signal.getitimer(signal.ITIMER_REAL),
        threading.active_count(), open("/proc/self/limits").read(),
    )

before = settings()
"""

# What the function does, and the hint it must get (None: no hint).
HOSTILE = {
    "an endless loop": ("while True: pass", "takes-too-long"),
    "a loop that catches errors": (
        """
        while True:
            try:
                X = X + 1
            except Exception:
                pass
        """,
        "takes-too-long",
    ),
    "a loop that catches everything": (
        """
        while True:
            try:
                time.sleep(0.01)
            except:
                pass
        """,
        "takes-too-long",
    ),
    "two nested loops that catch everything": (
        """
        while True:
            try:
                while True:
                    try:
                        X = X + 1
                    except BaseException:
                        continue
            except BaseException:
                continue
        """,
        "takes-too-long",
    ),
    "a long sleep": ("time.sleep(1000)", "takes-too-long"),
    "waiting for a lock": (
        "lock = threading.Lock(); lock.acquire(); lock.acquire()",
        "takes-too-long",
    ),
    "a loop in a generator": ("return sum(0 for _ in iter(int, 1))", "takes-too-long"),
    "exit()": ("exit()", "ends-the-program"),
    "quit()": ("quit()", "ends-the-program"),
    "sys.exit()": ("sys.exit(0)", "ends-the-program"),
    "sys.exit() with a message": ("sys.exit('enough')", "ends-the-program"),
    "os._exit()": ("os._exit(1)", "ends-the-program"),
    "endless printing": ("while True: print('x' * 1000)", "takes-too-long"),
    "endless printing to stderr": (
        "while True: print('x' * 1000, file=sys.stderr)",
        "takes-too-long",
    ),
    "endless displaying": ("while True: display(X)", "takes-too-long"),
    "recursion": ("return hostile(X)", "too-deep"),
    "recursion with a higher limit": ("sys.setrecursionlimit(5000); return hostile(X)", "too-deep"),
    "a tensor of 10 GB": ("return torch.ones(10 * 2**30, dtype=torch.uint8)", "too-much-memory"),
    "a tensor of 10 GB on the GPU": (
        "return torch.ones(10 * 2**30, dtype=torch.uint8, device=device)",
        "too-much-memory",
    ),
    "bytes of 10 GB": ("return bytearray(10 * 2**30)", "too-much-memory"),
    "a list that grows": (
        "rows = []\nwhile True: rows.append(torch.empty(50 * 2**20))",
        "too-much-memory",
    ),
    "input()": ("return X + float(input('how much? '))", "asks-for-input"),
    "input() with errors caught": (
        "try:\n    input()\nexcept Exception:\n    pass",
        "asks-for-input",
    ),
    "a thread left behind": (
        """
        def forever():
            while True:
                time.sleep(0.01)
        threading.Thread(target=forever).start()
        return good(X)
        """,
        None,
    ),
    "changed settings": (
        """
        torch.set_default_dtype(torch.float64)
        torch.set_default_device("cuda:1")
        torch.set_grad_enabled(False)
        torch.cuda.set_device(1)
        torch.manual_seed(99)
        random.seed(99)
        os.chdir("/")
        os.environ["CUDA_VISIBLE_DEVICES"] = "3"
        sys.setrecursionlimit(777)
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        return X + torch.arange(X.shape[1], dtype=X.dtype, device=X.device)
        """,
        None,
    ),
    "an error": ("raise KeyError('x')", "raised"),
    "an error with an unreadable message": (
        """
        class Odd(Exception):
            def __str__(self):
                raise ValueError
        raise Odd
        """,
        "raised",
    ),
    "a result without readable attributes": (
        """
        class Odd:
            def __getattribute__(self, name):
                raise ValueError(name)
        return Odd()
        """,
        "unusable-result",
    ),
    "stopped as if by Ctrl-C": ("raise KeyboardInterrupt", None),
}


@dataclass
class CellResult:
    seconds: float
    outputs: list[dict] = field(default_factory=list)
    printed: str = ""
    error: tuple[str, str, list[str]] | None = None


class Notebook:
    """A kernel that runs cells one after the other."""

    def __init__(self):
        self.manager, self.client = start_new_kernel(120, CURRENT_ENV_KERNEL_NAME)

    def run(self, code, timeout=120):
        start = monotonic()
        request_id = self.client.execute(textwrap.dedent(code), allow_stdin=False)
        result = CellResult(0)
        while True:
            try:
                message = self.client.get_iopub_msg(timeout=timeout)
            except queue.Empty:
                # All later tests would wait for this cell.
                self.manager.shutdown_kernel(now=True)
                pytest.exit(f"no answer within {timeout} s to: {code}", 1)
            if message["parent_header"].get("msg_id") != request_id:
                continue
            kind, content = message["msg_type"], message["content"]
            if kind == "status" and content["execution_state"] == "idle":
                result.seconds = monotonic() - start
                return result
            if kind in ("display_data", "execute_result"):
                result.outputs.append(content["data"])
            elif kind == "stream":
                result.printed += content["text"]
            elif kind == "error":
                result.error = content["ename"], content["evalue"], content["traceback"]

    def close(self):
        self.client.stop_channels()
        self.manager.shutdown_kernel(now=True)


@pytest.fixture(scope="module")
def notebook():
    notebook = Notebook()
    assert notebook.run(SET_UP, timeout=120).error is None
    yield notebook
    notebook.close()


def indent(code):
    return textwrap.indent(textwrap.dedent(code).strip("\n"), "    ")


@pytest.mark.parametrize("name", HOSTILE)
def test_check_returns_in_time_and_the_next_cells_run(notebook, name):
    code, hint = HOSTILE[name]
    assert notebook.run(f"def hostile(X):\n{indent(code)}").error is None
    seconds = SHORT_LIMIT if hint == "takes-too-long" else LONG_LIMIT
    result = notebook.run(f"check.exercise_3.seconds = {seconds}\ncheck.exercise_3(hostile)")
    assert result.seconds < SHORT_LIMIT + GRACE
    boxes = [outputs[CHECK_TYPE] for outputs in result.outputs if CHECK_TYPE in outputs]
    if name == "stopped as if by Ctrl-C":
        assert result.error[0] == "KeyboardInterrupt"
    else:
        assert [box["hint"] for box in boxes] == [hint]
        assert (result.error is None) == (hint is None)
    assert len(result.printed) < 3000
    assert changed_settings(notebook) == "[]"
    assert notebook.run("1 + 1").outputs == [{"text/plain": "2"}]
    right = notebook.run(f"check.exercise_3.seconds = {LONG_LIMIT}\ncheck.exercise_3(good)")
    assert right.error is None
    assert right.outputs[0][CHECK_TYPE]["passed"]
    devices = notebook.run("tensor.device, torch.ones(1, device='cuda:1').device")
    assert "'cuda', index=0" in devices.outputs[0]["text/plain"]


def changed_settings(notebook):
    code = "[i for i, (a, b) in enumerate(zip(before, settings())) if a != b]"
    return notebook.run(code).outputs[0]["text/plain"]


@pytest.mark.parametrize(
    ("statement", "undo"),
    [
        ("torch = 5", "import torch"),
        ("torch = torch.zeros(3)", "import torch"),
        ("range = [1, 2]", "del range"),
        ("len = 3", "del len"),
        ("def float(x): return 'no'", "del float"),
        ("class torch: pass", "import torch"),
    ],
)
def test_reassigned_name_is_reported(notebook, statement, undo):
    answer = """
    def hidden(X):
        ramp = torch.tensor([float(i) for i in range(len(X[0]))], device=X.device)
        return X + ramp.to(X.dtype)
    """
    notebook.run(answer)
    assert notebook.run("check.exercise_3(hidden)").error is None
    assert notebook.run(statement).error is None
    result = notebook.run("check.exercise_3(hidden)")
    assert notebook.run(undo).error is None
    name = statement.split("(")[0].replace("def ", "").replace("class ", "").split()[0].rstrip(":")
    assert result.outputs[0][CHECK_TYPE]["hint"] == "name-shadowed"
    assert f"has reassigned `{name}`: it is now" in result.outputs[0]["text/plain"]
    assert notebook.run("check.exercise_3(hidden)").error is None


def test_printed_text_is_shown_below_the_box_and_truncated(notebook):
    notebook.run("def hostile(X):\n    print('here I am' * 1000)\n    return X")
    result = notebook.run("check.exercise_3(hostile)")
    assert "Your code printed:\nhere I am" in result.printed
    assert result.printed.endswith("... (truncated)\n")


def test_failing_cell_shows_the_box_and_one_line(notebook):
    notebook.run("def hostile(X):\n    return X + torch.arange(X.shape[1])")
    result = notebook.run("check.exercise_3(hostile)")
    assert len(result.outputs) == 1
    assert result.error[0] == "CheckFailed"
    assert result.error[1].startswith("exercise 3: `add_ramp` raises a device error.")
    assert len(result.error[2]) == 1
    assert "\n" not in result.error[2][0]
