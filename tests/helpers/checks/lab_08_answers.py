"""Right and wrong answers to lab 08, with the hint that each wrong one must get."""

import math

import torch
from torch import nn
from torch.nn import functional as F

from helpers.checks import lab_08
from tests.helpers.checks.collection import Answers

answers = Answers(lab_08)

# Exercise 1: keep_bits(x, mantissa)


@answers.right(1)
def adds_and_shifts(x, mantissa):
    bits, dropped = x.view(torch.int32), 23 - mantissa
    half = (1 << (dropped - 1)) - 1 + ((bits >> dropped) & 1)
    return (((bits + half) >> dropped) << dropped).view(torch.float32)


@answers.right(1)
def with_frexp(x, mantissa):
    digits, exponent = torch.frexp(x)
    size = 2 ** (mantissa + 1)
    return torch.ldexp(torch.round(digits * size) / size, exponent)


@answers.right(1)
def in_units_of_the_last_bit(x, mantissa):
    _, exponent = torch.frexp(x.double())
    unit = 2.0 ** (exponent.double() - 1 - mantissa)
    return (torch.round(x.double() / unit) * unit).float()


@answers.right(1)
def adds_a_large_number_and_subtracts_it(x, mantissa):
    _, exponent = torch.frexp(x)
    large = 1.5 * 2.0 ** (exponent + 22 - mantissa)
    return (x + large) - large


@answers.wrong(1, "raised")
def shifts_floats(x, mantissa):
    return x >> mantissa


@answers.wrong(1, "truncated")
def truncates_the_bits(x, mantissa):
    dropped = 23 - mantissa
    return ((x.view(torch.int32) >> dropped) << dropped).view(torch.float32)


@answers.wrong(1, "truncated")
def truncates_with_frexp(x, mantissa):
    digits, exponent = torch.frexp(x)
    size = 2 ** (mantissa + 1)
    return torch.ldexp(torch.trunc(digits * size) / size, exponent)


@answers.wrong(1, "wrong-tie")
def rounds_ties_away_from_zero(x, mantissa):
    dropped = 23 - mantissa
    bits = x.view(torch.int32) + (1 << (dropped - 1))
    return ((bits >> dropped) << dropped).view(torch.float32)


@answers.wrong(1, "wrong-tie")
def rounds_ties_toward_zero(x, mantissa):
    dropped = 23 - mantissa
    bits = x.view(torch.int32) + (1 << (dropped - 1)) - 1
    return ((bits >> dropped) << dropped).view(torch.float32)


@answers.wrong(1, "always-seven")
def converts_to_bfloat16(x, mantissa):
    return x.to(torch.bfloat16).float()


@answers.wrong(1, "not-nearest")
def keeps_at_least_four_bits(x, mantissa):
    return adds_and_shifts(x, max(4, mantissa))


@answers.wrong(1, "not-finite")
def converts_to_float16(x, mantissa):
    return x.half().float()


@answers.wrong(1, "not-nearest")
def rounds_decimal_digits(x, mantissa):
    return torch.round(x, decimals=mantissa)


@answers.wrong(1, "not-nearest")
def keeps_one_bit_fewer(x, mantissa):
    return adds_and_shifts(x, mantissa - 1)


@answers.wrong(1, "not-nearest")
def rounds_up(x, mantissa):
    digits, exponent = torch.frexp(x)
    size = 2 ** (mantissa + 1)
    return torch.ldexp(torch.ceil(digits * size) / size, exponent)


@answers.wrong(1, "sign-lost")
def drops_the_signs(x, mantissa):
    return adds_and_shifts(x.abs(), mantissa)


@answers.wrong(1, "different-dtype")
def forgets_to_view_as_float(x, mantissa):
    return adds_and_shifts(x, mantissa).view(torch.int32)


@answers.wrong(1, "different-dtype")
def returns_bfloat16(x, mantissa):
    return x.to(torch.bfloat16)


