"""Optimisers: the library's numbers, for several runs at once."""

import math
from types import SimpleNamespace

import pytest
import torch
from formalbench.contracts.network import ParameterGroup, Traits
from formalbench.contracts.training import Optimiser
from formalbench.training.configs import (
    AdamConfig,
    AdamWConfig,
    LionConfig,
    MuonConfig,
    SgdConfig,
)
from formalbench.training.optimisers import (
    ONE_PASS,
    Adam,
    AdamW,
    Lion,
    Muon,
    Sgd,
    adam_in_one_pass,
    adam_plainly,
)
from formalbench.training.parameters import (
    Layout,
    Rows,
    Update,
    layout_of,
    make_update,
    numbers_of_steps,
)
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
    with pytest.raises(ValueError, match=r"no parameter is named \*\.log_step"):
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
            every = (rows.parameters, gradient.clone(), *rows.slots)
            take(adam.config, every, rate / scalars[0], scalars[1], weight_decay, largest)
        update.take(chosen, gradient.clone(), rate, scalars)

    def compare(one, other, rtol, atol):
        for mine, theirs in zip(
            (one.parameters, *one.slots), (other.parameters, *other.slots), strict=True
        ):
            torch.testing.assert_close(mine, theirs, rtol=rtol, atol=atol, equal_nan=True)

    compare(plain, fast, rtol=1e-5, atol=1e-7)
    compare(chosen, fast if size == ONE_PASS else plain, rtol=0, atol=0)


class SignDescent(Optimiser):
    """A minimal plugin of someone else."""

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


def test_the_layout_tells_matrices_from_the_rest():
    class Net(nn.Module):
        traits = Traits(groups=(ParameterGroup(("odd.*",), rate=0.1),))

        def __init__(self):
            super().__init__()
            self.embed = nn.Embedding(4, 3)
            self.cell = nn.GRU(3, 5)
            self.odd = nn.Linear(5, 5, bias=False)
            self.own = nn.Parameter(torch.zeros(2, 2))
            self.frozen = nn.Parameter(torch.zeros(7), requires_grad=False)
            self.read = nn.Linear(5, 2)

    network = Net()
    layout = {info.name: info for info in layout_of(network)}
    assert {name: info.kind for name, info in layout.items()} == {
        "own": "other",
        "embed.weight": "embedding",
        **{f"cell.weight_{part}_l0": "hidden" for part in ("ih", "hh")},
        **{f"cell.bias_{part}_l0": "other" for part in ("ih", "hh")},
        "odd.weight": "hidden",
        "read.weight": "readout",
        "read.bias": "other",
    }
    assert [n for n, info in layout.items() if info.group] == ["odd.weight"]
    flat = Layout.of(network).stack([network, Net()])
    for name, info in layout.items():
        mine = flat[0, info.columns].reshape(info.shape)
        assert torch.equal(mine, network.get_parameter(name))
    network.read.weight = nn.Parameter(torch.zeros(4, 3))
    network.embed.weight = network.read.weight
    assert [i.kind for i in layout_of(network) if i.name == "embed.weight"] == ["embedding"]


class NaiveLion:
    """Algorithm 2 of Chen et al. 2023, number by number."""

    def __init__(self, parameters, lr, betas, decay):
        self.lr, self.betas, self.decay = lr, betas, decay
        self.parameters = [(p, [0.0] * p.numel()) for p in parameters]

    @torch.no_grad()
    def step(self):
        now, kept = self.betas
        for p, momentum in self.parameters:
            gradient = p.grad.flatten().tolist()
            for i, weight in enumerate(p.flatten().tolist()):
                g = gradient[i]
                update = math.copysign(1.0, now * momentum[i] + (1 - now) * g)
                p.view(-1)[i] = weight - self.lr * (update + self.decay * weight)
                momentum[i] = kept * momentum[i] + (1 - kept) * g


class NaiveMuon:
    """Matrix by matrix, with the polynomial applied to the singular values themselves."""

    def __init__(self, matrices, rest, lr, config):
        self.lr, self.config = lr, config
        self.matrices = [(p, torch.zeros_like(p)) for p in matrices]
        decay = config.weight_decay
        self.rest = torch.optim.AdamW(rest, lr, config.betas, config.eps, weight_decay=decay)

    @torch.no_grad()
    def step(self):
        self.rest.step()
        mu = self.config.momentum
        for p, total in self.matrices:
            total.copy_(mu * total + p.grad)
            direction = p.grad + mu * total if self.config.nesterov else total
            left, values, right = torch.linalg.svd(direction, full_matrices=False)
            values = values / values.square().sum().sqrt()
            for _ in range(self.config.iterations):
                values = 3.4445 * values - 4.7750 * values**3 + 2.0315 * values**5
            size = 0.2 * max(p.shape) ** 0.5
            p -= self.lr * (self.config.weight_decay * p + size * left @ values.diag() @ right)


