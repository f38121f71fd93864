"""What the checks of lab 02, device mismatch errors, say of each mistake."""

from __future__ import annotations

from helpers.checks.core import Hint

_WORD_BY_WORD = "One error, word by word"
_MOVES_NOTHING = "The move that moves nothing"
_LAYERS = "Matrix products and layers"
_JOINING = "Joining and indexing"
_LOSSES = "Losses"
_LEAVING = "Leaving torch"
_TABLE = "The table to keep"

# Exercise 1
STILL_MIXES = Hint(
    "still-mixes",
    "`{name}` stops with a device error. {explained} ({done} of the eight lines are mended.)",
    "Which of the two is in the wrong place is for you to say: the work goes on where the first "
    "argument is. Ask both where they are.",
    _TABLE,
)
RESULT_DROPPED = Hint(
    "result-dropped",
    "`{name}` makes a copy on {device} and then goes on with the tensor that it was copied from.",
    "`.to` leaves the tensor it is called on where it is. What does it give you, and who keeps it?",
    _MOVES_NOTHING,
)
ONE_DEVICE_ONLY = Hint(
    "one-device-only",
    "`{name}` works with a first argument on {works}, and not with one on {fails}.",
    "Is a device named in your line? The place to work in differs from call to call. Which of the "
    "arguments knows it?",
    _WORD_BY_WORD,
)
WRONG_PLACE = Hint(
    "result-elsewhere",
    "The first argument of `{name}` is on {given}, and the result is on {found}.",
    "The work goes on where the first argument is. Which of the two did you move?",
    _WORD_BY_WORD,
)
NO_TENSOR = Hint(
    "no-tensor",
    "`{name}` returns a {what}; a tensor of shape {shape} is asked for.",
    "Mend the line that was given, and let it give the same result as before.",
    _WORD_BY_WORD,
)
OTHER_RESULT = Hint(
    "other-result",
    "`{name}` returns something else than the line that was given would, were all in one place.",
    "Only places have to change. Compare your line with the one that was given, piece by piece.",
    _TABLE,
)
FIRST_MOVED = Hint(
    "first-moved",
    "After `{name}`, its first argument is on {found}. It was on {given}.",
    "A module moves in place, for everybody who uses it. The other argument could have moved.",
    _LAYERS,
)
OTHER_NUMBERS = Hint(
    "generator-unused",
    "The numbers that `noise` returns do not come from the generator that was handed in.",
    "A generator draws on its own device, and its caller counts on its numbers. Where can they be "
    "drawn, and where do they have to be afterwards?",
    _LEAVING,
)
NOT_A_COUNT = Hint(
    "not-a-count",
    "`count_right` returns a {what}; a Python number is asked for, as from the given line.",
    "The end of the line that was given makes a number of a tensor. Is it still there?",
    _LOSSES,
)

INPUT_CHANGED = Hint(
    "input-changed",
    "After `{name}`, a tensor that was handed in holds other numbers than before.",
    "Some operations write into the tensor on their left. Which line writes into the caller's?",
    _MOVES_NOTHING,
)

# Exercise 2
NOT_A_PAIR = Hint(
    "not-a-pair",
    "For a message that names an argument, `culprit` returns {found}; two strings are asked for.",
    "First what has to move, then where it is now, as in `return what, place`.",
    _WORD_BY_WORD,
)
BELIEVES = Hint(
    "blames-the-named",
    "The device to work on is {device}. The message says that `{named}` is on {place}, and so it "
    "is in the right place; your function has it moved all the same.",
    "The message names an argument that differs, which need not be the wrong one. What do you know "
    "that torch does not?",
    _LAYERS,
)
DOUBTS = Hint(
    "spares-the-named",
    "The device to work on is {device}, the message says that `{named}` is on {place}, and your "
    "function's answer is {found}.",
    "Compare the place of the named argument with the device to work on. Are they the same?",
    _LAYERS,
)
OTHER_NAME = Hint(
    "other-name",
    "The message names `{named}`; your function's answer is {found}.",
    "Which word of the message is the argument's name? Between which two words does it stand?",
    _WORD_BY_WORD,
)
OTHER_DEVICE = Hint(
    "other-place",
    "What has to move is on {place}; your function says that it is on {found}.",
    "The message names two devices. Which of them is that of the thing that has to move? Look out "
    "for the comma, too.",
    _WORD_BY_WORD,
)
NAMES_NOBODY = Hint(
    "names-nobody",
    "For a message that names no argument, `culprit` {found}; None is asked for.",
    "Some messages name two devices and no argument. How can you tell them from the others?",
    _TABLE,
)

