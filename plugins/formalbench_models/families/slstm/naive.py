"""The mixer of sLSTM, slowly: a string, a head and a symbol at a time, exponentials as they are."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional

from formalbench_models.families.slstm.model import NORM_EPSILON, SlstmMixer
from formalbench_models.layers.convolution import ShortConvolution


def change(mixer: SlstmMixer, x_TW: Tensor) -> Tensor:
    """Return the change to the symbols of one string, (T, W)."""
    size = x_TW.shape[1] // mixer.heads
    mixed_TW = x_TW
    if mixer.convolution is not None:
        mixed_TW = functional.silu(_convolved(mixer.convolution, x_TW))
    answers = []
    for head in range(mixer.heads):
        own = slice(head * size, (head + 1) * size)
        h = c = n = x_TW.new_zeros(size)
        states = []
        for x, mixed in zip(x_TW[:, own], mixed_TW[:, own], strict=True):
            of_symbols = torch.cat((mixed @ mixer.of_mixed[head], x @ mixer.of_symbol[head]))
            i, f, z, o = (of_symbols + h @ mixer.recurrent[head] + mixer.bias[head]).chunk(4)
            c = f.sigmoid() * c + i.exp() * z.tanh()
            n = f.sigmoid() * n + i.exp()
            h = o.sigmoid() * c / n
            mean = h.mean()
            deviation = ((h - mean).square().mean() + NORM_EPSILON).sqrt()
            states.append(mixer.gain[own] * (h - mean) / deviation)
        answers.append(torch.stack(states))
    return torch.cat(answers, 1)


def _convolved(convolution: ShortConvolution, x_TW: Tensor) -> Tensor:
    """Return each channel filtered over the last symbols, (T, W)."""
    filters = convolution.weight
    rows: list[Tensor] = []
    assert convolution.bias is not None
    for t in range(len(x_TW)):
        row: Tensor = convolution.bias
        for place, weight in enumerate(filters):
            back = t - (len(filters) - 1) + place
            if back >= 0:
                row = row + weight * x_TW[back]
        rows.append(row)
    return torch.stack(rows)
