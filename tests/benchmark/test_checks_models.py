"""The checks of models find planted defects on every objective."""

import pytest
import torch
from formalbench.checks.models import model_promises
from formalbench.checks.plugins import keep, trials
from formalbench.contracts.network import ParameterGroup, Traits
from formalbench.host import PluginHost
from torch import nn

HOST = PluginHost.load()


class Fine(nn.Module):
    traits = Traits(padding=True)

    def __init__(self, task):
        super().__init__()
        self.layout = task.layout
        self.embed = nn.Embedding(len(task.alphabet), 8)
        self.read = nn.Linear(8, task.outputs)

    def states(self, batch):
        x_BND = self.embed(batch.symbols)
        return torch.cat((torch.zeros_like(x_BND[:, :1]), x_BND), 1).cumsum(1).tanh()

    def forward(self, batch):
        if batch.symbols.shape[1] == 0:
            zeros = self.embed.weight.new_zeros(len(batch.symbols), 1, 8)
            logits = self.read(zeros)
        else:
            logits = self.read(self.states(batch))
        if self.layout == "each":
            return logits[:, 1:]
        if self.layout == "prefixes":
            return logits
        if batch.lengths is None:
            return logits[:, -1]
        return logits[torch.arange(len(logits)), batch.lengths]


class LooksAhead(Fine):
    def states(self, batch):
        return super().states(batch).flip(1)


class WrongShape(Fine):
    def forward(self, batch):
        return super().forward(batch)[..., :-1]


class NoEmptyString(Fine):
    def forward(self, batch):
        if batch.symbols.shape[1] == 0:
            raise IndexError("nothing there")
        return super().forward(batch)


class NaNs(Fine):
    def forward(self, batch):
        return super().forward(batch) * float("nan")


class Unseeded(Fine):
    def __init__(self, task):
        super().__init__(task)
        nn.init.normal_(self.read.weight, generator=torch.Generator().manual_seed(Unseeded.count))
        Unseeded.count += 1

    count = 0


class Mixes(Fine):
    def forward(self, batch):
        logits = super().forward(batch)
        return logits - logits.mean(0, keepdim=True)


class Noisy(Fine):
    def forward(self, batch):
        logits = super().forward(batch)
        return logits + torch.rand_like(logits)


class Remembers(Fine):
    def __init__(self, task):
        super().__init__(task)
        self.register_buffer("calls", torch.zeros(()))

    def forward(self, batch):
        self.calls += 1
        return super().forward(batch)


class WritesInput(Fine):
    def forward(self, batch):
        logits = super().forward(batch)
        batch.symbols[:] = 0
        return logits


class SinglePrecision(Fine):
    def forward(self, batch):
        return super().forward(batch).float()


class OwnTensors(Fine):
    def forward(self, batch):
        return super().forward(batch) @ torch.eye(self.read.out_features)


class Stuck(Fine):
    def forward(self, batch):
        return super().forward(batch).detach()


class Averages(Fine):
    """Keeps running statistics, as a batch norm does."""

    def __init__(self, task):
        super().__init__(task)
        self.register_buffer("mean", torch.zeros(8))

    def states(self, batch):
        x_BND = super().states(batch)
        if self.training:
            with torch.no_grad():
                self.mean += x_BND.mean((0, 1))
        return x_BND - self.mean


class Frozen(Fine):
    def __init__(self, task):
        super().__init__(task)
        self.requires_grad_(False)


class OtherGroups(Fine):
    traits = Traits(padding=True, groups=(ParameterGroup(("gates.*",), rate=2.0),))


class ReadsPadding(Fine):
    def forward(self, batch):
        return super().forward(batch._replace(lengths=None))


class Decides(Fine):
    def forward(self, batch):
        logits = super().forward(batch)
        return logits if bool(logits.sum() > 0) else logits + 0


class NearlyTheSame(Fine):
    """Is off under vmap by less than half precision could tell, and more than rounding does."""

    under_vmap = False

    def forward(self, batch):
        return super().forward(batch) + 1e-6 * self.under_vmap


class NoNetwork:
    def __init__(self, task):
        pass


def broken_by(network, name):
    task = HOST.task(name)
    promises = model_promises(lambda: network(task), task)
    return {one.promise for one in keep("model", promises) if not one.passed}


@pytest.mark.parametrize("name", ["parity", "parity:tag", "tomita-3:next-symbols"])
def test_a_model_without_a_defect(name):
    assert broken_by(Fine, name) == set()


@pytest.mark.parametrize(
    ("network", "name", "promise"),
    [
        (LooksAhead, "parity:tag", "sees only earlier positions"),
        (LooksAhead, "tomita-3:next-symbols", "sees only earlier positions"),
        (WrongShape, "parity", "layout"),
        (WrongShape, "parity:tag", "layout"),
        (NoEmptyString, "parity", "layout"),
        (NaNs, "parity", "layout"),
        (Unseeded, "parity", "depend only on the seed"),
        (Mixes, "parity", "alone and in a batch"),
        (Noisy, "parity", "the same answers twice"),
        (Remembers, "parity", "the same answers twice"),
        (WritesInput, "parity", "the same answers twice"),
        (SinglePrecision, "parity", "works in fp64"),
        (SinglePrecision, "parity", "bfloat16"),
        (OwnTensors, "parity", "works in fp64"),
        (Stuck, "parity", "gradients"),
        (Averages, "parity", "gradients"),
        (Frozen, "parity", "gradients"),
        (OtherGroups, "parity", "gradients"),
        (ReadsPadding, "parity", "padding"),
        (Decides, "parity", "vmap"),
        (NearlyTheSame, "parity", "vmap"),
        (NoNetwork, "parity", "layout"),
    ],
)
def test_a_model_with_a_defect(network, name, promise):
    assert any(promise in broken for broken in broken_by(network, name))