@answers.wrong(1, "input-changed")
def writes_into_x(x, mantissa):
    return x.copy_(adds_and_shifts(x, mantissa))


@answers.wrong(1, "elsewhere")
def computes_on_the_cpu(x, mantissa):
    return adds_and_shifts(x.cpu(), mantissa)


@answers.wrong(1, "not-a-tensor")
def returns_a_list(x, mantissa):
    return adds_and_shifts(x, mantissa).tolist()


@answers.wrong(1, "no-result")
def prints_the_numbers(x, mantissa):
    print(adds_and_shifts(x, mantissa))


# Exercise 2: largest_scale(gradients)


@answers.right(2)
def halves_until_it_fits(gradients):
    scale = 2.0**24
    while not all((gradient * scale).half().isfinite().all() for gradient in gradients):
        scale /= 2
    return scale


@answers.right(2)
def from_the_largest_size(gradients):
    largest = max(gradient.abs().max().item() for gradient in gradients)
    if largest == 0:
        return 2**24
    return min(2**24, 2 ** math.floor(math.log2(65504 / largest)))


@answers.right(2)
def doubles_while_it_fits(gradients):
    values = torch.cat([gradient.flatten() for gradient in gradients])
    scale = 1
    while scale < 2**24 and (values * (2 * scale)).abs().max() <= torch.finfo(torch.float16).max:
        scale *= 2
    return scale


@answers.wrong(2, "overflows")
def uses_the_smallest_value(gradients):
    smallest = min(gradient.abs().min().item() for gradient in gradients)
    return 2**24 if smallest == 0 else min(2**24, 2 ** math.floor(math.log2(65504 / smallest)))


@answers.wrong(2, "overflows")
def forgets_negative_values(gradients):
    largest = max(gradient.max().item() for gradient in gradients)
    return 2**24 if largest <= 0 else min(2**24, 2 ** math.floor(math.log2(65504 / largest)))


@answers.wrong(2, "overflows")
def checks_only_the_first_tensor(gradients):
    return halves_until_it_fits(gradients[:1])


@answers.wrong(2, "overflows")
def checks_only_the_last_tensor(gradients):
    return halves_until_it_fits(gradients[-1:])


@answers.wrong(2, "overflows")
def rounds_the_exponent_up(gradients):
    return 2 * halves_until_it_fits(gradients)


@answers.wrong(2, "overflows")
def uses_the_limit_of_bfloat16(gradients):
    scale = 2.0**24
    while not all((gradient * scale).bfloat16().isfinite().all() for gradient in gradients):
        scale /= 2
    return scale


@answers.wrong(2, "overflows")
def uses_the_mean(gradients):
    largest = max(gradient.abs().mean().item() for gradient in gradients)
    return 2.0 ** math.floor(math.log2(65504 / largest))


@answers.wrong(2, "too-small")
def returns_half_the_scale(gradients):
    return halves_until_it_fits(gradients) / 2


@answers.wrong(2, "too-small")
def takes_the_first_scale_of_the_scaler(gradients):
    return 2.0**16


@answers.wrong(2, "not-a-power")
def uses_the_whole_range(gradients):
    return 65504 / max(gradient.abs().max().item() for gradient in gradients)


@answers.wrong(2, "exponent")
def returns_the_exponent(gradients):
    return int(math.log2(halves_until_it_fits(gradients)))


@answers.wrong(2, "above-limit")
def has_no_limit(gradients):
    largest = max(gradient.abs().max().item() for gradient in gradients)
    return 2.0 ** math.floor(math.log2(65504 / max(largest, 1e-30)))


@answers.wrong(2, "not-a-number")
def returns_a_tensor(gradients):
    return torch.tensor(halves_until_it_fits(gradients))


@answers.wrong(2, "input-changed")
def scales_in_place(gradients):
    scale = halves_until_it_fits(gradients)
    for gradient in gradients:
        gradient *= 2
    return scale


