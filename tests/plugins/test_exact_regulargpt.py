import itertools
import math
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from exact_helpers import ask, bits_of, every_string
from exact_helpers import least_margin as margin
from formalbench.contracts.errors import RequestError
from formalbench.contracts.network import Batch
from formalbench.contracts.source import HasAutomaton, HasPrefixClasses, Language, Stream
from formalbench.contracts.task import Task
from formalbench.host import PluginHost
from formalbench_models.catalogue.constructions import ExactRegularGptConfig
from formalbench_models.constructions import exact_regulargpt
from formalbench_models.families import regulargpt
from model_helpers import assert_padding_changes_nothing, padded

FORMS = ("classify", "tag", "next-symbols")
DTYPES = (torch.float64, torch.float32, torch.float16, torch.bfloat16)
HOST = PluginHost.load()


def build(task, **options):
    return exact_regulargpt.build(task, ExactRegularGptConfig(**options))


class Walk(Language, HasPrefixClasses, HasAutomaton):
    """The language of any automaton, minimal or not, walked state by state."""

    def __init__(self, table, classes, start, num_classes=2):
        self.alphabet = tuple("abcdefgh"[: len(table[0])])
        self.num_classes = num_classes
        self._automaton = SimpleNamespace(
            transitions=np.array(table), classes=np.array(classes), start=start
        )

    @property
    def automaton(self):
        return self._automaton

    def walk(self, string):
        states = [self.automaton.start]
        for symbol in string:
            states.append(int(self.automaton.transitions[states[-1], symbol]))
        return states

    def oracle(self, string):
        return int(self.automaton.classes[self.walk(string)[-1]])

    def classify(self, strings_BN):
        states_B = np.full(len(strings_BN), self.automaton.start)
        for symbols_B in strings_BN.T:
            states_B = self.automaton.transitions[states_B, symbols_B]
        return self.automaton.classes[states_B]

    def classify_prefixes(self, strings_BN):
        return np.array([self.automaton.classes[self.walk(s)[1:]] for s in strings_BN.tolist()])

    def sample(self, stream, length, count):
        return stream.integers(len(self.alphabet), (count, length))

    def may_end(self, state, steps):
        """Return whether some string of at most this many symbols leads from here to class 1."""
        if self.automaton.classes[state] == 1:
            return True
        after = set(self.automaton.transitions[state].tolist())
        return steps > 0 and any(self.may_end(one, steps - 1) for one in after)


def random_language(seed):
    stream = Stream("random automaton", seed)
    states, symbols = 2 + int(stream.integers(11, 1)[0]), 1 + int(stream.integers(4, 1)[0])
    kinds = 2 + int(stream.integers(3, 1)[0])
    table = stream.integers(states, (states, symbols)).tolist()
    classes = stream.integers(kinds, states).tolist()
    return Walk(table, classes, int(stream.integers(states, 1)[0]), kinds)


def task_of(language, form="classify"):
    return Task("walk", 1, language, HOST.objective(form))


@pytest.mark.parametrize("seed", range(100))
def test_random_automata(seed):
    task = task_of(random_language(seed))
    network = build(task)
    symbols = len(task.alphabet)
    longest = {1: 12, 2: 9, 3: 6, 4: 5}[symbols]
    for dtype, shortening in ((torch.float64, 3), (torch.float32, 0)):  # fp64 takes longer
        network.to(dtype)
        for length in range(longest + 1 - shortening):
            assert margin(network, task, every_string(length, symbols)) > 15.99
        long = torch.from_numpy(task.sample(Stream("long", seed), 10 + seed, 2).inputs)
        assert margin(network, task, long) > 15.99


@pytest.mark.parametrize("seed", range(12))
def test_random_automata_tag_every_prefix(seed):
    task = task_of(random_language(seed), "tag")
    network = build(task)
    for length in (1, 2, 3, 9, 70):
        symbols = torch.from_numpy(task.sample(Stream("tag", seed), length, 6).inputs)
        assert margin(network, task, symbols) > 15.99


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_rounding_errors_add_up_with_one_unit_per_path_and_not_with_two(dtype):
    task = HOST.task("d4")
    strings = [
        torch.from_numpy(task.sample(Stream("far"), length, 2).inputs) for length in (16, 1 << 12)
    ]
    errors = {}
    for clamp in (True, False):
        network = build(task, clamp=clamp).to(dtype)
        reads = [network.trace(Batch(symbols))["read"].double() for symbols in strings]
        errors[clamp] = [(read - read.round()).abs().max().item() for read in reads]
    assert max(errors[True]) <= torch.finfo(dtype).eps
    assert errors[False][1] > 30 * errors[False][0]


