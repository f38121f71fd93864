"""Right and wrong answers to lab 02, with the hint that each wrong one must get."""

import copy

import torch
from torch import nn
from torch.nn import functional as F

from helpers.checks import lab_02
from tests.helpers.checks.collection import Answers

answers = Answers(lab_02)

# Exercise 1: eight lines


def add(x, y):
    return x + y.to(x.device)


def multiply(a, b):
    return a @ b.to(a.device)


def score(net, X):
    return net(X.to(next(net.parameters()).device))


def embed(embedding, words):
    return embedding(words.to(embedding.weight.device))


def hide(scores, mask):
    return scores.masked_fill(mask.to(scores.device), -torch.inf)


def divide(x, total):
    return x / total.to(x.device)


def noise(x, generator):
    return torch.rand(x.shape, generator=generator).to(x.device)


def count_correct(guesses, labels):
    return (guesses == labels.to(guesses.device)).sum().item()


RIGHT_LINES = (add, multiply, score, embed, hide, divide, noise, count_correct)


def replace_line(replaced):
    return lambda f: tuple(f if function is replaced else function for function in RIGHT_LINES)


@answers.right(1, arguments=lambda f: RIGHT_LINES)
def to_the_first_arguments_device():
    pass


@answers.right(1, arguments=lambda f: RIGHT_LINES_BY_TENSOR)
def to_the_first_argument():
    pass


RIGHT_LINES_BY_TENSOR = (
    lambda x, y: torch.add(x, y.to(x)),
    lambda a, b: torch.matmul(a, b.to(device=a.device, copy=True)),
    lambda net, X: net(X.to(net.weight)),
    lambda embedding, words: embedding.weight[words.to(embedding.weight.device)],
    lambda scores, mask: torch.where(mask.to(scores.device), -torch.inf, scores),
    lambda x, total: x / total.item(),
    lambda x, generator: torch.empty_like(x, device="cpu").uniform_(generator=generator).to(x),
    lambda guesses, labels: int(torch.sum(labels.to(guesses) == guesses)),
)


@answers.right(1, arguments=lambda f: RIGHT_LINES_WITH_OTHER_FUNCTIONS)
def with_other_functions():
    pass


RIGHT_LINES_WITH_OTHER_FUNCTIONS = (
    lambda x, y: x + y if y.device == x.device else x + y.to(x.device),
    lambda a, b: torch.mm(a, b.cpu().to(a.device)),
    lambda net, X: F.linear(X.to(net.bias.device), net.weight, net.bias),
    lambda embedding, words: embedding.weight[words.cpu()],
    lambda scores, mask: scores.clone().masked_fill_(mask.to(scores.device), -torch.inf),
    lambda x, total: x / total.cpu(),
    lambda x, generator: torch.rand(*x.shape, device="cpu", generator=generator).to(x.device),
    lambda guesses, labels: sum(map(int.__eq__, guesses.tolist(), labels.tolist())),
)


@answers.wrong(1, "still-mixes", arguments=replace_line(add))
def does_not_change_the_line(x, y):
    return x + y


@answers.wrong(1, "result-dropped", arguments=replace_line(add))
def drops_the_moved_tensor(x, y):
    y.to(x.device)
    return x + y


@answers.wrong(1, "one-device-only", arguments=replace_line(add))
def hard_codes_the_gpu(x, y):
    return x + y.cuda()


@answers.wrong(1, "one-device-only", arguments=replace_line(hide))
def hard_codes_the_first_gpu(scores, mask):
    return scores.masked_fill(mask.to("cuda:0"), -torch.inf)


@answers.wrong(1, "result-elsewhere", arguments=replace_line(add))
def moves_the_first_argument(x, y):
    return x.to(y.device) + y


@answers.wrong(1, "result-elsewhere", arguments=replace_line(multiply))
def moves_both_to_the_cpu(a, b):
    return a.cpu() @ b.cpu()


@answers.wrong(1, "result-elsewhere", arguments=replace_line(score))
def computes_on_the_device_of_the_batch(net, X):
    return copy.deepcopy(net).to(X.device)(X)


@answers.wrong(1, "first-moved", arguments=replace_line(score))
def moves_the_network_to_the_batch(net, X):
    return net.to(X.device)(X)


