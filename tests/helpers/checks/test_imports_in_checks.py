"""Checks do not import torch's compiler by accident; slow imports do not fail right answers.

Each case runs in a child process that has imported torch but not its compiler, since torch imports
it only once per process.
"""

import importlib
import importlib.abc
import importlib.machinery
import itertools
import multiprocessing
import sys
import time
import traceback
from contextlib import nullcontext
from types import SimpleNamespace

import pytest
from tests.helpers.checks.collection import LABS

FORKS = "forkserver" in multiprocessing.get_all_start_methods()
pytestmark = pytest.mark.skipif(not FORKS, reason="needs forked processes")

HEAVY = ("torch._dynamo", "torch._inductor", "sympy")


class ImportWatcher(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Records the call stack of the first import of a heavy module.

    With `seconds`, the real import starts after this delay. Otherwise an empty module replaces
    the compiler, which saves about ten seconds per process.
    """

    def __init__(self, seconds=None):
        self.seconds = seconds
        self.importers = []

    def find_spec(self, name, path=None, target=None):
        if name not in HEAVY:
            return None
        first = not self.importers
        self.importers = self.importers or [f.filename for f in traceback.extract_stack()]
        if self.seconds is None:
            return importlib.machinery.ModuleSpec(name, self)
        end = time.monotonic() + self.seconds if first else 0
        while time.monotonic() < end:
            pass
        return None

    def create_module(self, spec):
        return None

    def exec_module(self, module):
        # The functions that optimizers and checkpoints use.
        module.disable = lambda function, *args, **kwargs: function
        module.graph_break = lambda *args: None
        module.config = SimpleNamespace(
            error_on_nested_fx_trace=True, patch=lambda **changes: nullcontext()
        )


def call_in_new_process(action, *args):
    """Call `action` in a process that has not imported torch's compiler, and return its result."""
    processes = multiprocessing.get_context("forkserver")
    processes.set_forkserver_preload(["torch", "helpers.checks.lab_01"])
    receiver, sender = processes.Pipe(duplex=False)
    process = processes.Process(target=_send, args=(sender, action, args))
    process.start()
    sender.close()
    assert receiver.poll(300), "the process did not answer"
    result = receiver.recv()
    process.join(60)
    return result


def _send(sender, action, args):
    try:
        sender.send(action(*args))
    except BaseException:
        sender.send(traceback.format_exc())
        raise


def judge_right_answers(lab):
    """For each exercise, return the hint for its first right answer, and the importers."""
    answers = importlib.import_module(f"tests.helpers.checks.{lab}_answers").answers
    results = {}
    for number, exercise in answers.checks.lab.exercises.items():
        answer = next(a for a in answers.collected if a.exercise == number and a.hint is None)
        assert not set(HEAVY) & set(sys.modules)
        watcher = ImportWatcher()
        sys.meta_path.insert(0, watcher)
        results[number] = exercise.judge(*answer.arguments(), seed=1).hint, watcher.importers
        sys.meta_path.remove(watcher)
        for name in HEAVY:
            sys.modules.pop(name, None)
    return results


@pytest.mark.parametrize("lab", LABS)
def test_only_optimizers_and_checkpoints_import_the_compiler(lab):
    results = call_in_new_process(judge_right_answers, lab)
    assert {number: hint for number, (hint, _) in results.items() if hint} == {}
    for number, (_, importers) in results.items():
        assert not importers or is_allowed_import(importers), (number, importers[-25:])


def is_allowed_import(importers):
    """Return whether an optimizer, or an answer's checkpoint, imported the compiler."""
    pairs = itertools.pairwise(importers)
    checkpoint = any(a.endswith("_answers.py") and b.endswith("_compile.py") for a, b in pairs)
    return checkpoint or any("/torch/optim/" in file for file in importers)


def judge_with_slow_import(lab, number, seconds):
    """Return the hint, the importers, and whether sympy is imported completely."""
    answers = importlib.import_module(f"tests.helpers.checks.{lab}_answers").answers
    answer = next(a for a in answers.collected if a.exercise == number and a.hint is None)
    watcher = ImportWatcher(2 * seconds)
    sys.meta_path.insert(0, watcher)
    exercise = answers.checks.lab.exercises[number]
    exercise.seconds = seconds
    hint = exercise.judge(*answer.arguments(), seed=1).hint
    return hint, watcher.importers, hasattr(sys.modules["sympy"], "logic")


def test_a_slow_import_of_the_compiler_does_not_count_as_the_students_time():
    hint, importers, complete = call_in_new_process(judge_with_slow_import, "lab_03", 3, 3.0)
    assert any("/torch/optim/" in file for file in importers)
    assert (hint, complete) == (None, True)
