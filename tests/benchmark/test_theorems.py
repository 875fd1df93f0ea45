"""What theorems say of networks and languages."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from formalbench import Theory, Traits
from formalbench.cli.show import task_facts
from formalbench.contracts.theory import CLASSES
from formalbench.theory.lookup import theory_for_theorems, theory_of_task
from formalbench.theory.theorems import (
    Theorem,
    about,
    numbers_of,
    predict,
    predict_each,
    sizes_of,
    theorem_called,
    theorems,
)
from formalbench_leaderboard.page.descriptions import _theorems
from pydantic import ValidationError

NOPE = ("softmax-attention", "fixed-depth", "future-masked", "no-positions")
MARKED = (*NOPE, "end-marker")
LOOPED = ("averaging-hard-attention", "masked-pre-norm", "logarithmic-rounds")
HARD = ("hard-attention", "strictly-future-masked", "no-positions")
GATES = ("diagonal-recurrence", "input-dependent-gates")


@pytest.mark.parametrize(
    ("mechanisms", "eigenvalues", "language", "verdict", "by"),
    [
        (NOPE, "", "c-rasp", "can", "counting-transformers"),
        (NOPE, "", "c-rasp-last", "can", "counting-transformers"),
        (NOPE, "", "star-free", "cannot", "c-rasp-experiments"),
        (MARKED, "", "c-rasp", "can", "counting-transformers-end-marker"),
        (MARKED, "", "c-rasp-last", "cannot", "c-rasp-experiments-end-marker"),
        ((*MARKED, "no-begin-symbol"), "", "c-rasp", "unknown", None),
        ((*HARD, "ties-to-the-right"), "", "star-free", "can", "masked-hard-attention"),
        ((*HARD, "ties-to-the-left"), "", "star-free", "unknown", None),
        (("logarithmic-rounds", *NOPE[2:]), "", "regular", "unknown", None),
        ((*LOOPED, "polynomial-padding"), "", "regular", "can", "padding-and-looping"),
        (
            (*LOOPED, "future-masked", "layers-behind-the-loop"),
            "",
            "regular",
            "can",
            "logarithmic-rounds",
        ),
        ((*LOOPED[:2], "polynomial-padding", "fixed-depth"), "", "solvable", "can", "padding"),
        ((*LOOPED[:2], "polynomial-padding", "fixed-depth"), "", "regular", "cannot", "padding"),
        (("one-hot-times-diagonal-recurrence", *GATES[1:]), "", "regular", "unknown", None),
        ((*GATES, "complex-eigenvalues"), "", "solvable", "unknown", None),
        ((*GATES, "complex-eigenvalues"), "", "regular", "cannot", "diagonal-in-tc0"),
        (NOPE, "", "regular", "cannot", "transformers-in-tc0"),
        (NOPE[:2], "", "solvable", "unknown", None),
        (GATES, "[0, 1]", "star-free", "can", "non-negative-gates"),
        (GATES, "[0, 1]", "solvable", "cannot", "non-negative-eigenvalues"),
        (GATES, "[-1, 1]", "solvable", "unknown", None),
        (GATES, "[-1, 1]", "regular", "cannot", "diagonal-in-tc0"),
        (GATES, "[0, 1]", "counter", "unknown", None),
        (("products-of-reflections",), "[-1, 1]", "regular", "can", "products-of-reflections"),
        (("products-of-reflections",), "[0, 1]", "regular", "unknown", None),
        (("elman-recurrence",), "", "regular", "can", "elman-finite-precision"),
        (("elman-recurrence",), "", "context-free", "cannot", "elman-finite-precision"),
        (("lstm-recurrence",), "", "counter", "unknown", None),
        (("relu-recurrence",), "", "regular", "can", "relu-finite-precision"),
        (("relu-recurrence",), "", "counter", "unknown", None),
        (
            ("logarithmic-depth", "chunks-of-two"),
            "",
            "regular",
            "can",
            "logarithmic-depth-in-pairs",
        ),
        (("softmax-attention", "logarithmic-depth"), "", "regular", "unknown", None),
        (NOPE, "", "counter", "unknown", None),
        ((), "", "finite", "unknown", None),
    ],
)
def test_predictions(mechanisms, eigenvalues, language, verdict, by):
    traits = Traits(mechanisms=mechanisms, eigenvalues=eigenvalues)
    found, theorem = predict(traits, Theory.least(language))
    assert (found, theorem and theorem.name) == (verdict, by)
    assert theorem is None or theorem in about(traits)


def test_a_theorem_about_languages_by_name_is_about_no_others():
    delta = Traits(
        mechanisms=("products-of-reflections", "two-reflections-at-most"), eigenvalues="[0, 1]"
    )
    verdict, theorem = predict(delta, Theory.least("solvable"), "parity")
    assert (verdict, theorem.name) == ("cannot", "positive-eigenvalues")
    assert predict(delta, Theory.least("solvable"), "no-such-language") == ("unknown", None)
    assert predict(Traits(mechanisms=delta.mechanisms), Theory.least("solvable"), "parity") == (
        "unknown",
        None,
    )


def test_what_a_network_must_be_without():
    blind = Traits(mechanisms=("softmax-attention", "no-positions"))
    verdict, theorem = predict(blind, Theory.least("r-trivial"), "first")
    assert (verdict, theorem.name) == ("cannot", "order-blind")
    masked = Traits(mechanisms=(*blind.mechanisms, "future-masked"))
    assert predict(masked, Theory.least("r-trivial"), "first")[0] == "can"


def test_a_theorem_and_an_experiment_each_have_their_say():
    said = predict_each(Traits(mechanisms=NOPE), Theory.least("c-rasp"))
    assert [(verdict, theorem.name) for verdict, theorem in said] == [
        ("can", "counting-transformers"),
        ("can", "c-rasp-experiments"),
    ]


@pytest.mark.parametrize(
    "keys",
    [
        {"languages": ("parity",)},
        {"says": "can", "at_least": "regular"},
        {"languages": ("parity",), "says": "can", "at_least": "regular"},
        {"statement": "it can", "at_least": "regular"},
        {"statement": "it can", "languages": ("parity",), "says": "can"},
    ],
)
def test_a_theorem_is_of_languages_or_of_classes(keys):
    with pytest.raises(ValidationError, match="of languages, or of classes"):
        Theorem(name="x", mechanisms=frozenset(), conditions="", source="", **keys)


def test_a_theorem_that_was_not_read_has_no_verdict():
    with pytest.raises(ValidationError, match="x is second-hand: it has a statement and no"):
        Theorem(
            name="x",
            mechanisms=frozenset(),
            conditions="",
            source="",
            at_least="regular",
            evidence="second-hand",
        )
    told = [theorem for theorem in theorems() if theorem.statement]
    unread = [one for one in theorems() if "abstract" in one.source + one.stated]
    assert told == [one for one in theorems() if one.evidence == "second-hand"]
    assert len(unread) == 3 == sum(one in told for one in unread)
    assert all(one.verdict(Theory.least(name)) == "unknown" for one in told for name in CLASSES)


@pytest.mark.parametrize(
    ("mechanisms", "eigenvalues"),
    [
        (("hard-attention", "fixed-depth"), ""),
        (("softmax-attention", "fixed-depth"), ""),
        (("diagonal-recurrence",), "[-1, 1]"),
    ],
)
def test_no_theorem_speaks_of_the_length_alone(mechanisms, eigenvalues):
    """An even number of a's depends on the length: it is in AC⁰, and no symbol changes it."""
    traits = Traits(mechanisms=mechanisms, eigenvalues=eigenvalues)
    counting, length = (replace(Theory.least("solvable"), ac0=inside) for inside in (False, True))
    assert predict(traits, counting, "parity")[0] == "cannot"
    assert predict(traits, length, "even-a") == ("unknown", None)


