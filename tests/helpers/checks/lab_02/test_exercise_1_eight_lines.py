"""Answers to lab 02, exercise 1: eight one-line functions, of which each answer replaces one."""

import copy

import torch
from torch.nn import functional as F

from helpers.checks import lab_02
from tests.helpers.checks.answers import Answers

RIGHT = {
    "add": lambda x, y: x + y.to(x.device),
    "multiply": lambda a, b: a @ b.to(a.device),
    "score": lambda net, X: net(X.to(next(net.parameters()).device)),
    "embed": lambda embedding, words: embedding(words.to(embedding.weight.device)),
    "hide": lambda scores, mask: scores.masked_fill(mask.to(scores.device), -torch.inf),
    "divide": lambda x, total: x / total.to(x.device),
    "noise": lambda x, generator: torch.rand(x.shape, generator=generator).to(x.device),
    "count_correct": lambda guesses, labels: (guesses == labels.to(guesses.device)).sum().item(),
}
OTHERS = {
    "add": lambda x, y: x + y if y.device == x.device else torch.add(x, y.to(x)),
    "multiply": lambda a, b: torch.mm(a, b.cpu().to(device=a.device, copy=True)),
    "score": lambda net, X: F.linear(X.to(net.bias.device), net.weight, net.bias),
    "embed": lambda embedding, words: embedding.weight[words.cpu()],
    "hide": lambda scores, mask: torch.where(mask.to(scores.device), -torch.inf, scores),
    "divide": lambda x, total: x / total.item(),
    "noise": lambda x, generator: (
        torch.empty_like(x, device="cpu").uniform_(generator=generator).to(x)
    ),
    "count_correct": lambda guesses, labels: sum(
        map(int.__eq__, guesses.tolist(), labels.tolist())
    ),
}
WRONG = [
    ("add", "device-error", lambda x, y: x + y),
    ("add", "device-error", lambda x, y: x + y.cuda()),
    ("noise", "device-error", lambda x, generator: (
        torch.rand(x.shape, device=x.device, generator=generator))),
    ("add", "result-elsewhere", lambda x, y: x.to(y.device) + y),
    ("divide", "result-elsewhere", lambda x, total: x.cpu() / total.cpu()),
    ("score", "net-moved", lambda net, X: net.to(X.device)(X).to(X.device)),
    ("hide", "input-changed", lambda scores, mask: (
        scores.masked_fill_(mask.to(scores.device), -torch.inf))),
    ("hide", "different-result", lambda scores, mask: (
        scores.masked_fill(mask.to(scores.device), -1e9))),
    ("divide", "different-result", lambda x, total: x / int(total)),
    ("noise", "different-result", lambda x, generator: torch.rand(x.shape).to(x.device)),
    ("count_correct", "different-result", lambda guesses, labels: (
        (guesses == labels.to(guesses.device)).sum())),
    ("add", "computed-elsewhere", lambda x, y: (x.cpu() + y.cpu()).to(x.device)),
    ("score", "computed-elsewhere", lambda net, X: (
        copy.deepcopy(net).to(X.device)(X).to(net.weight.device))),
]  # fmt: skip


def replace_line(answer):
    """Return the right lines with the answer, or a dictionary's lines, in their place."""
    new = OTHERS if answer is all_lines else {answer.__name__: answer}
    return tuple((RIGHT | new).values())


def all_lines(): ...


answers = Answers(lab_02.exercise_1, arguments=replace_line)
answers.collected = [(RIGHT["add"], None), (all_lines, None)]
for name, hint, line in WRONG:
    line.__name__ = name
    answers.collected.append((line, hint))

RIGHT["add"].__name__ = "add"
test_answers = answers.make_test()