@answers.wrong(1, "first-moved", arguments=replace_line(score))
def moves_the_network_and_the_scores(net, X):
    device = net.weight.device
    return net.to(X.device)(X).to(device)


@answers.wrong(1, "input-changed", arguments=replace_line(add))
def adds_in_place(x, y):
    x += y.to(x.device)
    return x


@answers.wrong(1, "input-changed", arguments=replace_line(hide))
def fills_the_input_in_place(scores, mask):
    return scores.masked_fill_(mask.to(scores.device), -torch.inf)


@answers.wrong(1, "raised", arguments=replace_line(embed))
def converts_words_to_float(embedding, words):
    return embedding(words.to(embedding.weight))


@answers.wrong(1, "different-result", arguments=replace_line(multiply))
def multiplies_the_sums(a, b):
    return a.sum() * b.to(a.device).sum() + torch.zeros(len(a), b.shape[1], device=a.device)


@answers.wrong(1, "different-result", arguments=replace_line(hide))
def fills_with_a_small_number(scores, mask):
    return scores.masked_fill(mask.to(scores.device), -1e9)


@answers.wrong(1, "still-mixes", arguments=replace_line(divide))
def does_not_move_the_total(x, total):
    return x / total


@answers.wrong(1, "one-device-only", arguments=replace_line(divide))
def moves_x_to_the_cpu(x, total):
    return x.cpu() / total.cpu()


@answers.wrong(1, "not-a-tensor", arguments=replace_line(divide))
def makes_a_list(x, total):
    return [row / total.item() for row in x]


@answers.wrong(1, "still-mixes", arguments=replace_line(noise))
def draws_on_the_wrong_device(x, generator):
    return torch.rand(x.shape, device=x.device, generator=generator)


@answers.wrong(1, "generator-unused", arguments=replace_line(noise))
def draws_without_the_generator(x, generator):
    return torch.rand(x.shape, device=x.device)


@answers.wrong(1, "generator-unused", arguments=replace_line(noise))
def creates_another_generator(x, generator):
    new_generator = torch.Generator(x.device).manual_seed(generator.initial_seed())
    return torch.rand(x.shape, device=x.device, generator=new_generator)


@answers.wrong(1, "result-elsewhere", arguments=replace_line(noise))
def leaves_the_noise_on_the_cpu(x, generator):
    return torch.rand(x.shape, generator=generator)


@answers.wrong(1, "one-device-only", arguments=replace_line(noise))
def hard_codes_the_gpu_for_the_noise(x, generator):
    return torch.rand(x.shape, generator=generator).cuda()


@answers.wrong(1, "not-a-count", arguments=replace_line(count_correct))
def counts_in_a_tensor(guesses, labels):
    return (guesses == labels.to(guesses.device)).sum()


@answers.wrong(1, "still-mixes", arguments=replace_line(count_correct))
def compares_on_two_devices(guesses, labels):
    return (guesses == labels).sum().item()


@answers.wrong(1, "different-result", arguments=replace_line(count_correct))
def takes_the_mean(guesses, labels):
    return (guesses == labels.to(guesses.device)).float().mean().item()


@answers.wrong(1, "no-result", arguments=replace_line(multiply))
def prints_the_product(a, b):
    print(a @ b.to(a.device))


@answers.wrong(1, "computed-elsewhere", arguments=replace_line(add))
def adds_on_the_cpu(x, y):
    return (x.cpu() + y.cpu()).to(x.device)


@answers.wrong(1, "computed-elsewhere", arguments=replace_line(score))
def copies_the_network_to_the_batch(net, X):
    return copy.deepcopy(net).to(X.device)(X).to(net.weight.device)


@answers.wrong(1, "different-result", arguments=replace_line(divide))
def divides_by_an_integer(x, total):
    return x / int(total)


# Exercise 2: moves()

RIGHT_MOVES = {
    "A": ("labels", "cuda:0"),
    "B": ("images", "cuda:0"),
    "C": ("running", "cuda:0"),
    "D": ("rows", "cpu"),
    "E": ("words", "cuda:0"),
    "F": ("images", "cuda:0"),
    "G": ("scores", "cpu"),
}


@answers.right(2)
def returns_every_move():
    return RIGHT_MOVES


