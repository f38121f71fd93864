"""A submission is run and judged: the same verdicts as in a notebook, whatever the code does."""

import base64
import importlib
import json
import pickle
import subprocess
import threading
import time
import zlib
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch

from course.grading import session
from course.grading.answers import CellKind, SubmittedCell
from course.grading.facts_codec import encode
from course.grading.grade import grade_submission
from course.grading.gradebook import MarkStatus
from course.grading.limits import MAX_ERROR, MAX_TEXT, SandboxLimits, Stop, StopReason, read_result
from course.grading.sandbox import bubblewrap
from course.grading.session import RemoteWorker, Session, TimeLimit, WorkerStopped, check_remotely
from course.grading.submissions import Submission
from helpers.checks import lab_01
from helpers.checks.collecting import Collector, Facts

TESTS = sorted(Path(__file__).parents[2].glob("helpers/checks/lab_01/test_exercise_*.py"))
ANSWERS = [
    (answers, answer, hint)
    for file in TESTS
    for answers in [importlib.import_module(f"tests.helpers.checks.lab_01.{file.stem}").answers]
    for answer, hint in answers.collected
]


def judge(number, *functions, seed=None, change=lambda reply: reply):
    """Judge answers through messages, without a sandbox; `change` forges the replies."""
    exercise = session.load_lab("lab_01").exercises[number]
    with Collector(dict(zip(exercise.names, functions, strict=True)), 10) as local:

        def ask(names, seconds, collector):
            function, case = pickle.loads(base64.b64decode(collector))
            return json.loads(json.dumps(change({"facts": encode(local.collect(function, case))})))

        return check_remotely(exercise, ask, seed)


def keep_rows(results):
    return [result[0].clone() for result in results]


@pytest.mark.parametrize(
    ("answers", "answer", "hint"), ANSWERS, ids=[answer.__name__ for _, answer, _ in ANSWERS]
)
def test_grader_gives_the_same_verdict_as_a_notebook(answers, answer, hint):
    seed = zlib.crc32(answer.__name__.encode())
    functions = answers.arguments(answer)
    assert judge(answers.exercise.number, *functions, seed=seed)["hint"] == hint


class LyingTensor(torch.Tensor):
    device = property(lambda self: torch.device("cuda:0"))

    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        return True


def test_a_subclass_of_tensor_with_a_false_device_gets_no_points():
    assert judge(6, lambda x: [t[0].as_subclass(LyingTensor) for t in x])["hint"] == "not-a-list"


@pytest.mark.parametrize("facts", [None, 7, "x y", "QQ== {}", encode(Facts())])
def test_malformed_facts_are_a_wrong_answer(facts):
    verdict = judge(6, keep_rows, change=lambda reply: {"facts": facts})
    assert verdict["hint"] in ("unusable-result", "no-result")


def test_box_counts_the_attempts_of_one_submission_only():
    for _ in range(3):
        verdict = judge(6, lambda results: results)
    text = verdict["outputs"][0]["data"]["text/plain"]
    assert "Where to look" not in text
    assert text.endswith("○○○○○○ 0 of 6 exercises done")


def test_another_submission_is_judged_while_a_sandbox_collects():
    verdicts = []

    def ask(**fields):
        thread = threading.Thread(target=lambda: verdicts.append(judge(6, keep_rows)))
        thread.start()
        thread.join(60)
        return {}

    check_remotely(session.load_lab("lab_01").exercises[6], ask)
    assert [verdict["passed"] for verdict in verdicts] == [True]


def result(**changes):
    return {"error": "", "traceback": "", "stop": "", "outputs": []} | changes


@pytest.mark.parametrize(
    ("output", "accepted"),
    [
        ({"data": {"text/html": "<script>steal()</script>"}}, []),
        ({"data": {"text/javascript": "x()", "text/plain": "1"}}, [{"data": {"text/plain": "1"}}]),
        ({"data": {"image/png": '"><script>steal()</script>'}}, []),
        ({"data": {"image/png": "QQ=="}, "metadata": 1}, [{"data": {"image/png": "QQ=="}}]),
        ({"name": "x", "text": "1", "more": 1}, [{"name": "stdout", "text": "1"}]),
    ],
)
def test_only_text_and_images_are_accepted_from_a_forged_output(output, accepted):
    assert read_result(result(outputs=[output])) == result(outputs=accepted)


def test_forged_results_are_truncated_and_malformed_ones_are_errors():
    outputs = [{"name": "stdout", "text": "x" * 1_000_000}] * 10_000
    read = read_result(result(outputs=outputs, error="x" * 1_000_000, traceback="x" * 1_000_000))
    texts = [read["error"], read["traceback"], read["outputs"][0]["text"]]
    assert [len(text) for text in texts] == [MAX_ERROR, MAX_TEXT, 2 * MAX_TEXT]
    assert len(read["outputs"]) == 102
    malformed = [{"outputs": bad} for bad in (None, {}, ["name"], [{"data": []}], [["name"]])]
    for reply in [{}, *(result(**x) for x in [*malformed, {"stop": "x"}, {"stop": ["time"]}])]:
        assert read_result(reply) == result(error="its result is malformed")