@pytest.mark.parametrize("clamp", [True, False])
@pytest.mark.parametrize("chunk", [2, 3])
@pytest.mark.parametrize("form", FORMS)
def test_the_weights_load_into_the_class_that_is_trained(form, chunk, clamp):
    task = HOST.task(f"tomita-5:{form}")
    exact = build(task, chunk=chunk, clamp=clamp)
    states = task.source.automaton.num_states
    options = {
        "chunk": chunk,
        "heads": chunk,
        "width": chunk * states**2,
        "hidden": 2 * chunk * states**2 + (1 + clamp) * states ** (chunk + 1),
        "activation": "relu",
        "bias": False,
        "init": "gpt2",
    }
    learned = HOST.network("regulargpt", task, options)
    assert type(learned) is regulargpt.RegularGPT
    learned.load_state_dict(exact.state_dict())
    batch = Batch(torch.from_numpy(task.sample(Stream("load"), 40, 8).inputs))
    assert learned(batch).dtype is torch.float32
    assert torch.equal(learned(batch), exact.float()(batch))


@pytest.mark.parametrize("eps", [0.0, 1e-5, 1.0])
def test_layer_norm_is_undone_for_any_eps(eps):
    task = HOST.task("tomita-7")
    network = build(task)
    for norm in (network.blocks[0].norm_attention, network.blocks[0].norm_feed_forward):
        norm.eps = eps
    machine = exact_regulargpt.machine_of(task)
    sizes = exact_regulargpt.Sizes(machine.states, 2, clamp=True)
    answers = exact_regulargpt.answers(task, machine, 16.0)
    exact_regulargpt.write(network, machine, sizes, answers)
    for length in range(10):
        assert margin(network, task, every_string(length, 2)) == pytest.approx(16, abs=1e-12)


@pytest.mark.parametrize("dtype", DTYPES, ids=lambda dtype: str(dtype)[6:])
@pytest.mark.parametrize("chunk", [2, 3, 5])
def test_each_head_sees_one_distance_and_states_are_matrices(chunk, dtype):
    task = HOST.task("tomita-4")
    network = build(task, chunk=chunk).to(dtype)
    symbols = torch.from_numpy(task.sample(Stream("look"), 40, 3).inputs)
    trace = network.trace(Batch(symbols))
    for name, tensor in trace.items():
        if name.endswith("attention"):
            want = torch.eye(chunk, dtype=dtype).flip(0).expand(tensor.shape)
            assert torch.equal(tensor, want)
        if name.endswith("state"):
            assert (tensor - tensor.round()).abs().max() < 0.02
            matrices = tensor.double().round().unflatten(-1, (chunk, 4, 4))
            assert (matrices.sum(-1) == 1).all(), "every state leads to one state"
            assert (matrices == matrices[..., :1, :, :]).all(), "every slot has the same"


