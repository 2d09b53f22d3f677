"""LSTM, GRU and RNN of cuDNN: two layers, in one and in both directions, projected, packed, half precision.

Parameters are kept in one buffer, as cuDNN wants it. For an LSTM of 64 inputs, 128 units and two layers that is
4 * 128 * (64 + 128 + 2) + 4 * 128 * (128 + 128 + 2) = 231,424 numbers; in both directions the second layer has 256 inputs:
2 * 4 * 128 * (64 + 128 + 2) + 2 * 4 * 128 * (256 + 128 + 2) = 593,920. A GRU has 3 gates in place of 4, an RNN 1.
"""
import torch
from torch import nn

for kind in (nn.LSTM, nn.GRU, nn.RNN):
    for options in ({}, {"bidirectional": True, "dropout": 0.1}):
        for dtype in (torch.float32, torch.float16):
            layer = kind(64, 128, num_layers=2, batch_first=True, **options).cuda().to(dtype)
            x = torch.randn(8, 50, 64, device="cuda", dtype=dtype, requires_grad=True)
            y, _ = layer(x)
            y.sum().backward()
            assert y.shape == (8, 50, 256 if options else 128)
            assert x.grad.shape == x.shape and all(p.grad.shape == p.shape for p in layer.parameters())
        name = f"{kind.__name__.lower()} in {'both directions' if options else 'one direction'}"
        print(f"{name}: {sum(p.numel() for p in layer.parameters())}")
        storages = {p.untyped_storage().data_ptr(): p.untyped_storage().nbytes() for p in layer.parameters()}
        print("one buffer", len(storages) == 1)
layer = nn.LSTM(64, 128).cuda()
packed = nn.utils.rnn.pack_padded_sequence(torch.randn(20, 4, 64, device="cuda"), torch.tensor([20, 15, 10, 5]))
padded, lengths = nn.utils.rnn.pad_packed_sequence(layer(packed)[0])
print("packed", tuple(padded.shape), lengths.tolist())
layer.eval()
with torch.no_grad():
    layer(torch.randn(5, 4, 64, device="cuda"))
projected = nn.LSTM(64, 128, proj_size=32).cuda()
output, _ = projected(torch.randn(5, 4, 64, device="cuda"))
output.sum().backward()
print("projected", tuple(output.shape))
