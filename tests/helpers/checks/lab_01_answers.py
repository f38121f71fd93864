"""Right and wrong answers to lab 01, with the hint that each wrong one must get."""

import math

import numpy as np
import torch

from helpers.checks import lab_01
from tests.helpers.checks.collection import Answers

answers = Answers(lab_01)

# Exercise 1: move_all(tensors, device)


@answers.wrong(1, "result-dropped")
def drops_the_result_of_to(tensors, device):
    for tensor in tensors:
        tensor.to(device)
    return list(tensors)


@answers.wrong(1, "result-dropped")
def rebinds_the_loop_variable(tensors, device):
    for tensor in tensors:
        tensor = tensor.to(device)
    return [*tensors]


@answers.wrong(1, "result-dropped")
def moves_only_the_first(tensors, device):
    return [tensors[0].to(device), *tensors[1:]] if tensors else []


@answers.wrong(1, "different-device")
def always_moves_to_the_gpu(tensors, device):
    return [tensor.cuda() for tensor in tensors]


@answers.wrong(1, "different-device")
def hard_codes_the_device(tensors, device):
    return [tensor.to("cuda:0") for tensor in tensors]


@answers.wrong(1, "input-changed")
def modifies_the_callers_list(tensors, device):
    for i in range(len(tensors)):
        tensors[i] = tensors[i].to(device)
    return tensors


@answers.wrong(1, "no-result")
def forgets_to_return(tensors, device):
    [tensor.to(device) for tensor in tensors]


@answers.wrong(1, "not-a-list")
def returns_a_generator(tensors, device):
    return (tensor.to(device) for tensor in tensors)


@answers.wrong(1, "not-a-list")
def returns_from_inside_the_loop(tensors, device):
    for tensor in tensors:
        return tensor.to(device)
    return []


@answers.wrong(1, "not-a-list")
def skips_the_last_tensor(tensors, device):
    return [tensors[i].to(device) for i in range(len(tensors) - 1)]


@answers.wrong(1, "dtype-changed")
def converts_all_to_float(tensors, device):
    return [tensor.to(device, torch.float32) for tensor in tensors]


@answers.wrong(1, "dtype-changed")
def takes_the_type_of_another_tensor(tensors, device):
    like = torch.zeros(1, device=device)
    return [tensor.to(like) for tensor in tensors]


@answers.wrong(1, "needless-copy")
def copies_tensors_already_on_the_device(tensors, device):
    return [tensor.to(device, copy=True) for tensor in tensors]


@answers.wrong(1, "needless-copy")
def recreates_every_tensor(tensors, device):
    return [torch.tensor(tensor.tolist(), dtype=tensor.dtype, device=device) for tensor in tensors]


@answers.wrong(1, "wrong-numbers")
def fills_every_tensor_with_a_number(tensors, device):
    return [torch.full_like(tensor, 3, device=device) for tensor in tensors]


@answers.wrong(1, "device-error")
def stacks_the_tensors(tensors, device):
    return list(torch.stack(tensors).to(device))


@answers.wrong(1, "wrong-arguments")
def takes_the_tensors_only(tensors):
    return [tensor.to("cuda:0") for tensor in tensors]


@answers.wrong(1, "not-callable", arguments=lambda f: ([torch.zeros(2)],))
def passes_a_list():
    pass


@answers.wrong(1, "not-written")
def leaves_the_stub(tensors, device):
    raise NotImplementedError("exercise 1: write move_all")


@answers.right(1)
def with_a_comprehension(tensors, device):
    return [tensor.to(device) for tensor in tensors]


@answers.right(1)
def with_a_loop(tensors, device):
    moved = []
    for tensor in tensors:
        moved.append(tensor.to(device=device))
    return moved


@answers.right(1)
def with_map(tensors, device):
    return list(map(torch.Tensor.to, tensors, [device] * len(tensors)))


@answers.right(1)
def on_a_copy_of_the_list(tensors, device):
    moved = tensors.copy()
    for i, tensor in enumerate(moved):
        if tensor.device != torch.device(device):
            moved[i] = tensor.to(device)
    return moved


# Exercise 2: try_gpu(i=0), try_all_gpus()


