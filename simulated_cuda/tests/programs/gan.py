"""A generative adversarial network: generator and discriminator with one optimizer each."""

import torch
from torch import nn

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
torch.manual_seed(0)

generator = nn.Sequential(
    nn.ConvTranspose2d(6, 8, 4), nn.BatchNorm2d(8), nn.ReLU(),
    nn.ConvTranspose2d(8, 1, 4, stride=2, padding=1), nn.Tanh(),
)  # fmt: skip
discriminator = nn.Sequential(
    nn.Conv2d(1, 8, 4, stride=2, padding=1), nn.LeakyReLU(0.2), nn.Flatten(), nn.Linear(128, 1)
)
generator = generator.to(device)
discriminator = discriminator.to(device)
generator_optimizer = torch.optim.Adam(generator.parameters(), lr=2e-4, betas=(0.5, 0.999))
discriminator_optimizer = torch.optim.Adam(discriminator.parameters(), lr=2e-4)
criterion = nn.BCEWithLogitsLoss()
real = torch.rand(8, 1, 8, 8).to(device)
ones, zeros = torch.ones(8, 1).to(device), torch.zeros(8, 1).to(device)

result = []
for _step in range(3):
    noise = torch.randn(8, 6, 1, 1).to(device)
    fake = generator(noise)
    discriminator_optimizer.zero_grad()
    loss_real = criterion(discriminator(real), ones)
    loss_fake = criterion(discriminator(fake.detach()), zeros)
    (loss_real + loss_fake).backward()
    discriminator_optimizer.step()
    generator_optimizer.zero_grad()
    loss = criterion(discriminator(fake), ones)
    loss.backward()
    generator_optimizer.step()
    result += [loss_real.item(), loss_fake.item(), loss.item()]
result.append(generator(noise).mean().item())
