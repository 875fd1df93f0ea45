"""Each construction: right on every short string and on long ones, and what it promises."""

from itertools import product

import pytest
import torch
from exact_helpers import (
    NORMS,
    ask,
    hard_strings,
    hardest,
    is_right,
    least_margin,
    make,
    short_strings,
)
from formalbench.contracts.errors import RequestError
from formalbench.contracts.network import Batch

FP64, FP32, HALF = (torch.float64,), (torch.float32,), (torch.float16, torch.bfloat16)
EVERY = (*FP64, *FP32, *HALF)
DYCKS = ("dyck-1", "dyck-1-1", "dyck-1-2", "dyck-1-3", "dyck-1-5")
FORMS = (":tag", ":next-symbols")
LANGUAGES = (
    *("parity", "first", "even-pairs", "cycle-navigation"),
    *(f"tomita-{number}" for number in range(1, 8)),
    *("d1", "d2", "d3", "d4", "d12"),
)
LOG = {"log_length": True}


def cases(models, dtypes, longest, lengths, least=0.0):
    """Return a test's cases: each model, task and options in each precision."""
    return [
        pytest.param(
            (model, task, options, dtype, longest, lengths, least),
            id=f"{model} {task} {options} {str(dtype)[6:]}",
        )
        for (model, task, options), dtype in product(models, dtypes)
    ]


def exact(*parts):
    """Let a test be of these cases; `make test` takes a few of each test."""
    return pytest.mark.parametrize("case", [case for part in parts for case in part])


def assert_exact(model, task, options, dtype, longest, lengths, least):
    network, task = make(model, task, options)
    assert next(iter(network.state_dict().values())).dtype in (torch.float64, torch.int64)
    network.to(dtype)
    for length in range(longest + 1):
        if len(strings := short_strings(task, length)):
            assert least_margin(network, task, strings) > least, length
    for length in lengths:
        if task.source.has_length(length):
            assert least_margin(network, task, hardest(task, length)) > least, length


PARITY = [("exact-parity", "parity", some) for some in (*NORMS, {"c": 0.01}, {"c": 10.0})]
FIRST = [
    ("exact-first", "first", some)
    for some in (
        *(*NORMS, {"c": 0.01}, {"c": 10.0}),
        *(LOG | norm for norm in NORMS),
        LOG | {"eta": 0.001},
    )
]
NORMED = [(f"exact-{dyck}", dyck, options) for dyck, options in product(DYCKS, NORMS)]
MENDED = [("flawed-first", "first", LOG | {"c": c}) for c in (1.0, 2.0)]
NO_NORM = [
    (f"exact-{language}", language, {"eps": 0.0}) for language in ("parity", "first", "dyck-1")
]
VERY_LONG = [("exact-parity", "parity", {}), ("exact-first", "first", {})]

NONE = -1.0
"""Less than any margin: the empty string is answered by a tie."""


@exact(
    cases([*PARITY, *FIRST, *MENDED], (*FP64, *FP32), 8, (31, 100, 1000), NONE),
    cases(VERY_LONG, FP64, 0, (20_000,), NONE),
    cases(NO_NORM, HALF, 6, (), NONE),
)
def test_those_of_chiang_and_cholak(case):
    assert_exact(*case)


@exact(
    cases(NORMED, (*FP64, *FP32), 8, (30, 100, 1000)),
    cases([("exact-dyck-1", "dyck-1", {}), ("exact-dyck-1-3", "dyck-1-3", {})], FP64, 0, (3000,)),
)
def test_those_of_the_slides(case):
    assert_exact(*case)


SIZES = ((1, 1), (1, 2), (2, 1), (2, 2), (2, 3), (3, 4), (4, 7))
RECOGNISERS = [
    (f"yao-{name}-{k}-{D}", f"dyck-{k}-{D}", {})
    for name, (k, D) in product(("hard", "hard-as-soft", "recognise"), SIZES)
]
GENERATORS = [
    (f"yao-{name}-{k}-{D}", f"dyck-{k}-{D}:next-symbols", {})
    for name, (k, D) in product(("soft", "hard-generate"), SIZES)
]
ANY_DEPTH = [
    (f"yao-soft-{k}", f"dyck-{k}:next-symbols", {"n": n}) for k, n in product((1, 2), (22, 1002))
]


@exact(
    cases(RECOGNISERS, FP64, 6, (160,)),
    cases([one for one in RECOGNISERS if "-2-2" in one[0]], (*FP32, *HALF), 4, ()),
    cases(GENERATORS, FP64, 7, (40,)),
    cases(ANY_DEPTH, FP64, 9, ()),
    cases([("yao-soft-2", "dyck-2:next-symbols", {})], FP64, 6, (1000,)),
    cases([("yao-soft-4-10", "dyck-4-10:next-symbols", {})], FP64, 4, (1000,)),
)
def test_those_of_yao(case):
    assert_exact(*case)


@exact(
    cases([("exact-regulargpt", name, {}) for name in LANGUAGES], FP64, 7, (500, 1000), 15.9),
    cases([("exact-regulargpt", name, {}) for name in LANGUAGES], FP32, 7, (), 15.9),
    cases([("exact-regulargpt", name, {}) for name in LANGUAGES], HALF, 4, (), 15.9),
    cases(
        [("exact-regulargpt", f"{name}{form}", {})
         for name, form in product(LANGUAGES, FORMS) if name != "cycle-navigation"],
        (*FP64, *FP32), 6, (), 15.9,
    ),
    cases(
        [("exact-regulargpt", f"{name}{form}", {"chunk": chunk, "clamp": clamp})
         for name, form, chunk, clamp in product(
             ("tomita-3", "tomita-6"), ("", *FORMS), (3, 4), (True, False))],
        (*FP64, *FP32), 8, (), 15.9,
    ),
    cases(
        [("exact-regulargpt", f"tomita-6{form}", {"chunk": chunk})
         for form, chunk in product(("", *FORMS), (2, 3, 4))],
        EVERY, 2, (600, 729), 15.9,
    ),
)  # fmt: skip
def test_those_of_regulargpt(case):
    assert_exact(*case)