@answers.right(2, arguments=lambda f: (f, all_by_count))
def by_count(i=0):
    return torch.device("cuda", i) if torch.cuda.device_count() > i else torch.device("cpu")


def all_by_count():
    gpus = [torch.device("cuda", i) for i in range(torch.cuda.device_count())]
    return gpus or [torch.device("cpu")]


@answers.right(2, arguments=lambda f: (f, all_with_a_loop))
def by_catching_the_error(i=0):
    try:
        return torch.zeros(1, device=f"cuda:{i}").device
    except (RuntimeError, AssertionError):
        return torch.device("cpu")


def all_with_a_loop():
    gpus = []
    i = 0
    while by_count(i).type == "cuda":
        gpus.append(by_count(i))
        i += 1
    if not gpus:
        gpus.append(torch.device("cpu"))
    return gpus


@answers.right(2, arguments=lambda f: (f, all_with_the_accelerator_api))
def by_device_string(i=0):
    return torch.device(f"cuda:{i}" if i < torch.cuda.device_count() else "cpu")


def all_with_the_accelerator_api():
    if not torch.accelerator.is_available():
        return [torch.device("cpu")]
    return [torch.device(f"cuda:{i}") for i in range(torch.accelerator.device_count())]


@answers.wrong(2, "no-fallback", arguments=lambda f: (f, all_by_count))
def accepts_one_gpu_too_many(i=0):
    return torch.device("cuda", i) if torch.cuda.device_count() >= i else torch.device("cpu")


@answers.wrong(2, "no-fallback", arguments=lambda f: (f, all_by_count))
def checks_only_is_available(i=0):
    return torch.device("cuda", i) if torch.cuda.is_available() else torch.device("cpu")


@answers.wrong(2, "no-fallback", arguments=lambda f: (f, all_by_count))
def never_falls_back(i=0):
    return torch.device("cuda", i)


@answers.wrong(2, "wrong-gpu", arguments=lambda f: (f, all_by_count))
def always_returns_the_first_gpu(i=0):
    return torch.device("cuda:0") if torch.cuda.is_available() else torch.device("cpu")


@answers.wrong(2, "wrong-gpu", arguments=lambda f: (f, all_by_count))
def ignores_the_last_gpu(i=0):
    return torch.device("cuda", i) if torch.cuda.device_count() > i + 1 else torch.device("cpu")


@answers.wrong(2, "wrong-gpu", arguments=lambda f: (f, all_by_count))
def hard_codes_this_machine(i=0):
    return torch.device("cpu")


@answers.wrong(2, "wrong-gpu", arguments=lambda f: (f, all_by_count))
def uses_another_default(i=1):
    return by_count(i)


@answers.wrong(2, "no-default", arguments=lambda f: (f, all_by_count))
def has_no_default(i):
    return by_count(i)


@answers.wrong(2, "not-a-device", arguments=lambda f: (f, all_by_count))
def returns_a_string(i=0):
    return f"cuda:{i}" if torch.cuda.device_count() > i else "cpu"


@answers.wrong(2, "no-index", arguments=lambda f: (f, all_by_count))
def omits_the_gpu_number(i=0):
    return torch.device("cuda") if torch.cuda.device_count() > i else torch.device("cpu")


@answers.wrong(2, "no-result", arguments=lambda f: (f, all_by_count))
def does_not_return_the_cpu(i=0):
    device = None
    if torch.cuda.device_count() > i:
        device = torch.device("cuda", i)
    return device


@answers.wrong(2, "empty-list", arguments=lambda f: (by_count, f))
def returns_an_empty_list_without_gpus():
    return [torch.device("cuda", i) for i in range(torch.cuda.device_count())]


@answers.wrong(2, "wrong-list", arguments=lambda f: (by_count, f))
def adds_the_cpu():
    gpus = [torch.device("cuda", i) for i in range(torch.cuda.device_count())]
    return [*gpus, torch.device("cpu")]


@answers.wrong(2, "wrong-list", arguments=lambda f: (by_count, f))
def counts_from_one():
    gpus = [torch.device("cuda", i) for i in range(1, torch.cuda.device_count() + 1)]
    return gpus or [torch.device("cpu")]


