"""Operations from other libraries: custom operators, torchvision, tensor subclasses."""

import pytest
import torch
from torchvision.ops import nms, roi_align


@pytest.fixture(scope="module")
def product():
    @torch.library.custom_op("test_simulated_cuda::product", mutates_args=())
    def product(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return x * y

    def backward(context, gradient):
        x, y = context.saved_tensors
        return gradient * y + torch.zeros(2, device=x.device), gradient * x

    product.register_autograd(
        backward, setup_context=lambda ctx, inputs, output: ctx.save_for_backward(*inputs)
    )
    return product


def test_custom_operator_computes_on_gpu(gpu, product):
    x = torch.ones(2, device=gpu, requires_grad=True)
    y = product(x, torch.full((2,), 3.0, device=gpu))
    y.sum().backward()
    assert y.device == x.grad.device == gpu
    assert x.grad.tolist() == [3, 3]


def test_custom_operator_refuses_mixed_devices(gpu, product):
    expected = (
        r"got y is on cpu, different from other tensors on cuda:0 \(when checking argument in "
        r"method test_simulated_cuda::product\)"
    )
    with pytest.raises(RuntimeError, match=expected):
        product(torch.ones(2, device=gpu), torch.ones(2))


def test_torchvision_roi_align_has_gradient_on_gpu(gpu):
    images = torch.rand(1, 3, 16, 16, device=gpu, requires_grad=True)
    boxes = torch.tensor([[0, 1.0, 1.0, 9.0, 9.0]])
    roi_align(images, boxes.to(gpu), (3, 3)).sum().backward()
    assert images.grad.device == gpu
    with pytest.raises(RuntimeError, match=r"got rois is on cpu.*torchvision::roi_align"):
        roi_align(images, boxes, (3, 3))


def test_torchvision_nms_works_on_gpu(gpu):
    boxes, scores = torch.tensor([[0.0, 0, 1, 1], [0, 0, 1, 1]]), torch.tensor([0.5, 0.9])
    assert nms(boxes.to(gpu), scores.to(gpu), 0.5).tolist() == [1]
    with pytest.raises(RuntimeError, match=r"got scores is on cpu.*torchvision::nms"):
        nms(boxes.to(gpu), scores, 0.5)


class WrapperTensor(torch.Tensor):
    """A tensor subclass that keeps its data in another tensor."""

    @staticmethod
    def __new__(cls, inner):
        return torch.Tensor._make_wrapper_subclass(
            cls, inner.shape, dtype=inner.dtype, device=inner.device
        )

    def __init__(self, inner):
        self.inner = inner

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        values = [value.inner if isinstance(value, cls) else value for value in args]
        return cls(func(*values, **(kwargs or {})))


def test_wrapper_subclass_is_on_gpu_and_has_gradients(gpu):
    x = WrapperTensor(torch.ones(2, device=gpu)).requires_grad_()
    y = x * 2
    assert x.device == y.device == gpu
    y.sum().backward()
    assert x.grad.device == gpu


@pytest.mark.skipif(
    not hasattr(torch.nn, "LinearCrossEntropyLoss"), reason="torch has no LinearCrossEntropyLoss"
)
@pytest.mark.parametrize("reduction", ["mean", "none"])
def test_linear_cross_entropy_in_chunks(gpu, reduction):
    """The operator keeps gradients that it computed in the forward pass."""
    torch.manual_seed(0)
    options = torch.nn.LinearCrossEntropyOptions(batch_chunk_size=2)
    x, targets = torch.randn(6, 5), torch.tensor([0, 1, 2, 0, 1, 2])
    gradients = []
    for device in ("cpu", gpu):
        torch.manual_seed(1)
        loss = torch.nn.LinearCrossEntropyLoss(5, 3, reduction=reduction, options=options)
        loss.to(device)(x.to(device), targets.to(device)).sum().backward()
        gradients.append(loss.linear.weight.grad)
    assert gradients[1].is_cuda
    assert torch.equal(gradients[0], gradients[1].cpu())
