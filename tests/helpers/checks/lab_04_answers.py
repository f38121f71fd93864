"""Right and wrong answers to lab 04, with the hint that each wrong one must get."""

import copy
import math

import torch
from torch import nn, optim
from torch.nn import functional as F

from helpers.checks import lab_04
from helpers.devices import choose_device
from helpers.evaluation import evaluate
from tests.helpers.checks.collection import Answers

answers = Answers(lab_04)

# Exercise 1: train_classic(net, batches)


def _loop(net, batches, device, optimizer=None, lr=0.01, momentum=0.9):
    optimizer = optimizer or optim.SGD(net.parameters(), lr=lr, momentum=momentum)
    for inputs, targets in batches:
        inputs, targets = inputs.to(device), targets.to(device)
        optimizer.zero_grad()
        nn.CrossEntropyLoss()(net(inputs), targets).backward()
        optimizer.step()
    return net


def _gpu_or_cpu():
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")


@answers.right(1)
def with_the_three_edits(net, batches):
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    net = net.to(device)
    return _loop(net, batches, device)


@answers.right(1)
def with_the_helper_and_in_place(net, batches):
    device = choose_device()
    net.to(device)
    running = 0.0
    criterion = nn.CrossEntropyLoss().to(device)
    optimizer = optim.SGD(net.parameters(), lr=0.01, momentum=0.9)
    for batch in batches:
        inputs, targets = (tensor.to(device, non_blocking=True) for tensor in batch)
        optimizer.zero_grad()
        loss = criterion(net(inputs), targets)
        loss.backward()
        optimizer.step()
        running += loss.item()
    return net


@answers.right(1)
def with_the_accelerator_api_and_batches_moved_first(net, batches):
    gpu = torch.accelerator.current_accelerator(check_available=True)
    device = gpu or torch.device("cpu")
    moved = [(inputs.to(device), targets.to(device)) for inputs, targets in batches]
    return _loop(net.to(device), moved, device)


@answers.right(1)
def with_an_if_statement(net, batches):
    if torch.cuda.device_count() == 0:
        return _loop(net, batches, "cpu")
    return _loop(net.cuda(), batches, "cuda:0")


@answers.wrong(1, "net-on-cpu")
def leaves_the_script_unchanged(net, batches):
    return _loop(net, batches, "cpu")


@answers.wrong(1, "net-on-cpu")
def creates_only_the_device(net, batches):
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    assert device is not None
    return _loop(net, batches, "cpu")


@answers.wrong(1, "net-on-cpu")
def inverts_the_condition(net, batches):
    device = "cpu" if torch.cuda.is_available() else "cuda"
    return _loop(net.to(device), batches, device)


@answers.wrong(1, "net-on-cpu")
def moves_the_network_back(net, batches):
    return _loop(net.to(_gpu_or_cpu()), batches, _gpu_or_cpu()).cpu()


@answers.wrong(1, "evaluation-mode")
def trains_in_evaluation_mode(net, batches):
    device = _gpu_or_cpu()
    return _loop(net.to(device).eval(), batches, device)


@answers.wrong(1, "device-error")
def moves_the_network_only(net, batches):
    net.to(_gpu_or_cpu())
    return _loop(net, batches, "cpu")


@answers.wrong(1, "device-error")
def moves_the_batches_only(net, batches):
    return _loop(net, batches, _gpu_or_cpu())


@answers.wrong(1, "device-error")
def drops_the_moved_batch(net, batches):
    device = _gpu_or_cpu()
    net.to(device)
    optimizer = optim.SGD(net.parameters(), lr=0.01, momentum=0.9)
    for inputs, targets in batches:
        inputs.to(device)
        targets.to(device)
        optimizer.zero_grad()
        F.cross_entropy(net(inputs), targets).backward()
        optimizer.step()
    return net


@answers.wrong(1, "device-error")
def forgets_the_labels(net, batches):
    device = _gpu_or_cpu()
    net.to(device)
    optimizer = optim.SGD(net.parameters(), lr=0.01, momentum=0.9)
    for images, targets in batches:
        optimizer.zero_grad()
        F.cross_entropy(net(images.to(device)), targets).backward()
        optimizer.step()
    return net


@answers.wrong(1, "needs-a-gpu")
def hard_codes_cuda(net, batches):
    return _loop(net.to("cuda"), batches, "cuda")


