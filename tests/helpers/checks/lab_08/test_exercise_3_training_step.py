"""Answers to lab 08, exercise 3: `training_step`."""

import torch
from torch import nn
from torch.nn import functional as F

from helpers.checks import lab_08
from tests.helpers.checks.answers import Answers

answers = Answers(lab_08.exercise_3)


def start(net, optimizer, scaler, X, y, dtype=torch.float16):
    """Compute the scaled gradients and return the loss."""
    optimizer.zero_grad()
    with torch.autocast("cuda", dtype=dtype):
        loss = F.cross_entropy(net(X), y)
    scaler.scale(loss).backward()
    return loss


def finish(net, optimizer, scaler, loss, max_norm):
    scaler.unscale_(optimizer)
    nn.utils.clip_grad_norm_(net.parameters(), max_norm)
    scaler.step(optimizer)
    scaler.update()
    return loss.detach()


@answers.right
def as_in_the_lesson(net, optimizer, scaler, X, y, max_norm, dtype=torch.float16):
    loss = start(net, optimizer, scaler, X, y, dtype)
    return finish(net, optimizer, scaler, loss, max_norm)


@answers.right
def clips_with_a_scaled_limit(net, optimizer, scaler, X, y, max_norm):
    loss = start(net.forward, optimizer, scaler, X, y)
    nn.utils.clip_grad_norm_(net.parameters(), max_norm * scaler.get_scale())
    scaler.step(optimizer)
    scaler.update()
    return loss.data


@answers.wrong("not-skipped")
def does_not_scale_the_loss(net, optimizer, scaler, *rest):
    return as_in_the_lesson(net, optimizer, torch.amp.GradScaler(enabled=False), *rest)


@answers.wrong("not-skipped")
def steps_the_optimizer_itself(net, optimizer, scaler, *rest):
    scaler.step = lambda optimizer: optimizer.step()
    return as_in_the_lesson(net, optimizer, scaler, *rest)


@answers.wrong("different-precision")
def uses_bfloat16(*arguments):
    return as_in_the_lesson(*arguments, torch.bfloat16)


@answers.wrong("backward-inside")
def runs_backward_under_autocast(*arguments):
    with torch.autocast("cuda", dtype=torch.float16):
        return as_in_the_lesson(*arguments)


@answers.wrong("different-weights")
def clips_before_it_unscales(net, optimizer, scaler, X, y, max_norm):
    loss = start(net, optimizer, scaler, X, y)
    nn.utils.clip_grad_norm_(net.parameters(), max_norm)
    return finish(net, optimizer, scaler, loss, max_norm)


@answers.wrong("different-weights")
def switches_to_evaluation(net, *rest):
    return as_in_the_lesson(net.eval(), *rest)


@answers.wrong("not-a-loss")
def returns_a_rounded_loss(*arguments):
    return as_in_the_lesson(*arguments).half()


@answers.wrong("different-loss")
def returns_the_scaled_loss(*arguments):
    return as_in_the_lesson(*arguments) * 1024


@answers.wrong("loss-has-graph")
def keeps_the_graph(net, optimizer, scaler, X, y, max_norm):
    loss = start(net, optimizer, scaler, X, y)
    finish(net, optimizer, scaler, loss, max_norm)
    return loss


@answers.wrong("scale-kept")
def sets_the_scale_again(net, optimizer, scaler, *rest):
    scale = scaler.get_scale()
    loss = as_in_the_lesson(net, optimizer, scaler, *rest)
    scaler.update(scale)
    return loss


@answers.wrong("different-loss")
def converts_a_loss_computed_in_fp16(net, optimizer, scaler, X, y, max_norm, part=False):
    optimizer.zero_grad()
    with torch.autocast("cuda", dtype=torch.float16):
        scores = net(X)
    losses = F.cross_entropy(scores, y), F.nll_loss(scores.log_softmax(1).float(), y)
    loss = losses[part].float()
    scaler.scale(loss).backward()
    return finish(net, optimizer, scaler, loss, max_norm)


@answers.wrong("different-loss")
def computes_the_log_softmax_in_fp16(*arguments):
    return converts_a_loss_computed_in_fp16(*arguments, True)


test_answers = answers.make_test()
