"""Images decoded as one strip have the pixels they have one by one, also where they are damaged."""

import io

import numpy as np
import pytest
from PIL import Image

from helpers.cifar10.decoding import decode
from helpers.cifar10.jpeg_strips import Strip


def jpeg(pixels, **options):
    buffer = io.BytesIO()
    Image.fromarray(pixels).save(buffer, "JPEG", **options)
    return buffer.getvalue()


def one_by_one(images):
    decoded = [np.array(Image.open(io.BytesIO(data)).convert("RGB")) for data in images]
    return np.stack(decoded).transpose(0, 3, 1, 2)


def in_a_strip(images):
    strip = Strip.like(images[0])
    assert strip is not None
    assert all(strip.fits(image) for image in images)
    pixels = np.empty((len(images), 3, 32, 32), np.uint8)
    strip.decode(images, pixels)
    return pixels


@pytest.fixture
def noise():
    """The hardest there is: every pixel another colour, many at the ends of the range."""
    random = np.random.default_rng(0)
    images = random.integers(-100, 356, (60, 32, 32, 3)).clip(0, 255)
    return images.astype(np.uint8)


@pytest.mark.parametrize("quality", [1, 30, 75, 90, 100])
def test_a_strip_gives_the_pixels_of_the_images_one_by_one(noise, quality):
    images = [jpeg(pixels, quality=quality, subsampling=2) for pixels in noise]
    assert np.array_equal(in_a_strip(images), one_by_one(images))


def test_a_strip_of_one(noise):
    images = [jpeg(noise[0])]
    assert np.array_equal(in_a_strip(images), one_by_one(images))


@pytest.mark.parametrize(
    "options",
    [{"subsampling": 0}, {"subsampling": 1}, {"progressive": True}, {"restart_marker_blocks": 1}],
)
def test_what_cannot_be_strung_is_known(noise, options):
    assert Strip.like(jpeg(noise[0], **options)) is None


@pytest.mark.parametrize("mode", ["L", "CMYK"])
def test_only_three_colours_are_strung(noise, mode):
    buffer = io.BytesIO()
    Image.fromarray(noise[0]).convert(mode).save(buffer, "JPEG")
    assert Strip.like(buffer.getvalue()) is None


def test_images_of_another_kind_among_the_rest_are_decoded_as_well(noise):
    kinds = [{}, {"quality": 90}, {"subsampling": 0}, {"progressive": True}, {"optimize": True}]
    images = [jpeg(pixels, **kinds[k % 7 % 5]) for k, pixels in enumerate(noise)]
    files = {f"{k}.jpg": data for k, data in enumerate(images)}
    assert np.array_equal(decode(files, list(files)).numpy(), one_by_one(images))


def test_a_damaged_image_spoils_none_of_its_neighbours(noise):
    """Compressed data with flipped bits decodes to nonsense, but to the same nonsense."""
    random = np.random.default_rng(1)
    images = [jpeg(pixels) for pixels in noise]
    start = len(Strip.like(images[0]).header)
    for k in range(0, len(images), 2):
        damaged = bytearray(images[k])
        for place in random.integers(start, len(damaged) - 2, 3):
            damaged[place] ^= 1 << int(random.integers(8))
        images[k] = bytes(damaged)
    files = {f"{k}.jpg": data for k, data in enumerate(images)}
    assert np.array_equal(decode(files, list(files)).numpy(), one_by_one(images))


@pytest.mark.parametrize("marker", [b"\xff\xd9", b"\xff\xd3", b"\xff\xda"])
def test_a_marker_that_damage_has_made_ends_no_strip(noise, marker):
    images = [jpeg(pixels) for pixels in noise]
    middle = (len(Strip.like(images[0]).header) + len(images[5])) // 2
    images[5] = images[5][:middle] + marker + images[5][middle + 2 :]
    strip = Strip.like(images[0])
    assert [k for k, image in enumerate(images) if not strip.fits(image)] == [5]


def test_a_decoder_that_disagrees_is_not_believed(noise, monkeypatch):
    images = [jpeg(pixels) for pixels in noise]
    files = {f"{k}.jpg": data for k, data in enumerate(images)}
    monkeypatch.setattr(Strip, "decode", lambda self, images, rgb: rgb.fill(7))
    assert np.array_equal(decode(files, list(files)).numpy(), one_by_one(images))