@answers.wrong(1, "needs-a-gpu")
def calls_cuda(net, batches):
    net.cuda()
    return _loop(net, [(inputs.cuda(), targets.cuda()) for inputs, targets in batches], "cuda")


@answers.wrong(1, "copied-back")
def compares_on_the_cpu(net, batches):
    device = _gpu_or_cpu()
    net.to(device)
    optimizer = optim.SGD(net.parameters(), lr=0.01, momentum=0.9)
    for inputs, targets in batches:
        optimizer.zero_grad()
        F.cross_entropy(net(inputs.to(device)).cpu(), targets).backward()
        optimizer.step()
    return net


@answers.wrong(1, "not-trained")
def optimizes_the_network_on_the_cpu(net, batches):
    device = _gpu_or_cpu()
    optimizer = optim.SGD(net.parameters(), lr=0.01, momentum=0.9)
    return _loop(copy.deepcopy(net).to(device), batches, device, optimizer)


@answers.wrong(1, "different-training")
def changes_the_learning_rate(net, batches):
    return _loop(net.to(_gpu_or_cpu()), batches, _gpu_or_cpu(), lr=0.1)


@answers.wrong(1, "different-training")
def leaves_out_momentum(net, batches):
    return _loop(net.to(_gpu_or_cpu()), batches, _gpu_or_cpu(), momentum=0)


@answers.wrong(1, "different-training")
def returns_from_inside_the_loop(net, batches):
    return _loop(net.to(_gpu_or_cpu()), batches[:1], _gpu_or_cpu())


@answers.wrong(1, "different-training")
def creates_the_optimizer_in_the_loop(net, batches):
    for batch in batches:
        _loop(net.to(_gpu_or_cpu()), [batch], _gpu_or_cpu())
    return net


@answers.wrong(1, "no-result")
def forgets_to_return(net, batches):
    _loop(net.to(_gpu_or_cpu()), batches, _gpu_or_cpu())


@answers.wrong(1, "not-the-network")
def returns_the_weights(net, batches):
    return _loop(net.to(_gpu_or_cpu()), batches, _gpu_or_cpu()).state_dict()


@answers.wrong(1, "trained-a-copy")
def trains_a_copy(net, batches):
    return _loop(copy.deepcopy(net).to(_gpu_or_cpu()), batches, _gpu_or_cpu())


@answers.wrong(1, "trained-on-cpu")
def trains_on_the_cpu_and_moves_at_the_end(net, batches):
    return _loop(net, batches, torch.device("cpu")).to(_gpu_or_cpu())


# Exercise 2: accuracy(net, batches)


def _device_of(net):
    return next(net.parameters()).device


@answers.right(2)
def counts_on_the_device(net, batches):
    device = _device_of(net)
    training = net.training
    net.eval()
    correct, images = torch.zeros((), dtype=torch.int64, device=device), 0
    with torch.no_grad():
        for inputs, targets in batches:
            correct += (net(inputs.to(device)).argmax(1) == targets.to(device)).sum()
            images += len(targets)
    net.train(training)
    return correct.item() / images


@answers.right(2)
def keeps_a_list_and_joins_it(net, batches):
    before = net.training
    try:
        net.train(False)
        with torch.inference_mode():
            is_correct = [
                net(X.to(_device_of(net))).argmax(-1).eq(y.to(_device_of(net))) for X, y in batches
            ]
            return float(torch.cat(is_correct).float().mean())
    finally:
        net.train(before)


@answers.right(2)
def with_the_courses_helper(net, batches):
    return evaluate(net, batches).accuracy


@answers.right(2)
@torch.no_grad()
def on_a_copy_of_the_network(net, batches):
    evaluation_net = copy.deepcopy(net).eval()
    evaluation_net.modes, evaluation_net.gradients = net.modes, net.gradients
    images = torch.cat([inputs for inputs, _ in batches]).to(_device_of(net))
    labels = torch.cat([targets for _, targets in batches]).to(_device_of(net))
    return ((evaluation_net(images).max(dim=1).indices == labels).sum() / len(labels)).item()


def _accuracy(net, batches, *, evaluation=True, restore_mode=True, gradients=False, item=True):
    """Return the accuracy; each option leaves out one step."""
    training, device = net.training, _device_of(net)
    if evaluation:
        net.eval()
    correct, images = torch.zeros((), device=device), 0
    with torch.set_grad_enabled(gradients):
        for inputs, targets in batches:
            correct += (net(inputs.to(device)).argmax(1) == targets.to(device)).sum()
            images += len(targets)
    if restore_mode:
        net.train(training)
    return (correct / images).item() if item else correct / images


