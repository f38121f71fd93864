"""A residual network with BatchNorm, class weights, a one-cycle schedule and gradient clipping."""

import torch
from torch import nn

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
torch.manual_seed(0)


class Block(nn.Module):
    def __init__(self, inputs, outputs):
        super().__init__()
        self.conv = nn.Conv2d(inputs, outputs, 3, padding=1, bias=False)
        self.norm = nn.BatchNorm2d(outputs)
        self.skip = nn.Conv2d(inputs, outputs, 1)

    def forward(self, x):
        return nn.functional.silu(self.norm(self.conv(x))) + self.skip(x)


net = nn.Sequential(
    Block(3, 8), nn.AvgPool2d(2), Block(8, 16), nn.AdaptiveMaxPool2d(2), nn.Flatten(),
    nn.Linear(64, 10),
)  # fmt: skip
net = net.to(device)
weights = torch.linspace(0.5, 1.5, 10).to(device)
optimizer = torch.optim.AdamW(net.parameters(), lr=0.01)
scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, 0.01, total_steps=6)

images = torch.rand(12, 3, 16, 16).to(device)
labels = torch.arange(12).remainder(10).to(device)
result = []
for _step in range(6):
    loss = nn.functional.cross_entropy(net(images), labels, weight=weights, label_smoothing=0.1)
    optimizer.zero_grad()
    loss.backward()
    norm = nn.utils.clip_grad_norm_(net.parameters(), 1.0)
    optimizer.step()
    scheduler.step()
    result += [loss.item(), norm.item()]

net.eval()
with torch.inference_mode():
    result += net(images).softmax(1).amax(1).tolist()
result += net[0].norm.running_mean.cpu().numpy().tolist()
