"""Message passing on a graph without `nn.Module`: indexing, linear algebra and a manual update."""

import torch

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
torch.manual_seed(0)

nodes = torch.rand(6, 4).to(device)
edges = torch.tensor([[0, 1, 2, 3, 4, 5, 0], [1, 2, 3, 4, 5, 0, 3]]).to(device)
weights = torch.rand(4, 4).to(device).requires_grad_()
targets = torch.rand(6, 4).to(device)

result = []
for _step in range(3):
    messages = nodes[edges[0]] @ weights
    sums = torch.zeros_like(nodes).index_add(0, edges[1], messages)
    loss = torch.where(sums > 0.5, sums - targets, targets).square().mean()
    (gradient,) = torch.autograd.grad(loss, weights)
    with torch.no_grad():
        weights -= 0.1 * gradient
    result.append(loss.item())
values, order = torch.topk(weights.detach().flatten(), 3)
result += values.tolist() + order.tolist()
result += torch.linalg.eigvalsh(weights.detach() @ weights.detach().T).round(decimals=4).tolist()
