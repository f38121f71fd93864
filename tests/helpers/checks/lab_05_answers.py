"""Right and wrong answers to lab 05, with the hint that each wrong one must get."""

import math
import statistics
import time
import timeit
from datetime import datetime
from time import perf_counter, sleep

import torch
from torch.utils.benchmark import Timer

from helpers.checks import lab_05
from helpers.checks.lab_05.exercise_3_prepare import slow_prepare
from helpers.loaders import normalize
from tests.helpers.checks.collection import Answers

answers = Answers(lab_05)

# Exercise 1: seconds_per_call(call, device, runs)


def _wait(device):
    if device.type != "cpu":
        torch.accelerator.synchronize(device)


def _times(call, device, runs, *, warm=True, before=True, after=True):
    if warm:
        call()
    seconds = []
    for _ in range(runs):
        if before:
            _wait(device)
        start = time.perf_counter()
        call()
        if after:
            _wait(device)
        seconds.append(time.perf_counter() - start)
    return seconds


@answers.right(1)
def with_perf_counter(call, device, runs):
    return statistics.median(_times(call, device, runs))


@answers.right(1)
def with_torchs_timer(call, device, runs):
    timer = Timer("call()", globals={"call": call}, timer=_clock_of(device))
    call()
    return statistics.median(timer.timeit(1).mean for _ in range(runs))


def _clock_of(device):
    def clock():
        _wait(device)
        return timeit.default_timer()

    return clock


@answers.right(1)
def with_cuda_events(call, device, runs):
    if device.type == "cpu":
        return with_perf_counter(call, device, runs)
    call()
    seconds = []
    for _ in range(runs):
        start = torch.cuda.Event(enable_timing=True)
        end = torch.cuda.Event(enable_timing=True)
        start.record()
        call()
        end.record()
        end.synchronize()
        seconds.append(start.elapsed_time(end) / 1000)
    return float(torch.tensor(seconds).median())


