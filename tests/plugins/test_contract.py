"""What every network of this wing promises (formalbench.contracts.network)."""

import copy
from itertools import product

import pytest
import torch
from formalbench.checks.models import model_promises
from formalbench.checks.plugins import keep
from formalbench.contracts.network import Batch, Traceable, traits_of
from formalbench.host import PluginHost
from formalbench.host.host import load
from formalbench.host.options import make_config, option_facts
from formalbench.readout import Readout, read_out
from formalbench_models.catalogue.linear_recurrences import LINEAR_RECURRENCES
from formalbench_models.plugin import formalbench_models
from model_helpers import LAYOUTS, fake_task, padded, shaken, strings

HOST = PluginHost.load()
TASKS = {"last": "parity", "each": "parity:tag", "prefixes": "parity:next-symbols"}
SPECS = {
    spec.name: spec
    for spec in formalbench_models()
    if spec.kind == "learned"
    and "decode" not in (spec.objectives or ())
    and spec.name not in ("fla", "hf")
}
AT_ONCE = {"scalar", "parity", "sinusoidal-from-end"}
"""Positions that tell every prefix the length of the whole string."""
MASKED = {"xpos", "path"}
"""Positions that look back from each position."""
POSITIONS = option_facts(SPECS["transformer"])["positions"]["choices"]

CASES = [
    *((name, {}) for name in SPECS),
    *(("transformer", {"positions": p, "causal": p in MASKED}) for p in POSITIONS),
    *(("transformer-logn", {"positions": p}) for p in ("alibi", "rope", "relative")),
    ("transformer", {"causal": False}),
    ("transformer", {"positions": "rope", "bias": False, "init": "library"}),
    *(
        ("transformer", {"positions": p, "attention": "hard"})
        for p in ("none", "scalar", "alibi", "rope", "relative")
    ),
    ("transformer", {"causal": False, "attention": "hard"}),
    ("transformer", {"attention": "stick-breaking", "positions": "none"}),
    ("transformer", {"forget": True, "positions": "none"}),
    ("transformer", {"positions": "learned", "randomised": 80}),
    ("transformer", {"causal": False, "positions": "rope", "randomised": 2048}),
    ("transformer-logn", {"attention": "hard", "norm": "post", "activation": "relu"}),
    ("transformer", {"norm": "post", "activation": "relu", "layers": 1}),
    ("transformer-logn", {"causal": False, "positions": "relative"}),
    ("regulargpt", {"thickness": 2}),
    ("regulargpt", {"norm": "pre", "activation": "relu", "bias": False, "chunk": 5}),
    ("lstm", {"layers": 2}),
    ("nondeterministic-stack", {"states": 1, "symbols": 2, "normalise": True}),
    ("stack-rnn", {"controller": "elman", "stacks": 2}),
    ("stack-rnn", {"controller": "lstm", "cell": 3}),
    ("tape-rnn", {"controller": "lstm", "tapes": 2, "jumps": False}),
]
IDS = [" ".join([name, *(f"{k}={v}" for k, v in options.items())]) for name, options in CASES]
every_case = pytest.mark.parametrize(("name", "options"), CASES, ids=IDS)


def build(name, options, layout="last", **task):
    spec = SPECS[name]
    # What blocks upon blocks do, tests/plugins/families/ tells.
    layers = {"layers": 1} if spec in LINEAR_RECURRENCES else {}
    config = make_config(spec, {"width": 16} | layers | options)
    leaks = getattr(config, "positions", "") in AT_ONCE or getattr(config, "randomised", 0)
    if leaks and layout != "last":
        pytest.skip("refused, see test_transformer")
    made = load(spec.factory)(fake_task(layout, **task), config)
    return read_out(made, fake_task(layout, **task)) if traits_of(made).backbone else made


@every_case
def test_traits_are_those_of_the_network(name, options):
    for layout in LAYOUTS:
        network = build(name, options, layout)
        traits = traits_of(network)
        assert traits.padding
        assert traits.vmap
        assert traits.backbone == 0
        assert traits.width == 16
        embedding = network.get_submodule(traits.symbol_embedding)
        assert isinstance(embedding, torch.nn.Embedding)
        assert traits.causal or layout == "last"
        assert (traits.depth(9) if callable(traits.depth) else traits.depth) > 0