@answers.wrong(2, "train-mode")
def forgets_eval(net, batches):
    return _accuracy(net, batches, evaluation=False)


@answers.wrong(2, "train-mode")
def calls_eval_afterwards(net, batches):
    result = _accuracy(net, batches, evaluation=False)
    net.eval()
    return result


@answers.wrong(2, "mode-not-restored")
def stays_in_evaluation_mode(net, batches):
    return _accuracy(net, batches, restore_mode=False)


@answers.wrong(2, "mode-not-restored")
def always_goes_back_to_training(net, batches):
    result = _accuracy(net, batches)
    net.train()
    return result


@answers.wrong(2, "keeps-gradients")
def forgets_no_grad(net, batches):
    return _accuracy(net, batches, gradients=True)


@answers.wrong(2, "keeps-gradients")
def leaves_the_no_grad_block(net, batches):
    with torch.no_grad():
        pass
    return _accuracy(net, batches, gradients=True)


@answers.wrong(2, "net-moved")
def moves_the_network_to_the_images(net, batches):
    return _accuracy(net.cpu(), batches)


@answers.wrong(2, "predicted-elsewhere")
def evaluates_on_the_cpu_and_moves_the_network_back(net, batches):
    device = next(net.parameters()).device
    result = _accuracy(net.cpu(), batches)
    net.to(device)
    return result


@answers.wrong(2, "net-moved")
def moves_all_to_a_gpu(net, batches):
    return _accuracy(net.to("cuda"), batches)


@answers.wrong(2, "device-error")
def leaves_the_images_on_the_cpu(net, batches):
    net.eval()
    with torch.no_grad():
        return sum((net(X).argmax(1) == y).sum() for X, y in batches).item() / 9


@answers.wrong(2, "device-error")
def leaves_the_labels_on_the_cpu(net, batches):
    net.eval()
    with torch.no_grad():
        return sum((net(X.to(_device_of(net))).argmax(1) == y).sum() for X, y in batches).item() / 9


@answers.wrong(2, "many-fetches")
def fetches_each_batch(net, batches):
    training = net.training
    net.eval()
    correct = images = 0
    with torch.no_grad():
        for inputs, targets in batches:
            predicted = net(inputs.to(_device_of(net))).argmax(1)
            correct += (predicted == targets.to(_device_of(net))).sum().item()
            images += len(targets)
    net.train(training)
    return correct / images


@answers.wrong(2, "many-fetches")
def moves_the_predictions_to_the_cpu(net, batches):
    training = net.training
    net.eval()
    correct = images = 0
    with torch.no_grad():
        for inputs, targets in batches:
            correct += (net(inputs.to(_device_of(net))).argmax(1).cpu() == targets).sum().item()
            images += len(targets)
    net.train(training)
    return correct / images


@answers.wrong(2, "mean-of-means")
def returns_the_mean_of_batch_means(net, batches):
    accuracies = torch.stack([torch.tensor(_accuracy(net, [batch])) for batch in batches])
    return accuracies.mean().item()


@answers.wrong(2, "wrong-total")
def assumes_batches_of_equal_size(net, batches):
    images = sum(len(y) for _, y in batches)
    return _accuracy(net, batches) * images / (len(batches) * len(batches[0][1]))


@answers.wrong(2, "wrong-total")
def divides_by_the_number_of_batches(net, batches):
    return _accuracy(net, batches) * sum(len(y) for _, y in batches) / len(batches)


@answers.wrong(2, "in-percent")
def returns_percent(net, batches):
    return 100 * _accuracy(net, batches)


@answers.wrong(2, "not-a-number")
def returns_a_tensor(net, batches):
    return _accuracy(net, batches, item=False)


@answers.wrong(2, "wrong-fraction")
def returns_the_error_rate(net, batches):
    return 1 - _accuracy(net, batches)


@answers.wrong(2, "wrong-fraction")
def returns_a_constant(net, batches):
    _accuracy(net, batches)
    return 0.5437


@answers.wrong(2, "gradients-left-off")
def turns_gradients_off_permanently(net, batches):
    torch.set_grad_enabled(False)
    device = next(net.parameters()).device
    training = net.training
    net.eval()
    pairs = [(net(x.to(device)).argmax(1) == y.to(device)) for x, y in batches]
    net.train(training)
    return torch.cat(pairs).float().mean().item()


