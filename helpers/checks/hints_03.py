"""What the checks of lab 03, moving a network, say of each mistake."""

from __future__ import annotations

from helpers.checks.core import Hint

_NO_DEVICE = "A module has no device"
_IN_PLACE = "Modules move in place, tensors do not"
_BATCH = "The batch does not come along"
_ALONG = "What comes along, and what stays behind"
_OPTIMIZER = "Gradients and the optimizer"
_TAKES = "What a network takes in training"
_ANY_DEVICE = "Code for any device"
_SAVING = "Saving and loading"

# Exercise 1
NOT_THREE_SETS = Hint(
    "not-three-sets",
    "`devices_of` returns {found}; a dictionary of three sets is asked for.",
    "Its keys are the strings `parameters`, `buffers` and `state`, and each value is a set.",
    _NO_DEVICE,
)
NOT_DEVICES = Hint(
    "not-devices",
    "In the set of the {kind} lies {found}; sets of `torch.device` are asked for.",
    "What does a tensor answer when you ask it for its device? Keep that, as it comes.",
    _NO_DEVICE,
)
PARAMETERS_MISSING = Hint(
    "parameters-missing",
    "Some of the network's parameters are on {missing}, and your set has {found}.",
    "How many of the parameters do you ask, and do those of inner modules belong to them?",
    _IN_PLACE,
)
BUFFERS_MISSING = Hint(
    "buffers-missing",
    "Some of the network's buffers are on {missing}, and your set has {found}.",
    "The running means of batch normalization are no parameters. How do you come by them?",
    _ALONG,
)
STATE_MISSING = Hint(
    "state-missing",
    "Some of what the optimizer remembers is on {missing}, and your set has {found}.",
    "`optimizer.state` is a dictionary: for each parameter, another dictionary. Have you looked at "
    "all its values?",
    _TAKES,
)
TOO_MANY = Hint(
    "too-many",
    "Of the network's {kind}, none is on {extra}, and it stands in your set of them.",
    "What else do you count among the {kind}?",
    _ALONG,
)

# Exercise 2
NOT_A_MODULE = Hint(
    "not-a-module",
    "`Ranker(...)` makes a {what}, which is no `nn.Module`.",
    "Mend the class that was given and keep its first two lines.",
    _ALONG,
)
OTHER_SCORES = Hint(
    "other-scores",
    "For the same input, `{name}` gives other numbers than the class that was given.",
    "What it computes was right. Change where things are kept or made, and nothing else.",
    _ALONG,
)
PLAIN_TENSOR = Hint(
    "plain-tensor",
    "After `net.to(...)`, `net.{name}` is still on {found}: the module passes it by.",
    "To the module, it is an attribute like any other. Which kinds of tensors does a module know "
    "as its own, and which of them is this one?",
    _ALONG,
)
HIDDEN_LAYERS = Hint(
    "hidden-layers",
    "The layers in `net.{name}` are unknown to the module: it does not look into a {what}.",
    "They would not move, would not be trained and would not be saved. torch has a container of "
    "its own for them.",
    _ALONG,
)
NOT_LEARNED = Hint(
    "not-learned",
    "After a step of training, `{name}` is what it was before: no optimizer gets hold of it.",
    "It should be learned by gradient descent. What does a module call a tensor that is?",
    _ALONG,
)
LEARNED_TOO = Hint(
    "learned-too",
    "After a step of training, `mean` is another: the optimizer has changed it.",
    "It should move and be saved, and not be learned. What does a module call such a tensor?",
    _ALONG,
)
NOT_SAVED = Hint(
    "not-saved",
    "`{name}` is not in `net.state_dict()`, so it would not be saved.",
    "Keep the names that were given. Where does your class keep this tensor, and how did it tell "
    "the module?",
    _ALONG,
)

# Exercise 3
NET_STAYS = Hint(
    "net-stays",
    "You asked for {wanted}; after `{name}`, the network is on {found}.",
    "The network that was handed in should move, and to the device that was handed in.",
    _IN_PLACE,
)
STATE_BEHIND = Hint(
    "state-behind",
    "The network is on {wanted}, but the optimizer's `{entry}` stayed on {found}: the next step "
    "sees both.",
    "The network knows nothing of its optimizer. What puts each tensor of its memory where its "
    "parameter is?",
    _OPTIMIZER,
)
STATE_LOST = Hint(
    "state-lost",
    "The optimizer has forgotten what it remembered: its `{entry}` is gone.",
    "A new optimizer begins with nothing. The old one's memory can be moved.",
    _OPTIMIZER,
)
STATE_CHANGED = Hint(
    "state-changed",
    "After the move, the optimizer's `{entry}` has other numbers than before.",
    "It should remember what it did, only elsewhere. What have you put in its place?",
    _OPTIMIZER,
)
OTHER_PARAMETERS = Hint(
    "other-parameters",
    "After the move, the optimizer's parameters are no longer those of the network.",
    "If a move makes new `Parameter` objects, an optimizer goes on with the old ones. Which move "
    "keeps the objects?",
    _IN_PLACE,
)
SETTINGS_CHANGED = Hint(
    "settings-changed",
    "After the move, the optimizer's `{key}` is {found}; it was {given}.",
    "Each group of parameters has settings of its own. Do you make or overwrite them?",
    _OPTIMIZER,
)
WEIGHTS_CHANGED = Hint(
    "weights-changed",
    "After the move, the network has other weights than before.",
    "A move changes where the numbers are. What else does your function do to them?",
    _IN_PLACE,
)

