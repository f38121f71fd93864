"""Answers to lab 04, exercise 4: `train_epoch`."""

from torch.nn import functional as F

from helpers.checks import lab_04
from tests.helpers.checks.answers import Answers

answers = Answers(lab_04.exercise_4)


@answers.right
def all_fixed(net, batches, optimizer, mode=True, zero=True, number=float, weight=len, step=True):
    device = next(net.parameters()).device
    net.train(mode)
    total, images = 0.0, 0
    for inputs, targets in batches:
        if zero:
            optimizer.zero_grad()
        loss = F.cross_entropy(net(inputs.to(device)), targets.to(device))
        loss.backward()
        if step:
            optimizer.step()
        total += number(loss) * weight(targets)
        images += weight(targets)
    return total / images


@answers.right
def clears_after_each_step_and_detaches(net, batches, optimizer):
    device, losses = next(net.parameters()).device, []
    net.train()
    for X, y in batches:
        loss = F.cross_entropy(net(X.to(device)), y.to(device), reduction="sum")
        (loss / len(y)).backward()
        optimizer.step()
        net.zero_grad()
        losses.append(loss.detach())
    return sum(losses).item() / sum(len(y) for _, y in batches)


@answers.wrong("evaluation-mode")
def leaves_the_mode(net, batches, optimizer):
    return all_fixed(net, batches, optimizer, mode=False)


@answers.wrong("gradients-pile-up")
def leaves_the_gradients(net, batches, optimizer):
    return all_fixed(net, batches, optimizer, zero=False)


@answers.wrong("keeps-the-graph")
def returns_a_tensor(net, batches, optimizer):
    return all_fixed(net, batches, optimizer, number=lambda loss: loss)


@answers.wrong("graph-kept")
def calls_item_only_at_the_end(net, batches, optimizer):
    return all_fixed(net, batches, optimizer, number=lambda loss: loss).item()


@answers.wrong("wrong-loss")
def weights_all_batches_equally(net, batches, optimizer):
    return all_fixed(net, batches, optimizer, weight=lambda targets: 1)


@answers.wrong("different-steps")
def leaves_out_the_step(net, batches, optimizer):
    return all_fixed(net, batches, optimizer, step=False)


test_answers = answers.make_test()
