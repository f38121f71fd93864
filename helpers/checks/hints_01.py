"""What the checks of lab 01 say of mistakes: what is wrong, where to look, what to read again."""

from __future__ import annotations

from helpers.checks.hints import Hint

_MOVING = "Moving a tensor"
_DEVICES = "Which devices are there?"
_LIVES = "Where a tensor lives"
_MEMORY = "How much memory a tensor takes"
_WAITING = "Hidden waiting"

# Exercise 1
NO_LIST = Hint(
    "no-list",
    "`move_all` returns {what}; a list of {count} tensors is asked for.",
    "Collect one tensor for each that came in, in the same order, and return the list.",
    _MOVING,
)
NOT_MOVED = Hint(
    "result-dropped",
    "You asked for {wanted}, and a tensor that `move_all` returns is still on {found}.",
    "`.to` leaves the tensor it is called on where it is. What does it give you, and where does "
    "your function keep that?",
    _MOVING,
)
OTHER_DEVICE = Hint(
    "other-device",
    "You asked for {wanted}, and a tensor that `move_all` returns is on {found}.",
    "The device to go to is an argument of the function. Does your code use it for every tensor?",
    _MOVING,
)
WRONG_NUMBERS = Hint(
    "wrong-numbers",
    "The tensors that come back do not hold the numbers of those that went in, in their order.",
    "Compare the first and the last tensor that come back with those that went in.",
    _MOVING,
)
OTHER_DTYPE = Hint(
    "dtype-changed",
    "A {before} tensor comes back as {after}.",
    "A move should change where the numbers are and nothing else. Which part of your line names a "
    "type, or makes the numbers anew?",
    _MOVING,
)
INPUT_CHANGED = Hint(
    "input-changed",
    "After the call, the list that was handed in is another: your function has changed it.",
    "Whoever calls your function may still need their list. Which line writes into it?",
    _MOVING,
)
NEEDLESS_COPY = Hint(
    "needless-copy",
    "A tensor that was on {device} already was copied all the same.",
    "A plain move to where a tensor is costs nothing. What in your line forces a new tensor?",
    _MOVING,
)

# Exercise 2
NOT_A_DEVICE = Hint(
    "not-a-device",
    "`{name}` returns {what}; a `torch.device` is asked for.",
    "A device's name in quotes is a string. Which function makes a device of it?",
    "The name of a device",
)
NO_NUMBER = Hint(
    "no-number",
    "`{name}` returns `cuda` without a number.",
    "Without a number it means whichever GPU is current. Where does the number come from here?",
    "The name of a device",
)
WRONG_GPU = Hint(
    "wrong-gpu",
    "On a machine with {gpus}, `try_gpu({i})` returns {found}.",
    "The first GPU is number 0. With {gpus}, which numbers are there?",
    _DEVICES,
)
NO_FALLBACK = Hint(
    "no-fallback",
    "On a machine with {gpus}, `try_gpu({i})` returns {found}, and there is no such GPU.",
    "What does `torch.cuda.device_count()` say there, and how does {i} compare with it?",
    _DEVICES,
)
NO_DEFAULT = Hint(
    "no-default",
    "`try_gpu()` without a number does not work.",
    "The function was given with a default for its argument. Keep it.",
    _DEVICES,
)
EMPTY_LIST = Hint(
    "empty-list",
    "On a machine without a GPU, `try_all_gpus` returns an empty list.",
    "A program that goes through the list should still have one device to work on there.",
    _DEVICES,
)
WRONG_LIST = Hint(
    "wrong-list",
    "On a machine with {gpus}, `try_all_gpus` returns {found}.",
    "Write down by hand which devices there are on such a machine, and count again from 0.",
    _DEVICES,
)
NOT_A_LIST = Hint(
    "not-a-list",
    "`try_all_gpus` returns {what}; a list is asked for.",
    "A program that uses it wants to know the length and to go through it more than once.",
    _DEVICES,
)

# Exercise 3
NOT_ADDED = Hint(
    "no-tensor",
    "`add_ramp` returns a {what}; a tensor of shape {shape} is asked for.",
    "What do you return: the sum, or something on the way to it?",
    _LIVES,
)
WRONG_SHAPE = Hint(
    "wrong-shape",
    "For an X of shape {given}, `add_ramp` returns the shape {found}.",
    "The result has the shape of X. Which of its two lengths is the number of columns?",
    _LIVES,
)
WRONG_PLACE = Hint(
    "result-elsewhere",
    "X is on {given}, and what `add_ramp` returns is on {found}.",
    "The result should be where X is, whichever device that is. Where does your code learn it?",
    _LIVES,
)
WRONG_RAMP = Hint(
    "wrong-ramp",
    "Column 0 should stay as it is, column 1 grow by 1, column 2 by 2. For an X of shape {given} "
    "that is not so.",
    "Print what you add to X. Where does it begin, which way does it run, and how long is it?",
    _LIVES,
)
RAMP_DTYPE = Hint(
    "dtype-changed",
    "X is {before}, and what `add_ramp` returns is {after}.",
    "Of which type is what you add? Ask X for its own.",
    _LIVES,
)
CALLERS_X = Hint(
    "input-changed",
    "After the call, X itself holds other numbers than before.",
    "Some operations write into the tensor on their left. Make a new tensor instead.",
    _MOVING,
)
CARRIED = Hint(
    "carried",
    "X is on {device}, and your function carries {bytes} bytes between devices to get there.",
    "Nothing needs to be carried if the numbers are made where they are needed. Which call makes "
    "them, and where?",
    _LIVES,
)