@pytest.mark.parametrize(
    ("mechanisms", "eigenvalues", "name"),
    [
        (("slstm-recurrence",), "", "slstm-saturated"),
        (("recurrent-controller",), "", "saturated-controller"),
        (("products-of-reflections",), "[0, 1]", "overwriting"),
    ],
)
def test_what_the_source_does_not_state_is_our_corollary(mechanisms, eigenvalues, name):
    traits = Traits(mechanisms=mechanisms, eigenvalues=eigenvalues)
    [(verdict, theorem)] = predict_each(traits, Theory.least("star-free"))
    assert (verdict, theorem.name, theorem.evidence) == ("can", name, "corollary")


def test_can_says_of_what():
    elman = theorem_called("elman-finite-precision")
    numbers = {"states": 5, "symbols": 3}
    for sizes, known, instance in (
        ({"width": 15}, numbers, "this instance"),
        ({"width": 14}, numbers, "a larger one of its family"),
        ({"width": 14}, None, "unknown"),
        ({"depth": 2}, numbers, "unknown"),
    ):
        assert elman.instance("can", sizes, known) == instance
    assert (
        theorem_called("gru-finite-precision").instance("can", {"width": 64}, numbers) == "unknown"
    )
    experiment = theorem_called("c-rasp-experiments")
    assert {experiment.instance(said, {"width": 64}, numbers) for said in ("can", "cannot")} == {
        "unknown"
    }
    with pytest.raises(ValidationError, match="x must say what size it needs and where"):
        Theorem(
            name="x",
            mechanisms=frozenset(),
            conditions="",
            source="",
            at_least="regular",
            needs={"width": (1,)},
        )


