"""A small language model: embeddings, positions created in forward, a causal mask, Adam."""

import math

import torch
from torch import nn

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
torch.manual_seed(0)


class Model(nn.Module):
    def __init__(self, vocabulary=20, width=16, length=8):
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, width)
        self.positions = nn.Embedding(length, width)
        layer = nn.TransformerEncoderLayer(width, 4, 32, dropout=0.0, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.head = nn.Linear(width, vocabulary)
        self.register_buffer("scale", torch.tensor([math.sqrt(width)]))

    def forward(self, tokens):
        indices = torch.arange(tokens.shape[1], device=tokens.device)
        mask = nn.Transformer.generate_square_subsequent_mask(tokens.shape[1], device=device)
        x = self.embedding(tokens) * self.scale + self.positions(indices)
        return self.head(self.encoder(x, mask=mask, is_causal=True))


model = Model().to(device)
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
text = torch.randint(0, 20, (6, 9)).to(device)
result = []
for _step in range(4):
    logits = model(text[:, :-1])
    loss = nn.functional.cross_entropy(logits.flatten(0, 1), text[:, 1:].flatten())
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    optimizer.step()
    result.append(loss.item())

tokens = torch.tensor([[1, 2]]).to(device)
with torch.no_grad():
    for _ in range(4):
        next_token = model(tokens)[:, -1].argmax(-1, keepdim=True)
        tokens = torch.cat([tokens, next_token], dim=1)
result += tokens[0].tolist()
