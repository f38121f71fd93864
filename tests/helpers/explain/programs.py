"""Small, complete programs like those of students, correct on a GPU; `HEAD` precedes each."""

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

TRANSFORMER = """\
class Block(nn.Module):
    def __init__(self, d, n):
        super().__init__()
        self.tokens = nn.Embedding(10, d)
        self.positions = nn.Embedding(n, d)
        self.attend = nn.MultiheadAttention(d, 2, batch_first=True)
        self.norm = nn.LayerNorm(d)
        self.out = nn.Linear(d, 10)

    def forward(self, ids):
        n = ids.shape[1]
        h = self.tokens(ids) + self.positions(torch.arange(n, device=ids.device))
        mask = torch.triu(torch.ones(n, n, device=ids.device), diagonal=1).bool()
        a, _ = self.attend(h, h, h, attn_mask=mask)
        return self.out(self.norm(h + a))

def train(model, ids, steps):
    opt = torch.optim.AdamW(model.parameters())
    for _ in range(steps):
        logits = model(ids[:, :-1])
        loss = F.cross_entropy(logits.reshape(-1, 10), ids[:, 1:].reshape(-1))
        opt.zero_grad()
        loss.backward()
        opt.step()
    return loss

@torch.no_grad()
def generate(model, start, steps):
    ids = start
    for _ in range(steps):
        p = model(ids)[:, -1].softmax(-1)
        nxt = torch.multinomial(p, 1)
        ids = torch.cat([ids, nxt], dim=1)
    return ids

model = Block(8, 16).to(device)
ids = torch.randint(10, (2, 6)).to(device)
train(model, ids, 2)
sample = generate(model, torch.zeros(1, 1, dtype=torch.long, device=device), 3)
sampled = sample.cpu().numpy()
"""

GAN = """\
G = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2)).to(device)
D = nn.Sequential(nn.Linear(2, 8), nn.ReLU(), nn.Linear(8, 1)).to(device)
g_opt = torch.optim.SGD(G.parameters(), lr=1e-3)
d_opt = torch.optim.SGD(D.parameters(), lr=1e-3)
bce = nn.BCEWithLogitsLoss()
ones = torch.ones(5, 1).to(device)
zeros = torch.zeros(5, 1).to(device)
fixed = torch.randn(3, 4, device=device)
for step in range(2):
    real = torch.randn(5, 2).to(device)
    fake = G(torch.randn(5, 4, device=device))
    d_loss = bce(D(real), ones) + bce(D(fake.detach()), zeros)
    d_opt.zero_grad()
    d_loss.backward()
    d_opt.step()
    g_loss = bce(D(fake), ones)
    g_opt.zero_grad()
    g_loss.backward()
    g_opt.step()
points = G(fixed).detach().cpu().numpy()
"""

REGRESSION_FROM_SCRATCH = """\
w = torch.randn(3, 1, device=device, requires_grad=True)
b = torch.zeros(1, device=device, requires_grad=True)
X = torch.randn(10, 3).to(device)
y = torch.randn(10, 1).to(device)

def linreg(X, w, b):
    return torch.matmul(X, w) + b

def squared_loss(y_hat, y):
    return (y_hat - y.reshape(y_hat.shape)) ** 2 / 2

def sgd(params, lr, batch_size):
    with torch.no_grad():
        for param in params:
            param -= lr * param.grad / batch_size
            param.grad.zero_()

for epoch in range(2):
    l = squared_loss(linreg(X, w, b), y)
    l.sum().backward()
    sgd([w, b], 0.03, 10)
true_w = torch.tensor([[2.0], [-3.4], [1.0]]).to(device)
error = (true_w - w.reshape(true_w.shape)).abs().max()
history = [l.mean()]
curve = np.array([v.detach().cpu() for v in history])
"""

TRAINER = """\
class Trainer:
    def __init__(self, model, device):
        self.model = model.to(device)
        self.device = device
        self.loss = nn.MSELoss()
        self.opt = torch.optim.SGD(self.model.parameters(), lr=0.1)
        self.mean = torch.zeros(4).to(device)

    def step(self, batch):
        batch = {k: v.to(self.device) for k, v in batch.items()}
        self.opt.zero_grad()
        prediction = self.model(batch['x'] - self.mean)
        loss = self.loss(prediction, batch['y'])
        loss.backward()
        self.opt.step()
        return loss

    def fit(self, batches):
        return [self.step(batch).item() for batch in batches]

batches = [{'x': torch.randn(2, 4), 'y': torch.randn(2, 1)} for _ in range(2)]
trainer = Trainer(nn.Linear(4, 1), device)
trainer.fit(batches)
"""

AUTOENCODER = """\
class VAE(nn.Module):
    def __init__(self):
        super().__init__()
        self.enc = nn.Linear(6, 4)
        self.mu = nn.Linear(4, 2)
        self.logvar = nn.Linear(4, 2)
        self.dec = nn.Linear(2, 6)

    def reparameterize(self, mu, logvar):
        std = torch.exp(0.5 * logvar)
        eps = torch.randn(std.shape, device=std.device)
        return mu + eps * std

    def forward(self, x):
        h = torch.relu(self.enc(x))
        mu, logvar = self.mu(h), self.logvar(h)
        z = self.reparameterize(mu, logvar)
        return self.dec(z), mu, logvar

def loss_fn(model, x):
    out, mu, logvar = model(x)
    kld = -0.5 * torch.sum(1 + logvar - mu.pow(2) - logvar.exp())
    return F.mse_loss(out, x) + kld

vae = VAE().to(device)
x = torch.rand(5, 6).to(device)
loss_fn(vae, x).backward()
with torch.no_grad():
    grid = torch.stack([torch.linspace(-1, 1, 3), torch.zeros(3)], dim=1).to(device)
    images = vae.dec(grid).cpu().numpy()
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
    "a transformer": TRANSFORMER,
    "a GAN": GAN,
    "a regression from scratch": REGRESSION_FROM_SCRATCH,
    "a trainer with batches in dictionaries": TRAINER,
    "an autoencoder": AUTOENCODER,
    "a policy": POLICY,
}