# Exercise 3
IMAGES_BEHIND = Hint(
    "images-behind",
    "`net` is on {net}, but the images stayed on {other}: the first layer sees both.",
    "Which of the tensors in the line that fails was never moved, or was moved and not kept?",
    _LAYERS,
)
LABELS_BEHIND = Hint(
    "labels-behind",
    "`net` is on {net}, but the labels stayed on {other}: the loss sees both.",
    "The labels of a batch are a tensor too. Where do they go before the loss looks at them?",
    _LOSSES,
)
WEIGHTS_BEHIND = Hint(
    "weights-behind",
    "`net` is on {net}, but the class weights in the loss stayed on {other}.",
    "A loss with weights is a module that holds a tensor. How does what is in a module move?",
    _LOSSES,
)
NET_MOVED = Hint(
    "net-moved",
    "After `{name}`, the network is on {found}. It was on {given}, and should have stayed there.",
    "A network moves in place, for everybody who uses it. What else can be moved instead?",
    _LAYERS,
)
NOT_TWO = Hint(
    "not-two-numbers",
    "`evaluate_batch` returns {found}; a float and an int are asked for.",
    "A tensor with one number in it is no Python number yet. And how many values do you return?",
    _LEAVING,
)
WEIGHTS_DROPPED = Hint(
    "weights-dropped",
    "The loss that `evaluate_batch` returns is the one without class weights.",
    "Which loss do you call: the one that was handed in, or one that you made?",
    _LOSSES,
)
WRONG_LOSS = Hint(
    "wrong-loss",
    "The loss that `evaluate_batch` returns is not that of the whole batch.",
    "What do you hand to `loss`: what the network returns, and the labels as they came?",
    _LOSSES,
)
A_SHARE = Hint(
    "share-not-count",
    "`evaluate_batch` returns a share of {found:g} for {right} right answers.",
    "How many are right is asked for, as a whole number; the caller divides.",
    _LOSSES,
)
WRONG_COUNT = Hint(
    "wrong-count",
    "{right} of {total} answers are right, and `evaluate_batch` counts {found}.",
    "The network's answer to an image is the class with the highest score. Along which dimension "
    "of the scores do the classes lie?",
    _LOSSES,
)

# Exercise 4
TABLE_MOVED = Hint(
    "table-moved",
    "For {rows} rows, your function carries {bytes:,} bytes to {device}. The rows take {few:,}.",
    "Two things meet in the square brackets, a large one and a small one. Which do you move, and "
    "when do the rows go over?",
    _JOINING,
)
DETOUR = Hint(
    "detour",
    "`extra` was on {device}, where the result is to be, and your function carries it away first.",
    "Bring what is elsewhere to the place of the result before you join.",
    _JOINING,
)
BATCH_ELSEWHERE = Hint(
    "batch-elsewhere",
    "`extra` is on {given}, and what `build_batch` returns is on {found}.",
    "Where should the result be, and which of the arguments knows that place?",
    _JOINING,
)
NOT_A_BATCH = Hint(
    "no-batch",
    "`build_batch` returns {found}; a tensor of shape {shape} is asked for.",
    "The picked rows and the extra ones lie below each other. Which dimension grows?",
    _JOINING,
)
OTHER_ROWS = Hint(
    "other-rows",
    "The tensor that `build_batch` returns has the right shape, and not the right rows.",
    "First the rows of the table, in the order of `rows`, then the extra ones.",
    _JOINING,
)

# Exercise 5
NEEDS_ITS_GPU = Hint(
    "needs-its-gpu",
    "On a machine with {gpus}, `load_weights` cannot read a file that was saved on {saved}: it "
    "stops with {error}.",
    "A file remembers the device of each tensor. What tells `torch.load` to put them elsewhere, "
    "on any machine?",
    _LEAVING,
)
NOT_LOADED = Hint(
    "weights-not-in",
    "After `load_weights`, the network's weights are not those of the file.",
    "Reading the file gives a dictionary of tensors. How do they get from there into the network "
    "that was handed in?",
    _LEAVING,
)
BUFFERS_LEFT = Hint(
    "buffers-left",
    "After `load_weights`, the weights are those of the file, and `{name}` is not.",
    "A network has buffers beside its parameters, and the file has both. What takes in all of it?",
    _LEAVING,
)
