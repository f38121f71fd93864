"""Train and evaluate lesson 04's network: the whole program, with the three edits for a GPU."""

import torch
from torch import nn, optim
from torch.nn import functional as F
from torch.utils.data import DataLoader
from torchvision import transforms
from torchvision.datasets import CIFAR10


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(3, 6, 5)
        self.pool = nn.MaxPool2d(2, 2)
        self.conv2 = nn.Conv2d(6, 16, 5)
        self.fc1 = nn.Linear(16 * 5 * 5, 120)
        self.fc2 = nn.Linear(120, 84)
        self.fc3 = nn.Linear(84, 10)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.pool(F.relu(self.conv1(x)))
        x = self.pool(F.relu(self.conv2(x)))
        x = torch.flatten(x, 1)
        x = F.relu(self.fc1(x))
        return self.fc3(F.relu(self.fc2(x)))


def main(epochs: int = 2) -> float:
    """Train on CIFAR-10, save the weights, and return the accuracy on the test images."""
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")  # edit 1
    transform = transforms.Compose(
        [transforms.ToTensor(), transforms.Normalize((0.5, 0.5, 0.5), (0.5, 0.5, 0.5))]
    )
    train_set = CIFAR10("data", train=True, download=True, transform=transform)
    test_set = CIFAR10("data", train=False, download=True, transform=transform)
    train_loader = DataLoader(train_set, batch_size=4, shuffle=True)
    test_loader = DataLoader(test_set, batch_size=500)

    net = Net().to(device)  # edit 2
    optimizer = optim.SGD(net.parameters(), lr=0.001, momentum=0.9)
    net.train()
    for epoch in range(epochs):
        total = torch.zeros((), device=device)  # the sum of the losses stays on the device
        for inputs, targets in train_loader:
            inputs, targets = inputs.to(device), targets.to(device)  # edit 3
            optimizer.zero_grad()
            loss = F.cross_entropy(net(inputs), targets)
            loss.backward()
            optimizer.step()
            total += loss.detach()
        print(f"epoch {epoch + 1}: mean loss {total.item() / len(train_loader):.3f}")
    torch.save(net.state_dict(), "classic_net.pt")

    net.eval()
    correct = torch.zeros((), dtype=torch.int64, device=device)
    with torch.no_grad():
        for inputs, targets in test_loader:
            predicted = net(inputs.to(device)).argmax(dim=1)
            correct += (predicted == targets.to(device)).sum()
    accuracy = correct.item() / len(test_set)
    print(f"accuracy on the test images: {accuracy:.1%}")
    return accuracy


if __name__ == "__main__":
    main()