@answers.right(2)
def with_devices_and_lists():
    return {line: [name, torch.device(device)] for line, (name, device) in RIGHT_MOVES.items()}


@answers.right(2)
def in_another_order():
    return dict(reversed(RIGHT_MOVES.items()))


@answers.wrong(2, "already-there")
def moves_the_tensor_in_the_message():
    return RIGHT_MOVES | {"B": ("weights", "cuda:0")}


@answers.wrong(2, "no-such-name")
def uses_the_name_in_the_message():
    return RIGHT_MOVES | {"B": ("mat2", "cuda:0")}


@answers.wrong(2, "no-such-name")
def calls_the_labels_target():
    return RIGHT_MOVES | {"A": ("target", "cuda:0")}


@answers.wrong(2, "wrong-goal")
def moves_the_weights_to_the_cpu():
    return RIGHT_MOVES | {"B": ("weights", "cpu")}


@answers.wrong(2, "wrong-goal")
def moves_the_second_tensor_of_a_sum():
    return RIGHT_MOVES | {"C": ("batch_mean", "cuda:1")}


@answers.wrong(2, "wrong-goal")
def moves_the_table_to_the_rows():
    return RIGHT_MOVES | {"D": ("table", "cuda:0")}


@answers.wrong(2, "already-there")
def moves_the_words_to_their_own_device():
    return RIGHT_MOVES | {"E": ("words", "cpu")}


@answers.wrong(2, "still-mixes")
def moves_the_words_to_the_other_gpu():
    return RIGHT_MOVES | {"E": ("words", "cuda:1")}


@answers.wrong(2, "still-mixes")
def moves_an_array_to_the_other_gpu():
    return RIGHT_MOVES | {"G": ("scores", "cuda:1")}


@answers.wrong(2, "no-such-device")
def moves_to_numpy():
    return RIGHT_MOVES | {"G": ("scores", "numpy")}


@answers.wrong(2, "no-such-device")
def forgets_the_gpu_index():
    return RIGHT_MOVES | {"F": ("images", "cuda")}


@answers.wrong(2, "not-a-plan")
def leaves_out_a_line():
    return {line: move for line, move in RIGHT_MOVES.items() if line != "D"}


@answers.wrong(2, "not-a-plan")
def returns_only_the_tensors():
    return {line: name for line, (name, _) in RIGHT_MOVES.items()}


@answers.wrong(2, "not-a-plan")
def returns_a_list_of_moves():
    return list(RIGHT_MOVES.values())


@answers.wrong(2, "no-result")
def forgets_to_return_the_moves():
    dict(RIGHT_MOVES)


@answers.wrong(2, "not-written")
def leaves_the_stub():
    raise NotImplementedError("exercise 2: write moves")


# Exercise 3: evaluate_batch(net, loss, images, labels)


@answers.right(3)
def all_to_the_network(net, loss, images, labels):
    device = next(net.parameters()).device
    images, labels, loss = images.to(device), labels.to(device), loss.to(device)
    scores = net(images)
    return loss(scores, labels).item(), int((scores.argmax(1) == labels).sum())


@answers.right(3)
def scores_to_the_labels(net, loss, images, labels):
    with torch.no_grad():
        scores = net(images.to(net[1].weight.device)).cpu()
    labels = labels.cpu()
    right = sum(scores.max(dim=1).indices == labels).item()
    return float(loss.cpu()(scores, labels)), right


@answers.right(3)
def with_its_own_loss(net, loss, images, labels):
    with torch.inference_mode():
        device = next(net.parameters()).device
        labels = labels.to(device)
        scores = net(images.to(device))
        mean = F.cross_entropy(scores, labels, weight=loss.weight.to(device))
        right = torch.eq(scores.softmax(dim=-1).argmax(dim=-1), labels).sum().tolist()
    return mean.item(), right


@answers.wrong(3, "labels-not-moved")
def forgets_the_labels(net, loss, images, labels):
    device = next(net.parameters()).device
    scores = net(images.to(device))
    return loss.to(device)(scores, labels).item(), (scores.argmax(1) == labels).sum().item()


@answers.wrong(3, "labels-not-moved")
def drops_the_moved_labels(net, loss, images, labels):
    device = next(net.parameters()).device
    images = images.to(device)
    labels.to(device)
    scores = net(images)
    return loss.to(device)(scores, labels).item(), (scores.argmax(1) == labels).sum().item()


