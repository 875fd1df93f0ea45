"""Looking into networks: probes of attention, and gradients by position."""

import pytest
import torch
from formalbench.contracts.errors import RequestError
from formalbench.contracts.network import Batch, Traits
from formalbench.host import PluginHost
from formalbench.training.validation import attention_entropy, attention_on_first, read_probe
from formalbench_papers.chi.figure4 import input_gradients
from model_helpers import shaken, strings
from torch import nn

PROBES = {"attention-on-first": attention_on_first, "attention-entropy": attention_entropy}


def transformer(task="parity", **options):
    host = PluginHost.load()
    return host.network("transformer", host.task(task), options).double()


def read(name, network, batch):
    return read_probe(name, PROBES[name], network, batch)


@pytest.mark.parametrize("causal", [False, True])
def test_attention_of_the_answer_on_the_first_symbol(causal):
    network = transformer(causal=causal)
    batch = Batch(strings(3, 10, symbols=2))
    trace = network.trace(batch)
    series = read("attention-on-first", network, batch)
    assert len(series) == 2 * 4
    for layer in range(2):
        for head in range(4):
            weights_BMM = trace[f"block.{layer}.attention"][:, head]
            want_B = weights_BMM[:, -1 if causal else 0, 1]
            assert torch.equal(series[f"block.{layer}.head.{head}"], want_B)


def test_padding_moves_the_position_that_is_answered_from():
    network = transformer(causal=True)
    symbols = strings(2, 10, symbols=2)
    padded = Batch(symbols * (torch.arange(10) < 6), torch.tensor([6, 6]))
    alone = read("attention-on-first", network, Batch(symbols[:, :6]))
    for place, values_B in read("attention-on-first", network, padded).items():
        torch.testing.assert_close(values_B, alone[place])


def test_entropy_of_even_attention():
    network = transformer(heads=1, layers=1)
    with torch.no_grad():
        network.blocks[0].attention.query.weight.zero_()
        network.blocks[0].attention.query.bias.zero_()
    (entropy_B,) = read("attention-entropy", network, Batch(strings(2, 7, symbols=2))).values()
    torch.testing.assert_close(entropy_B, torch.full((2,), 3.0).double())


def test_no_single_answer_is_one_line():
    network = transformer("parity:tag")
    for name in PROBES:
        with pytest.raises(RequestError, match=r"Transformer has no answer.position"):
            read(name, network, Batch(strings(2, 7, symbols=2)))


MODELS = {
    "rnn": {},
    "gru": {},
    "lstm": {},
    "regulargpt": {},
    "regulargpt-c3": {},
    "transformer": {},
    "transformer-learned": {"positions": "learned"},
    "transformer-scalar": {"positions": "scalar"},
}
LENGTH = 45  # long enough for RegularGPT to compute chunks in tables


@pytest.fixture(scope="module")
def task():
    return PluginHost.load().task("parity")


@pytest.fixture(scope="module", params=MODELS, ids=list(MODELS))
def network(request, task):
    name = request.param
    model = name if name.startswith("regulargpt") else name.partition("-")[0]
    torch.manual_seed(1)
    return shaken(PluginHost.load().network(model, task, MODELS[name]).eval())


def answer(logits_BK):
    return (logits_BK[:, 0] - 2 * logits_BK[:, 1]).sum()


def embedding_of(network):
    found = [m for m in network.modules() if isinstance(m, nn.Embedding)]
    return next(m for m in found if m.num_embeddings <= 3)


def test_the_positions_of_a_symbol_add_up_to_its_row(network):
    symbols_BN = strings(6, LENGTH, symbols=2)
    gradient_BND = input_gradients(network, Batch(symbols_BN), answer)
    weight = embedding_of(network).weight
    (expected_VD,) = torch.autograd.grad(answer(network(Batch(symbols_BN))), weight)
    for symbol in (0, 1):
        total_D = gradient_BND[symbols_BN == symbol].sum(0)
        torch.testing.assert_close(total_D, expected_VD[symbol], rtol=1e-6, atol=1e-9)
    assert gradient_BND.shape == (6, LENGTH, weight.shape[1])
    assert gradient_BND.norm(dim=2).min() > 0


class Weighted(nn.Module):
    """Adds up vectors, the one at position n weighted by n."""

    def __init__(self):
        super().__init__()
        self.symbols = nn.Embedding(2, 3)
        self.read = nn.Linear(3, 2, bias=False)
        self.read.weight = nn.Parameter(torch.eye(2, 3))

    def forward(self, batch):
        weight_N = torch.arange(batch.symbols.shape[1], dtype=torch.float32)
        return self.read((weight_N[:, None] * self.symbols(batch.symbols)).sum(1))


def test_by_hand():
    gradient_BND = input_gradients(Weighted(), Batch(strings(2, 4, symbols=2)), answer)
    expected_N3 = torch.tensor([[n, -2.0 * n, 0.0] for n in range(4)])
    assert torch.equal(gradient_BND, expected_N3.expand(2, 4, 3))


def test_what_was_said_so_far_is_seen():
    class Says(Weighted):
        traits = Traits(encoder_decoder=True)

        def forward(self, batch):
            return super().forward(batch) * batch.decoded.sum(1, keepdim=True)

    batch = Batch(strings(2, 4, symbols=2), decoded=torch.tensor([[1, 1], [1, 2]]))
    once = input_gradients(Weighted(), Batch(batch.symbols), answer)
    expected = once * torch.tensor([2, 3])[:, None, None]
    assert torch.equal(input_gradients(Says(), batch, answer), expected)


def test_padding_has_none(task):
    network = shaken(PluginHost.load().network("transformer", task, {}).eval())
    batch = Batch(strings(2, 6, symbols=2), torch.tensor([6, 3]))
    norm_BN = input_gradients(network, batch, answer).norm(dim=2)
    assert (norm_BN > 0).tolist() == [[True] * 6, [True] * 3 + [False] * 3]


def test_a_readout_that_shares_the_embedding():
    class Tied(Weighted):
        def __init__(self):
            super().__init__()
            self.read.weight = self.symbols.weight

    network = Tied()
    logits = []
    input_gradients(network, Batch(strings(1, 4, symbols=2)), lambda x: logits.append(x) or x.sum())
    assert torch.equal(logits[0], network(Batch(strings(1, 4, symbols=2))))


def test_traits_tell_which_embedding_is_meant():
    class Two(Weighted):
        traits = Traits(symbol_embedding="symbols")

        def __init__(self):
            super().__init__()
            self.positions = nn.Embedding(4, 3)

    gradient_BND = input_gradients(Two(), Batch(strings(2, 4, symbols=2)), answer)
    assert torch.equal(gradient_BND[0, :, 0], torch.arange(4.0))


@pytest.mark.parametrize("embeddings", [0, 2])
def test_which_embedding_is_meant_must_be_clear(embeddings):
    network = nn.Module()
    for index in range(embeddings):
        network.add_module(f"e{index}", nn.Embedding(2, 3))
    with pytest.raises(RequestError, match=f"Module has {embeddings} torch.nn.Embedding"):
        input_gradients(network, Batch(strings(1, 4, symbols=2)), answer)
