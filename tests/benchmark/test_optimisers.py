"""Optimisers: the library's numbers, for several runs at once."""

import math
from types import SimpleNamespace

import pytest
import torch
from formalbench.contracts.network import ParameterGroup, Traits
from formalbench.contracts.optimiser import Optimiser, clip
from formalbench.contracts.protocol import Protocol
from formalbench.training.configs import AdamConfig, AdamWConfig, SgdConfig
from formalbench.training.flat import Layout
from formalbench.training.optimisers import Adam, AdamW, Sgd
from formalbench.training.optimisers.adam import ONE_PASS, adam_in_one_pass, adam_plainly
from formalbench.training.recipe import make_recipe
from formalbench.training.update import Rows, Update, make_update, numbers_of_steps
from torch import nn

RATES = [0.1, 0.003]

OURS_AND_THEIRS = [
    (Adam(AdamConfig()), lambda p, rate: torch.optim.Adam(p, lr=rate)),
    (
        Adam(AdamConfig(betas=(0.8, 0.99), eps=1e-3, weight_decay=0.1)),
        lambda p, rate: torch.optim.Adam(p, rate, (0.8, 0.99), 1e-3, weight_decay=0.1),
    ),
    (AdamW(AdamWConfig()), lambda p, rate: torch.optim.AdamW(p, lr=rate)),
    (
        AdamW(AdamWConfig(betas=(0.8, 0.99), weight_decay=0.3)),
        lambda p, rate: torch.optim.AdamW(p, rate, (0.8, 0.99), weight_decay=0.3),
    ),
    (AdamW(AdamWConfig(weight_decay=0.0)), lambda p, rate: torch.optim.Adam(p, lr=rate)),
    (Sgd(SgdConfig()), lambda p, rate: torch.optim.SGD(p, lr=rate)),
    (
        Sgd(SgdConfig(momentum=0.9, weight_decay=0.1)),
        lambda p, rate: torch.optim.SGD(p, rate, 0.9, weight_decay=0.1),
    ),
    (
        Sgd(SgdConfig(momentum=0.9, nesterov=True)),
        lambda p, rate: torch.optim.SGD(p, rate, 0.9, nesterov=True),
    ),
]


def follow(update, rows, layout, networks, theirs, largest=None):
    """Take steps with ours and theirs, and compare after each."""
    for step in range(5):
        gradient = torch.randn(rows.parameters.shape, dtype=torch.float64)
        for row, (network, optimiser) in enumerate(zip(networks, theirs, strict=True)):
            views = layout.views(gradient[row : row + 1])
            for name, parameter in network.named_parameters():
                parameter.grad = views[name][0].clone()
            if largest is not None:
                nn.utils.clip_grad_norm_(network.parameters(), largest)
            optimiser.step()
        ((rate, scalars),) = numbers_of_steps([RATES], step, update.optimiser, gradient)
        update.take(rows, gradient, rate, scalars)
        assert torch.allclose(rows.parameters, layout.stack(networks), atol=1e-12)


@pytest.mark.parametrize("largest", [None, 0.1])
@pytest.mark.parametrize(("ours", "theirs"), OURS_AND_THEIRS)
def test_it_is_the_librarys(ours, theirs, largest):
    torch.manual_seed(0)
    networks = [nn.Linear(3, 2).double() for _ in range(2)]
    layout = Layout.of(networks[0])
    rows = Rows.start(layout.stack(networks), ours)
    made = [theirs(n.parameters(), rate) for n, rate in zip(networks, RATES, strict=True)]
    update = Update(ours, largest, None, ours.weight_decay)
    follow(update, rows, layout, networks, made, largest)


class Grouped(nn.Module):
    traits = Traits(
        groups=(
            ParameterGroup(("*.step", "skew"), rate=0.1, weight_decay=0.0),
            ParameterGroup(("read.*",), rate=2.0),
        )
    )

    def __init__(self):
        super().__init__()
        self.inner = nn.Module()
        self.inner.step = nn.Parameter(torch.randn(3))
        self.inner.weight = nn.Parameter(torch.randn(3, 2))
        self.skew = nn.Parameter(torch.randn(2))
        self.read = nn.Linear(2, 2)


@pytest.mark.parametrize(
    ("ours", "kind"),
    [
        (Adam(AdamConfig(weight_decay=0.1)), torch.optim.Adam),
        (AdamW(AdamWConfig(weight_decay=0.1)), torch.optim.AdamW),
        (Sgd(SgdConfig(momentum=0.9, weight_decay=0.1)), torch.optim.SGD),
    ],
)
def test_parameters_train_by_their_group(ours, kind):
    torch.manual_seed(0)
    networks = [Grouped().double() for _ in range(2)]
    layout = Layout.of(networks[0])
    more = {"momentum": 0.9} if kind is torch.optim.SGD else {}
    theirs = [
        kind(
            [
                {"params": [n.inner.step, n.skew], "lr": 0.1 * rate, "weight_decay": 0.0},
                {"params": [n.inner.weight]},
                {"params": list(n.read.parameters()), "lr": 2 * rate},
            ],
            lr=rate,
            weight_decay=0.1,
            **more,
        )
        for n, rate in zip(networks, RATES, strict=True)
    ]
    update = make_update(ours, None, networks[0])
    follow(update, Rows.start(layout.stack(networks), ours), layout, networks, theirs)