# Exercise 4
NOT_A_NUMBER = Hint(
    "not-a-whole-number",
    "`gpu_bytes` returns {what}; a whole number (int) of bytes is asked for.",
    "Bytes come whole. Does a division in your function make a fraction of them?",
    _MEMORY,
)
ALLOCATES = Hint(
    "allocates",
    "For the shape {shape}, `gpu_bytes` tries to make the tensor, which is larger than any memory.",
    "You know the shape and the type. Which numbers do you need of them, and none of the tensor?",
    _MEMORY,
)
NOT_ROUNDED = Hint(
    "not-rounded",
    "For {dtype} and the shape {shape}, {found} bytes is what the numbers take, and torch hands "
    "out more than that.",
    "How large are the pieces in which torch hands out the memory of a GPU?",
    _MEMORY,
)
WRONG_PIECES = Hint(
    "wrong-pieces",
    "For {dtype} and the shape {shape}, your answer is {found} bytes. As many pieces as are "
    "needed, and no more, is another number.",
    "Try sizes just below, at and just above a multiple of 512: how many pieces does each need?",
    _MEMORY,
)
OTHER_TYPE = Hint(
    "dtype-ignored",
    "Your answer for {dtype} is that of a type with {size} bytes a number.",
    "What does one element of this type take? torch can tell you.",
    _MEMORY,
)
WRONG_BYTES = Hint(
    "wrong-bytes",
    "For {dtype} and the shape {shape}, your answer is {found} bytes.",
    "How many numbers does a tensor of this shape have? Try `()`, `(3,)` and `(0, 5)` too.",
    _MEMORY,
)

# Exercise 5
NOT_A_FLOAT = Hint(
    "not-a-number",
    "`mean_of` returns a {what}; a plain Python number is asked for.",
    "A tensor with one number in it is still a tensor on its device. What makes a number of it?",
    _WAITING,
)
MEAN_OF_MEANS = Hint(
    "mean-of-means",
    "Your result is the mean of the batches' means. The last batch is smaller than the others, and "
    "its numbers should not count for more.",
    "Which two totals does the mean over all numbers need?",
    _WAITING,
)
WRONG_MEAN = Hint(
    "wrong-mean",
    "For batches of {sizes} numbers, the result is not their mean.",
    "Try it with two batches that you can work out in your head, of 1 and of 3 numbers.",
    _WAITING,
)
MANY_FETCHES = Hint(
    "many-fetches",
    "For {batches} batches, your function takes numbers from the GPU {fetched} times; once is "
    "enough.",
    "Which line in your loop makes a Python number of a tensor, or brings it to the CPU?",
    _WAITING,
)
BATCHES_CHANGED = Hint(
    "input-changed",
    "After the call, the batches that were handed in hold other numbers.",
    "Which line writes into a batch? Begin your total with a tensor of its own.",
    _MOVING,
)

# Exercise 6
NOT_AN_ARRAY = Hint(
    "not-an-array",
    "`to_numpy` returns a {what}; a NumPy array is asked for.",
    "A list or a tensor has the numbers too, and is no array. Which method makes one?",
    _WAITING,
)
REFUSED = Hint(
    "refused",
    "For a tensor {kind}, `to_numpy` stops with {error}.",
    "Read what the message says to call first, and try a tensor of this kind yourself.",
    _WAITING,
)
SHARED = Hint(
    "shared-memory",
    "For a tensor on the CPU, writing into the array changes the tensor too.",
    "An array made from a CPU tensor uses the tensor's own memory. When is a copy made, and when "
    "not?",
    _MOVING,
)
TENSOR_CHANGED = Hint(
    "tensor-changed",
    "After the call, the tensor that was handed in is another: {what}.",
    "Methods whose name ends in an underscore, and some settings, change the tensor itself.",
    _MOVING,
)
ARRAY_DIFFERS = Hint(
    "wrong-array",
    "The array is {found}; the tensor is {given}.",
    "Shape, type and numbers should all be those of the tensor.",
    _WAITING,
)