@answers.wrong(2, "raised")
def divides_by_zero(gradients):
    largest = max(gradient.abs().max().item() for gradient in gradients)
    return min(2.0**24, 2.0 ** math.floor(math.log2(65504 / largest)))


@answers.wrong(2, "too-small")
def uses_the_norm(gradients):
    return from_the_largest_size([gradient.norm() for gradient in gradients])


# Exercise 3: predict()


@answers.right(3)
def as_a_dictionary():
    return {
        "x @ w": torch.float16,
        "x + w": torch.float32,
        "F.linear(h, w)": torch.float16,
        "h.relu()": torch.float16,
        "h + x": torch.float32,
        "torch.cat([h, x])": torch.float32,
        "h.softmax(1)": torch.float32,
        "h.softmax(1) @ w": torch.float16,
        "h.sum()": torch.float32,
        "F.cross_entropy(h, t)": torch.float32,
    }


@answers.right(3)
def with_a_list_of_16_bit_operations():
    half = ("x @ w", "F.linear(h, w)", "h.relu()", "h.softmax(1) @ w")
    return {name: torch.half if name in half else torch.float for name in as_a_dictionary()}


@answers.right(3)
def by_running_the_operations():
    x, w = torch.ones(4, 4, device="cuda"), torch.ones(4, 4, device="cuda")
    with torch.autocast("cuda", dtype=torch.float16):
        h, t = x @ w, torch.zeros(4, dtype=torch.int64, device="cuda")
        results = {
            "x @ w": x @ w,
            "x + w": x + w,
            "F.linear(h, w)": F.linear(h, w),
            "h.relu()": h.relu(),
            "h + x": h + x,
            "torch.cat([h, x])": torch.cat([h, x]),
            "h.softmax(1)": h.softmax(1),
            "h.softmax(1) @ w": h.softmax(1) @ w,
            "h.sum()": h.sum(),
            "F.cross_entropy(h, t)": F.cross_entropy(h, t),
        }
    return {name: result.dtype for name, result in results.items()}


@answers.wrong(3, "wrong-sensitive-operation")
def predicts_the_sum_in_16_bits():
    return {**as_a_dictionary(), "h.sum()": torch.float16}


@answers.wrong(3, "wrong-sensitive-operation")
def predicts_the_softmax_in_16_bits():
    return {**as_a_dictionary(), "h.softmax(1)": torch.float16}


@answers.wrong(3, "wrong-input-dtype")
def predicts_16_bits_everywhere():
    return dict.fromkeys(as_a_dictionary(), torch.float16)


@answers.wrong(3, "wrong-product")
def predicts_32_bits_everywhere():
    return dict.fromkeys(as_a_dictionary(), torch.float32)


@answers.wrong(3, "wrong-product")
def predicts_the_product_of_a_softmax_in_32_bits():
    return {**as_a_dictionary(), "h.softmax(1) @ w": torch.float32}


@answers.wrong(3, "wrong-input-dtype")
def predicts_relu_in_32_bits():
    return {**as_a_dictionary(), "h.relu()": torch.float32}


@answers.wrong(3, "wrong-input-dtype")
def predicts_a_sum_of_weights_in_16_bits():
    return {**as_a_dictionary(), "x + w": torch.float16}


@answers.wrong(3, "wrong-widest-dtype")
def predicts_cat_in_16_bits():
    return {**as_a_dictionary(), "torch.cat([h, x])": torch.float16}


@answers.wrong(3, "wrong-widest-dtype")
def predicts_the_narrower_dtype():
    return {**as_a_dictionary(), "h + x": torch.float16}


@answers.wrong(3, "not-a-dtype")
def returns_names_of_dtypes():
    return {name: str(dtype) for name, dtype in as_a_dictionary().items()}


@answers.wrong(3, "not-a-dtype")
def leaves_out_a_dtype():
    return {**as_a_dictionary(), "h.sum()": None}