@pytest.mark.parametrize("n", [1, 2, 3])
@pytest.mark.parametrize("chunk", [2, 3, 4])
@pytest.mark.parametrize("clamp", [True, False])
def test_the_feed_forward_network_multiplies_any_functions(n, chunk, clamp):
    # Lemma 1, on all C-tuples of functions of n states, with noise if it is clamped.
    language = Walk([[(q + 1) % n] for q in range(n)], [0] * n, 0)
    network = build(task_of(language), chunk=chunk, clamp=clamp)
    functions = list(itertools.product(range(n), repeat=n))
    every = list(itertools.product(functions, repeat=chunk))
    slots_BCQ = torch.tensor(every[:: 1 + len(every) // 1000])
    one_BCQQ = torch.nn.functional.one_hot(slots_BCQ, n).double()
    want_BQQ = one_BCQQ[:, -1]  # the oldest is in the last slot
    for slot in reversed(range(chunk - 1)):
        want_BQQ = want_BQQ @ one_BCQQ[:, slot]
    old_BD = one_BCQQ.flatten(1)
    if clamp:
        old_BD = old_BD + (torch.rand_like(old_BD) - 0.5) * (2 * 0.25 / chunk)
    new_BD = old_BD + network.blocks[0].feed_forward(old_BD)
    torch.testing.assert_close(new_BD, want_BQQ.flatten(1).repeat(1, chunk), rtol=0, atol=1e-12)


def printed_weights(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Return W⁽¹⁾ (2n², n³) and W⁽²⁾ (n³, n²) by eq. 3 and the Kronecker product of appendix C."""
    first, square = np.zeros((2 * n * n, n**3)), n * n
    for i, j, k in itertools.product(range(n), repeat=3):
        first[[i * n + k, square + k * n + j], i * square + j * n + k] = 1
    return first, np.kron(np.eye(square), np.ones((n, 1)))


def by_lemma_1(flat_BX: np.ndarray, n: int) -> np.ndarray:
    """Return the printed network's answer to [Flat(A), Flat(B)]."""
    first, second = printed_weights(n)
    return np.maximum(flat_BX @ first - 1, 0) @ second


def test_the_worked_example_of_appendix_d():
    first, second = printed_weights(2)
    assert first.tolist() == [
        [1, 0, 1, 0, 0, 0, 0, 0],
        [0, 1, 0, 1, 0, 0, 0, 0],
        [0, 0, 0, 0, 1, 0, 1, 0],
        [0, 0, 0, 0, 0, 1, 0, 1],
        [1, 0, 0, 0, 1, 0, 0, 0],
        [0, 0, 1, 0, 0, 0, 1, 0],
        [0, 1, 0, 0, 0, 1, 0, 0],
        [0, 0, 0, 1, 0, 0, 0, 1],
    ]
    assert second.T.tolist() == [
        [1, 1, 0, 0, 0, 0, 0, 0],
        [0, 0, 1, 1, 0, 0, 0, 0],
        [0, 0, 0, 0, 1, 1, 0, 0],
        [0, 0, 0, 0, 0, 0, 1, 1],
    ]
    left, right = [1, 0, 1, 0], [0, 1, 1, 0]
    x = np.array([*left, *right])
    assert (x @ first).tolist() == [1, 1, 2, 0, 1, 1, 2, 0]
    assert by_lemma_1(x, 2).tolist() == [0, 1, 0, 1]

    task = task_of(Walk([[1], [0]], [0, 0], 0))
    feed_forward = build(task, clamp=False).blocks[0].feed_forward
    slots = torch.tensor([*right, *left], dtype=torch.float64)  # the oldest is in the last slot
    assert (slots + feed_forward(slots)).tolist() == [0, 1, 0, 1] * 2


@pytest.mark.parametrize("form", FORMS)
def test_padded_batches_and_batches_in_parts(form, monkeypatch):
    task = HOST.task(f"tomita-3:{form}")
    network = build(task)
    together, _ = padded([9, 1, 0, 4, 8, 3], symbols=2)
    want = network(together)
    monkeypatch.setattr(exact_regulargpt, "MAX_ACTIVATIONS", 2000)
    got = network(together)
    torch.testing.assert_close(got, want)
    assert_padding_changes_nothing(network, [9, 1, 0, 4, 8, 3], symbols=2)


def test_the_scale_is_the_size_of_the_logits():
    task = HOST.task("parity")
    network = build(task, scale=3.0)
    assert network.traits.constants == {"scale": 3.0}
    assert margin(network, task, every_string(4, 2)) == pytest.approx(3.0)
    nats = math.log1p(math.exp(-16.0))
    symbols = every_string(4, 2)
    bits = bits_of(task, build(task)(Batch(symbols)).double(), ask(task, symbols))
    assert bits.max().item() == pytest.approx(nats / math.log(2), rel=1e-4)


@pytest.mark.parametrize(("states", "chunk"), [(28, 2), (14, 4), (3, 11)])
def test_what_is_too_large_is_refused_before_anything_is_made(states, chunk):
    cycle = Walk([[(q + 1) % states] for q in range(states)], [0, *[1] * (states - 1)], 0)
    with pytest.raises(RequestError) as caught:
        build(task_of(cycle), chunk=chunk)
    message = str(caught.value)
    assert f"chunk={chunk} and the {states} states of walk take" in message
    largest = message.partition("try chunk=")[2]
    if not largest:
        assert not exact_regulargpt.Sizes(states, 2, clamp=True).fits
        return
    assert exact_regulargpt.Sizes(states, int(largest), clamp=True).fits
    assert not exact_regulargpt.Sizes(states, int(largest) + 1, clamp=True).fits