PRODUCTS = ("parity", "parity:next-symbols", "cycle-navigation", "group-s3", "group-s3:tag")


@exact(
    cases([("exact-deltaproduct", name, {}) for name in PRODUCTS], EVERY, 5, (700,)),
    cases([("exact-deltaproduct", "group-z7:tag", {})], FP64, 4, ()),
    cases([("exact-deltaproduct", f"group-{name}:tag", {}) for name in ("s4", "a5")], FP64, 2, ()),
)
def test_those_of_products_of_reflections(case):
    assert_exact(*case)


SMALL = ("first", "tomita-1", "tomita-2", "tomita-7", "d1", "d3", "dyck-2-2")


@exact(
    cases([("exact-crasp", name, {}) for name in SMALL], FP64, 6, (), 15.9),
    cases([("exact-crasp", f"{name}{form}", {}) for name, form in product(SMALL, FORMS)],
          FP64, 4, (), 15.9),
    cases([("exact-crasp", name, {}) for name in ("tomita-2", "dyck-2-2")], EVERY, 3, (300,), 15.9),
)  # fmt: skip
def test_those_of_counting(case):
    assert_exact(*case)


every_network = pytest.mark.parametrize("network", ["hand-written", "transformer"])


@pytest.mark.parametrize(("language", "options"), list(product(("parity", "first"), NORMS)))
def test_the_network_that_is_trained_gives_the_same_logits(language, options):
    model = f"exact-{language}"
    for more in ({}, {"log_length": True}) if language == "first" else ({},):
        own, task = make(model, language, options | more)
        loaded, _ = make(model, language, {**options, **more, "network": "transformer"})
        assert type(loaded).__name__ == "Transformer"
        assert loaded.traits.constants == own.traits.constants
        for length in (1, 2, 5, 40):
            strings = hard_strings(task, length)
            with torch.no_grad():
                want, got = own(Batch(strings)), loaded(Batch(strings))
            torch.testing.assert_close(got, want, rtol=1e-9, atol=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("options", [{"norm": True}, {"eps": 0.0, "eta": 0.1}, {}])
@every_network
def test_training_recovers_from_a_small_push(options, network):
    exact, task = make("exact-first", "first", {**options, "network": network, "log_length": True})
    strings = hard_strings(task, 20, count=40)
    example = ask(task, strings)
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for parameter in exact.parameters():
            noise = torch.randn(parameter.shape, generator=generator, dtype=parameter.dtype)
            parameter.add_(0.3 * noise)
    optimiser = torch.optim.Adam(exact.parameters(), lr=0.01)
    losses = []
    for _ in range(60):
        loss = task.objective.loss(exact(Batch(strings)), example)
        optimiser.zero_grad()
        loss.backward()
        assert all(p.grad is None or p.grad.isfinite().all() for p in exact.parameters())
        optimiser.step()
        losses.append(loss.item())
    assert losses[-1] < 0.5 * losses[0]
    with torch.no_grad():
        assert is_right(task, exact(Batch(strings)), example).all()


@pytest.mark.parametrize(
    ("model", "language", "options", "message"),
    [
        ("exact-parity", "parity", {"eta": 0.1}, "needs layer norm: add --set eps=0"),
        ("exact-first", "first", {"eta": 0.1}, "needs layer norm"),
        ("exact-first", "first", {"eta": 0.1, "log_length": True, "c": 0.5}, "c of 1 or more"),
        ("exact-parity", "parity", {"eta": 0.7, "eps": 0.0}, "eta=0.7: must be at most 0.6931"),
        ("exact-dyck-1-0", "dyck-1", {}, "at least 1"),
        ("exact-dyck-1-2", "dyck-1-3", {}, "recognises dyck-1-2, not dyck-1-3"),
        ("yao-hard-2-3", "dyck-2-2", {}, "yao-hard-2-3 recognises dyck-2-3, not dyck-2-2"),
        ("yao-recognise-2-0", "dyck-2-2", {}, "types and depth must be at least 1"),
        ("yao-hard-as-soft-0-2", "dyck-2-2", {}, "types and depth must be at least 1"),
        ("yao-soft-2", "dyck-2-3:next-symbols", {}, "yao-soft-2 recognises dyck-2, not dyck-2-3"),
        ("yao-soft-2-0", "dyck-2-2:generate", {}, "types and depth must be at least 1"),
        ("exact-regulargpt", "modular-arithmetic", {}, "is not given by an automaton: take"),
        ("exact-crasp", "dyck-1", {}, "exact-crasp: dyck-1 is not given by an automaton"),
        *(
            ("exact-crasp", name, {}, f"exact-crasp: {name} is not in C-RASP")
            for name in ("parity", "tomita-3", "even-pairs", "cycle-navigation")
        ),
        ("exact-deltaproduct", "modular-arithmetic", {}, "is not given by an automaton"),
        (
            *("exact-deltaproduct", "tomita-3", {}),
            "^exact-deltaproduct: symbol 0 of tomita-3 neither permutes the states nor resets",
        ),
    ],
)
def test_what_makes_no_sense_is_one_line(model, language, options, message):
    with pytest.raises(RequestError, match=message) as error:
        make(model, language, options)
    assert "\n" not in str(error.value)
