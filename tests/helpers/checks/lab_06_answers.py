"""Right and wrong answers to lab 06, with the hint that each wrong one must get."""

import torch
from torch import nn
from torch.nn import functional as F

from helpers.checks import lab_06
from tests.helpers.checks.collection import Answers

answers = Answers(lab_06)

# Exercise 1: random_flip(images)


@answers.right(1)
def with_where(images):
    mirrored = torch.rand(len(images), 1, 1, 1, device=images.device) < 0.5
    return torch.where(mirrored, images.flip(3), images)


@answers.right(1)
def with_a_mask(images):
    result = images.clone()
    chosen = torch.randint(2, (images.shape[0],), device=images.device).bool()
    result[chosen] = images[chosen].flip(-1)
    return result


@answers.right(1)
def with_a_gather(images):
    width = images.shape[3]
    positions = torch.arange(width, device=images.device).expand(len(images), width)
    mirrored = torch.rand(len(images), 1, device=images.device) > 0.5
    columns = torch.where(mirrored, width - 1 - positions, positions)
    return images.gather(3, columns[:, None, None, :].expand_as(images))


@answers.wrong(1, "same-for-all-images")
def flips_whole_batches_at_random(images):
    if torch.rand(1).item() < 0.5:
        return images.flip(3)
    return images.clone()


@answers.wrong(1, "same-for-all-images")
def flips_all(images):
    return images.flip(3)


@answers.wrong(1, "same-for-all-images")
def flips_none(images):
    return images.clone()


@answers.wrong(1, "not-a-mirror")
def flips_vertically(images):
    return torch.where(_choose_at_random(images), images.flip(2), images)


@answers.wrong(1, "not-a-mirror")
def rotates_by_180_degrees(images):
    return torch.where(_choose_at_random(images), images.flip(2, 3), images)


@answers.wrong(1, "not-a-mirror")
def reverses_the_batch(images):
    return torch.where(_choose_at_random(images), images.flip(0), images)


@answers.wrong(1, "not-a-mirror")
def flips_each_channel_separately(images):
    toss = torch.rand(len(images), 3, 1, 1, device=images.device) < 0.5
    return torch.where(toss, images.flip(3), images)


def _choose_at_random(images, fraction=0.5):
    return torch.rand(len(images), 1, 1, 1, device=images.device) < fraction


@answers.wrong(1, "wrong-fraction")
def flips_one_in_ten(images):
    return torch.where(_choose_at_random(images, 0.1), images.flip(3), images)


@answers.wrong(1, "wrong-fraction")
def flips_most_images(images):
    toss = torch.randn(len(images), 1, 1, 1, device=images.device) < 1.5
    return torch.where(toss, images.flip(3), images)