# Exercise 3: per_class(net, batches)


@torch.no_grad()
def _table(net, batches):
    device = _device_of(net)
    counts = torch.zeros(100, dtype=torch.int64, device=device)
    for inputs, targets in batches:
        predicted = net(inputs.to(device)).argmax(1)
        counts += torch.bincount(10 * targets.to(device) + predicted, minlength=100)
    return counts.reshape(10, 10)


@answers.right(3)
def by_counting_pairs(net, batches):
    counts = _table(net, batches)
    return (counts.diagonal() / counts.sum(1)).tolist()


@answers.right(3)
def by_counting_twice(net, batches):
    device = _device_of(net)
    right, total = torch.zeros(10, device=device), torch.zeros(10, device=device)
    with torch.no_grad():
        for inputs, targets in batches:
            targets = targets.to(device)
            is_correct = net(inputs.to(device)).argmax(1) == targets
            right += torch.bincount(targets[is_correct], minlength=10)
            total += torch.bincount(targets, minlength=10)
    pairs = zip(right.tolist(), total.tolist(), strict=True)
    return [r / t if t else math.nan for r, t in pairs]


@answers.right(3)
@torch.inference_mode()
def by_comparing_with_every_class(net, batches):
    device = _device_of(net)
    labels = torch.cat([y for _, y in batches]).to(device)
    predicted = torch.cat([net(X.to(device)).argmax(1) for X, _ in batches])
    right = [(predicted[labels == c] == c).float().mean() for c in range(10)]
    return torch.stack(right).tolist()


@answers.right(3)
def by_the_courses_helper(net, batches):
    return list(evaluate(net, batches).per_class(range(10)).values())


@answers.wrong(3, "fixed-batch")
def copies_the_classic_loop(net, batches):
    right, total = [0] * 10, [0] * 10
    with torch.no_grad():
        for inputs, targets in batches:
            is_correct = (
                net(inputs.to(_device_of(net))).argmax(1) == targets.to(_device_of(net))
            ).squeeze()
            for i in range(4):
                right[targets[i]] += is_correct[i].item()
                total[targets[i]] += 1
    return [r / t for r, t in zip(right, total, strict=True)]


@answers.wrong(3, "fixed-batch")
def squeezes_a_batch_of_one(net, batches):
    total = [0] * 10
    with torch.no_grad():
        for inputs, targets in batches:
            is_correct = (
                net(inputs.to(_device_of(net))).argmax(1) == targets.to(_device_of(net))
            ).squeeze()
            for i in range(len(targets)):
                total[targets[i]] += is_correct[i]
    return total


@answers.wrong(3, "first-four")
def counts_four_images_per_batch(net, batches):
    return by_counting_pairs(net, [(X[:4], y[:4]) for X, y in batches])


@answers.wrong(3, "empty-class")
def divides_by_zero(net, batches):
    counts = _table(net, batches)
    right, total = counts.diagonal().tolist(), counts.sum(1).tolist()
    return [r / t for r, t in zip(right, total, strict=True)]


@answers.wrong(3, "empty-class")
def returns_zero_for_an_empty_class(net, batches):
    counts = _table(net, batches)
    return (counts.diagonal() / counts.sum(1).clamp(min=1)).tolist()


@answers.wrong(3, "divided-by-predictions")
def divides_by_the_predictions(net, batches):
    counts = _table(net, batches)
    return (counts.diagonal() / counts.sum(0)).tolist()


@answers.wrong(3, "fraction-of-all")
def divides_by_all_images(net, batches):
    counts = _table(net, batches)
    return (counts.diagonal() / counts.sum()).tolist()


@answers.wrong(3, "not-ten-numbers")
def returns_a_tensor_of_ten(net, batches):
    counts = _table(net, batches)
    return counts.diagonal() / counts.sum(1)


@answers.wrong(3, "not-ten-numbers")
def returns_a_list_of_tensors(net, batches):
    counts = _table(net, batches)
    return list(counts.diagonal() / counts.sum(1))


@answers.wrong(3, "not-ten-numbers")
def leaves_out_classes_without_images(net, batches):
    counts = _table(net, batches)
    present = counts.sum(1) > 0
    return (counts.diagonal()[present] / counts.sum(1)[present]).tolist()