@every_case
@pytest.mark.parametrize("layout", LAYOUTS)
def test_each_keeps_its_promises_whatever_its_options(name, options, layout):
    """Shapes, padding, causality, precisions, vmap: as `formalbench check` has them."""
    task = HOST.task(TASKS[layout]).at_lengths((1, 12), (13, 16))
    made = {"symbols": len(task.alphabet), "outputs": task.outputs}
    build(name, options, layout, **made)  # or skip it
    promises = model_promises(lambda: shaken(build(name, options, layout, **made)), task)
    assert [check for check in keep(name, promises) if check.problem] == []


@every_case
@pytest.mark.parametrize("layout", LAYOUTS)
def test_every_parameter_has_a_gradient_and_answers_are_the_same_without(name, options, layout):
    network = build(name, options, layout)
    batch = Batch(strings(40, 11))
    answers = network(batch)
    answers.square().sum().backward()
    if isinstance(network, Readout):  # what stands for the empty prefix
        network(Batch(strings(1, 0))).square().sum().backward()
    for label, parameter in network.named_parameters():
        assert parameter.grad is not None, label
    network, (batch, _) = network.double(), padded([9, 1, 0, 4, 8, 3])
    answers = network(batch)
    with torch.no_grad():
        torch.testing.assert_close(network(batch), answers, rtol=0, atol=1e-10)


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in SPECS if name != "nondeterministic-stack"])
@torch.no_grad()
def test_no_number_is_lost_at_length_4096(name):
    """But for one whose memory grows with the square of the length, and says so."""
    network = build(name, {"width": 8}, longest=4096)
    assert network(Batch(strings(1, 4096))).isfinite().all()


@pytest.mark.parametrize("name", SPECS)
def test_no_strings_and_empty_ones_have_no_states(name):
    network = build(name, {}, "each")
    backbone = network.backbone if isinstance(network, Readout) else network
    for shape, trained in product(((0, 0), (3, 0), (0, 5)), (True, False)):
        with torch.set_grad_enabled(trained):
            found = backbone(Batch(torch.zeros(shape, dtype=torch.long)))
        assert found.shape == (*shape, traits_of(backbone).backbone or 4)
    assert network.trace(Batch(torch.zeros((3, 0), dtype=torch.long)))


@every_case
@pytest.mark.parametrize("layout", ["each", "prefixes"])
def test_answers_do_not_depend_on_how_long_the_string_goes_on(name, options, layout):
    network = shaken(build(name, options, layout))
    symbols = strings(4, 27)
    whole = network(Batch(symbols))
    for length in (1, 2, 5, 12):
        alone = network(Batch(symbols[:, :length]))
        torch.testing.assert_close(whole[:, : alone.shape[1]], alone, rtol=0, atol=1e-10)


@every_case
def test_prefixes_and_each_agree(name, options):
    prefixes = shaken(build(name, options, "prefixes"))
    each = build(name, options, "each").double()
    weights = prefixes.state_dict()
    if isinstance(prefixes, Readout):
        del weights["empty"]  # which `each` asks nothing of
    each.load_state_dict(weights)
    batch = Batch(strings(4, 9))
    torch.testing.assert_close(prefixes(batch)[:, 1:], each(batch), rtol=0, atol=1e-10)


@every_case
@pytest.mark.parametrize("layout", LAYOUTS)
def test_double_and_bfloat16(name, options, layout):
    network = build(name, options, layout)
    batch = Batch(strings(6, 10))
    want = network(batch)
    for grad in (True, False):
        with torch.set_grad_enabled(grad):
            double = copy.deepcopy(network).double()(batch)
            assert double.dtype == torch.float64
            torch.testing.assert_close(double.float(), want, rtol=1e-3, atol=1e-4)
            half = copy.deepcopy(network).bfloat16()(batch)
            assert half.dtype == torch.bfloat16
            far = ((half.float() - want).abs() >= 0.25).float().mean()
            # Hard attention takes either of two keys whose logits bf16 cannot tell apart.
            assert far <= (0.1 if options.get("attention") == "hard" else 0)


@every_case
@pytest.mark.parametrize("layout", ["last", "each"])
def test_traces_hold_named_tensors(name, options, layout):
    network = build(name, options, layout)
    assert isinstance(network, Traceable)
    for grad in (True, False):
        with torch.set_grad_enabled(grad):
            trace = network.trace(Batch(strings(2, 9)))
        assert trace
        for label, tensor in trace.items():
            assert tensor.isfinite().all(), label
            if label.endswith("attention"):
                dim = -2 if name.startswith("regulargpt") else -1
                torch.testing.assert_close(
                    tensor.sum(dim), torch.ones_like(tensor.sum(dim)), rtol=0, atol=1e-5
                )