@answers.wrong(3, "not-the-dictionary")
def drops_a_key():
    return dict(list(as_a_dictionary().items())[1:])


@answers.wrong(3, "not-the-dictionary")
def returns_values_only():
    return list(as_a_dictionary().values())


# Exercise 4: training_step(net, optimizer, scaler, X, y, max_norm)


def loss_of(net, X, y, dtype=torch.float16):
    with torch.autocast("cuda", dtype=dtype):
        return F.cross_entropy(net(X), y)


@answers.right(4)
def as_in_the_lesson(net, optimizer, scaler, X, y, max_norm):
    optimizer.zero_grad()
    loss = loss_of(net, X, y)
    scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    nn.utils.clip_grad_norm_(net.parameters(), max_norm)
    scaler.step(optimizer)
    scaler.update()
    return loss.detach()


@answers.wrong(4, "different-weights")
def sets_the_bias_to_nan(net, optimizer, scaler, X, y, max_norm):
    loss = as_in_the_lesson(net, optimizer, scaler, X, y, max_norm)
    with torch.no_grad():
        net[2].bias /= 0 * net[2].bias
    return loss


@answers.wrong(4, "in-evaluation-mode")
def switches_to_evaluation(net, optimizer, scaler, X, y, max_norm):
    net.eval()
    return as_in_the_lesson(net, optimizer, scaler, X, y, max_norm)


@answers.right(4)
def clears_at_the_end(net, optimizer, scaler, X, y, max_norm):
    with torch.amp.autocast(X.device.type, torch.float16):
        scores = net(X)
    loss = F.cross_entropy(scores.float(), y)
    scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    nn.utils.clip_grad_norm_([p for g in optimizer.param_groups for p in g["params"]], max_norm)
    scaler.step(optimizer)
    scaler.update()
    optimizer.zero_grad(set_to_none=False)
    return loss.detach().clone()


@answers.right(4)
def clips_with_a_scaled_limit(net, optimizer, scaler, X, y, max_norm):
    net.zero_grad()
    loss = loss_of(net, X, y)
    scaler.scale(loss).backward()
    nn.utils.clip_grad_norm_(net.parameters(), max_norm * scaler.get_scale())
    scaler.step(optimizer)
    scaler.update()
    return loss.data


@answers.wrong(4, "not-scaled")
def does_not_scale_the_loss(net, optimizer, scaler, X, y, max_norm):
    optimizer.zero_grad()
    loss = loss_of(net, X, y)
    loss.backward()
    nn.utils.clip_grad_norm_(net.parameters(), max_norm)
    optimizer.step()
    return loss.detach()


@answers.wrong(4, "plain-step")
def steps_the_optimizer_itself(net, optimizer, scaler, X, y, max_norm):
    optimizer.zero_grad()
    loss = loss_of(net, X, y)
    scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    nn.utils.clip_grad_norm_(net.parameters(), max_norm)
    optimizer.step()
    scaler.update()
    return loss.detach()


@answers.wrong(4, "no-update")
def never_updates_the_scale(net, optimizer, scaler, X, y, max_norm):
    optimizer.zero_grad()
    loss = loss_of(net, X, y)
    scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    nn.utils.clip_grad_norm_(net.parameters(), max_norm)
    scaler.step(optimizer)
    return loss.detach()


@answers.wrong(4, "clipped-before-unscaling")
def clips_before_it_unscales(net, optimizer, scaler, X, y, max_norm):
    optimizer.zero_grad()
    loss = loss_of(net, X, y)
    scaler.scale(loss).backward()
    nn.utils.clip_grad_norm_(net.parameters(), max_norm)
    scaler.unscale_(optimizer)
    scaler.step(optimizer)
    scaler.update()
    return loss.detach()


