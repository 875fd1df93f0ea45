"""Published recurrences get the same weights, or the same inputs, and give the same numbers.

`make test-published` installs them; `make test` goes without.
"""

from __future__ import annotations

from importlib import import_module

import pytest
import torch
from family_helpers import SPECS, file_of
from formalbench.host.host import load
from formalbench.host.options import make_config
from formalbench_models.catalogue.linear_recurrences import SlstmConfig
from formalbench_models.families.xlstm import SlstmMixer
from formalbench_models.layers.matrix_memory import Steps, remember
from model_helpers import fake_task

# What they use may be deprecated.
pytestmark = [pytest.mark.published, pytest.mark.filterwarnings("ignore::DeprecationWarning")]

CLOSE = {"rtol": 1e-5, "atol": 1e-5}


def mixer_of(name, **options):
    spec = SPECS[name]
    network = load(spec.factory)(fake_task(), make_config(spec, {"width": 16} | options))
    return network.blocks[0].mixer


def draw(*sizes):
    return torch.randn(2, 3, 37, *sizes)


def unit(x):
    return torch.nn.functional.normalize(x, dim=-1)


@torch.no_grad()
def test_mamba_is_that_of_mambapy():
    mambapy = import_module("mambapy.mamba")
    theirs = mambapy.MambaBlock(mambapy.MambaConfig(d_model=16, n_layers=1))
    mine = mixer_of("mamba")
    for one, other in (
        (mine.project, theirs.in_proj),
        (mine.select, theirs.x_proj),
        (mine.step, theirs.dt_proj),
        (mine.merge, theirs.out_proj),
    ):
        one.load_state_dict(other.state_dict())
    mine.convolution.weight.copy_(theirs.conv1d.weight.squeeze(1).mT)
    mine.convolution.bias.copy_(theirs.conv1d.bias)
    mine.log_rate.copy_(theirs.A_log)
    mine.skip.copy_(theirs.D)
    x = torch.randn(2, 37, 16)
    torch.testing.assert_close(mine(x, ())[0], theirs(x), **CLOSE)


@torch.no_grad()
def test_mingru_is_that_of_mingru_pytorch():
    package = import_module("minGRU_pytorch.minGRU")
    theirs = package.minGRU(16, expansion_factor=2)
    mine = mixer_of("mingru")
    candidate, gates = theirs.to_hidden_and_gate.weight.chunk(2)
    for layer, weight in ((mine.candidate, candidate), (mine.gates, gates)):
        layer.weight.copy_(weight)
        layer.bias.zero_()
    mine.merge.load_state_dict(theirs.to_out.state_dict())
    x = torch.randn(2, 37, 16)
    torch.testing.assert_close(mine(x, ())[0], theirs(x), **CLOSE)


@torch.no_grad()
def test_minlstm_is_that_of_mingru_pytorch():
    theirs = import_module("minGRU_pytorch.minLSTM").minLSTM(16, expansion_factor=2)
    mine = mixer_of("minlstm", normalised=True)
    candidate, forget, write = theirs.to_hidden_and_f_i_gate.weight.chunk(3)
    for layer, weight in ((mine.candidate, candidate), (mine.gates, torch.cat((forget, write)))):
        layer.weight.copy_(weight)
        layer.bias.zero_()
    mine.merge.load_state_dict(theirs.to_out.state_dict())
    x = torch.randn(2, 37, 16)
    torch.testing.assert_close(mine(x, ())[0], theirs(x), **CLOSE)


@pytest.mark.parametrize("heads", [1, 2, 4])
@torch.no_grad()
def test_slstm_is_that_of_xlstm(heads):
    package = import_module("xlstm.blocks.slstm.layer")
    config = package.sLSTMLayerConfig(
        embedding_dim=16, num_heads=heads, backend="vanilla", dropout=0.0
    )
    theirs = package.sLSTMLayer(config).eval()
    mine, size = SlstmMixer(SlstmConfig(width=16, heads=heads), 0.5), 16 // heads
    # Of their gates the one named f is read first, and is the input's.
    first, second = ((theirs.fgate, theirs.igate), (theirs.zgate, theirs.ogate))
    for parameter, layers in ((mine.of_mixed, first), (mine.of_symbol, second)):
        parameter.copy_(torch.cat([layer.weight.mT for layer in layers], -1))
    torch.nn.init.normal_(mine.recurrent, std=0.3)
    torch.nn.init.normal_(mine.bias, std=0.3)
    cell = theirs.slstm_cell
    kernel = mine.recurrent.unflatten(-1, (4, size)).permute(0, 2, 3, 1)
    cell._recurrent_kernel_.copy_(kernel.reshape(cell._recurrent_kernel_.shape))
    bias = mine.bias.unflatten(-1, (4, size)).transpose(0, 1)
    cell._bias_.copy_(bias.reshape(cell._bias_.shape))
    mine.convolution.weight.copy_(theirs.conv1d.conv.weight.squeeze(1).mT)
    mine.convolution.bias.copy_(theirs.conv1d.conv.bias)
    x = torch.randn(2, 37, 16)
    torch.testing.assert_close(mine(x, ())[0], theirs(x), **CLOSE)


@torch.no_grad()
def test_lru_is_that_of_lru_pytorch():
    theirs = import_module("LRU_pytorch").LRU(16, 16, 64, rmin=0.9, rmax=0.999)
    mine = mixer_of("lru")
    for one, other in (
        (mine.log_decay, theirs.nu_log),
        (mine.log_turn, theirs.theta_log),
        (mine.log_scale, theirs.gamma_log),
        (mine.write, torch.view_as_real(theirs.B)),
        (mine.read, torch.view_as_real(theirs.C)),
    ):
        one.copy_(other)
    theirs.D.copy_(mine.skip.diag())
    x = torch.randn(2, 37, 16)
    torch.testing.assert_close(mine(x, ())[0], theirs(x), **CLOSE)


