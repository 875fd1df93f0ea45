"""Our recurrences against the library's."""

import copy

import pytest
import torch
from formalbench.contracts.network import Batch
from formalbench_models.catalogue.recurrent_networks import ElmanConfig, LstmConfig, RecurrentConfig
from formalbench_models.families import recurrent
from formalbench_models.layers.bptt import write_tanh
from model_helpers import LAYOUTS, assert_same_gradients, fake_task, shaken, strings

KINDS = ("rnn", "relu", "gru", "lstm")
WIDTH = 34  # above the widths at which a small LSTM takes the library's kernel


def build(kind, layout="last", layers=1, width=WIDTH):
    if kind in ("gru", "lstm"):
        config = {"gru": RecurrentConfig, "lstm": LstmConfig}[kind](width=width, layers=layers)
    else:
        nonlinearity = "relu" if kind == "relu" else "tanh"
        config, kind = ElmanConfig(width=width, layers=layers, nonlinearity=nonlinearity), "rnn"
    return shaken(getattr(recurrent, kind)(fake_task(layout), config))


def by_the_library(network, symbols):
    """Return the logits as the library's module computes them."""
    states = network.embedding(symbols).new_zeros(len(symbols), 1, network.readout.in_features)
    if symbols.shape[1]:
        later = network.recurrence(network.embedding(symbols))[0]
        states = torch.cat((states, later), dim=1)
    read = {"last": states[:, -1], "each": states[:, 1:], "prefixes": states}[network.layout]
    return network.readout(read)


@torch.no_grad()
def test_an_lstm_may_begin_by_forgetting_less():
    def begun(**options):
        torch.manual_seed(4)
        return recurrent.lstm(fake_task(), LstmConfig(width=8, layers=2, **options)).recurrence

    plain, open_gates = begun(), begun(forget_bias=1.0)
    for layer in range(2):
        change = open_gates.all_weights[layer][2] - plain.all_weights[layer][2]
        want = torch.tensor([0.0, 1.0, 0.0, 0.0]).repeat_interleave(8)  # i, f, g, o
        torch.testing.assert_close(change, want)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("layers", [1, 2])
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("length", [0, 1, 2, 9])
def test_logits_and_gradients_are_the_librarys(monkeypatch, kind, layers, layout, length):
    monkeypatch.setattr(recurrent, "FEW", 0)  # else the library would be compared with itself
    network = build(kind, layout, layers)
    symbols = strings(5, length)
    ours, theirs = network(Batch(symbols)), by_the_library(network, symbols)
    torch.testing.assert_close(ours, theirs, rtol=0, atol=1e-12)
    assert_same_gradients(ours, theirs, list(network.parameters()), 1e-10)
    with torch.no_grad():
        torch.testing.assert_close(network(Batch(symbols)), theirs, rtol=0, atol=1e-12)


@pytest.mark.parametrize(("count", "layout"), [(3, "prefixes"), (3, "each"), (65, "prefixes")])
def test_the_library_answers_few_strings_at_every_prefix(monkeypatch, count, layout):
    network = build("lstm", layout)
    few = (count, layout) == (3, "prefixes")
    if few:  # then ours is not called
        monkeypatch.setattr(recurrent, "states", None)
    else:
        monkeypatch.setattr(network.recurrence, "forward", None)
    logits = network(Batch(strings(count, 5)))
    monkeypatch.undo()
    torch.testing.assert_close(logits, by_the_library(network, strings(count, 5)))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("grad", [True, False])
def test_under_vmap_a_small_network_uses_no_library_kernel(kind, grad):
    network = build(kind, width=8)
    symbols = torch.stack([strings(5, 6, seed=seed) for seed in range(2)])
    alone = torch.stack([network(Batch(one)) for one in symbols])
    batched = copy.deepcopy(network)
    batched.under_vmap = True
    with torch.set_grad_enabled(grad):
        together = torch.func.vmap(lambda one: batched(Batch(one)))(symbols)
    torch.testing.assert_close(together, alone, rtol=0, atol=1e-12)


@pytest.mark.parametrize("half", ["autocast", "weights"])
def test_in_half_precision_a_small_lstm_uses_no_library_kernel(monkeypatch, half):
    """Many CPUs have none."""
    network = build("lstm", width=8).float()
    monkeypatch.setattr(network.recurrence, "forward", None)  # it cannot be called
    if half == "weights":
        network = network.bfloat16()
    with torch.no_grad(), torch.autocast("cpu", torch.bfloat16, enabled=half == "autocast"):
        assert network(Batch(strings(5, 9))).isfinite().all()


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16, torch.float16])
def test_the_squashing_is_as_exact_as_numbers_near_one(dtype):
    exact = dtype.itemsize < 4  # there it is the library's own
    for x in (
        torch.linspace(-20, 20, 100_001, dtype=torch.float64),
        torch.logspace(-8, 0, 1001, dtype=torch.float64),
        torch.tensor([0.0, 1e30, -1e30], dtype=torch.float64),
    ):
        cast = x.to(dtype)
        other = torch.empty_like(cast)
        assert write_tanh(cast, other) is other
        reference = cast.tanh() if exact else cast.double().tanh()
        error = (other.to(reference.dtype) - reference).abs().max().item()
        assert error <= (0 if exact else 2 * torch.finfo(dtype).eps)
        assert torch.equal(write_tanh(cast, cast), other)  # over itself