def test_a_model_that_says_so_need_not_be_vmapped():
    honest = type("Honest", (Decides,), {"traits": Traits(padding=True, vmap=False)})
    assert broken_by(honest, "parity") == set()


class Decodes(nn.Module):
    """Reads a string, and what was said so far, each as a sum of embeddings."""

    traits = Traits(encoder_decoder=True, padding=True)

    def __init__(self, task):
        super().__init__()
        self.embed = nn.Embedding(len(task.alphabet), 8)
        self.said = nn.Embedding(task.outputs, 8)
        self.read = nn.Linear(8, task.outputs)

    def forward(self, batch):
        x_BND = self.embed(batch.symbols)
        if batch.lengths is not None:
            at_N = torch.arange(x_BND.shape[1])
            x_BND = x_BND * (at_N < batch.lengths[:, None])[..., None]
        y_BMD = self.said(batch.decoded)
        nothing_B1D = y_BMD.new_zeros(len(y_BMD), 1, y_BMD.shape[2])
        so_far_BMD = torch.cat((nothing_B1D, y_BMD), 1)
        return self.read(self.heard(so_far_BMD) + x_BND.sum(1, keepdim=True))

    def heard(self, so_far_BMD):
        return so_far_BMD.cumsum(1).tanh()


class DecodesAhead(Decodes):
    def heard(self, so_far_BMD):
        return so_far_BMD.flip(1).cumsum(1).flip(1).tanh()


class OneAnswerTooMany(Decodes):
    def heard(self, so_far_BMD):
        return torch.cat((super().heard(so_far_BMD), so_far_BMD[:, :1]), 1)


@pytest.mark.parametrize(
    ("network", "promise"),
    [
        (Decodes, None),
        (DecodesAhead, "sees only earlier output symbols"),
        (OneAnswerTooMany, "answers in the objective's layout, at every length"),
    ],
)
def test_a_model_that_says_one_symbol_after_the_other(functions, network, promise):
    task = functions.task("without-zeros")
    broken = {
        one.promise
        for one in keep("model", model_promises(lambda: network(task), task))
        if not one.passed
    }
    assert (promise in broken) if promise else broken == set()


def test_what_sees_all_may_look_ahead(functions):
    task = functions.task("backwards")
    promises = model_promises(lambda: LooksAhead(task), task)
    assert task.layout == "each"
    assert "sees only earlier positions" not in {promise for promise, _ in promises}


# On what a model is tried.

ANYWHERE = """
    from formalbench import ModelSpec, Traits, hookimpl
    from torch import nn

    class Net(nn.Module):
        traits = Traits(causal={causal})

        def __init__(self, task):
            super().__init__()
            self.layout, self.embed = task.layout, nn.Embedding(len(task.alphabet), task.outputs)

    @hookimpl
    def formalbench_models():
        yield ModelSpec("net", 1, "for tests", Net)
"""


@pytest.mark.parametrize(
    ("causal", "objectives"),
    [
        (True, {"classify", "tag", "next-symbols", "generate", "causal-lm", "masked-lm"}),
        (False, {"classify", "masked-lm"}),
    ],
)
def test_a_model_without_objectives_is_tried_wherever_it_can_answer(write, causal, objectives):
    path = write("net.py", ANYWHERE.format(causal=causal))
    tried = dict(trials(PluginHost.load([path]), "net"))
    assert {one for one in tried if one not in ("transduce", "decode")} == objectives
    assert all(task.endswith(f":{objective}") for objective, task in tried.items())


def test_it_is_tried_on_functions_where_there_are_any(write, backwards):
    path = write("net.py", ANYWHERE.format(causal=True))
    tried = dict(trials(PluginHost.load([path, backwards]), "net"))
    assert tried["transduce"] == "backwards:transduce"
    assert "decode" not in tried  # it is no encoder-decoder


def test_a_model_that_says_answers_step_by_step_is_tried_on_nothing_else(write, backwards):
    path = write("net.py", ANYWHERE.replace("causal={causal}", "encoder_decoder=True"))
    tried = [objective for objective, _ in trials(PluginHost.load([path, backwards]), "net")]
    assert tried == ["decode", "translate"]


def test_a_model_that_cannot_be_built_is_told_once(cli, write):
    text = ANYWHERE.format(causal=True).replace('"for tests", Net', '"", Net, objectives=("tag",)')
    path = write("net.py", text.replace("Traits(causal=True)", "Traits(causal=False)"))
    done = cli("check", path)
    assert done.code == 1
    (line,) = (line for line in done.lines if "FAIL" in line)
    assert "can be tried" in line
    assert "model net does not support tag: its answers depend on later symbols" in done.out