@answers.wrong(2, "wrong-list", arguments=lambda f: (by_count, f))
def returns_only_the_first_gpu():
    return [by_count()]


@answers.wrong(2, "not-a-list", arguments=lambda f: (by_count, f))
def returns_a_tuple():
    return tuple(all_by_count())


@answers.wrong(2, "not-a-device", arguments=lambda f: (by_count, f))
def returns_names():
    return [str(device) for device in all_by_count()]


# Exercise 3: add_ramp(X)


@answers.right(3)
def creates_arange_on_the_device(X):
    return X + torch.arange(X.shape[1], dtype=X.dtype, device=X.device)


@answers.right(3)
def with_a_device_context(X):
    with torch.device(X.device):
        return X + torch.arange(X.size(-1))


@answers.right(3)
def with_cumsum(X):
    return X + torch.ones_like(X).cumsum(dim=1) - 1


@answers.right(3)
def column_by_column(X):
    result = X.clone()
    for column in range(X.shape[1]):
        result[:, column] += column
    return result


@answers.right(3)
def by_new_tensor(X):
    return X + X.new_tensor(range(X.shape[1]))


@answers.wrong(3, "device-error")
def creates_arange_on_the_cpu(X):
    return X + torch.arange(X.shape[1])


@answers.wrong(3, "copied")
def creates_on_the_cpu_and_moves(X):
    return X + torch.arange(X.shape[1]).to(X.device)


@answers.wrong(3, "copied")
def computes_on_the_cpu(X):
    return (X.cpu() + torch.arange(X.shape[1])).to(X.device)


@answers.wrong(3, "device-error")
def hard_codes_the_first_gpu(X):
    return X + torch.arange(X.shape[1], device="cuda:0")


@answers.wrong(3, "result-elsewhere")
def returns_the_sum_on_the_cpu(X):
    return X.cpu() + torch.arange(X.shape[1])


@answers.wrong(3, "wrong-ramp")
def starts_with_one(X):
    return X + torch.arange(1, X.shape[1] + 1, device=X.device)


@answers.wrong(3, "wrong-ramp")
def counts_backward(X):
    return X + torch.arange(X.shape[1] - 1, -1, -1, device=X.device)


@answers.wrong(3, "raised")
def counts_the_rows(X):
    return X + torch.arange(X.shape[0], device=X.device)


@answers.wrong(3, "wrong-shape")
def transposes_the_input(X):
    return X.t() + torch.arange(X.shape[0], device=X.device)


@answers.wrong(3, "wrong-ramp")
def adds_row_numbers(X):
    return X + torch.arange(X.shape[0], device=X.device)[:, None]


@answers.wrong(3, "input-changed")
def adds_in_place(X):
    X += torch.arange(X.shape[1], dtype=X.dtype, device=X.device)
    return X


@answers.wrong(3, "dtype-changed")
def converts_to_float(X):
    return X.float() + torch.arange(X.shape[1], device=X.device)


@answers.wrong(3, "dtype-changed")
def creates_a_float32_ramp(X):
    return X + torch.arange(X.shape[1], dtype=torch.float32, device=X.device)


@answers.wrong(3, "raised")
def assumes_three_columns(X):
    return X + torch.tensor([0, 1, 2], device=X.device)


@answers.wrong(3, "no-result")
def drops_the_sum(X):
    X + torch.arange(X.shape[1], device=X.device)


@answers.wrong(3, "not-a-tensor")
def returns_a_list_of_rows(X):
    return [row + torch.arange(X.shape[1], device=X.device) for row in X]


@answers.wrong(3, "raised")
def uses_a_missing_attribute(X):
    return X + torch.arange(X.columns, device=X.device)


# Exercise 4: gpu_bytes(shape, dtype)


@answers.right(4)
def by_a_meta_tensor(shape, dtype):
    size = torch.empty(shape, dtype=dtype, device="meta").nbytes
    return (size + 511) // 512 * 512


@answers.right(4)
def by_multiplying(shape, dtype):
    return math.ceil(math.prod(shape) * dtype.itemsize / 512) * 512


@answers.right(4)
def with_a_loop_and_a_small_tensor(shape, dtype):
    size = torch.zeros((), dtype=dtype).element_size()
    for length in shape:
        size *= length
    if size % 512:
        size += 512 - size % 512
    return size