# Exercise 4
ONE_DEVICE_ONLY = Hint(
    "one-device-only",
    "`net` works on {works}, and after `net.to({fails})` it does not.",
    "Does your `forward` name a device, or use one that was noted earlier? Whom can it ask, in "
    "each call?",
    _ANY_DEVICE,
)
ELSEWHERE = Hint(
    "result-elsewhere",
    "The network and the sequence are on {given}, and the result is on {found}.",
    "The result belongs where the input is. Does a line of yours bring something away?",
    _ANY_DEVICE,
)
CARRIED = Hint(
    "carried",
    "In a call on {device}, `forward` carries {bytes} bytes from one device to another.",
    "What it needs can be made where it is needed. Which call makes it, and where?",
    _ANY_DEVICE,
)
NET_MOVED = Hint(
    "net-moved",
    "After `{name}`, the network is on {found}. It was on {given}, and should have stayed there.",
    "A network moves in place, for everybody who uses it. What else can go to where it is?",
    _IN_PLACE,
)

# Exercise 5
NO_FILE = Hint(
    "no-file",
    "After `save_checkpoint`, there is no file at the path that was handed in.",
    "To which path does your function write, and does it write at all?",
    _SAVING,
)
NEEDS_ITS_GPU = Hint(
    "needs-its-gpu",
    "On a machine with {gpus}, `load_checkpoint` cannot read what was saved on {saved}: it stops "
    "with {error}.",
    "The file remembers the device of each tensor. Which argument of `torch.load` says where they "
    "go instead?",
    _SAVING,
)
WHOLE_OBJECTS = Hint(
    "whole-objects",
    "`torch.load` refuses the file, since it holds more than tensors, numbers and containers.",
    "Networks and optimizers are objects of Python. What do they hand out that is made of tensors?",
    _SAVING,
)
NOT_LOADED = Hint(
    "weights-not-in",
    "After `load_checkpoint`, the network's weights are not those that were saved.",
    "Reading the file gives you a dictionary. How does what is in it get into the network?",
    _SAVING,
)
BUFFERS_LEFT = Hint(
    "buffers-left",
    "The weights are back as they were saved, and the buffer `{name}` is not.",
    "A network's state is more than its parameters. What do you save, and what do you load?",
    _ALONG,
)
OPTIMIZER_LEFT = Hint(
    "optimizer-left",
    "The network is back as it was saved, and the optimizer's `{entry}` is not.",
    "An optimizer has a state as well, in the same form. Is it in the file, and who loads it?",
    _SAVING,
)
WRONG_EPOCH = Hint(
    "wrong-epoch",
    "Epoch {epoch} was saved, and `load_checkpoint` returns {found}.",
    "The number has to be in the file, and come back as the result.",
    _SAVING,
)

# Exercise 6
IMAGES_BEHIND = Hint(
    "images-behind",
    "`net` is on {net}, but the images stayed on {other}: the first layer sees both.",
    "The network moves in place, a tensor does not. Who keeps the images that have moved?",
    _BATCH,
)
LABELS_BEHIND = Hint(
    "labels-behind",
    "`net` is on {net}, but the labels stayed on {other}: the loss sees both.",
    "A batch is two tensors.",
    _BATCH,
)
NOT_TRAINED = Hint(
    "not-trained",
    "After `train`, the network that was handed in has the weights that it had before.",
    "Which network does your function train, and whose parameters has the optimizer?",
    _IN_PLACE,
)
OTHER_TRAINING = Hint(
    "other-training",
    "After `train`, the weights are not those that the given code arrives at on the CPU.",
    "Only places have to change. Compare your function with the one that was given, line by line.",
    _OPTIMIZER,
)
OTHER_MEAN = Hint(
    "other-mean",
    "`train` returns {found}; the mean loss, as a Python number, is another.",
    "What is added to `total`, and what becomes of it at the end?",
    _BATCH,
)
