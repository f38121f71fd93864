"""An LSTM over sequences of different lengths, and a GRU cell, with explicit initial states."""

import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence, pad_sequence

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
torch.manual_seed(0)

sequences = [torch.rand(length, 5) for length in (7, 4, 2)]
lengths = torch.tensor([len(s) for s in sequences])  # pack_padded_sequence needs these on the CPU
padded = pad_sequence(sequences, batch_first=True).to(device)
targets = torch.tensor([0, 1, 2]).to(device)

lstm = nn.LSTM(5, 8, num_layers=2, batch_first=True).to(device)
cell = nn.GRUCell(8, 8).to(device)
head = nn.Linear(8, 3).to(device)
parameters = [*lstm.parameters(), *cell.parameters(), *head.parameters()]
optimizer = torch.optim.RMSprop(parameters, lr=0.01)

result = []
for _step in range(4):
    packed = pack_padded_sequence(padded, lengths, batch_first=True)
    start = torch.zeros(2, 3, 8).to(device)
    output, _ = lstm(packed, (start, start.clone()))
    output, _ = pad_packed_sequence(output, batch_first=True)
    hidden = torch.zeros(3, 8).to(device)
    for step in range(output.shape[1]):
        hidden = cell(output[:, step], hidden)
    loss = nn.functional.nll_loss(head(hidden).log_softmax(1), targets)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    result.append(loss.item())
result += hidden.norm(dim=1).tolist()