@answers.wrong(4, "clipped-before-unscaling")
def never_unscales(net, optimizer, scaler, X, y, max_norm):
    optimizer.zero_grad()
    loss = loss_of(net, X, y)
    scaler.scale(loss).backward()
    nn.utils.clip_grad_norm_(net.parameters(), max_norm)
    scaler.step(optimizer)
    scaler.update()
    return loss.detach()


@answers.wrong(4, "no-clip")
def forgets_to_clip(net, optimizer, scaler, X, y, max_norm):
    optimizer.zero_grad()
    loss = loss_of(net, X, y)
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
    return loss.detach()


@answers.wrong(4, "no-clip")
def clips_after_the_step(net, optimizer, scaler, X, y, max_norm):
    loss = forgets_to_clip(net, optimizer, scaler, X, y, max_norm)
    nn.utils.clip_grad_norm_(net.parameters(), max_norm)
    return loss


@answers.wrong(4, "gradients-kept")
def never_clears_the_gradients(net, optimizer, scaler, X, y, max_norm):
    loss = loss_of(net, X, y)
    scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    nn.utils.clip_grad_norm_(net.parameters(), max_norm)
    scaler.step(optimizer)
    scaler.update()
    return loss.detach()


@answers.wrong(4, "different-weights")
def clips_each_value(net, optimizer, scaler, X, y, max_norm):
    optimizer.zero_grad()
    loss = loss_of(net, X, y)
    scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    nn.utils.clip_grad_value_(net.parameters(), max_norm)
    scaler.step(optimizer)
    scaler.update()
    return loss.detach()


@answers.wrong(4, "no-autocast")
def stays_in_32_bits(net, optimizer, scaler, X, y, max_norm):
    optimizer.zero_grad()
    loss = F.cross_entropy(net(X), y)
    scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    nn.utils.clip_grad_norm_(net.parameters(), max_norm)
    scaler.step(optimizer)
    scaler.update()
    return loss.detach()


@answers.wrong(4, "different-precision")
def uses_bfloat16(net, optimizer, scaler, X, y, max_norm):
    optimizer.zero_grad()
    loss = loss_of(net, X, y, torch.bfloat16)
    scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    nn.utils.clip_grad_norm_(net.parameters(), max_norm)
    scaler.step(optimizer)
    scaler.update()
    return loss.detach()


@answers.wrong(4, "backward-inside")
def runs_backward_under_autocast(net, optimizer, scaler, X, y, max_norm):
    optimizer.zero_grad()
    with torch.autocast("cuda", dtype=torch.float16):
        loss = F.cross_entropy(net(X), y)
        scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    nn.utils.clip_grad_norm_(net.parameters(), max_norm)
    scaler.step(optimizer)
    scaler.update()
    return loss.detach()


@answers.right(4)
def scales_under_autocast(net, optimizer, scaler, X, y, max_norm):
    optimizer.zero_grad()
    with torch.autocast("cuda", dtype=torch.float16):
        loss = F.cross_entropy(net(X), y)
        scaled = scaler.scale(loss)
    scaled.backward()
    scaler.unscale_(optimizer)
    nn.utils.clip_grad_norm_(net.parameters(), max_norm)
    scaler.step(optimizer)
    scaler.update()
    return loss.detach()


@answers.wrong(4, "loss-in-half-precision")
def computes_the_loss_outside(net, optimizer, scaler, X, y, max_norm):
    optimizer.zero_grad()
    with torch.autocast("cuda", dtype=torch.float16):
        scores = net(X)
    loss = F.cross_entropy(scores, y)
    scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    nn.utils.clip_grad_norm_(net.parameters(), max_norm)
    scaler.step(optimizer)
    scaler.update()
    return loss.detach()


@answers.wrong(4, "scaled-loss")
def returns_the_scaled_loss(net, optimizer, scaler, X, y, max_norm):
    return as_in_the_lesson(net, optimizer, scaler, X, y, max_norm) * 1024


