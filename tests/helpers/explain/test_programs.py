"""If one move is missing from a complete program, the fixes in at most three boxes repair it."""

import re

import pytest
import torch

import simulated_cuda
from helpers.explain import explain

HEAD = """\
import numpy as np
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

device = torch.device("cuda")
torch.manual_seed(0)
"""

CLASSIFIER = """\
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 6, 5)
        self.bn = nn.BatchNorm2d(6)
        self.pool = nn.MaxPool2d(2, 2)
        self.fc1 = nn.Linear(6 * 14 * 14, 10)

    def forward(self, x):
        x = self.pool(F.relu(self.bn(self.conv1(x))))
        x = torch.flatten(x, 1)
        return self.fc1(x)

net = Net().to(device)
criterion = nn.CrossEntropyLoss(weight=torch.ones(10).to(device))
optimizer = torch.optim.SGD(net.parameters(), lr=0.01, momentum=0.9)
data = TensorDataset(torch.randn(8, 3, 32, 32), torch.arange(8))
for epoch in range(2):
    running_loss = 0.0
    for i, data_ in enumerate(DataLoader(data, batch_size=4)):
        inputs, labels = data_[0].to(device), data_[1].to(device)
        optimizer.zero_grad()
        outputs = net(inputs)
        loss = criterion(outputs, labels)
        loss.backward()
        optimizer.step()
        running_loss += loss.item()
correct = 0
with torch.no_grad():
    for images, labels in DataLoader(data, batch_size=4):
        images = images.to(device)
        labels = labels.to(device)
        predicted = net(images).argmax(1)
        correct += (predicted == labels).sum().item()
confusion = torch.zeros(10, 10, device=device)
confusion.index_put_((labels, predicted), torch.ones(4, device=device), accumulate=True)
table = confusion.cpu().numpy()
"""

POLICY = """\
policy = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 2)).to(device)
opt = torch.optim.SGD(policy.parameters(), lr=1e-2)

def act(state):
    state = torch.from_numpy(state).float().unsqueeze(0).to(device)
    dist = torch.distributions.Categorical(logits=policy(state))
    action = dist.sample()
    return action.item(), dist.log_prob(action)

def discount(rewards, gamma=0.9):
    R, out = 0.0, []
    for r in reversed(rewards):
        R = r + gamma * R
        out.insert(0, R)
    returns = torch.tensor(out).to(device)
    return (returns - returns.mean()) / (returns.std() + 1e-6)

rng = np.random.default_rng(0)
log_probs, rewards = [], []
for t in range(5):
    a, lp = act(rng.normal(size=4))
    log_probs.append(lp)
    rewards.append(float(a))
loss = (-torch.cat(log_probs) * discount(rewards)).sum()
opt.zero_grad(); loss.backward(); opt.step()
"""

PROGRAMS = {
    "a classifier": CLASSIFIER,
    "a policy": POLICY,
}
MOVE = re.compile(r"\.to\((?:self\.)?device\)|, device=[\w.]+|\.cpu\(\)")
MUTANTS = [
    pytest.param(body[: move.start()] + body[move.end() :], id=f"{name}, {number}")
    for name, body in PROGRAMS.items()
    for number, move in enumerate(MOVE.finditer(body))
]
MAX_BOXES = 3  # a student may give up after more boxes


@pytest.fixture(autouse=True, scope="module")
def gpu():
    if torch.cuda.is_available():
        yield
    else:
        with simulated_cuda.simulated():
            yield


@pytest.mark.parametrize("body", PROGRAMS.values(), ids=PROGRAMS)
def test_complete_program_runs(student, body):
    assert student.error_of(HEAD + body, {}) is None


@pytest.mark.parametrize("body", MUTANTS)
def test_a_missing_move_is_fixed_in_at_most_three_steps(student, body):
    error = student.error_of(HEAD + body, {})
    assert error is not None, "the program does not need this move"
    for _ in range(MAX_BOXES):
        error = student.error_of(explain(error).fix.text, {})
        if error is None:
            break
    assert error is None
