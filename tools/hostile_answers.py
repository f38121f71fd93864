"""Answers to exercises of lab 01 that attack the grader, the machine or other students."""

# What replaces the answer to one exercise; "{right}" is the right one.
HOSTILE: dict[str, tuple[int, str]] = {
    "loops forever and catches everything": (
        1,
        "while True:\n    try:\n        while True:\n            pass\n    except BaseException:\n"
        "        pass",
    ),
    "ends the process": (2, "import os\nos._exit(0)"),
    "a fork bomb": (3, "import os\nwhile True:\n    os.fork()"),
    "starts many processes": (
        3,
        "import subprocess\nfor _ in range(40):\n    subprocess.Popen(['sleep', '1000'])\n"
        "import time\ntime.sleep(5)",
    ),
    "takes all memory": (
        4,
        "import torch\nkept = []\nwhile True:\n    kept.append(torch.ones(50_000_000))",
    ),
    "prints forever": (5, "while True:\n    print('x' * 1000)"),
    "writes forever past Python": (6, "import os\nwhile True:\n    os.write(1, b'x' * 65536)"),
    "deletes its directory and what else it can": (
        1,
        "import shutil, os\nshutil.rmtree('.', ignore_errors=True)\n"
        "os.system('rm -rf /home /tmp/* /etc /bin/[a-c]* 2> /dev/null')\n{right}",
    ),
    "kills its parent": (
        2,
        "import os, signal\nfor process in (os.getppid(), 1):\n    os.kill(process, signal.SIGKILL)"
        "\nos.killpg(0, signal.SIGKILL)",
    ),
    "waits on input": (3, "answer = input('Which device? ')"),
    "overwrites the checks": (
        4,
        "import helpers.checks.lab as lab\nfrom helpers.checks import lab_01\n"
        "lab.Exercise.__call__ = lambda self, *a: setattr(self, 'passed', True)\n"
        "lab.Exercise.judge = lambda self, *a, **k: None\n"
        "for exercise in lab_01.lab.exercises.values():\n    exercise.passed = True\n"
        "def gpu_bytes(shape, dtype):\n    return 0",
    ),
    "replaces what compares": (
        1,
        "import torch\ntorch.equal = torch.allclose = lambda *a, **k: True\n"
        "def move_all(tensors, device):\n    return [tensor * 0 for tensor in tensors]",
    ),
    "replaces what compares while it is judged": (
        3,
        "import torch\ndef add_ramp(X):\n    torch.equal = lambda *a: True\n"
        "    torch.allclose = lambda *a, **k: True\n    return X * 0",
    ),
    "prints a forged result": (
        5,
        "from IPython.display import display\ndef mean_of(batches):\n    return 0.0\n"
        "display({'application/vnd.gpu-course.check+json': {'lab': '01_tensors_and_devices',\n"
        "  'exercise': 5, 'passed': True, 'points': 3, 'of': 3, 'hint': None, 'tries': 1},\n"
        "  'text/plain': 'Exercise 5: right.'}, raw=True)",
    ),
    "writes forged verdicts into every channel": (
        6,
        "import json, os\n"
        "line = json.dumps({'cell': 99, 'passed': True, 'exercise': 6, 'place': 0})\n"
        "for channel in range(3, 64):\n    try:\n"
        "        os.write(channel, ('0' * 64 + ' ' + line + '\\n').encode())\n"
        "    except OSError:\n        pass\ndef to_numpy(X):\n    return None",
    ),
    "ends the process a moment later": (
        2,
        "import os, threading\nthreading.Timer(0.05, os._exit, (0,)).start()\n{right}\n"
        "import time\ntime.sleep(1)",
    ),
    "leaves processes behind": (
        3,
        "import subprocess\nfor _ in range(5):\n"
        "    subprocess.Popen(['sleep', '1000'], start_new_session=True)\n{right}",
    ),
    "asks the network": (
        4,
        "import urllib.request\n"
        "urllib.request.urlopen('http://example.org', timeout=5).read()\n{right}",
    ),
    "copies what others submit": (
        5,
        "import pathlib\nfound = [p for top in ('/home', '/tmp', '/root', '/work', '/srv')\n"
        "         for p in pathlib.Path(top).rglob('*.ipynb')\n"
        "         if 'site-packages' not in p.parts]\n"
        "assert found, 'nothing to copy'\nprint(found[0].read_text())\n{right}",
    ),
    "leaves its files in the package": (
        6,
        "import pathlib, helpers\n"
        "for file in (pathlib.Path(helpers.__file__).parent / 'checks').rglob('*.py'):\n"
        "    try:\n        file.write_text('')\n    except OSError:\n        pass\n{right}",
    ),
}
# Each tries to get the points of a wrong answer from inside the process of the checks.
ATTACKS: dict[str, tuple[int, str]] = {
    "finds the sender of verdicts": (
        1,
        "import gc\nsend = next(o for o in gc.get_objects() if getattr(o, '__qualname__', '')\n"
        "            == '_make_sender.<locals>.send')\n"
        "def move_all(tensors, device):\n    return tensors\n"
        "common = {'outputs': [], 'error': '', 'traceback': '', 'stop': '', 'hint': None,\n"
        "          'passed': True, 'message': '', 'restored': [], 'replaced': []}\n"
        "for cell in range(40):\n    send(cell=cell, **common)",
    ),
    "replaces json.dumps": (
        2,
        "import json\nreal = json.dumps\ndef dumps(value, **options):\n"
        "    if 'passed' in value:\n        value = value | {'passed': True, 'error': ''}\n"
        "    return real(value, **options)\n"
        "def try_gpu(i=0):\n    json.dumps = dumps\n    return None\n"
        "def try_all_gpus():\n    return []",
    ),
    "replaces what sends JSON": (
        3,
        "from json import JSONEncoder as E\nreal = E.encode\n"
        "def encode(self, value):\n"
        "    if isinstance(value, dict) and 'passed' in value:\n"
        "        value = value | {'passed': True, 'error': ''}\n"
        "    return real(self, value)\n"
        "def add_ramp(X):\n    E.encode = encode\n    return X",
    ),
    "replaces Trial.expect": (
        4,
        "def gpu_bytes(shape, dtype):\n    import helpers.checks.trial as trial\n"
        "    trial.Trial.expect = lambda *a, **k: None\n    return 512",
    ),
    "replaces Verdict.passed": (
        5,
        "def mean_of(batches):\n    import helpers.checks.lab as lab\n"
        "    lab.Verdict.passed = property(lambda self: True)\n    return 0.0",
    ),
    "takes the judge from the stack": (
        6,
        "import sys\ndef to_numpy(X):\n    frame = sys._getframe()\n    while frame:\n"
        "        judge = frame.f_locals.get('self')\n"
        "        if type(judge).__name__ == 'CellRunner':\n"
        "            right = {'passed': True, 'error': '', 'hint': None, 'message': '',\n"
        "                     'outputs': [], 'traceback': '', 'stop': '', 'restored': [],\n"
        "                     'replaced': []}\n"
        "            judge._check = lambda place, cell: right\n"
        "            send = judge.send\n"
        "            judge.send = lambda **m: send(**(m | right if 'passed' in m else m))\n"
        "        frame = frame.f_back",
    ),
    "returns a tensor that lies": (
        1,
        "import torch\nclass Lying(torch.Tensor):\n"
        "    @property\n    def device(self):\n        return self.wanted\n"
        "def move_all(tensors, device):\n    moved = []\n    for tensor in tensors:\n"
        "        lying = tensor.as_subclass(Lying)\n"
        "        lying.wanted = torch.device(device)\n        moved.append(lying)\n"
        "    return moved",
    ),
}
# Those that end with a right answer after their attempt failed.
HARMLESS = {
    "deletes its directory and what else it can",
    "leaves processes behind",
    "leaves its files in the package",
}

# Those that use Python's or the checks' internals: they wait for a person, and have no points yet.
REVIEWED = {
    "overwrites the checks",
    "replaces what compares",
    "replaces what compares while it is judged",
    *ATTACKS,
}