@answers.wrong(3, "many-fetches")
def counts_image_by_image(net, batches):
    right, total = [0] * 10, [0] * 10
    with torch.no_grad():
        for inputs, targets in batches:
            predicted = net(inputs.to(_device_of(net))).argmax(1)
            for answer, label in zip(predicted, targets, strict=True):
                right[label] += answer.item() == label.item()
                total[label] += 1
    return [r / t if t else math.nan for r, t in zip(right, total, strict=True)]


@answers.wrong(3, "not-ten-numbers")
def leaves_out_the_missing_class(net, batches):
    device = _device_of(net)
    with torch.no_grad():
        labels = torch.cat([targets.to(device) for _, targets in batches])
        predictions = torch.cat([net(inputs.to(device)).argmax(1) for inputs, _ in batches])
    correct = (predictions == labels).float()
    return torch.stack([correct[labels == k].mean() for k in labels.unique()]).tolist()


@answers.wrong(3, "keeps-gradients")
def tracks_gradients(net, batches):
    with torch.enable_grad():
        predicted = [net(X.to(_device_of(net))).argmax(1) for X, _ in batches]
    labels = torch.cat([y for _, y in batches]).to(_device_of(net))
    right = [(torch.cat(predicted)[labels == c] == c).float().mean() for c in range(10)]
    return torch.stack(right).tolist()


@answers.wrong(3, "device-error")
def labels_stay_on_the_cpu(net, batches):
    counts = torch.zeros(100, dtype=torch.int64, device=_device_of(net))
    for inputs, targets in batches:
        predicted = net(inputs.to(_device_of(net))).argmax(1)
        counts += torch.bincount(10 * targets + predicted, minlength=100)
    return counts.tolist()


@answers.wrong(3, "wrong-fraction")
def drops_the_last_two_batches(net, batches):
    return by_counting_pairs(net, batches[:-2])


@answers.wrong(3, "wrong-fraction")
def counts_the_mistakes(net, batches):
    counts = _table(net, batches)
    return (1 - counts.diagonal() / counts.sum(1)).tolist()


@answers.wrong(3, "raised")
def adds_tables_of_two_sizes(net, batches):
    counts = torch.zeros(10, dtype=torch.int64, device=_device_of(net))
    for _, targets in batches:
        counts += torch.bincount(targets.to(_device_of(net)), minlength=11)
    return counts.tolist()


# Exercise 4: train_epoch(net, batches, optimizer)


def _epoch(net, batches, optimizer, *, mode=True, zero=True, item=True, weight=True, step=True):
    """Train for one epoch; each option leaves out one step."""
    if mode:
        net.train()
    optimizer.zero_grad()
    total, images = 0.0, 0
    for inputs, targets in batches:
        inputs, targets = inputs.to(_device_of(net)), targets.to(_device_of(net))
        if zero:
            optimizer.zero_grad()
        loss = F.cross_entropy(net(inputs), targets)
        loss.backward()
        if step:
            optimizer.step()
        total += (loss.item() if item else loss) * (len(targets) if weight else 1)
        images += len(targets) if weight else 1
    return total / images


@answers.right(4)
def all_three_fixed(net, batches, optimizer):
    return _epoch(net, batches, optimizer)


@answers.right(4)
def clears_after_each_step(net, batches, optimizer):
    device = _device_of(net)
    net.train()
    losses = torch.zeros((), device=device)
    for inputs, targets in batches:
        loss = F.cross_entropy(net(inputs.to(device)), targets.to(device))
        loss.backward()
        optimizer.step()
        net.zero_grad()
        losses += loss.detach() * len(targets)
    return losses.item() / sum(len(targets) for _, targets in batches)


@answers.right(4)
def with_the_sum_of_the_losses(net, batches, optimizer):
    net.train(True)
    total = images = 0
    for batch in batches:
        X, y = [tensor.to(_device_of(net)) for tensor in batch]
        output = net(X)
        optimizer.zero_grad(set_to_none=False)
        (F.cross_entropy(output, y, reduction="sum") / len(y)).backward()
        optimizer.step()
        with torch.no_grad():
            total += float(F.cross_entropy(output, y, reduction="sum"))
        images += y.numel()
    return total / images


@answers.wrong(4, "evaluation-mode")
def leaves_the_function_unchanged(net, batches, optimizer):
    return _epoch(net, batches, optimizer, mode=False, zero=False, item=False)


