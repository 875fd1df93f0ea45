"""A network of the library's mixers: `--model examples/hybrid.py:MambaAttention`."""

from formalbench_models.layers import AttentionMixer, Mamba2Config, Mamba2Mixer
from torch import nn


class MambaAttention(nn.Module):
    def __init__(self, task, *, width: int = 64, heads: int = 4):
        super().__init__()
        self.embed = nn.Embedding(len(task.alphabet), width)
        below = Mamba2Mixer(Mamba2Config(width=width, heads=heads))
        self.mixers = nn.ModuleList([below, AttentionMixer(width, heads)])
        self.norms = nn.ModuleList(nn.RMSNorm(width) for _ in self.mixers)

    def forward(self, ids):
        x_BND = self.embed(ids)
        for norm, mixer in zip(self.norms, self.mixers, strict=True):
            x_BND = x_BND + mixer(norm(x_BND))[0]
        return x_BND
