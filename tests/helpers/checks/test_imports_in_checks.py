"""Checks do not import torch's compiler by accident, which takes seconds."""

import json
import subprocess
import sys
from pathlib import Path

# Runs the right answers to each exercise, and prints the files that imported the compiler first.
CODE = """
import importlib, json, pathlib, sys, traceback, types
from contextlib import nullcontext

class Watcher:
    # An empty module replaces the compiler, with the functions that optimizers and checkpoints use.
    def find_spec(self, name, path=None, target=None):
        if name == "torch._dynamo":
            importers.setdefault(str(test), [f.filename for f in traceback.extract_stack()])
            return importlib.machinery.ModuleSpec(name, self)

    create_module = staticmethod(lambda spec: None)

    def exec_module(self, module):
        module.disable = lambda function, *args, **kwargs: function
        module.graph_break = lambda *args: None
        module.config = types.SimpleNamespace(
            error_on_nested_fx_trace=True, patch=lambda **changes: nullcontext()
        )

importers = {}
sys.meta_path.insert(0, Watcher())
for test in sorted(pathlib.Path("tests/helpers/checks").glob("lab_*/test_exercise_*.py")):
    answers = importlib.import_module(".".join(test.with_suffix("").parts)).answers
    for answer in [answer for answer, hint in answers.collected if hint is None]:
        answers.exercise.check(*answers.arguments(answer), seed=1)
    sys.modules.pop("torch._dynamo", None)
print(json.dumps(importers))
"""


def test_only_optimizers_and_checkpoints_import_the_compiler():
    root = Path(__file__).parents[3]
    command = [sys.executable, "-c", CODE]
    output = subprocess.run(command, cwd=root, capture_output=True, text=True, check=True).stdout
    for test, files in json.loads(output.splitlines()[-1]).items():
        # torch marks `checkpoint` and the optimizers' functions with a decorator that imports it.
        allowed = ("/torch/optim/", "/torch/utils/checkpoint.py", "/torch/_compile.py")
        assert any(name in file for file in files for name in allowed), (test, files[-25:])