def test_the_numbers_of_a_language():
    swap_and_cycle = np.array([(1, 0, 2, 3, 4), (1, 2, 3, 4, 0)]).T
    automaton = SimpleNamespace(transitions=swap_and_cycle, classes=[1, 0, 0, 0, 0], start=0)
    assert numbers_of(automaton) == {"states": 5, "symbols": 2, "transpositions": 4}  # S5
    first = SimpleNamespace(transitions=[[1, 2], [1, 1], [2, 2]], classes=[0, 0, 1], start=0)
    assert numbers_of(first) == {"states": 3, "symbols": 2}
    sizes = sizes_of(Traits(depth=2, width=8, notes={"state": 4, "precision": "any"}))
    assert sizes == {"depth": 2, "width": 8, "state": 4}
    assert "depth" not in sizes_of(Traits(depth=lambda length: length))


def test_each_number_that_a_size_takes_is_known():
    known = {"states", "symbols", "transpositions"}
    taken = {each for one in theorems() for factors in one.needs.values() for each in factors}
    assert {each for each in taken if isinstance(each, str)} <= known


def test_what_is_not_known_of_a_language_decides_nothing():
    theory = Theory("regular", c_rasp=False)
    assert predict(Traits(mechanisms=GATES, eigenvalues="[0, 1]"), theory) == ("unknown", None)


def test_what_does_all_context_free_languages_does_regular_and_some_counter_ones():
    stack = Traits(mechanisms=("nondeterministic-stack",))
    assert predict(stack, Theory("regular"))[0] == "can"
    assert predict(stack, Theory("counter", context_free=True))[0] == "can"
    for theory in (Theory("counter"), Theory("counter", context_free=False)):
        assert predict(stack, theory) == ("unknown", None)


def test_experiments_on_regular_languages_decide_no_others():
    masked = Traits(mechanisms=NOPE)
    assert predict(masked, Theory("regular", c_rasp_last=False))[0] == "cannot"
    assert predict(masked, Theory("context-free", c_rasp_last=False)) == ("unknown", None)


def test_each_theorem_has_conditions_and_a_source():
    names = [theorem.name for theorem in theorems()]
    assert len(set(names)) == len(names) >= 10
    assert all(theorem.conditions and "20" in theorem.source for theorem in theorems())
    with pytest.raises(ValidationError, match="x names no class"):
        Theorem(name="x", mechanisms=frozenset(), conditions="", source="", at_least="starfree")


@pytest.mark.parametrize("options", ["[p=0.5]", ":tag[p=0.3]"])
def test_theorems_about_a_language_by_name_are_shown_whatever_its_options(cli, options):
    plain = cli("show", "task", "parity", "--json").data["theorems"]
    assert any("parity" in theorem.get("languages", ()) for theorem in plain)
    assert cli("show", "task", f"parity{options}", "--json").data["theorems"] == plain


def test_theorems_are_not_about_functions_and_deny_nothing_to_prefixes_of_members(host):
    def decided(task):
        return theory_for_theorems(host, task, theory_of_task(host, task))

    assert decided("stack-manipulation:transduce") is None
    assert decided("no-bb").c_rasp is False
    assert decided("no-bb:next-symbols").c_rasp is None
    assert decided("tomita-1:next-symbols").c_rasp is True


def test_the_page_names_theorems_as_show_does(host):
    tasks = "parity:tag", "stack-manipulation:transduce", "no-bb:next-symbols"
    shown = _theorems(host, {task: theory_of_task(host, task) for task in tasks})["theory"]
    for task in tasks:
        facts = task_facts(host, task)["theorems"]
        assert shown[task] == [[one["name"], one["verdict"]] for one in facts]
    assert ["time-invariant", "cannot"] in shown["parity:tag"]
