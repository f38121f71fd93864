"""The drawn images are the same everywhere, and only shape tells the classes apart, not color."""

import hashlib

import pytest
import torch

from helpers.drawn_images import CLASSES, draw


@pytest.fixture(autouse=True)
def one_thread():
    """Use one thread: with such small tensors, several threads wait for each other."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="module")
def drawn():
    return draw(4000, 1000)


def test_images_and_labels_have_the_format_of_cifar10(drawn):
    for split, count in zip(drawn, (4000, 1000), strict=True):
        assert split.images.shape == (count, 3, 32, 32)
        assert split.images.dtype == torch.uint8
        assert split.labels.shape == (count,)
        assert split.labels.dtype == torch.int64


def test_classes_are_equally_frequent(drawn):
    train, test = drawn
    assert len(CLASSES) == 10
    assert torch.bincount(train.labels).tolist() == [400] * 10
    assert torch.bincount(test.labels).tolist() == [100] * 10


def test_the_images_are_the_same_on_every_machine():
    """Update the checksum after an intended change of the drawings."""
    digest = hashlib.sha256()
    for split in draw(300, 100, seed=3):
        digest.update(split.images.numpy())
        digest.update(split.labels.numpy())
    assert digest.hexdigest()[:16] == "d889f6975363814e"


def test_another_seed_draws_other_images():
    assert not torch.equal(draw(20, 10, seed=1)[0].images, draw(20, 10, seed=2)[0].images)


def test_no_test_image_is_a_training_image(drawn):
    train, test = ({image.numpy().tobytes() for image in split.images} for split in drawn)
    assert len(train) == 4000
    assert not train & test


def test_drawing_does_not_change_the_generator_of_torch():
    torch.manual_seed(0)
    expected = torch.rand(3)
    torch.manual_seed(0)
    draw(10, 10)
    assert torch.equal(torch.rand(3), expected)


def test_none_and_few_images_can_be_drawn():
    train, test = draw(0, 3)
    assert train.images.shape == (0, 3, 32, 32)
    assert test.labels.shape == (3,)


def test_a_negative_number_of_images_is_an_error():
    with pytest.raises(ValueError, match="train=-1"):
        draw(-1, 10)


def accuracy_of_a_linear_model(features, drawn):
    """Fit one-hot labels by least squares on the training part; accuracy on the test part."""
    train, test = drawn
    x, mean = features(train.images), features(train.images).mean(0)
    ones = torch.nn.functional.one_hot(train.labels, 10).double()
    weights = torch.linalg.lstsq(x - mean, ones - 0.1, driver="gelsd").solution
    return ((features(test.images) - mean) @ weights).argmax(1).eq(test.labels).double().mean()


def test_colors_alone_do_not_predict_the_class(drawn):
    """Mean and spread of each channel tell at most how much of the image a shape covers."""

    def colors(images):
        pixels = images.double().flatten(2) / 255
        mean, spread = pixels.mean(2), pixels.std(2)
        return torch.cat([mean, spread, mean**2, spread**2, mean * spread], 1)

    assert accuracy_of_a_linear_model(colors, drawn) < 0.2


def test_linear_model_of_pixels_does_not_predict_the_class(drawn):
    def coarse(images):
        return torch.nn.functional.avg_pool2d(images.double() / 255, 4).flatten(1)

    assert accuracy_of_a_linear_model(coarse, drawn) < 0.2


def test_small_network_predicts_the_class_from_the_shape(drawn):
    """A small convolutional network learns it from 400 images per class within seconds."""
    torch.manual_seed(0)
    net = torch.nn.Sequential(
        torch.nn.Conv2d(3, 16, 5, stride=2),
        torch.nn.BatchNorm2d(16),
        torch.nn.ReLU(),
        torch.nn.Conv2d(16, 32, 3, stride=2),
        torch.nn.BatchNorm2d(32),
        torch.nn.ReLU(),
        torch.nn.Conv2d(32, 64, 3),
        torch.nn.BatchNorm2d(64),
        torch.nn.ReLU(),
        torch.nn.AdaptiveMaxPool2d(1),
        torch.nn.Flatten(),
        torch.nn.Linear(64, 10),
    )
    train, test = drawn
    optimizer = torch.optim.Adam(net.parameters(), lr=5e-3)
    for _ in range(3):
        for rows in torch.randperm(4000).split(50):
            images = train.images[rows].float() / 128 - 1
            loss = torch.nn.functional.cross_entropy(net(images), train.labels[rows])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    net.eval()
    with torch.no_grad():
        correct = net(test.images.float() / 128 - 1).argmax(1).eq(test.labels).float().mean()
    assert correct > 0.4
