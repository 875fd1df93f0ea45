"""Options of families: what is refused, and how networks begin."""

import pytest
import torch
from family_helpers import at_first, build
from formalbench import Batch
from formalbench.contracts.errors import RequestError
from formalbench.host.options import make_config, option_facts
from formalbench.theory.theorems import about
from formalbench_models.catalogue.linear_recurrences import LINEAR_RECURRENCES
from formalbench_models.families.rwkv7 import naive_network
from formalbench_models.layers.residual import Backbone
from formalbench_models.plugin import formalbench_models
from model_helpers import assert_same_gradients, strings

EVERY = {spec.name: spec for spec in formalbench_models()}


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("deltanet", {"width": 64, "heads": 3}, "deltanet: width must be divisible by heads"),
        ("retnet", {"width": 12, "heads": 4}, "width / heads must be even here, not 3"),
        ("mlstm", {"block": 7}, "mlstm: width must be divisible by block: 64 is not by 7"),
        ("slice", {"states": 10}, "slice: states must be divisible by block: 10 is not by 4"),
        ("slice", {"shell": "slice", "width": 32}, "slice: shell=slice .*: 64 is not 32"),
        ("slice", {"normed": "block", "block": 1}, "slice: normed=block leaves nothing but"),
        ("lru", {"slowest": 0.5}, "lru: slowest must be at least fastest: 0.5 < 0.9"),
        ("xlstm", {"every": 3}, "every is 3, of 2 layers: none would be"),
        ("transformer", {"width": 12, "positions": "rope"}, "width / heads must be even here"),
        ("transformer", {"randomised": 99, "positions": "none"}, "randomised goes with positions"),
        (
            "transformer",
            {"randomised": 32769, "positions": "xpos"},
            "is at most 32768 with .* xpos",
        ),
        ("transformer", {"shifted": 9}, "shifted goes with positions learned"),
        (
            *("transformer", {"shifted": 9, "positions": "learned", "randomised": 99}),
            "not with randomised",
        ),
        ("transformer", {"forget": True, "attention": "stick-breaking"}, "not stick-breaking"),
        ("looped-transformer", {"times": 513, "layers": 2}, r"at most 1024, not 2 \* 513"),
        ("encoder-decoder", {"width": 8, "heads": 3}, "divisible by heads: 8 is not by 3"),
        (
            "hybrid",
            {"pattern": "mamba2+attention"},
            "pattern 'mamba2': did you mean mamba-2",
        ),
        ("hybrid", {"pattern": "mamba+"}, "unknown part of pattern ''"),
        ("hybrid", {"width": 10}, "width must be divisible by heads"),
        ("hybrid", {"repeats": 64}, "128 blocks, and at most 64"),
        ("stack-attention", {"stack_block": 4}, "stack_block is 4, of 3 layers"),
        ("stack-attention", {"init": "library"}, "init=library makes all blocks alike"),
        ("stack-attention", {"width": 8, "heads": 3}, "width must be divisible by heads"),
    ],
)
def test_they_are_refused(name, options, message):
    with pytest.raises(RequestError, match=message) as error:
        make_config(EVERY[name], options)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("modulus", [0.001, 0.9999])
def test_a_ring_may_be_a_circle(modulus):
    mixer = at_first("lru", slowest=modulus, fastest=modulus).blocks[0].mixer
    assert all(parameter.isfinite().all() for parameter in mixer.parameters())
    # What is read is scaled so that the state of white noise has the variance of the noise.
    scale = torch.full_like(mixer.log_scale, (1 - modulus**2) ** 0.5)
    torch.testing.assert_close(mixer.log_scale.exp(), scale, rtol=1e-3, atol=1e-5)


@pytest.mark.parametrize("spec", LINEAR_RECURRENCES, ids=lambda spec: spec.name)
def test_what_theory_says_of_each(spec):
    """Which theorems apply to a network depends on its mechanisms and eigenvalues."""
    found = {theorem.name for theorem in about(build(spec.name, {}).traits)}
    diagonal, drift = {"diagonal-in-tc0", "complex-diagonal"}, "affine-recurrences-drift"
    wanted = {
        "deltaproduct": {drift, "products-of-reflections", "permutations-by-reflections"},
        "deltanet": {drift, "overwriting", "positive-eigenvalues"},
        "gated-deltanet": {drift, "overwriting", "positive-eigenvalues"},
        "rwkv-7": {drift},
        "slice": {drift, "matrices"},
        "s4d": {*diagonal, "time-invariant"},
        "lru": {*diagonal, "time-invariant"},
        "retnet": {*diagonal, "time-invariant"},
        "linear-attention": {*diagonal, "non-negative-eigenvalues", "time-invariant"},
    }
    gated = {*diagonal, drift, "non-negative-gates", "non-negative-eigenvalues"}
    assert found == wanted.get(spec.name, gated)
    if "eigenvalues" in option_facts(spec):
        signed = {
            theorem.name for theorem in about(build(spec.name, {"eigenvalues": "-1..1"}).traits)
        }
        assert "non-negative-gates" not in signed