@answers.wrong(4, "not-rounded")
def does_not_round(shape, dtype):
    return math.prod(shape) * dtype.itemsize


@answers.wrong(4, "wrong-blocks")
def always_adds_a_block(shape, dtype):
    return (math.prod(shape) * dtype.itemsize // 512 + 1) * 512


@answers.wrong(4, "wrong-blocks")
def rounds_down(shape, dtype):
    return math.prod(shape) * dtype.itemsize // 512 * 512


@answers.wrong(4, "wrong-blocks")
def returns_at_least_one_block(shape, dtype):
    return max(512, by_multiplying(shape, dtype))


@answers.wrong(4, "dtype-ignored")
def assumes_four_bytes(shape, dtype):
    return by_multiplying(shape, torch.float32)


@answers.wrong(4, "dtype-ignored")
def ignores_the_dtype(shape, dtype):
    size = torch.empty(shape, device="meta").nbytes
    return (size + 511) // 512 * 512


@answers.wrong(4, "allocates")
def allocates_the_tensor(shape, dtype):
    return (torch.empty(shape, dtype=dtype).nbytes + 511) // 512 * 512


@answers.wrong(4, "allocates")
def allocates_the_tensor_on_the_gpu(shape, dtype):
    return (torch.empty(shape, dtype=dtype, device="cuda").nbytes + 511) // 512 * 512


@answers.wrong(4, "not-a-whole-number")
def returns_a_float(shape, dtype):
    return math.prod(shape) * dtype.itemsize / 512 * 512


@answers.wrong(4, "wrong-bytes")
def adds_the_lengths(shape, dtype):
    return math.ceil(sum(shape) * dtype.itemsize / 512) * 512


@answers.wrong(4, "raised")
def fails_without_dimensions(shape, dtype):
    return math.ceil(shape[0] * math.prod(shape[1:]) * dtype.itemsize / 512) * 512


@answers.wrong(4, "wrong-bytes")
def rounds_to_kilobytes(shape, dtype):
    return round(math.prod(shape) * dtype.itemsize / 1000) * 1000


@answers.wrong(4, "wrong-bytes")
def returns_the_number_in_the_lesson(shape, dtype):
    return 77_070_336


@answers.wrong(4, "no-result")
def prints_the_size(shape, dtype):
    print(by_multiplying(shape, dtype))


# Exercise 5: compute_mean(batches)


@answers.right(5)
def with_a_total_on_the_device(batches):
    total, count = 0, 0
    for batch in batches:
        total = total + batch.sum()
        count += batch.numel()
    return (total / count).item()


@answers.right(5)
def with_one_long_tensor(batches):
    return torch.cat(batches).mean().item()


@answers.right(5)
def with_stacked_sums(batches):
    sums = torch.stack([batch.sum() for batch in batches])
    return float(sums.sum()) / sum(batch.numel() for batch in batches)


@answers.right(5)
def fetches_with_tolist(batches):
    total = sum(batch.double().sum() for batch in batches)
    return (total / sum(map(torch.numel, batches))).tolist()


@answers.right(5)
def copies_one_number_to_the_cpu(batches):
    flat = [batch.flatten() for batch in batches]
    return torch.cat(flat).mean().cpu().item()


@answers.wrong(5, "many-fetches")
def calls_item_in_the_loop(batches):
    total = sum(batch.sum().item() for batch in batches)
    return total / sum(batch.numel() for batch in batches)


@answers.wrong(5, "many-fetches")
def calls_float_in_the_loop(batches):
    total = 0.0
    for batch in batches:
        total += float(batch.sum())
    return total / sum(len(batch) * batch.shape[1] for batch in batches)


@answers.wrong(5, "many-fetches")
def copies_every_batch_to_the_cpu(batches):
    return torch.cat([batch.cpu() for batch in batches]).mean().item()


@answers.wrong(5, "many-fetches")
def converts_to_lists(batches):
    numbers = [number for batch in batches for row in batch.tolist() for number in row]
    return sum(numbers) / len(numbers)


@answers.wrong(5, "many-fetches")
def compares_in_the_loop(batches):
    total, count = 0, 0
    for batch in batches:
        if batch.sum() != 0:
            total = total + batch.sum()
        count += batch.numel()
    return (total / count).item()


@answers.wrong(5, "mean-of-means")
def averages_the_means(batches):
    return torch.stack([batch.mean() for batch in batches]).mean().item()


@answers.wrong(5, "not-a-number")
def returns_a_tensor(batches):
    return torch.cat(batches).mean()


@answers.wrong(5, "wrong-mean")
def skips_the_last_batch(batches):
    return torch.cat(batches[:-1]).mean().item()


@answers.wrong(5, "wrong-mean")
def divides_by_zero(batches):
    return (
        sum(batch.sum() for batch in batches) * 0 / torch.zeros((), device=batches[0].device)
    ).item()


@answers.wrong(5, "wrong-mean")
def divides_by_the_rows(batches):
    return (sum(batch.sum() for batch in batches) / sum(map(len, batches))).item()


@answers.wrong(5, "wrong-mean")
def uses_the_first_batch_only(batches):
    return batches[0].mean().item()


@answers.wrong(5, "wrong-mean")
def uses_the_size_of_the_first_batch(batches):
    total = sum(batch.sum() for batch in batches)
    return (total / (batches[0].numel() * len(batches))).item()


@answers.wrong(5, "raised")
def stacks_batches_of_two_sizes(batches):
    return torch.stack(batches).mean().item()


@answers.wrong(5, "input-changed")
def sums_in_the_first_batch(batches):
    count = sum(batch.numel() for batch in batches)
    total = batches[0]
    total[0, 0] = sum(batch.sum() for batch in batches)
    return (total[0, 0] / count).item()


@answers.wrong(5, "no-result")
def prints_the_mean(batches):
    print(torch.cat(batches).mean().item())


# Exercise 6: to_numpy(X)


@answers.right(6)
def copies_at_the_end(X):
    return X.detach().cpu().numpy().copy()


@answers.right(6)
def copies_to_the_cpu(X):
    return X.detach().to("cpu", copy=True).numpy()


@answers.right(6)
def copies_with_numpy(X):
    return np.array(X.detach().cpu())


@answers.right(6)
def with_force(X):
    return X.numpy(force=True).copy()


@answers.right(6)
def with_no_grad(X):
    with torch.no_grad():
        return X.clone().cpu().numpy()


@answers.wrong(6, "numpy-refuses")
def calls_numpy_directly(X):
    return X.numpy().copy()


@answers.wrong(6, "numpy-refuses")
def forgets_detach(X):
    return X.cpu().numpy().copy()


@answers.wrong(6, "numpy-refuses")
def forgets_cpu(X):
    return X.detach().numpy().copy()


@answers.wrong(6, "shared-memory")
def shares_the_memory(X):
    return X.detach().cpu().numpy()


@answers.wrong(6, "shared-memory")
def shares_the_memory_with_force(X):
    return X.numpy(force=True)


@answers.wrong(6, "tensor-changed")
def turns_off_requires_grad(X):
    X.requires_grad_(False)
    return X.cpu().numpy().copy()


@answers.wrong(6, "tensor-changed")
def detaches_in_place(X):
    return X.detach_().cpu().numpy().copy()


@answers.wrong(6, "not-an-array")
def returns_a_list(X):
    return X.tolist()


@answers.wrong(6, "not-an-array")
def returns_a_cpu_tensor(X):
    return X.detach().cpu().clone()


@answers.wrong(6, "wrong-array")
def returns_another_dtype(X):
    return np.array(X.tolist(), dtype=np.float16)


@answers.wrong(6, "wrong-array")
def flattens_the_array(X):
    return np.array(X.detach().cpu()).ravel()


@answers.wrong(6, "wrong-numbers")
def returns_zeros(X):
    return np.zeros(X.shape, dtype=str(X.dtype).removeprefix("torch."))


@answers.wrong(6, "no-result")
def drops_the_array(X):
    X.detach().cpu().numpy().copy()


@answers.wrong(6, "wrong-array")
def transposes_the_axes(X):
    return X.detach().cpu().clone().T.numpy() if X.ndim == 2 else np.array(X.cpu())
