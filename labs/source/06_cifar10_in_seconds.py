# ---
# jupyter:
#   kernelspec: {display_name: Python 3, language: python, name: python3}
#   course:
#     title: CIFAR-10 in seconds
#     promise: >-
#       You write the parts of a fast training run, each for a whole batch at once, and train a
#       small network in a limited number of passes.
#     minutes: 50
#     objectives:
#       - mirror and shift the images of a batch on the device, each by its own random numbers
#       - predict from two views of an image
#       - smooth the labels
#       - reach an accuracy within a number of passes
#     prerequisites:
#       - "no GPU and no dataset: you practice on a simulated GPU and on synthetic images"
#     credits:
#       - >-
#         The techniques are those of the lesson, which names their sources; label smoothing is from
#         Szegedy and others, [Rethinking the Inception
#         Architecture](https://arxiv.org/abs/1512.00567), 2016.
# ---

# %%
import torch
from torch.nn import functional as F

from helpers import lesson
from helpers.checks import lab_06 as check

# %% tags=["parameters"]
seed: int = 0  # of random numbers in your own cells

# %% tags=["nbval-ignore-output"]
device = lesson.start(seed=seed, practice=True, gpus=2)

# %% [markdown]
# ## Exercise 1: random mirror images (2 points)
#
# Write `random_flip(images)`. `images` is a batch of floating-point numbers of shape
# `(N, 3, height, width)` on some device. Return a new batch in which each image is mirrored
# horizontally with probability 1/2, independently of the others: no two images share a random
# number. Everything happens on the device of the images, **nothing is copied between devices**, and
# there is no loop over the images. The given images stay unchanged.


# %% exercise=1
def random_flip(images):
    """Return the batch with each image mirrored horizontally with probability 1/2."""
    ### BEGIN SOLUTION
    mirrored = torch.rand(len(images), 1, 1, 1, device=images.device) < 0.5
    return torch.where(mirrored, images.flip(3), images)
    ### END SOLUTION


# %% check=1 points=2
check.exercise_1(random_flip)

# %% [markdown]
# ## Exercise 2: random shifts (3 points)
#
# Write `random_shift(images, max_shift)`. Each image moves by a whole number of pixels down (or up,
# if the number is negative), and by another to the right (or left). Both are drawn for each image
# from `-max_shift` to `max_shift`, including both ends, and all shifts are **equally likely**.
# Pixels that the shift uncovers are 0; pixels that leave the image are lost.
#
# As before: a new batch, on the device of the images, without copies between devices and without a
# loop over the images. Think of the lesson's gather: for every pixel of the result, where does it
# come from? You can set pixels from outside the image to 0 afterward.


# %% exercise=2
def random_shift(images, max_shift):
    """Return the batch with each image shifted by up to `max_shift` pixels along both axes."""
    ### BEGIN SOLUTION
    count, _, height, width = images.shape
    shifts = torch.randint(-max_shift, max_shift + 1, (2, count, 1), device=images.device)
    rows = torch.arange(height, device=images.device) + max_shift - shifts[0]
    columns = torch.arange(width, device=images.device) + max_shift - shifts[1]
    padded = F.pad(images, (max_shift, max_shift, max_shift, max_shift))
    which = torch.arange(count, device=images.device)[:, None, None]
    moved = padded.permute(0, 2, 3, 1)[which, rows[:, :, None], columns[:, None, :]]
    return moved.permute(0, 3, 1, 2)
    ### END SOLUTION


# %% check=2 points=3
check.exercise_2(random_shift)

# %% [markdown]
# ## Exercise 3: two views of each image (2 points)
#
# Write `predict(net, images)`. It returns the logits of `net`, averaged over two views of each
# image: the image itself and its horizontal mirror image. Network and images are on the same device
# and stay there. The network may be in training mode, but is called in evaluation mode; its mode
# afterward does not matter. No gradients are tracked, and afterward the caller can train as before.


# %% exercise=3
def predict(net, images):
    """Return the mean of the logits for the images and for their mirror images."""
    ### BEGIN SOLUTION
    net.eval()
    with torch.no_grad():
        return (net(images) + net(images.flip(3))) / 2
    ### END SOLUTION


# %% check=3 points=2
check.exercise_3(predict)

# %% [markdown]
# ## Exercise 4: smooth the labels (3 points)
#
# Write `smoothed_loss(logits, labels, smoothing)`: the mean cross-entropy between the network's
# predictions and smoothed targets. The right class of an image gets `1 - smoothing`, and
# `smoothing` is spread evenly over *all* classes, including the right one. There may be any number
# of classes, and the logits may be large. The result is a tensor with one number through which
# gradients can flow.


# %% exercise=4
def smoothed_loss(logits, labels, smoothing):
    """Return the mean cross-entropy with smoothed labels, a tensor of one number."""
    ### BEGIN SOLUTION
    losses = -logits.log_softmax(dim=1)
    right = losses.gather(1, labels[:, None]).mean()
    return (1 - smoothing) * right + smoothing * losses.mean()
    ### END SOLUTION


# %% check=4 points=3
check.exercise_4(smoothed_loss)

# %% [markdown]
# ## Exercise 5: four out of five in six passes (4 points)
#
# `learn(net, images, labels, epochs)` trains a small network in place. `images` are 360 synthetic
# patterns of 10 by 10 pixels with horizontal, vertical or diagonal stripes. They and their labels
# are on the device of the network, **sorted by class**. The function below runs but learns almost
# nothing.
#
# Change it so that **80% of new images** are correct afterward. In the whole training, at most
# `epochs` times 360 images may go through the network; the check uses `epochs=6`. The rules of
# training still hold: batches mix the classes, no step uses the gradients of an earlier one again,
# and the given images and labels stay unchanged.


# %% exercise=5 task="make it learn"
def learn(net, images, labels, epochs):
    """Train `net` in place, in `epochs` passes over the images."""
    ### BEGIN SOLUTION
    batch = 12
    steps = epochs * len(images) // batch
    optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
    schedule = torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, 0.0, total_iters=steps)
    for _ in range(epochs):
        for chosen in torch.randperm(len(images), device=images.device).split(batch):
            optimizer.zero_grad()
            F.cross_entropy(net(images[chosen]), labels[chosen]).backward()
            optimizer.step()
            schedule.step()
    ### END SOLUTION
    ### BEGIN GIVEN
    # optimizer = torch.optim.SGD(net.parameters(), lr=0.001)
    # for _ in range(epochs):
    #     for chosen in torch.arange(len(images), device=images.device).split(60):
    #         optimizer.zero_grad()
    #         F.cross_entropy(net(images[chosen]), labels[chosen]).backward()
    #         optimizer.step()
    ### END GIVEN


# %% check=5 points=4
check.exercise_5(learn)