@answers.wrong(1, "always-half")
def flips_a_random_half(images):
    result = images.clone()
    chosen = torch.randperm(len(images), device=images.device)[: len(images) // 2]
    result[chosen] = images[chosen].flip(3)
    return result


@answers.wrong(1, "not-random")
def flips_every_second_image(images):
    result = images.clone()
    result[::2] = images[::2].flip(3)
    return result


@answers.wrong(1, "not-random")
def sets_the_seed(images):
    torch.manual_seed(0)
    return with_where(images)


@answers.wrong(1, "input-changed")
def writes_into_the_images(images):
    chosen = _choose_at_random(images).flatten()
    images[chosen] = images[chosen].flip(3)
    return images


@answers.wrong(1, "one-by-one")
def loops_over_images(images):
    toss = torch.rand(len(images), device=images.device) < 0.5
    return torch.stack([i.flip(2) if t else i for i, t in zip(images, toss, strict=True)])


@answers.wrong(1, "copied")
def draws_on_the_cpu_and_moves(images):
    toss = (torch.rand(len(images), 1, 1, 1) < 0.5).to(images.device)
    return torch.where(toss, images.flip(3), images)


@answers.wrong(1, "elsewhere")
def computes_on_the_cpu(images):
    return with_where(images.cpu())


@answers.wrong(1, "device-error")
def draws_on_the_cpu(images):
    toss = torch.rand(len(images), 1, 1, 1) < 0.5
    return torch.where(toss, images.flip(3), images)


@answers.wrong(1, "not-images")
def returns_only_the_mirrored_images(images):
    return images[_choose_at_random(images).flatten()].flip(3)


@answers.wrong(1, "no-result")
def forgets_the_return(images):
    torch.where(_choose_at_random(images), images.flip(3), images)


# Exercise 2: random_shift(images, max_shift)


def _shift_images(images, down, right, max_shift):
    """Return the images shifted by `down` and `right`, both of shape (N,)."""
    count, _, height, width = images.shape
    rows = torch.arange(height, device=images.device) + max_shift - down[:, None]
    columns = torch.arange(width, device=images.device) + max_shift - right[:, None]
    padded = F.pad(images, (max_shift,) * 4)
    indices = torch.arange(count, device=images.device)[:, None, None]
    shifted = padded.permute(0, 2, 3, 1)[indices, rows[:, :, None], columns[:, None, :]]
    return shifted.permute(0, 3, 1, 2)


def _draw_shifts(images, low, high):
    return torch.randint(low, high, (len(images),), device=images.device)


@answers.right(2)
def by_padding_and_a_gather(images, max_shift):
    down, right = (_draw_shifts(images, -max_shift, max_shift + 1) for _ in range(2))
    return _shift_images(images, down, right, max_shift)


@answers.right(2)
def by_looping_over_shifts(images, max_shift):
    height, width = images.shape[2:]
    shift_numbers = _draw_shifts(images, 0, (2 * max_shift + 1) ** 2)
    padded, result = F.pad(images, (max_shift,) * 4), torch.empty_like(images)
    for number in range((2 * max_shift + 1) ** 2):
        top, left = divmod(number, 2 * max_shift + 1)
        selected = shift_numbers == number
        result[selected] = padded[selected, :, top : top + height, left : left + width]
    return result


@answers.right(2)
def by_windows(images, max_shift):
    height, width = images.shape[2:]
    windows = F.pad(images, (max_shift,) * 4).unfold(2, height, 1).unfold(3, width, 1)
    indices = torch.arange(len(images), device=images.device)
    top, left = torch.randint(0, 2 * max_shift + 1, (2, len(images)), device=images.device)
    return windows[indices, :, top, left]


@answers.right(2)
def by_masking_wrapped_pixels(images, max_shift):
    def shift_along(x, axis):
        size = x.shape[axis]
        shape = [len(x), 1, 1, 1]
        shape[axis] = size
        shift = torch.randint(-max_shift, max_shift + 1, (len(x), 1), device=x.device)
        positions = torch.arange(size, device=x.device) - shift
        inside = ((positions >= 0) & (positions < size)).view(shape)
        positions = positions.clamp(0, size - 1).view(shape).expand_as(x)
        return x.gather(axis, positions) * inside

    return shift_along(shift_along(images, 2), 3)


@answers.wrong(2, "wraps-around")
def rolls(images, max_shift):
    height, width = images.shape[2:]
    rows = (
        torch.arange(height, device=images.device)
        - _draw_shifts(images, -max_shift, max_shift + 1)[:, None]
    )
    columns = (
        torch.arange(width, device=images.device)
        - _draw_shifts(images, -max_shift, max_shift + 1)[:, None]
    )
    indices = torch.arange(len(images), device=images.device)[:, None, None]
    rows, columns = rows % height, columns % width
    shifted = images.permute(0, 2, 3, 1)[indices, rows[:, :, None], columns[:, None, :]]
    return shifted.permute(0, 3, 1, 2)


@answers.wrong(2, "wraps-around")
def rolls_the_whole_batch(images, max_shift):
    if max_shift == 0:
        return images.clone()
    down, right = torch.randint(1, max_shift + 1, (2,)).tolist()
    return images.roll((down, right), (2, 3))


@answers.wrong(2, "same-for-all-images")
def shifts_all_images_alike(images, max_shift):
    down, right = (
        _draw_shifts(images, -max_shift, max_shift + 1)[:1].expand(len(images)) for _ in range(2)
    )
    return _shift_images(images, down, right, max_shift)


@answers.wrong(2, "copied")
def draws_on_the_cpu_and_moves_the_shifts(images, max_shift):
    down, right = (torch.randint(-max_shift, max_shift + 1, (len(images),)) for _ in range(2))
    return _shift_images(images, down.to(images.device), right.to(images.device), max_shift)


@answers.wrong(2, "same-shift-on-both-axes")
def uses_one_shift_for_both_axes(images, max_shift):
    shift = _draw_shifts(images, -max_shift, max_shift + 1)
    return _shift_images(images, shift, shift, max_shift)


@answers.wrong(2, "shifts-missing")
def forgets_the_upper_end(images, max_shift):
    if max_shift == 0:
        return images.clone()
    down, right = (_draw_shifts(images, -max_shift, max_shift) for _ in range(2))
    return _shift_images(images, down, right, max_shift)


@answers.wrong(2, "shifts-missing")
def forgets_the_lower_end(images, max_shift):
    down, right = (_draw_shifts(images, 0, max_shift + 1) for _ in range(2))
    return _shift_images(images, down, right, max_shift)


@answers.wrong(2, "shifts-missing")
def shifts_along_one_axis(images, max_shift):
    down = _draw_shifts(images, -max_shift, max_shift + 1)
    return _shift_images(images, down, torch.zeros_like(down), max_shift)


@answers.wrong(2, "not-a-shift")
def repeats_the_edge(images, max_shift):
    padded = F.pad(images, (max_shift,) * 4, mode="replicate")
    height, width = images.shape[2:]
    windows = padded.unfold(2, height, 1).unfold(3, width, 1)
    indices = torch.arange(len(images), device=images.device)
    top, left = torch.randint(0, 2 * max_shift + 1, (2, len(images)), device=images.device)
    return windows[indices, :, top, left]


@answers.wrong(2, "not-a-shift")
def shifts_too_far(images, max_shift):
    down, right = (_draw_shifts(images, -2 * max_shift, 2 * max_shift + 1) for _ in range(2))
    return _shift_images(images, down, right, 2 * max_shift)


@answers.wrong(2, "not-images")
def leaves_the_padding(images, max_shift):
    return F.pad(images, (max_shift + 1,) * 4)


@answers.wrong(2, "one-by-one")
def loops_over_the_images(images, max_shift):
    height, width = images.shape[2:]
    moved = []
    for image in F.pad(images, (max_shift,) * 4):
        top, left = torch.randint(0, 2 * max_shift + 1, (2,)).tolist()
        moved.append(image[:, top : top + height, left : left + width])
    return torch.stack(moved)


@answers.wrong(2, "not-random")
def sets_its_own_seed(images, max_shift):
    torch.manual_seed(1)
    return by_padding_and_a_gather(images, max_shift)


@answers.wrong(2, "device-error")
def makes_the_rows_on_the_cpu(images, max_shift):
    rows = torch.arange(images.shape[2]) - _draw_shifts(images, -max_shift, max_shift + 1)[:, None]
    return images[:, :, rows]


@answers.wrong(2, "uneven-shifts")
def rounds_uniform_numbers(images, max_shift):
    drawn = torch.rand(2, len(images), device=images.device)
    return _shift_images(images, *(2 * max_shift * drawn - max_shift).round().long(), max_shift)


@answers.wrong(2, "uneven-shifts")
def draws_from_a_normal_distribution(images, max_shift):
    drawn = torch.randn(2, len(images), device=images.device)
    return _shift_images(images, *drawn.round().clamp(-max_shift, max_shift).long(), max_shift)


# Exercise 3: predict(net, images)


@answers.right(3)
@torch.no_grad()
def twice_and_halved(net, images):
    net.eval()
    return (net(images) + net(images.flip(3))) / 2


@answers.right(3)
def in_one_large_batch(net, images):
    training = net.training
    net.eval()
    with torch.inference_mode():
        logits = net(torch.cat([images, images.flip(-1)]))
    net.train(training)
    return logits.view(2, len(images), -1).mean(0)


@answers.right(3)
def with_a_list_of_views(net, images):
    net.train(False)
    views = [images, torch.fliplr(images.transpose(1, 3)).transpose(1, 3)]
    views[1] = images[..., torch.arange(images.shape[-1] - 1, -1, -1, device=images.device)]
    with torch.no_grad():
        return torch.stack([net(view) for view in views]).mean(dim=0)


def _mean(net, *views):
    net.eval()
    with torch.no_grad():
        return sum(net(view) for view in views) / len(views)


@answers.wrong(3, "training-mode")
def forgets_the_mode(net, images):
    with torch.no_grad():
        return (net(images) + net(images.flip(3))) / 2


@answers.wrong(3, "tracks-gradients")
def forgets_no_grad(net, images):
    net.eval()
    return (net(images) + net(images.flip(3))) / 2


@answers.wrong(3, "tracks-gradients")
def detaches_at_the_end(net, images):
    net.eval()
    return ((net(images) + net(images.flip(3))) / 2).detach()


@answers.wrong(3, "one-view")
def uses_one_view(net, images):
    return _mean(net, images)


@answers.wrong(3, "one-view")
def uses_only_the_mirrored_view(net, images):
    return _mean(net, images.flip(3))


@answers.wrong(3, "wrong-view")
def flips_the_second_view_vertically(net, images):
    return _mean(net, images, images.flip(2))


@answers.wrong(3, "wrong-view")
def rotates_the_second_view(net, images):
    return _mean(net, images, images.flip(2, 3))


@answers.wrong(3, "wrong-view")
def reverses_the_batch_order(net, images):
    return _mean(net, images, images.flip(0))


@answers.wrong(3, "not-averaged")
def adds_the_logits(net, images):
    return 2 * _mean(net, images, images.flip(3))


@answers.wrong(3, "not-averaged")
def averages_probabilities(net, images):
    net.eval()
    with torch.no_grad():
        return (net(images).softmax(1) + net(images.flip(3)).softmax(1)) / 2


@answers.wrong(3, "not-averaged")
def takes_the_larger(net, images):
    net.eval()
    with torch.no_grad():
        return torch.maximum(net(images), net(images.flip(3)))


@answers.wrong(3, "averaged-images")
def averages_the_images(net, images):
    return _mean(net, (images + images.flip(3)) / 2)


@answers.wrong(3, "not-logits")
def returns_classes(net, images):
    return _mean(net, images, images.flip(3)).argmax(1)


@answers.wrong(3, "not-logits")
def returns_both(net, images):
    return _mean(net, images), _mean(net, images.flip(3))


@answers.wrong(3, "different-logits")
def forgets_the_parentheses(net, images):
    return _mean(net, images) + _mean(net, images.flip(3)) / 2


@answers.wrong(3, "input-changed")
def mirrors_in_place(net, images):
    first = _mean(net, images)
    images.copy_(images.flip(3))
    return (first + _mean(net, images)) / 2


@answers.wrong(3, "gradients-left-off")
def turns_gradients_off_permanently(net, images):
    torch.set_grad_enabled(False)
    net.eval()
    return (net(images) + net(images.flip(3))) / 2


# Exercise 4: lr_at(step, num_steps, peak_lr, warmup_steps)


@answers.right(4)
def two_lines(step, num_steps, peak_lr, warmup_steps):
    return (
        peak_lr * step / warmup_steps
        if step < warmup_steps
        else peak_lr * (num_steps - step) / (num_steps - warmup_steps)
    )


@answers.right(4)
def the_smaller_of_two(step, num_steps, peak_lr, warmup_steps):
    up = step / warmup_steps if warmup_steps else 1
    return peak_lr * min(up, (num_steps - step) / (num_steps - warmup_steps))


@answers.right(4)
def by_steps_after_the_peak(step, num_steps, peak_lr, warmup_steps):
    if step <= warmup_steps and warmup_steps > 0:
        return step * (peak_lr / warmup_steps)
    return peak_lr - peak_lr * (step - warmup_steps) / (num_steps - warmup_steps)


@answers.wrong(4, "divides-by-zero")
def divides_by_zero_warmup_steps(step, num_steps, peak_lr, warmup_steps):
    return (
        peak_lr * step / warmup_steps
        if step <= warmup_steps
        else peak_lr * (num_steps - step) / (num_steps - warmup_steps)
    )


@answers.wrong(4, "peak-missed")
def rises_too_slowly(step, num_steps, peak_lr, warmup_steps):
    return (
        peak_lr * step / (warmup_steps + 1)
        if step <= warmup_steps
        else peak_lr * (num_steps - step) / (num_steps - warmup_steps)
    )


@answers.wrong(4, "peak-missed")
def ignores_the_warmup_in_the_decay(step, num_steps, peak_lr, warmup_steps):
    return (
        peak_lr * step / warmup_steps
        if step < warmup_steps
        else peak_lr * (num_steps - step) / num_steps
    )


@answers.wrong(4, "wrong-warmup")
def counts_from_one(step, num_steps, peak_lr, warmup_steps):
    return (
        peak_lr * (step + 1) / warmup_steps
        if step < warmup_steps
        else peak_lr * (num_steps - step) / (num_steps - warmup_steps)
    )


@answers.wrong(4, "wrong-warmup")
def starts_at_the_peak(step, num_steps, peak_lr, warmup_steps):
    return (
        peak_lr
        if step < warmup_steps
        else peak_lr * (num_steps - step) / (num_steps - warmup_steps)
    )


@answers.wrong(4, "wrong-warmup")
def with_integer_division(step, num_steps, peak_lr, warmup_steps):
    return (
        peak_lr * (step // warmup_steps)
        if step < warmup_steps
        else peak_lr * (num_steps - step) / (num_steps - warmup_steps)
    )


@answers.wrong(4, "end-missed")
def stays_at_the_peak(step, num_steps, peak_lr, warmup_steps):
    return peak_lr * step / warmup_steps if step < warmup_steps else peak_lr


@answers.wrong(4, "end-missed")
def reaches_zero_a_step_late(step, num_steps, peak_lr, warmup_steps):
    return (
        peak_lr * step / warmup_steps
        if step < warmup_steps
        else peak_lr * (num_steps + 1 - step) / (num_steps + 1 - warmup_steps)
    )


@answers.wrong(4, "wrong-decay")
def decays_quadratically(step, num_steps, peak_lr, warmup_steps):
    fraction = (num_steps - step) / (num_steps - warmup_steps)
    return peak_lr * step / warmup_steps if step < warmup_steps else peak_lr * fraction**2


@answers.wrong(4, "not-a-rate")
def returns_a_tensor(step, num_steps, peak_lr, warmup_steps):
    return torch.tensor(two_lines(step, num_steps, peak_lr, warmup_steps))


@answers.wrong(4, "no-result")
def forgets_to_return(step, num_steps, peak_lr, warmup_steps):
    two_lines(step, num_steps, peak_lr, warmup_steps)


# Exercise 5: smoothed_loss(logits, labels, smoothing)


@answers.right(5)
def by_gather(logits, labels, smoothing):
    nll = -logits.log_softmax(1)
    right = nll.gather(1, labels[:, None]).mean()
    return (1 - smoothing) * right + smoothing * nll.mean()


@answers.right(5)
def by_torch(logits, labels, smoothing):
    return F.cross_entropy(logits, labels, label_smoothing=smoothing)


@answers.right(5)
def by_targets(logits, labels, smoothing):
    classes = logits.shape[1]
    targets = F.one_hot(labels, classes) * (1 - smoothing) + smoothing / classes
    return -(targets * F.log_softmax(logits, dim=1)).sum() / len(labels)


@answers.right(5)
def with_probabilities_as_targets(logits, labels, smoothing):
    targets = torch.full_like(logits, smoothing / logits.size(1), requires_grad=False)
    targets[torch.arange(len(labels), device=labels.device), labels] += 1 - smoothing
    return nn.CrossEntropyLoss()(logits, targets)


@answers.wrong(5, "not-smoothed")
def forgets_to_smooth(logits, labels, smoothing):
    return F.cross_entropy(logits, labels)


@answers.wrong(5, "others-only")
def spreads_over_the_others(logits, labels, smoothing):
    classes = logits.shape[1]
    targets = F.one_hot(labels, classes) * (1 - smoothing - smoothing / (classes - 1))
    targets = targets + smoothing / (classes - 1)
    return F.cross_entropy(logits, targets)


@answers.wrong(5, "wrong-reduction")
def sums_over_images(logits, labels, smoothing):
    return F.cross_entropy(logits, labels, label_smoothing=smoothing, reduction="sum")


@answers.wrong(5, "wrong-reduction")
def takes_the_mean_over_both_axes(logits, labels, smoothing):
    return by_targets(logits, labels, smoothing) / logits.shape[1]


@answers.wrong(5, "ten-classes")
def assumes_ten_classes(logits, labels, smoothing):
    targets = F.one_hot(labels, 10) * (1 - smoothing) + smoothing / 10
    return F.cross_entropy(logits, targets)


@answers.wrong(5, "ten-classes")
def spreads_over_ten(logits, labels, smoothing):
    nll = -logits.log_softmax(1)
    right = nll.gather(1, labels[:, None]).mean()
    return (1 - smoothing) * right + smoothing * nll.sum(1).mean() / 10


@answers.wrong(5, "overflows")
def takes_the_logarithm_of_probabilities(logits, labels, smoothing):
    classes = logits.shape[1]
    targets = F.one_hot(labels, classes) * (1 - smoothing) + smoothing / classes
    return -(targets * logits.softmax(1).log()).sum() / len(labels)


@answers.wrong(5, "overflows")
def divides_exponentials(logits, labels, smoothing):
    nll = logits.exp().sum(1, keepdim=True).log() - logits
    right = nll.gather(1, labels[:, None]).mean()
    return (1 - smoothing) * right + smoothing * nll.mean()


@answers.wrong(5, "no-gradient")
def makes_a_new_tensor(logits, labels, smoothing):
    return torch.tensor(by_gather(logits, labels, smoothing).item())


@answers.wrong(5, "not-one-loss")
def returns_a_number(logits, labels, smoothing):
    return by_gather(logits, labels, smoothing).item()


@answers.wrong(5, "not-one-loss")
def returns_one_loss_per_image(logits, labels, smoothing):
    return F.cross_entropy(logits, labels, label_smoothing=smoothing, reduction="none")


@answers.wrong(5, "different-loss")
def adds_smoothing_to_the_hard_loss(logits, labels, smoothing):
    nll = -logits.log_softmax(1)
    return nll.gather(1, labels[:, None]).mean() + smoothing * nll.mean()


@answers.wrong(5, "device-error")
def makes_the_targets_on_the_cpu(logits, labels, smoothing):
    targets = torch.full(logits.shape, smoothing / logits.shape[1])
    return -(targets * logits.log_softmax(1)).sum() / len(labels)


# Exercise 6: learn(net, images, labels, epochs)


def _learn(net, images, labels, epochs, *, optimizer=None, batch=12, shuffled=True, decay=True):
    optimizer = optimizer or torch.optim.Adam(net.parameters(), lr=0.01)
    steps = epochs * -(-len(images) // batch)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda s: 1 - decay * s / steps)
    for _ in range(epochs):
        order = torch.randperm if shuffled else torch.arange
        for chosen in order(len(images), device=images.device).split(batch):
            optimizer.zero_grad()
            F.cross_entropy(net(images[chosen]), labels[chosen]).backward()
            optimizer.step()
            schedule.step()


def _sgd(net, lr, momentum=0.9):
    return torch.optim.SGD(net.parameters(), lr=lr, momentum=momentum)


@answers.right(6)
def with_adam_and_a_falling_rate(net, images, labels, epochs):
    _learn(net, images, labels, epochs)


@answers.right(6)
def with_momentum(net, images, labels, epochs):
    _learn(net, images, labels, epochs, optimizer=_sgd(net, 0.03), batch=8)


@answers.right(6)
def with_adam_and_label_smoothing(net, images, labels, epochs):
    optimizer = torch.optim.AdamW(net.parameters(), lr=0.008)
    net.train()
    for _ in range(epochs):
        order = torch.randperm(len(images), device=images.device)
        for chosen in order.split(10):
            loss = F.cross_entropy(net(images[chosen]), labels[chosen], label_smoothing=0.05)
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            optimizer.step()


@answers.right(6)
def with_one_image_per_batch(net, images, labels, epochs):
    optimizer = torch.optim.Adam(net.parameters(), lr=0.002)
    _learn(net, images, labels, 2, optimizer=optimizer, batch=1)


@answers.wrong(6, "few-steps")
def with_large_batches(net, images, labels, epochs):
    _learn(net, images, labels, epochs, optimizer=_sgd(net, 0.001), batch=120)


@answers.wrong(6, "few-steps")
def all_images_in_one_batch(net, images, labels, epochs):
    _learn(net, images, labels, epochs, optimizer=_sgd(net, 0.01), batch=360)


@answers.wrong(6, "sorted")
def leaves_the_settings_unchanged(net, images, labels, epochs):
    optimizer = _sgd(net, 0.001, momentum=0)
    _learn(net, images, labels, epochs, optimizer=optimizer, batch=60, shuffled=False)


@answers.wrong(6, "sorted")
def forgets_to_shuffle(net, images, labels, epochs):
    optimizer = _sgd(net, 0.004, momentum=0)
    _learn(net, images, labels, epochs, optimizer=optimizer, batch=60, shuffled=False)


@answers.wrong(6, "small-steps")
def keeps_the_rate(net, images, labels, epochs):
    _learn(net, images, labels, epochs, optimizer=_sgd(net, 0.0005, momentum=0))


@answers.wrong(6, "small-steps")
def uses_a_tiny_learning_rate(net, images, labels, epochs):
    _learn(net, images, labels, epochs, optimizer=torch.optim.Adam(net.parameters(), lr=1e-6))


@answers.wrong(6, "diverged")
def uses_a_huge_learning_rate(net, images, labels, epochs):
    _learn(net, images, labels, epochs, optimizer=_sgd(net, 1e30))


@answers.wrong(6, "too-many-passes")
def uses_ten_times_the_epochs(net, images, labels, epochs):
    _learn(net, images, labels, 10 * epochs, batch=60)


@answers.wrong(6, "too-many-passes")
def trains_twice_on_each_batch(net, images, labels, epochs):
    optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
    for _ in range(epochs):
        for chosen in torch.randperm(len(images), device=images.device).split(30):
            for _ in range(2):
                optimizer.zero_grad()
                F.cross_entropy(net(images[chosen]), labels[chosen]).backward()
                optimizer.step()


@answers.wrong(6, "not-trained")
def forgets_the_step(net, images, labels, epochs):
    for chosen in torch.randperm(len(images), device=images.device).split(12):
        F.cross_entropy(net(images[chosen]), labels[chosen]).backward()


@answers.wrong(6, "not-trained")
def does_not_train(net, images, labels, epochs):
    pass


@answers.wrong(6, "too-low")
def leaves_out_the_last_class(net, images, labels, epochs):
    _learn(net, images[:240], labels[:240], epochs)


@answers.wrong(6, "device-error")
def moves_the_labels_to_the_cpu(net, images, labels, epochs):
    _learn(net, images, labels.cpu(), epochs)


@answers.wrong(6, "sorted")
def trains_well_without_shuffling(net, images, labels, epochs):
    _learn(net, images, labels, epochs, shuffled=False)


@answers.wrong(6, "old-gradients")
def never_clears_gradients(net, images, labels, epochs):
    optimizer = _sgd(net, 0.003, momentum=0)
    for _ in range(epochs):
        for chosen in torch.randperm(len(images), device=images.device).split(12):
            F.cross_entropy(net(images[chosen]), labels[chosen]).backward()
            optimizer.step()


@answers.wrong(6, "old-gradients")
def clears_gradients_once_per_epoch(net, images, labels, epochs):
    optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
    for _ in range(epochs):
        optimizer.zero_grad()
        for chosen in torch.randperm(len(images), device=images.device).split(12):
            F.cross_entropy(net(images[chosen]), labels[chosen]).backward()
            optimizer.step()


@answers.right(6)
def accumulates_two_micro_batches(net, images, labels, epochs):
    optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
    for _ in range(epochs):
        for chosen in torch.randperm(len(images), device=images.device).split(12):
            for micro_batch in chosen.chunk(2):
                (F.cross_entropy(net(images[micro_batch]), labels[micro_batch]) / 2).backward()
            optimizer.step()
            optimizer.zero_grad()


@answers.wrong(6, "images-changed")
def normalizes_the_callers_images(net, images, labels, epochs):
    images.sub_(images.mean()).div_(images.std())
    _learn(net, images, labels, epochs)