@answers.wrong(4, "different-loss")
def returns_the_sum(net, optimizer, scaler, X, y, max_norm):
    return as_in_the_lesson(net, optimizer, scaler, X, y, max_norm) * len(y)


@answers.wrong(4, "not-a-tensor")
def returns_a_number(net, optimizer, scaler, X, y, max_norm):
    return as_in_the_lesson(net, optimizer, scaler, X, y, max_norm).item()


@answers.wrong(4, "loss-has-graph")
def keeps_the_graph(net, optimizer, scaler, X, y, max_norm):
    optimizer.zero_grad()
    loss = loss_of(net, X, y)
    scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    nn.utils.clip_grad_norm_(net.parameters(), max_norm)
    scaler.step(optimizer)
    scaler.update()
    return loss


@answers.wrong(4, "weights-unchanged")
def clears_the_gradients_too_late(net, optimizer, scaler, X, y, max_norm):
    loss = loss_of(net, X, y)
    scaler.scale(loss).backward()
    optimizer.zero_grad(set_to_none=False)
    scaler.unscale_(optimizer)
    scaler.step(optimizer)
    scaler.update()
    return loss.detach()


@answers.wrong(4, "not-skipped")
def removes_infinite_gradients(net, optimizer, scaler, X, y, max_norm):
    optimizer.zero_grad()
    loss = loss_of(net, X, y)
    scaler.scale(loss).backward()
    for parameter in net.parameters():
        parameter.grad = parameter.grad.nan_to_num(0.5, 0.5, 0.5)
    scaler.unscale_(optimizer)
    nn.utils.clip_grad_norm_(net.parameters(), max_norm)
    scaler.step(optimizer)
    scaler.update()
    return loss.detach()


@answers.wrong(4, "scale-kept")
def sets_the_scale_again(net, optimizer, scaler, X, y, max_norm):
    scale = scaler.get_scale()
    loss = as_in_the_lesson(net, optimizer, scaler, X, y, max_norm)
    scaler.update(scale)
    return loss


@answers.wrong(4, "no-forward")
def does_not_call_the_network(net, optimizer, scaler, X, y, max_norm):
    optimizer.zero_grad()
    with torch.autocast("cuda", dtype=torch.float16):
        hidden = F.linear(X, net[0].weight, net[0].bias).relu()
        loss = F.cross_entropy(F.linear(hidden, net[2].weight, net[2].bias), y)
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
    return loss.detach()


@answers.wrong(4, "raised")
def forgets_the_backward_pass(net, optimizer, scaler, X, y, max_norm):
    optimizer.zero_grad()
    loss = scaler.scale(loss_of(net, X, y))
    scaler.step(optimizer)
    scaler.update()
    return loss.detach()


@answers.wrong(4, "always-clipped")
def always_scales_to_the_limit(net, optimizer, scaler, X, y, max_norm):
    optimizer.zero_grad()
    loss = loss_of(net, X, y)
    scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    gradients = [parameter.grad for parameter in net.parameters()]
    factor = max_norm / nn.utils.get_total_norm(gradients)
    for gradient in gradients:
        gradient *= factor
    scaler.step(optimizer)
    scaler.update()
    return loss.detach()


@answers.wrong(4, "no-autocast")
def uses_autocast_of_the_cpu(net, optimizer, scaler, X, y, max_norm):
    optimizer.zero_grad()
    with torch.autocast("cpu", dtype=torch.float16):
        loss = F.cross_entropy(net(X), y)
    scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    nn.utils.clip_grad_norm_(net.parameters(), max_norm)
    scaler.step(optimizer)
    scaler.update()
    return loss.detach()


# Exercise 5: utilization(kernels)


@answers.right(5)
def sorts_and_covers(kernels):
    if not kernels:
        return 0
    kernels = sorted(kernels)
    covered, busy = kernels[0][0], 0
    for start, length in kernels:
        busy += max(0, start + length - max(start, covered))
        covered = max(covered, start + length)
    return busy / (covered - kernels[0][0])