@answers.right(1)
def with_the_stream_and_without_the_first(call, device, runs):
    seconds = []
    for _ in range(runs + 1):
        if device.type == "cuda":
            torch.cuda.current_stream(device).synchronize()
        start = time.monotonic()
        call()
        if device.type == "cuda":
            torch.cuda.synchronize(device)
        seconds.append(time.monotonic() - start)
    return sorted(seconds[1:])[runs // 2]


@answers.right(1)
def with_an_imported_clock_and_a_helper(call, device, runs):
    def seconds_of_one():
        _wait(device)
        start = perf_counter()
        call()
        _wait(device)
        return perf_counter() - start

    seconds_of_one()
    return statistics.median(seconds_of_one() for _ in range(runs))


@answers.right(1)
def with_a_clock_as_default_argument(call, device, runs, clock=time.perf_counter_ns):
    call()
    seconds = []
    for _ in range(runs):
        _wait(device)
        start = clock()
        call()
        _wait(device)
        seconds.append((clock() - start) / 1e9)
    return statistics.median(seconds)


@answers.right(1)
def with_timeit_for_one_call_at_a_time(call, device, runs):
    def call_and_wait():
        call()
        _wait(device)

    return statistics.median(timeit.repeat(call_and_wait, number=1, repeat=runs + 1)[1:])


@answers.right(1)
def with_the_time_of_day(call, device, runs):
    call()
    seconds = []
    for _ in range(runs):
        _wait(device)
        start = datetime.now()
        call()
        _wait(device)
        seconds.append((datetime.now() - start).total_seconds())
    return statistics.median(seconds)


@answers.right(1)
def polls_an_event(call, device, runs):
    if device.type == "cpu":
        return with_perf_counter(call, device, runs)
    seconds = []
    for _ in range(runs + 1):
        torch.cuda.synchronize()
        start = time.perf_counter()
        call()
        event = torch.cuda.current_stream().record_event()
        while not event.query():
            sleep(0.001)
        seconds.append(time.perf_counter() - start)
    return statistics.median(seconds[1:])


@answers.right(1)
def polls_the_stream(call, device, runs):
    def clock():
        while device.type == "cuda" and not torch.cuda.current_stream().query():
            pass
        return time.perf_counter()

    call()
    seconds = []
    for _ in range(runs):
        start = clock()
        call()
        seconds.append(clock() - start)
    return statistics.median(seconds)


@answers.wrong(1, "not-waited")
def measures_cpu_time(call, device, runs):
    call()
    seconds = []
    for _ in range(runs):
        _wait(device)
        start = time.process_time()
        call()
        _wait(device)
        seconds.append(time.process_time() - start)
    return statistics.median(seconds)


@answers.wrong(1, "not-waited")
def does_not_wait(call, device, runs):
    return statistics.median(_times(call, device, runs, before=False, after=False))


@answers.wrong(1, "not-waited")
def waits_after_reading_the_clock(call, device, runs):
    return statistics.median(_times(call, device, runs, after=False))


@answers.wrong(1, "not-waited")
def uses_timeit(call, device, runs):
    call()
    return timeit.timeit(call, number=runs) / runs


@answers.wrong(1, "starts-too-early")
def waits_at_the_end_only(call, device, runs):
    return statistics.median(_times(call, device, runs, before=False))


@answers.wrong(1, "starts-too-early")
def does_not_warm_up_or_empty_the_queue(call, device, runs):
    return statistics.median(_times(call, device, runs, warm=False, before=False))


@answers.wrong(1, "no-warm-up")
def does_not_warm_up(call, device, runs):
    return statistics.median(_times(call, device, runs, warm=False))


@answers.wrong(1, "no-warm-up")
def takes_the_largest(call, device, runs):
    return max(_times(call, device, runs + 1, warm=False))


@answers.wrong(1, "not-the-median")
def takes_the_mean(call, device, runs):
    return statistics.mean(_times(call, device, runs))


@answers.wrong(1, "not-the-median")
def takes_the_smallest(call, device, runs):
    return min(_times(call, device, runs))


@answers.wrong(1, "not-the-median")
def times_all_runs_together(call, device, runs):
    call()
    _wait(device)
    start = time.perf_counter()
    for _ in range(runs):
        call()
    _wait(device)
    return (time.perf_counter() - start) / runs


@answers.wrong(1, "not-the-median")
def returns_the_sum(call, device, runs):
    return sum(_times(call, device, runs))


@answers.wrong(1, "too-few-runs")
def times_one_call(call, device, runs):
    return _times(call, device, 1)[0]


@answers.wrong(1, "different-unit")
def returns_milliseconds(call, device, runs):
    return 1000 * statistics.median(_times(call, device, runs))


@answers.wrong(1, "different-unit")
def returns_nanoseconds(call, device, runs):
    call()
    seconds = []
    for _ in range(runs):
        _wait(device)
        start = time.perf_counter_ns()
        call()
        _wait(device)
        seconds.append(time.perf_counter_ns() - start)
    return statistics.median(seconds)


@answers.wrong(1, "not-a-number")
def returns_all_times(call, device, runs):
    return _times(call, device, runs)


@answers.wrong(1, "needs-a-gpu")
def always_waits_for_a_gpu(call, device, runs):
    call()
    seconds = []
    for _ in range(runs):
        torch.cuda.synchronize()
        start = time.perf_counter()
        call()
        torch.cuda.synchronize()
        seconds.append(time.perf_counter() - start)
    return statistics.median(seconds)


@answers.wrong(1, "no-result")
def prints_it(call, device, runs):
    print(statistics.median(_times(call, device, runs)))


@answers.wrong(1, "wrong-time")
def calls_twice_for_each_time(call, device, runs):
    call()
    seconds = []
    for _ in range(runs):
        _wait(device)
        start = time.perf_counter()
        call()
        call()
        _wait(device)
        seconds.append(time.perf_counter() - start)
    return statistics.median(seconds)


@answers.wrong(1, "too-few-runs")
def returns_a_number_without_calling(call, device, runs):
    return 0.03


@answers.wrong(1, "not-the-median")
def calls_and_returns_a_number(call, device, runs):
    _times(call, device, runs)
    return 0.3


@answers.wrong(1, "sleeps")
def sleeps_for_a_fixed_time(call, device, runs):
    if device.type == "cpu":
        return statistics.median(_times(call, device, runs))
    call()
    time.sleep(0.4)
    seconds = []
    for _ in range(runs):
        start = time.perf_counter()
        call()
        _wait(device)
        seconds.append(time.perf_counter() - start)
    return statistics.median(seconds)


@answers.wrong(1, "runs-ignored")
def ignores_the_number_of_runs(call, device, runs):
    return statistics.median(_times(call, device, 9))


@answers.wrong(1, "not-the-median")
def forgets_to_sort(call, device, runs):
    return _times(call, device, runs)[runs // 2]


# Exercise 2: seconds_per_part(parts, device, steps)


def _parts(parts, device, steps, *, before=True, after=True, first=False, divide=None):
    total = dict.fromkeys(parts, 0.0)
    for step in range(steps + 1):
        for name, part in parts.items():
            if before:
                _wait(device)
            start = time.perf_counter()
            part()
            if after:
                _wait(device)
            if step or first:
                total[name] += time.perf_counter() - start
    return {name: seconds / (divide or steps) for name, seconds in total.items()}


@answers.right(2)
def waits_around_each_part(parts, device, steps):
    return _parts(parts, device, steps)


@answers.right(2)
def waits_at_the_end_of_each_part(parts, device, steps):
    _wait(device)
    return _parts(parts, device, steps, before=False)


@answers.right(2)
def with_lists_and_a_separate_warm_up(parts, device, steps):
    for part in parts.values():
        part()
    torch.cuda.synchronize()
    seconds = {name: [] for name in parts}
    for _ in range(steps):
        last = time.time()
        for name, part in parts.items():
            part()
            torch.cuda.synchronize()
            now = time.time()
            seconds[name].append(now - last)
            last = now
    return {name: statistics.mean(values) for name, values in seconds.items()}


@answers.wrong(2, "counted-in-another-part")
def never_waits(parts, device, steps):
    return _parts(parts, device, steps, before=False, after=False)


@answers.wrong(2, "counted-in-another-part")
def waits_before_each_part_only(parts, device, steps):
    return _parts(parts, device, steps, after=False)


@answers.wrong(2, "counted-in-another-part")
def waits_at_the_end_of_the_step(parts, device, steps):
    total = dict.fromkeys(parts, 0.0)
    for step in range(steps + 1):
        for name, part in parts.items():
            start = time.perf_counter()
            part()
            if name == "optimizer":
                _wait(device)
            total[name] += (time.perf_counter() - start) * (step > 0)
    return {name: seconds / steps for name, seconds in total.items()}


@answers.wrong(2, "first-step-counted")
def counts_the_first_step(parts, device, steps):
    return _parts(parts, device, steps, first=True, divide=steps + 1)


@answers.wrong(2, "first-step-counted")
def counts_the_first_step_but_divides_without_it(parts, device, steps):
    return _parts(parts, device, steps, first=True)


@answers.wrong(2, "sum-of-steps")
def returns_the_sum_over_steps(parts, device, steps):
    return _parts(parts, device, steps, divide=1)


@answers.wrong(2, "wrong-order")
def measures_one_part_after_the_other(parts, device, steps):
    result = {}
    for name, part in parts.items():
        part()
        _wait(device)
        start = time.perf_counter()
        for _ in range(steps):
            part()
        _wait(device)
        result[name] = (time.perf_counter() - start) / steps
    return result


@answers.wrong(2, "steps-miscounted")
def runs_no_warm_up_step(parts, device, steps):
    total = dict.fromkeys(parts, 0.0)
    for _ in range(steps):
        for name, part in parts.items():
            start = time.perf_counter()
            part()
            _wait(device)
            total[name] += time.perf_counter() - start
    return {name: seconds / steps for name, seconds in total.items()}


@answers.wrong(2, "steps-miscounted")
def runs_two_warm_up_steps(parts, device, steps):
    for part in parts.values():
        part()
    return _parts(parts, device, steps)


@answers.wrong(2, "wrong-mean")
def keeps_the_last_step_only(parts, device, steps):
    result = {}
    for _ in range(steps + 1):
        for name, part in parts.items():
            _wait(device)
            start = time.perf_counter()
            part()
            _wait(device)
            result[name] = time.perf_counter() - start
    return result


@answers.wrong(2, "wrong-mean")
def divides_by_twice_as_many_steps(parts, device, steps):
    return _parts(parts, device, steps, divide=2 * steps)


@answers.wrong(2, "not-the-parts")
def returns_the_slowest_part(parts, device, steps):
    seconds = _parts(parts, device, steps)
    return max(seconds, key=seconds.get)


@answers.wrong(2, "not-the-parts")
def returns_a_list(parts, device, steps):
    return list(_parts(parts, device, steps).values())


@answers.wrong(2, "no-result")
def forgets_the_return(parts, device, steps):
    _parts(parts, device, steps)


@answers.wrong(2, "wrong-mean")
def divides_by_all_steps(parts, device, steps):
    means = _parts(parts, device, steps)
    return {name: seconds * steps / (steps + 1) for name, seconds in means.items()}


# Exercise 3: prepare(images, chosen)


@answers.right(3)
def indexes_and_normalizes(images, chosen):
    return (images[chosen].float() / 255 - 0.5) / 0.5


@answers.right(3)
def with_the_courses_helper(images, chosen):
    return normalize(images.index_select(0, chosen))


@answers.right(3)
def stacks_the_bytes_and_converts_once(images, chosen):
    return torch.stack([images[i] for i in chosen.tolist()]).to(torch.float32) / 127.5 - 1


@answers.right(3)
def fills_an_existing_batch(images, chosen):
    batch = torch.empty(len(chosen), 3, 32, 32)
    batch.copy_(torch.index_select(images, 0, chosen))
    return batch.mul_(2 / 255).sub_(1)


@answers.wrong(3, "not-faster")
def leaves_the_loop_unchanged(images, chosen):
    return slow_prepare(images, chosen)


@answers.wrong(3, "not-faster")
def converts_row_by_row(images, chosen):
    batch = torch.empty(len(chosen), 3, 32, 32)
    for position, index in enumerate(chosen.tolist()):
        for row in range(32):
            batch[position, :, row] = (images[index, :, row].float() / 255 - 0.5) / 0.5
    return batch


@answers.wrong(3, "not-faster")
def normalizes_all_images(images, chosen):
    return ((images.float() / 255 - 0.5) / 0.5)[chosen]


@answers.wrong(3, "not-faster")
def converts_to_lists(images, chosen):
    return torch.tensor(images[chosen].tolist()) / 127.5 - 1


@answers.wrong(3, "different-numbers")
def divides_only(images, chosen):
    return images[chosen].float() / 255


@answers.wrong(3, "different-numbers")
def forgets_to_divide(images, chosen):
    return images[chosen].float()


@answers.wrong(3, "different-numbers")
def subtracts_before_converting(images, chosen):
    return ((images[chosen] - 128) // 1).float() / 127.5


@answers.wrong(3, "different-numbers")
def normalizes_by_the_batch(images, chosen):
    batch = images[chosen].float()
    return (batch - batch.mean()) / (batch.std() + 1)


@answers.wrong(3, "different-images")
def takes_the_first_images(images, chosen):
    batch = normalize(images[: len(chosen)])
    batch[0, 0, 0, 0] = -1
    return batch


@answers.wrong(3, "different-images")
def sorts_the_images(images, chosen):
    batch = normalize(images[chosen.sort(descending=True).values])
    batch[0, 0, 0, 0] = -1
    return batch


@answers.wrong(3, "not-a-batch")
def removes_duplicates(images, chosen):
    return normalize(images[chosen.unique()]) if len(chosen) > 1 else normalize(images[:2])


@answers.wrong(3, "not-a-batch")
def returns_float16(images, chosen):
    return normalize(images[chosen]).half()


@answers.wrong(3, "not-a-batch")
def keeps_the_list(images, chosen):
    return [normalize(images[i]) for i in chosen.tolist()]


@answers.wrong(3, "not-a-batch")
def loses_the_batch_of_one(images, chosen):
    return normalize(images[chosen]).squeeze()


@answers.wrong(3, "input-changed")
def writes_into_the_images(images, chosen):
    batch = normalize(images[chosen])
    images[:5] //= 2
    return batch


@answers.wrong(3, "no-result")
def computes_and_does_not_return(images, chosen):
    normalize(images[chosen])


STORED = {}


def with_empty_store(f):
    STORED.clear()
    return (f,)


@answers.wrong(3, "stale-batch", arguments=with_empty_store)
def keeps_the_result_of_the_last_call(images, chosen):
    if STORED.get("shape") != chosen.shape:
        STORED["shape"] = chosen.shape
        STORED["batch"] = (images[chosen].float() / 255 - 0.5) / 0.5
    return STORED["batch"]


@answers.wrong(3, "stale-batch", arguments=with_empty_store)
def keeps_the_normalized_images(images, chosen):
    if STORED.get("count") != len(images):
        STORED["count"] = len(images)
        STORED["images"] = (images.float() / 255 - 0.5) / 0.5
    return STORED["images"][chosen]


@answers.wrong(3, "stale-batch", arguments=with_empty_store)
def keeps_a_batch_for_each_array_of_images(images, chosen):
    if images.data_ptr() not in STORED:
        STORED[images.data_ptr()] = (images[chosen].float() / 255 - 0.5) / 0.5
    return STORED[images.data_ptr()]


# Exercise 4: plan(images, batch, base_batch=4, base_rate=0.001, limit=0.1)


@answers.right(4)
def by_rounding_up(images, batch, base_batch=4, base_rate=0.001, limit=0.1):
    return math.ceil(images / batch), min(limit, base_rate * batch / base_batch)


@answers.right(4)
def by_counting(images, batch, base_batch=4, base_rate=0.001, limit=0.1):
    rate = batch / base_batch * base_rate
    if rate > limit:
        rate = limit
    return len(range(0, images, batch)), rate


@answers.right(4)
def by_quotient_and_remainder(images, batch, base_batch=4, base_rate=0.001, limit=0.1):
    steps, rest = divmod(images, batch)
    return steps + bool(rest), min(base_rate / base_batch * batch, limit)


@answers.wrong(4, "last-batch-lost")
def rounds_down(images, batch, base_batch=4, base_rate=0.001, limit=0.1):
    return images // batch, min(base_rate * batch / base_batch, limit)


@answers.wrong(4, "too-many-steps")
def always_adds_a_step(images, batch, base_batch=4, base_rate=0.001, limit=0.1):
    return images // batch + 1, min(base_rate * batch / base_batch, limit)


@answers.wrong(4, "not-a-pair")
def returns_a_fraction_of_steps(images, batch, base_batch=4, base_rate=0.001, limit=0.1):
    return images / batch, min(base_rate * batch / base_batch, limit)


@answers.wrong(4, "not-a-pair")
def returns_only_the_rate(images, batch, base_batch=4, base_rate=0.001, limit=0.1):
    return min(base_rate * batch / base_batch, limit)


@answers.wrong(4, "rate-unchanged")
def does_not_scale_the_rate(images, batch, base_batch=4, base_rate=0.001, limit=0.1):
    return math.ceil(images / batch), base_rate


@answers.wrong(4, "rate-decreased")
def inverts_the_fraction(images, batch, base_batch=4, base_rate=0.001, limit=0.1):
    return math.ceil(images / batch), min(base_rate * base_batch / batch, limit)


@answers.wrong(4, "square-root-rule")
def with_the_square_root(images, batch, base_batch=4, base_rate=0.001, limit=0.1):
    return math.ceil(images / batch), min(base_rate * (batch / base_batch) ** 0.5, limit)


@answers.wrong(4, "no-limit")
def without_the_limit(images, batch, base_batch=4, base_rate=0.001, limit=0.1):
    return math.ceil(images / batch), base_rate * batch / base_batch


@answers.wrong(4, "wrong-rate")
def returns_at_least_the_limit(images, batch, base_batch=4, base_rate=0.001, limit=0.1):
    return math.ceil(images / batch), max(base_rate * batch / base_batch, limit)


@answers.wrong(4, "wrong-rate")
def uses_integer_division(images, batch, base_batch=4, base_rate=0.001, limit=0.1):
    return math.ceil(images / batch), min(base_rate * max(1, batch // base_batch), limit)


@answers.wrong(4, "wrong-rate")
def hard_codes_the_defaults(images, batch, base_batch=4, base_rate=0.001, limit=0.1):
    return math.ceil(images / batch), min(0.001 * batch / 4, 0.1)


@answers.wrong(4, "wrong-arguments")
def has_no_defaults(images, batch, base_batch, base_rate, limit):
    return math.ceil(images / batch), min(base_rate * batch / base_batch, limit)