def mixer_at_first(**options):
    return at_first("minlstm", width=8, **options).blocks[0].mixer.double()


@pytest.mark.parametrize("normalised", [False, True])
@torch.no_grad()
def test_open_gates_count_only_if_they_are_not_normalised(normalised):
    mixer = mixer_at_first(normalised=normalised, candidate="linear")
    mixer.gates.weight.zero_()
    mixer.gates.bias.fill_(40.0)  # f = i = 1
    mixer.candidate.weight.zero_()
    mixer.candidate.bias.fill_(1.0)
    _, (state,) = mixer(torch.zeros(1, 50, 8, dtype=torch.float64), ())
    want = 1.0 if normalised else 50.0
    torch.testing.assert_close(state, torch.full_like(state, want), rtol=1e-9, atol=1e-9)


def test_the_forget_gate_begins_open_unless_normalised():
    free, normed = mixer_at_first().gates.bias, mixer_at_first(normalised=True).gates.bias
    assert (free[:16] == 3).all()
    assert torch.equal(free[16:], normed[16:])
    assert normed.abs().max() < 0.4


OPTIONS = {"heads": 2, "layers": 3}


def test_the_papers_network_does_what_its_equations_say():
    network = build("rwkv-7", OPTIONS)
    symbols = strings(2, 11)
    states = network(Batch(symbols))
    for string, found in zip(symbols, states, strict=True):
        wanted = naive_network(network, string)
        torch.testing.assert_close(found, wanted, rtol=1e-10, atol=1e-10)
    assert_same_gradients(found, wanted, list(network.parameters()))


def test_it_begins_as_its_code_does():
    """Figures of RWKV-LM's code at width 64, two blocks and one head."""
    network = at_first("rwkv-7")
    symbols = network.embedding.weight
    assert symbols.abs().max() <= 1e-4
    torch.testing.assert_close(
        at_first("rwkv-7", embedding_scale=10).embedding.weight, 10 * symbols
    )
    first, last = network.blocks
    mixer = last.mixer
    for zero in (mixer.merge, mixer.decay.down, mixer.first_share.down, last.feed_forward.down):
        assert not zero.weight.any()
    decays = mixer.decay.up.bias  # -6 + 6 (n / 63)^2 + 0.5 + 2.5 zigzag
    torch.testing.assert_close(decays[[0, 63]], torch.tensor([-8.0, 3.0]))
    torch.testing.assert_close(decays[21].item(), -6 + 6 / 9 + 0.5 - 2.5 / 9)
    torch.testing.assert_close(mixer.rate.up.bias[[0, 63]], torch.tensor([-0.69, 0.31]))
    torch.testing.assert_close(mixer.first_share.up.bias[[0, 63]], torch.tensor([0.93, 0.53]))
    torch.testing.assert_close(mixer.removal[[0, 63]], torch.tensor([0.76, 0.66]))
    torch.testing.assert_close(first.mixer.norm.weight, torch.full((64,), 0.5**0.7))
    assert (mixer.norm.weight == 1).all()
    # A ramp: the last channels of a string's symbol see mostly itself.
    torch.testing.assert_close(first.mixer.shift[1, 32].item(), 1 - 0.5**0.9)
    torch.testing.assert_close(last.feed_forward.shift[32].item(), 1 - 0.5 ** (1 / 16))
    assert mixer.key.weight.abs().max() <= 0.05 / 8 < 0.4 / 8 < mixer.value.weight.abs().max()
    up_WR = mixer.rate.up.weight
    torch.testing.assert_close(up_WR.T @ up_WR, 0.01 * torch.eye(32), rtol=0, atol=1e-6)


def test_the_shared_blocks_are_those_of_all_recurrences():
    network = at_first("rwkv-7", shell="shared", initial="torch", rank=16)
    assert type(network) is Backbone
    mixer = network.blocks[1].mixer
    assert mixer.first_share is None
    assert mixer.gate.up.bias is not None
    torch.testing.assert_close(mixer.decay.up.bias[[0, 63]], torch.tensor([-6.5, -1.5]))