def test_a_backbones_groups_hold_inside_what_answers_for_it():
    inner = Grouped()
    whole = nn.Module()
    whole.backbone = inner
    whole.traits = inner.traits
    ours = Adam(AdamConfig(weight_decay=0.1))
    found, alone = make_update(ours, None, whole), make_update(ours, None, inner)
    assert torch.equal(found.factors, alone.factors)
    assert torch.equal(found.decay, alone.decay)


def test_a_group_without_parameters_is_an_error():
    network = nn.Linear(2, 2)
    network.traits = Traits(groups=(ParameterGroup(("*.log_step",)),))
    with pytest.raises(ValueError, match=r"no parameter is called \*\.log_step"):
        make_update(Adam(AdamConfig()), None, network)


@pytest.mark.parametrize("size", [ONE_PASS - 1, ONE_PASS])
@pytest.mark.parametrize("largest", [None, 1.0])
@pytest.mark.parametrize("worst", [1.0, math.inf, math.nan])
@pytest.mark.parametrize("weight_decay", [0.0, 0.1])
def test_adam_in_one_pass_is_the_plain_one(size, largest, worst, weight_decay):
    torch.manual_seed(0)
    parameters, gradient = torch.randn(2, size), torch.randn(2, size)
    gradient[1, 3] = worst
    adam = Adam(AdamConfig(weight_decay=weight_decay))
    plain, fast, chosen = (Rows.start(parameters.clone(), adam) for _ in range(3))
    update = make_update(adam, largest, nn.Linear(1, 1))
    for step in range(3):
        ((rate, scalars),) = numbers_of_steps([RATES], step, adam, gradient)
        for take, rows in ((adam_plainly, plain), (adam_in_one_pass, fast)):
            arguments = (rows.slots, rate / scalars[0], scalars[1], weight_decay, largest)
            take(rows.parameters, gradient.clone(), *arguments, adam.config)
        update.take(chosen, gradient.clone(), rate, scalars)

    def compare(one, other, rtol, atol):
        for mine, theirs in zip(
            (one.parameters, *one.slots), (other.parameters, *other.slots), strict=True
        ):
            torch.testing.assert_close(mine, theirs, rtol=rtol, atol=atol, equal_nan=True)

    compare(plain, fast, rtol=1e-5, atol=1e-7)
    compare(chosen, fast if size == ONE_PASS else plain, rtol=0, atol=0)


def test_a_gradient_is_clipped_run_by_run():
    gradient = torch.tensor([[3.0, 4.0], [0.3, 0.4]])
    expected = torch.tensor([[0.6, 0.8], [0.3, 0.4]])
    assert torch.allclose(clip(gradient, 1.0), expected, atol=1e-5)


class SignDescent(Optimiser):
    """A stranger's: the least there can be."""

    def step(self, parameters_RP, gradient_RP, slots, rate, scalars, decay):
        parameters_RP.sub_(rate * gradient_RP.clamp(-1, 1))


def test_a_strangers_optimiser_is_clipped_by_the_engine():
    ours = SignDescent()
    rows = Rows.start(torch.zeros(2, 2), ours)
    update = make_update(ours, 1.0, nn.Linear(1, 1))
    ((rate, scalars),) = numbers_of_steps([RATES], 0, ours, rows.parameters)
    update.take(rows, torch.tensor([[0.0, 4.0], [0.3, 0.4]]), rate, scalars)
    expected = torch.tensor([[0.0, -0.1], [-0.0009, -0.0012]])
    assert torch.allclose(rows.parameters, expected, atol=1e-5)


def recipe(host, **change):
    return make_recipe(host, Protocol.model_validate({"name": "p", "version": 1, **change}))


def test_a_protocol_names_optimiser_and_schedule(host):
    made = recipe(
        host,
        optimiser={"name": "adamw", "betas": [0.9, 0.98], "weight_decay": 0.1},
        schedule={"name": "cosine", "warm_up": 100},
    )
    assert isinstance(made.optimiser, AdamW)
    assert made.optimiser.config == AdamWConfig(betas=(0.9, 0.98), weight_decay=0.1)
    assert made.schedule.config.warm_up == 100
    assert isinstance(recipe(host).optimiser, Adam)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"optimiser": {"name": "adm"}}, "did you mean adam"),
        ({"optimiser": {"name": "adam", "beta": 1}}, "beta"),
        ({"optimiser": {"name": "adam", "betas": [0.9]}}, "betas"),
        ({"optimiser": {"name": "adam", "betas": [0.9, 1.5]}}, "betas"),
        ({"optimiser": {"name": "sgd", "momentum": -1}}, "momentum"),
        ({"schedule": {"name": "cosin"}}, "did you mean cosine"),
        ({"schedule": {"name": "linear", "warm_up": 1.5}}, "warm_up"),
        ({"schedule": {"name": "plateau", "better": "most"}}, "better"),
    ],
)
def test_what_cannot_be_made_is_one_line(host, change, reason):
    with pytest.raises(Exception, match=reason) as caught:
        recipe(host, **change)
    assert type(caught.value).__name__ == "RequestError"
    assert "\n" not in str(caught.value)


def test_weight_decay_is_the_configs_by_default():
    assert SignDescent().weight_decay == 0.0
    assert SignDescent(SimpleNamespace(weight_decay=0.5)).weight_decay == 0.5