def fake_sandbox(monkeypatch, **process):
    stop = Stop(StopReason.ENDED, "")
    sandbox = SimpleNamespace(
        process=SimpleNamespace(poll=lambda: None, **process), isolated=False,
        seconds=time.monotonic, exceeded_limit=lambda: None, exit_reason=lambda: stop,
    )  # fmt: skip
    monkeypatch.setattr(session, "Sandbox", lambda *args, **options: sandbox)
    limits = SandboxLimits(max_output_bytes=200_000)
    return RemoteWorker(limits, threading.Event(), isolated=False)


def test_lines_that_are_not_the_reply_are_ignored_and_noted(monkeypatch):
    lines = [b"hello", b"", b'other {"id": 1}', b"SECRET", b"SECRET [1]", b"SECRET {", b"SECRET {}"]
    lines += [b"SECRET " + b"[" * 100_000, b'SECRET {"id": 2}', b'SECRET {"id": 1, "real": true}']
    monkeypatch.setattr(RemoteWorker, "_exchange", lambda self: iter(lines))
    monkeypatch.setattr(session.secrets, "token_hex", lambda size: "SECRET")
    worker = fake_sandbox(monkeypatch)
    assert worker.request("run", TimeLimit(60)) == {"id": 1, "real": True}
    assert worker.has_foreign_messages


@pytest.mark.parametrize(
    ("command", "reason"),
    [
        ("exec sleep 600", StopReason.TIME),  # does not even read the request
        ("exec cat", StopReason.OUTPUT),
        ("exec cat /dev/zero", StopReason.OUTPUT),
        ("while echo x; do :; done", StopReason.TIME),
        ("read line", StopReason.ENDED),
    ],
)
def test_worker_that_does_not_reply_is_stopped(monkeypatch, command, reason):
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    process = subprocess.Popen(["/bin/sh", "-c", command], bufsize=0, **pipes)
    worker = fake_sandbox(monkeypatch, stdin=process.stdin, stdout=process.stdout)
    seconds = 1 if reason is StopReason.TIME else 60
    with pytest.raises(WorkerStopped) as stopped, process:
        try:
            worker.request("collect", TimeLimit(seconds), source="x" * 1_000_000)
        finally:
            process.kill()
    assert stopped.value.stop.reason is reason


GIVEN = SubmittedCell(CellKind.GIVEN, "from helpers.checks import lab_01 as check")
CHECK = SubmittedCell(CellKind.CHECK, "check.exercise_1(f)", 1)


def fake_worker(request):
    sandbox = SimpleNamespace(close=list, last_error=str, isolated=False)
    return SimpleNamespace(
        start=str, request=request, sandbox=sandbox, has_foreign_messages=False, total=None
    )


def test_an_error_in_the_judge_is_not_the_students_fault(monkeypatch):
    worker = fake_worker(lambda do, limit, **fields: result() if do == "run" else {})
    monkeypatch.setattr(session, "RemoteWorker", lambda *args, **options: worker)
    run = Session([GIVEN, CHECK], SandboxLimits(), threading.Event(), False)
    monkeypatch.setattr(run._lab.exercises[1]._module, "cases", lambda draw: 1 / 0)
    run.run()
    assert run.stops[1].reason is StopReason.BUSY
    assert "the judge failed: ZeroDivisionError: division by zero" in run.stops[1].text


@pytest.mark.parametrize(
    ("is_idle", "runs", "text"),
    [(False, 12, "other cells were stopped"), (True, 2, "the code before it ended")],
)
def test_a_process_that_keeps_ending_is_not_started_forever(monkeypatch, is_idle, runs, text):
    cells = [GIVEN, *[SubmittedCell(CellKind.STUDENT, "exit()", 1)] * 500, CHECK]
    workers = []

    def request(do, limit, source, seconds):
        if source == "exit()":
            raise WorkerStopped(Stop(StopReason.ENDED, "ended the process"), was_idle=is_idle)
        return result()

    def start_worker(*args, isolated):
        workers.append(fake_worker(request))
        return workers[-1]

    monkeypatch.setattr(session, "RemoteWorker", start_worker)
    run = Session(cells, SandboxLimits(), threading.Event(), False)
    run.run()
    assert len(workers) == runs
    assert text in run.stops[len(cells) - 1].text


FORGERY = """
import os
for channel in range(3, 20):
    try:
        os.write(channel, b"secret {}\\n")
    except OSError:
        pass
"""


def test_submission_of_lab_01_is_graded_end_to_end(builder, processes_left, monkeypatch):
    monkeypatch.setattr(lab_01.exercise_3, "seconds", 1)
    notebook = builder.with_answer(1, f"{builder.answer(1)}\ndef add_ramp(X):\n    return X")
    endless = "def run_epochs(*arguments):\n    while True: pass"
    answers = {3: endless, 5: f"{builder.answer(5)}\n{FORGERY}"}
    for number, source in answers.items():
        right = builder.answer(number)
        next(cell for cell in notebook.cells if cell.source == right).source = source
    submission = Submission("Ada", "Ada", notebook)
    limits, isolated = SandboxLimits(cell_seconds=10), bool(bubblewrap())
    graded = grade_submission(builder.original, submission, limits, isolated)
    marks = {mark.exercise: mark for mark in graded.marks}
    assert {n: mark.points for n, mark in marks.items()} == builder.full_points_except(1, 3)
    assert marks[1].status is MarkStatus.WRONG
    assert (marks[3].hint, marks[3].stop) == ("takes-too-long", StopReason.TIME)
    assert graded.notes == ["wrote to the grader's channel"]
    assert processes_left() == []
