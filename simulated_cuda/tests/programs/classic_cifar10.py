"""The classic CIFAR-10 script of lesson 04 with its three edits, evaluation and reloading."""

import io

import torch
from torch import nn, optim
from torch.nn import functional as F
from torch.utils.data import DataLoader, TensorDataset

device = torch.device("cuda:0" if torch.cuda.is_available() else "cpu")
torch.manual_seed(0)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 6, 5)
        self.pool = nn.MaxPool2d(2, 2)
        self.conv2 = nn.Conv2d(6, 16, 5)
        self.fc1 = nn.Linear(16 * 5 * 5, 120)
        self.fc2 = nn.Linear(120, 84)
        self.fc3 = nn.Linear(84, 10)

    def forward(self, x):
        x = self.pool(F.relu(self.conv1(x)))
        x = self.pool(F.relu(self.conv2(x)))
        x = torch.flatten(x, 1)
        return self.fc3(F.relu(self.fc2(F.relu(self.fc1(x)))))


data = TensorDataset(torch.rand(32, 3, 32, 32) * 2 - 1, torch.randint(0, 10, (32,)))
loader = DataLoader(data, batch_size=4, shuffle=True)
net = Net().to(device)
criterion = nn.CrossEntropyLoss()
optimizer = optim.SGD(net.parameters(), lr=0.001, momentum=0.9)

losses = []
for _epoch in range(2):
    for batch in loader:
        inputs, labels = batch[0].to(device), batch[1].to(device)
        optimizer.zero_grad()
        loss = criterion(net(inputs), labels)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())

file = io.BytesIO()
torch.save(net.state_dict(), file)
file.seek(0)
reloaded = Net()
reloaded.load_state_dict(torch.load(file, map_location=device, weights_only=True))
reloaded = reloaded.to(device)
correct = 0
with torch.no_grad():
    for images, labels in DataLoader(data, batch_size=7):
        predicted = reloaded(images.to(device)).argmax(1)
        correct += (predicted == labels.to(device)).sum().item()

result = [*losses, correct]