@answers.right(5)
def counts_microseconds(kernels):
    busy = {t for start, length in kernels for t in range(start, start + length)}
    return len(busy) / (max(busy) - min(busy) + 1) if busy else 0.0


@answers.right(5)
def counts_open_kernels(kernels):
    changes = [(start, 1) for start, _ in kernels] + [(s + n, -1) for s, n in kernels]
    busy = running = 0
    before = None
    for time, change in sorted(changes):
        if running:
            busy += time - before
        running += change
        before = time
    return busy / (max(changes)[0] - min(changes)[0]) if kernels else 0


@answers.wrong(5, "overlap")
def adds_up_all_lengths(kernels):
    if not kernels:
        return 0
    first, last = min(s for s, _ in kernels), max(s + n for s, n in kernels)
    return sum(length for _, length in kernels) / (last - first)


@answers.wrong(5, "overlap")
def clamps_the_sum_at_one(kernels):
    return min(1.0, adds_up_all_lengths(kernels))


@answers.wrong(5, "order")
def assumes_sorted_kernels(kernels):
    if not kernels:
        return 0
    covered, busy = kernels[0][0], 0
    for start, length in kernels:
        busy += max(0, start + length - max(start, covered))
        covered = max(covered, start + length)
    return busy / (covered - kernels[0][0])


@answers.wrong(5, "order")
def takes_first_and_last_of_the_list(kernels):
    if not kernels:
        return 0
    return sum(n for _, n in kernels) / (sum(kernels[-1]) - kernels[0][0])


@answers.wrong(5, "nested")
def ends_with_the_kernel_that_starts_last(kernels):
    if not kernels:
        return 0
    busy = {t for start, length in kernels for t in range(start, start + length)}
    return len(busy) / (sum(max(kernels)) - min(kernels)[0])


@answers.wrong(5, "nested")
def compares_only_with_the_last_end(kernels):
    if not kernels:
        return 0
    kernels = sorted(kernels)
    before, busy = kernels[0][0], 0
    for start, length in kernels:
        busy += max(0, start + length - max(start, before))
        before = start + length
    return busy / (max(s + n for s, n in kernels) - kernels[0][0])


@answers.wrong(5, "percent")
def returns_a_percentage(kernels):
    return 100 * sorts_and_covers(kernels)


@answers.wrong(5, "idle")
def returns_the_idle_fraction(kernels):
    return 1 - sorts_and_covers(kernels)


@answers.wrong(5, "not-a-fraction")
def returns_the_busy_time(kernels):
    return len({t for start, length in kernels for t in range(start, start + length)})


@answers.wrong(5, "from-zero")
def starts_at_zero(kernels):
    busy = {t for start, length in kernels for t in range(start, start + length)}
    return len(busy) / (max(busy) + 1) if busy else 0


@answers.wrong(5, "last-kernel")
def ends_with_the_last_start(kernels):
    if not kernels:
        return 0
    starts = [start for start, _ in kernels]
    return returns_the_busy_time(kernels) / (max(starts) - min(starts))


@answers.wrong(5, "wrong-fraction")
def uses_lengths_as_ends(kernels):
    if not kernels:
        return 0
    span = max(end for _, end in kernels) - min(start for start, _ in kernels)
    return sum(end - start for start, end in kernels) / span


@answers.wrong(5, "wrong-fraction")
def counts_kernels(kernels):
    return len(kernels) / 100


@answers.wrong(5, "empty")
def fails_without_kernels(kernels):
    busy = {t for start, length in kernels for t in range(start, start + length)}
    return len(busy) / (max(busy) - min(busy) + 1)


@answers.wrong(5, "input-changed")
def sorts_in_place(kernels):
    kernels.sort(reverse=True)
    return sorts_and_covers(kernels)


@answers.wrong(5, "not-a-number")
def returns_text(kernels):
    return f"{sorts_and_covers(kernels):.0%}"