class Deep(nn.Module):
    """Matrices that are wide, tall and of one shape; one row is no matrix, nor what is grouped."""

    traits = Traits(groups=(ParameterGroup(("slow.*",), rate=0.1, weight_decay=0.0),))

    def __init__(self, groups=True):
        super().__init__()
        self.embed = nn.Embedding(5, 3)
        self.cell = nn.RNN(3, 4)
        self.up = nn.Linear(4, 8)
        self.same = nn.Linear(4, 8)
        self.row = nn.Linear(4, 1)
        self.slow = nn.Linear(4, 4)
        self.read = nn.Linear(8, 2)
        self.traits = Deep.traits if groups else Traits()


def test_lion_is_the_papers():
    torch.manual_seed(0)
    networks = [nn.Linear(3, 2).double() for _ in range(2)]
    ours, layout = Lion(LionConfig(betas=(0.8, 0.95), weight_decay=0.1)), Layout.of(networks[0])
    pairs = zip(networks, RATES, strict=True)
    naive = [NaiveLion(n.parameters(), rate, (0.8, 0.95), 0.1) for n, rate in pairs]
    rows = Rows.start(layout.stack(networks), ours)
    follow(make_update(ours, None, networks[0]), rows, layout, networks, naive)


@pytest.mark.parametrize("groups", [True, False])
@pytest.mark.parametrize("change", [{}, {"nesterov": False, "iterations": 3, "momentum": 0.8}])
def test_muon_is_the_naive_one(groups, change):
    torch.manual_seed(0)
    networks = [Deep(groups).double() for _ in range(2)]
    config = MuonConfig(weight_decay=0.1, **change)
    update, naive = make_update(Muon(config), None, networks[0]), []
    for network, rate in zip(networks, RATES, strict=True):
        matrices = [network.cell.weight_ih_l0, network.cell.weight_hh_l0]
        matrices += [network.up.weight, network.same.weight]
        slow = {"params": list(network.slow.parameters()), "lr": 0.1 * rate, "weight_decay": 0.0}
        if not groups:
            matrices.append(network.slow.weight)
            slow = {"params": [network.slow.bias]}
        apart = {id(p) for p in (*matrices, *network.slow.parameters())}
        rest = [p for p in network.parameters() if id(p) not in apart]
        naive.append(NaiveMuon(matrices, [{"params": rest}, slow], rate, config))
    layout = Layout.of(networks[0])
    rows = Rows.start(layout.stack(networks), update.optimiser)
    follow(update, rows, layout, networks, naive)
    assert Muon(config).layout == ()  # the protocol's own belongs to no run


def test_muon_is_the_librarys_as_far_as_that_computes():
    """Computes in bf16 independently of its parameters' type."""
    torch.manual_seed(0)
    theirs, network = nn.Linear(16, 24, bias=False), nn.Sequential(nn.Linear(16, 24, bias=False))
    network.append(nn.Linear(24, 2))
    network[0].load_state_dict(theirs.state_dict())
    library = torch.optim.Muon(
        theirs.parameters(), 0.1, weight_decay=0.1, adjust_lr_fn="match_rms_adamw"
    )
    update = make_update(Muon(MuonConfig(weight_decay=0.1)), None, network)
    layout = Layout.of(network)
    rows = Rows.start(layout.stack([network]), update.optimiser)
    for step in range(3):
        gradient = torch.randn_like(rows.parameters)
        theirs.weight.grad = gradient[0, : 16 * 24].view(24, 16).clone()
        library.step()
        ((rate, scalars),) = numbers_of_steps([[0.1]], step, update.optimiser, gradient)
        update.take(rows, gradient, rate, scalars)
    mine = rows.parameters[0, : 16 * 24].view(24, 16)
    assert (mine - theirs.weight).norm() < 0.02 * mine.norm()


@pytest.mark.parametrize("ours", [Lion(LionConfig()), Muon(MuonConfig())])
def test_a_cohorts_steps_are_those_of_single_runs_bit_for_bit(ours):
    torch.manual_seed(0)
    network = nn.Sequential(nn.Linear(64, 128), nn.Linear(128, 64), nn.Linear(64, 2))
    update = make_update(ours, 1.0, network)
    parameters = torch.randn(3, sum(p.numel() for p in network.parameters()))
    together = Rows.start(parameters.clone(), update.optimiser)
    alone = [Rows.start(parameters[i : i + 1].clone(), update.optimiser) for i in range(3)]
    for step in range(5):
        gradient, rates = torch.randn_like(parameters), [0.1, 0.01, 0.003]
        ((rate, scalars),) = numbers_of_steps([rates], step, update.optimiser, gradient)
        for i, rows in enumerate(alone):
            mine = slice(i, i + 1)
            update.take(rows, gradient[mine].clone(), rate[mine], scalars)
        update.take(together, gradient, rate, scalars)
    assert torch.equal(together.parameters, torch.cat([rows.parameters for rows in alone]))


def test_weight_decay_is_the_configs_by_default():
    assert SignDescent().weight_decay == 0.0
    assert SignDescent(SimpleNamespace(weight_decay=0.5)).weight_decay == 0.5
