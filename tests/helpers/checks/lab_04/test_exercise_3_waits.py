"""Answers to lab 04, exercise 3: `train_and_count`."""

import torch
from torch import nn
from torch.nn import functional as F

from helpers.checks import lab_04
from tests.helpers.checks.answers import Answers

answers = Answers(lab_04.exercise_3)


def train(net, batches, optimizer, read=lambda x: x, clip=1.0):
    """Yield the loss, the norm, the predictions and the labels of each step."""
    for inputs, targets in batches:
        scores = net(inputs)
        loss = F.cross_entropy(scores, targets)
        optimizer.zero_grad()
        loss.backward()
        norm = nn.utils.clip_grad_norm_(net.parameters(), clip)
        optimizer.step()
        yield tuple(map(read, (loss.detach(), norm, scores.argmax(1), targets)))


def results(steps):
    losses, norms, guesses, targets = (torch.stack(x) for x in zip(*steps, strict=True))
    wrong = guesses != targets
    mistakes = [int((wrong & (targets == c)).sum()) for c in range(4)]
    accuracy = 1 - wrong.double().mean().item()
    loss, norm = losses.mean().item(), norms.max().item()
    return {"loss": loss, "accuracy": accuracy, "norm": norm, "mistakes": mistakes}


@answers.right
def keeps_all_steps_and_moves_them_at_the_end(net, batches, optimizer):
    kept = zip(*train(net, batches, optimizer), strict=True)
    return results(zip(*(torch.stack(x).cpu() for x in kept), strict=True))


@answers.right
def reads_one_tensor(net, batches, optimizer):
    totals = torch.zeros(6, dtype=torch.float64, device=batches[0][0].device)
    for loss, norm, guess, targets in train(net, batches, optimizer):
        totals[0] += loss
        totals[1] = totals[1].maximum(norm)
        wrong = F.one_hot(targets, 4) * (guess != targets).unsqueeze(1)
        totals[2:] += wrong.sum(0)
    loss, norm, *mistakes = totals.tolist()
    accuracy = 1 - sum(mistakes) / sum(len(y) for _, y in batches)
    return {
        "loss": loss / len(batches), "accuracy": accuracy, "norm": norm, "mistakes": mistakes
    }  # fmt: skip


@answers.wrong("many-waits")
def reads_every_step(net, batches, optimizer):
    return results([*train(net, batches, optimizer, read=torch.Tensor.cpu)])


@answers.wrong("many-waits")
def counts_with_bincount(net, batches, optimizer):
    steps, counts = [], 0
    for step in train(net, batches, optimizer):
        steps.append(step)
        counts = counts + torch.bincount(step[3][step[2] != step[3]], minlength=4)
    zipped = [torch.stack(x).cpu() for x in zip(*steps, strict=True)]
    return results(zip(*zipped, strict=True)) | {"mistakes": counts.tolist()}


@answers.wrong("different-steps")
def does_not_clip(net, batches, optimizer):
    return results([*train(net, batches, optimizer, clip=100)])


@answers.wrong("wrong-result")
def returns_the_last_loss(net, batches, optimizer):
    steps = [*train(net, batches, optimizer)]
    return results(steps) | {"loss": steps[-1][0].item()}


@answers.wrong("not-the-results")
def returns_only_the_loss(net, batches, optimizer):
    return results([*train(net, batches, optimizer)])["loss"]


@answers.wrong("not-a-number")
def returns_tensors(net, batches, optimizer):
    found = results([*train(net, batches, optimizer)])
    return found | {"mistakes": torch.tensor(found["mistakes"])}


test_answers = answers.make_test()