@answers.wrong(3, "weights-not-moved")
def forgets_the_weights(net, loss, images, labels):
    device = next(net.parameters()).device
    labels = labels.to(device)
    scores = net(images.to(device))
    return loss(scores, labels).item(), (scores.argmax(1) == labels).sum().item()


@answers.wrong(3, "images-not-moved")
def forgets_the_images(net, loss, images, labels):
    device = next(net.parameters()).device
    scores = net(images)
    labels = labels.to(device)
    return loss.to(device)(scores, labels).item(), (scores.argmax(1) == labels).sum().item()


@answers.wrong(3, "images-not-moved")
def uses_the_device_of_the_images(net, loss, images, labels):
    device = images.device
    images, labels, loss = images.to(device), labels.to(device), loss.to(device)
    scores = net(images)
    return loss(scores, labels).item(), (scores.argmax(1) == labels).sum().item()


@answers.wrong(3, "net-moved")
def moves_the_network_to_the_images(net, loss, images, labels):
    net.to(images.device)
    loss.to(images.device)
    labels = labels.to(images.device)
    scores = net(images)
    return loss(scores, labels).item(), (scores.argmax(1) == labels).sum().item()


@answers.wrong(3, "net-moved")
def moves_all_to_the_gpu(net, loss, images, labels):
    net, loss, images, labels = net.cuda(), loss.cuda(), images.cuda(), labels.cuda()
    scores = net(images)
    return loss(scores, labels).item(), (scores.argmax(1) == labels).sum().item()


@answers.wrong(3, "images-not-moved")
def moves_the_batch_to_the_cpu(net, loss, images, labels):
    images, labels = images.to("cpu"), labels.to("cpu")
    scores = net(images)
    return loss(scores, labels).item(), (scores.argmax(1) == labels).sum().item()


@answers.wrong(3, "device-error")
def compares_with_the_old_labels(net, loss, images, labels):
    device = next(net.parameters()).device
    scores = net(images.to(device))
    mean = loss.to(device)(scores, labels.to(device))
    return mean.item(), (scores.argmax(1) == labels).sum().item()


@answers.wrong(3, "weights-dropped")
def makes_a_new_loss(net, loss, images, labels):
    device = next(net.parameters()).device
    labels = labels.to(device)
    scores = net(images.to(device))
    return nn.CrossEntropyLoss()(scores, labels).item(), (scores.argmax(1) == labels).sum().item()


@answers.wrong(3, "wrong-loss")
def takes_a_softmax_before_the_loss(net, loss, images, labels):
    device = next(net.parameters()).device
    labels = labels.to(device)
    scores = net(images.to(device)).softmax(dim=1)
    mean = loss.to(device)(scores, labels)
    return mean.item(), (scores.argmax(1) == labels).sum().item()


@answers.wrong(3, "wrong-loss")
def adds_up_the_losses(net, loss, images, labels):
    mean, right = all_to_the_network(net, loss, images, labels)
    return mean * len(labels), right


@answers.wrong(3, "fraction-not-count")
def returns_the_accuracy(net, loss, images, labels):
    mean, right = all_to_the_network(net, loss, images, labels)
    return mean, right / len(labels)


@answers.wrong(3, "not-two-numbers")
def returns_tensors(net, loss, images, labels):
    device = next(net.parameters()).device
    labels = labels.to(device)
    scores = net(images.to(device))
    return loss.to(device)(scores, labels), (scores.argmax(1) == labels).sum()


@answers.wrong(3, "not-two-numbers")
def returns_the_loss_only(net, loss, images, labels):
    return all_to_the_network(net, loss, images, labels)[0]


@answers.wrong(3, "wrong-count")
def counts_one_too_many(net, loss, images, labels):
    mean, right = all_to_the_network(net, loss, images, labels)
    return mean, right + 1


@answers.wrong(3, "raised")
def takes_argmax_along_the_batch(net, loss, images, labels):
    device = next(net.parameters()).device
    labels = labels.to(device)
    scores = net(images.to(device))
    return loss.to(device)(scores, labels).item(), (scores.argmax(0) == labels).sum().item()