@answers.wrong(4, "evaluation-mode")
def fixes_all_but_the_mode(net, batches, optimizer):
    return _epoch(net, batches, optimizer, mode=False)


@answers.wrong(4, "evaluation-mode")
def sets_the_mode_too_late(net, batches, optimizer):
    loss = _epoch(net, batches, optimizer, mode=False)
    net.train()
    return loss


@answers.wrong(4, "gradients-pile-up")
def fixes_all_but_the_gradients(net, batches, optimizer):
    return _epoch(net, batches, optimizer, zero=False)


@answers.wrong(4, "keeps-the-graph")
def fixes_all_but_the_loss(net, batches, optimizer):
    return _epoch(net, batches, optimizer, item=False)


@answers.wrong(4, "keeps-the-graph")
def detaches_and_returns_a_tensor(net, batches, optimizer):
    return _epoch(net, batches, optimizer, item=False).detach()


@answers.wrong(4, "mean-of-batches")
def weights_all_batches_equally(net, batches, optimizer):
    return _epoch(net, batches, optimizer, weight=False)


@answers.wrong(4, "no-step")
def clears_between_backward_and_step(net, batches, optimizer):
    net.train()
    total, images = 0.0, 0
    for inputs, targets in batches:
        loss = F.cross_entropy(net(inputs.to(_device_of(net))), targets.to(_device_of(net)))
        loss.backward()
        optimizer.zero_grad()
        optimizer.step()
        total += loss.item() * len(targets)
        images += len(targets)
    return total / images


@answers.wrong(4, "no-step")
def leaves_out_the_step(net, batches, optimizer):
    return _epoch(net, batches, optimizer, step=False)


@answers.wrong(4, "steps-early")
def steps_before_backward(net, batches, optimizer):
    net.train()
    total, images = 0.0, 0
    for inputs, targets in batches:
        loss = F.cross_entropy(net(inputs.to(_device_of(net))), targets.to(_device_of(net)))
        optimizer.step()
        optimizer.zero_grad()
        loss.backward()
        total += loss.item() * len(targets)
        images += len(targets)
    return total / images


@answers.wrong(4, "different-steps")
def steps_once_at_the_end(net, batches, optimizer):
    loss = _epoch(net, batches, optimizer, zero=False, step=False)
    optimizer.step()
    return loss


@answers.wrong(4, "different-steps")
def takes_a_new_optimizer(net, batches, optimizer):
    return _epoch(net, batches, optim.SGD(net.parameters(), lr=0.05, momentum=0.9))


@answers.wrong(4, "different-steps")
def leaves_out_the_last_batch(net, batches, optimizer):
    return _epoch(net, batches[:-1], optimizer)


@answers.wrong(4, "wrong-loss")
def returns_the_last_loss(net, batches, optimizer):
    _epoch(net, batches[:-1], optimizer)
    return _epoch(net, batches[-1:], optimizer)


@answers.wrong(4, "wrong-loss")
def returns_the_sum(net, batches, optimizer):
    return _epoch(net, batches, optimizer) * sum(len(y) for _, y in batches)


@answers.wrong(4, "no-result")
def returns_no_loss(net, batches, optimizer):
    _epoch(net, batches, optimizer)


@answers.wrong(4, "device-error")
def drops_the_moved_images(net, batches, optimizer):
    net.train()
    for inputs, targets in batches:
        inputs.to(_device_of(net))
        F.cross_entropy(net(inputs), targets.to(_device_of(net))).backward()
    return 0.0


@answers.wrong(4, "graph-kept")
def calls_item_only_at_the_end(net, batches, optimizer):
    device = next(net.parameters()).device
    net.train()
    total, images = 0.0, 0
    for inputs, targets in batches:
        inputs, targets = inputs.to(device), targets.to(device)
        optimizer.zero_grad()
        loss = F.cross_entropy(net(inputs), targets)
        loss.backward()
        optimizer.step()
        total = total + loss * len(targets)
        images += len(targets)
    return total.item() / images


@answers.right(4)
def adds_detached_losses_and_reads_them_once(net, batches, optimizer):
    device = next(net.parameters()).device
    net.train()
    total = torch.zeros((), device=device)
    for inputs, targets in batches:
        optimizer.zero_grad()
        loss = F.cross_entropy(net(inputs.to(device)), targets.to(device), reduction="mean")
        loss.backward()
        optimizer.step()
        total += loss.detach() * len(targets)
    return total.item() / sum(len(targets) for _, targets in batches)