@torch.no_grad()
def test_mlstm_is_that_of_xlstm():
    cell = file_of("xlstm", "blocks/mlstm/backends.py").parallel_stabilized_simple
    mine = mixer_of("mlstm", heads=2)
    torch.nn.init.normal_(mine.input_gate.weight, std=0.2)
    torch.nn.init.normal_(mine.forget_gate.weight, std=0.2)
    query, key, value = (torch.randn(2, 37, 32) for _ in range(3))
    every = torch.cat((query, key, value), dim=-1)
    parts = [x.unflatten(-1, (2, -1)).transpose(1, 2) for x in (query, key, value)]
    gates = [layer(every).mT[..., None] for layer in (mine.input_gate, mine.forget_gate)]
    want = cell(*parts, *gates).transpose(1, 2).flatten(2)
    torch.testing.assert_close(mine._cell(query, key, value, None, None)[0], want, **CLOSE)


@torch.no_grad()
def test_the_delta_rule_is_that_of_flash_linear_attention():
    theirs = file_of("fla", "ops/delta_rule/naive.py").delta_rule_recurrence
    query, key, value, rate = draw(8), unit(draw(8)), draw(4), draw().sigmoid()
    want, state = theirs(query, key, value, rate)
    rate = rate[..., None]
    mine, kept = remember(Steps(query, rate * key, value, None, -rate * key, key), None, 16)
    torch.testing.assert_close(mine * 8**-0.5, want, **CLOSE)
    torch.testing.assert_close(kept, state, **CLOSE)


@torch.no_grad()
def test_delta_products_are_those_of_flash_linear_attention():
    file = file_of("fla", "ops/gated_delta_product/naive.py")
    query, decay = draw(8), draw(1).sigmoid()
    key, value, rate = (
        unit(torch.randn(2, 3, 74, 8)),
        torch.randn(2, 3, 74, 4),
        2 * torch.rand(2, 3, 74),
    )
    places = [x.transpose(1, 2) for x in (query, key, value, decay[..., 0].log(), rate)]
    want, _ = file.naive_recurrent_gated_delta_product(*places, scale=1.0, num_householder=2)
    every = torch.cat((decay, torch.ones_like(decay)), dim=-1).flatten(2)[..., None]
    rate = rate[..., None]
    steps = Steps(query.repeat_interleave(2, 2), rate * key, value, every, -rate * every * key, key)
    mine, _ = remember(steps, None, 16)
    torch.testing.assert_close(mine[:, :, 1::2].transpose(1, 2), want, **CLOSE)


@torch.no_grad()
def test_rows_that_decay_with_low_rank_are_those_of_flash_linear_attention():
    theirs = file_of("fla", "ops/generalized_delta_rule/dplr/naive.py").dplr_recurrence
    query, key, value, decay = draw(8), draw(8), draw(4), draw(8).sigmoid()
    read, write = unit(draw(8)), -unit(draw(8))
    want, _ = theirs(query, key, value, read, write, decay.log())
    mine, _ = remember(Steps(query, key, value, decay, write, read), None, 16)
    torch.testing.assert_close(mine * 8**-0.5, want, **CLOSE)


@torch.no_grad()
def test_gates_of_rows_are_those_of_flash_linear_attention():
    theirs = file_of("fla", "ops/gla/naive.py").naive_recurrent_gla
    query, key, value, decay = draw(8), draw(8), draw(4), draw(8).sigmoid()
    places = [x.transpose(1, 2) for x in (query, key, value, decay.log())]
    want = theirs(*places)[0].transpose(1, 2)
    mine, _ = remember(Steps(query, key, value, decay), None, 16)
    torch.testing.assert_close(mine * 8**-0.5, want, **CLOSE)


@torch.no_grad()
def test_retention_is_that_of_flash_linear_attention():
    theirs = file_of("fla", "ops/retention/naive.py").naive_retention
    query, key, value = draw(8), draw(8), draw(4)
    decay = (1 - 2.0 ** (-5 - torch.arange(3)))[:, None, None].expand(2, 3, 37, 1)
    mine, _ = remember(Steps(query, key, value, decay), None, 16)
    torch.testing.assert_close(mine * 8**-0.5, theirs(query, key, value), **CLOSE)


@torch.no_grad()
def test_the_delta_rule_with_a_decay_is_that_of_flash_linear_attention():
    theirs = file_of("fla", "ops/gated_delta_rule/naive.py").naive_recurrent_gated_delta_rule
    query, key, value = draw(8), unit(draw(8)), draw(4)
    decay, rate = draw(1).sigmoid(), draw(1).sigmoid()
    places = [x.transpose(1, 2) for x in (query, key, value, rate[..., 0], decay[..., 0].log())]
    want = theirs(*places)[0].transpose(1, 2)
    mine, _ = remember(Steps(query, rate * key, value, decay, -rate * decay * key, key), None, 16)
    torch.testing.assert_close(mine * 8**-0.5, want, **CLOSE)


@torch.no_grad()
def test_sums_and_their_normaliser_are_those_of_flash_linear_attention():
    theirs = file_of("fla", "ops/linear_attn/naive.py").naive_recurrent_linear_attn
    query, key, value = draw(8).exp(), draw(8).exp(), draw(4)
    places = [x.transpose(1, 2) for x in (query, key, value)]
    want = theirs(*places, normalize=True)[0].transpose(1, 2)
    ones = torch.ones_like(value[..., :1])
    mine, _ = remember(Steps(query, key, torch.cat((value, ones), -1)), None, 16)
    torch.testing.assert_close(mine[..., :-1] / mine[..., -1:], want, **CLOSE)