@answers.wrong(3, "input-changed")
def sets_the_images_to_zero(net, loss, images, labels):
    result = all_to_the_network(net, loss, images, labels)
    images.zero_()
    return result


@answers.wrong(3, "no-result")
def prints_both(net, loss, images, labels):
    print(all_to_the_network(net, loss, images, labels))


@answers.wrong(3, "rounded-loss")
def rounds_the_loss(net, loss, images, labels):
    mean, right = all_to_the_network(net, loss, images, labels)
    return round(mean, 2), right


# Exercise 4: build_batch(table, rows, extra)


@answers.right(4)
def with_index_on_the_cpu(table, rows, extra):
    return torch.cat([table[rows.cpu()].to(extra.device), extra])


@answers.right(4)
def with_index_as_a_list(table, rows, extra):
    return torch.vstack([table[rows.tolist()].to(extra), extra])


@answers.right(4)
def with_index_select(table, rows, extra):
    selected = table.index_select(0, rows.to(table.device))
    return torch.concatenate((selected.to(device=extra.device), extra), dim=0)


@answers.right(4)
def into_a_preallocated_tensor(table, rows, extra):
    batch = extra.new_empty(len(rows) + len(extra), table.shape[1])
    batch[: len(rows)] = table[rows.to("cpu")].to(extra.device)
    batch[len(rows) :] = extra
    return batch


@answers.right(4)
def row_by_row(table, rows, extra):
    selected = [table[row].to(extra.device) for row in rows.tolist()]
    return torch.stack([*selected, *extra])


@answers.wrong(4, "device-error")
def indexes_with_the_gpu(table, rows, extra):
    return torch.cat([table[rows].to(extra.device), extra])


@answers.wrong(4, "device-error")
def concatenates_on_two_devices(table, rows, extra):
    return torch.cat([table[rows.cpu()], extra])


@answers.wrong(4, "table-moved")
def moves_the_table(table, rows, extra):
    return torch.cat([table.to(rows.device)[rows], extra])


@answers.wrong(4, "table-moved")
def rebinds_the_moved_table(table, rows, extra):
    table = table.to(extra.device)
    return torch.cat((table[rows], extra))


@answers.wrong(4, "device-error")
def drops_the_moved_table(table, rows, extra):
    table.to(extra.device)
    return torch.cat([table[rows], extra])


@answers.wrong(4, "batch-elsewhere")
def concatenates_on_the_cpu(table, rows, extra):
    return torch.cat([table[rows.cpu()], extra.cpu()])


@answers.wrong(4, "batch-elsewhere")
def moves_all_to_the_first_gpu(table, rows, extra):
    return torch.cat([table[rows.cpu()].to("cuda:0"), extra.to("cuda:0")])


@answers.wrong(4, "detour")
def concatenates_on_the_cpu_and_moves_the_batch(table, rows, extra):
    return torch.cat([table[rows.cpu()], extra.cpu()]).to(extra.device)


@answers.wrong(4, "wrong-rows")
def puts_the_extra_rows_first(table, rows, extra):
    return torch.cat([extra, table[rows.cpu()].to(extra.device)])


@answers.wrong(4, "wrong-rows")
def takes_the_first_rows(table, rows, extra):
    return torch.cat([table[: len(rows)].to(extra.device), extra])


@answers.wrong(4, "wrong-rows")
def sorts_the_rows(table, rows, extra):
    return torch.cat([table[rows.cpu().sort().values].to(extra.device), extra])


@answers.wrong(4, "not-a-batch")
def forgets_the_extra_rows(table, rows, extra):
    return table[rows.cpu()].to(extra.device)


@answers.wrong(4, "not-a-batch")
def returns_a_list(table, rows, extra):
    return [table[rows.cpu()].to(extra.device), extra]


@answers.wrong(4, "raised")
def concatenates_along_the_wrong_dimension(table, rows, extra):
    return torch.cat([table[rows.cpu()].to(extra.device), torch.cat([extra] * 9)], dim=1)


@answers.wrong(4, "input-changed")
def writes_into_the_table(table, rows, extra):
    result = torch.cat([table[rows.cpu()].to(extra.device), extra])
    table[: len(extra)] = 0
    return result


@answers.wrong(4, "no-result")
def drops_the_batch(table, rows, extra):
    torch.cat([table[rows.cpu()].to(extra.device), extra])
