"""The grader accepts only safe parts of messages, since the student's code may forge them."""

import base64
import json

import pytest

from course.grading.answers import CellKind, SubmittedCell
from course.grading.messages import read_message
from course.grading.outputs import MAX_ERROR, MAX_TEXT

CELLS = [SubmittedCell(CellKind.STUDENT, "1", 1), SubmittedCell(CellKind.CHECK, "2", 1)]
PIXEL = base64.b64encode(b"\x89PNG").decode()


def read(**message):
    return read_message(b"secret " + json.dumps(message).encode(), "secret", CELLS)


def result(**changes):
    return {"cell": 0, "error": "", "traceback": "", "stop": "", "outputs": []} | changes


@pytest.mark.parametrize(
    ("output", "accepted"),
    [
        ({"data": {"text/html": "<script>steal()</script>"}}, None),
        (
            {"data": {"application/javascript": "steal()", "text/plain": "1"}},
            {"data": {"text/plain": "1"}},
        ),
        ({"data": {"image/svg+xml": "<svg onload='steal()'/>"}}, None),
        ({"data": {"image/png": '"><script>steal()</script>'}}, None),
        (
            {"data": {"image/png": PIXEL}, "metadata": {"image/png": {"width": '"><script>'}}},
            {"data": {"image/png": PIXEL}},
        ),
        (
            {"name": "x", "text": "1", "output_type": "display_data"},
            {"name": "stdout", "text": "1"},
        ),
        ({"name": "stderr", "text": "1"}, {"name": "stderr", "text": "1"}),
    ],
)
def test_only_text_and_images_are_accepted_from_a_forged_output(output, accepted):
    assert read(**result(outputs=[output]))["outputs"] == ([accepted] if accepted else [])


def test_number_of_outputs_is_limited():
    outputs = [{"name": "stdout", "text": "1"}] * 10_000
    assert len(read(**result(outputs=outputs))["outputs"]) == 102


@pytest.mark.parametrize(
    "message",
    [
        {},
        [],
        7,
        {"end": 1},
        {"reply": None},
        {"reply": []},
        {"begin": 0, "seconds": float("nan")},
        {"begin": 0, "seconds": -1},
        {"begin": 10**30, "seconds": 1},
        {"begin": True, "seconds": 1},
        {"begin": 1, "seconds": 1},
        {"check": 0},
        {"check": -1},
        result(cell=1),
        result(outputs=None),
        result(outputs=[{"data": {"text/plain": 1}}]),
        result(outputs=[{"data": ["text/plain"]}]),
        result(outputs=[["name"]]),
        result(stop="whatever"),
        result(error=["text"]),
    ],
)
def test_malformed_messages_are_ignored(message):
    assert read_message(b"secret " + json.dumps(message).encode(), "secret", CELLS) is None


@pytest.mark.parametrize(
    "text", [b"", b"[" * 100_000, b"{", b"\xff\xfe", b'{"reply": {"x": ' + b"9" * 9999]
)
def test_text_that_is_not_json_is_ignored(text):
    assert read_message(b"secret " + text, "secret", CELLS) is None


def test_messages_without_the_secret_are_ignored():
    assert read_message(b"other " + json.dumps({"end": True}).encode(), "secret", CELLS) is None


def test_forged_texts_are_truncated():
    long = "x" * 1_000_000
    outputs = [{"name": "stdout", "text": long}]
    message = read(**result(outputs=outputs, error=long, traceback=long))
    texts = [message["error"], message["traceback"], message["outputs"][0]["text"]]
    assert [len(text) for text in texts] == [MAX_ERROR, MAX_TEXT, 2 * MAX_TEXT]
