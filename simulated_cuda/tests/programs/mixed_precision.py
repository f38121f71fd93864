"""Training under autocast with a gradient scaler, gradient clipping and pinned batches."""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
torch.manual_seed(0)

# Autocast treats these operations the same way on the CPU and on CUDA, unlike LayerNorm.
net = nn.Sequential(nn.Linear(12, 24), nn.ReLU(), nn.Linear(24, 3))
net = net.to(device)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9, nesterov=True)
scaler = torch.amp.GradScaler(device.type)
data = TensorDataset(torch.rand(24, 12), torch.arange(24) % 3)
loader = DataLoader(data, batch_size=8, pin_memory=device.type == "cuda")

result = []
for _epoch in range(2):
    for images, labels in loader:
        images = images.to(device)
        labels = labels.to(device)
        with torch.autocast(device.type, dtype=torch.bfloat16):
            logits = net(images)
            loss = nn.functional.cross_entropy(logits.float(), labels)
        optimizer.zero_grad()
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        nn.utils.clip_grad_norm_(net.parameters(), 5.0)
        scaler.step(optimizer)
        scaler.update()
        result += [loss.item(), float(logits.dtype == torch.bfloat16)]
result.append(scaler.get_scale())
