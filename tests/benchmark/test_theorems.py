"""What theorems say of networks and languages."""

import pytest
from formalbench import Theory, Traits
from formalbench.theory.theorems import Theorem, about, predict, predict_each, theorems
from pydantic import ValidationError

NOPE = ("softmax-attention", "fixed-depth", "future-masked", "no-positions")
GATES = ("diagonal-recurrence", "input-dependent-gates")


@pytest.mark.parametrize(
    ("mechanisms", "eigenvalues", "language", "verdict", "by"),
    [
        (NOPE, "", "c-rasp", "can", "counting-transformers"),
        (NOPE, "", "star-free", "cannot", "c-rasp-experiments"),
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
        (("softmax-attention", "logarithmic-depth"), "", "regular", "can", "logarithmic-depth"),
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


(COUNTING,) = (theorem for theorem in theorems() if theorem.name == "counting")


@pytest.mark.parametrize("language", COUNTING.languages)
def test_counters_decide_languages_that_no_finite_automaton_does(cli, language):
    shown = cli("show", "task", language, "--json").data
    assert shown["theory"]["level"] == "counter"
    said = {theorem["name"]: theorem["verdict"] for theorem in shown["theorems"]}
    assert (said["counting"], said["gru-finite-precision"]) == ("can", "cannot")


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
    ],
)
def test_a_theorem_is_of_languages_or_of_classes(keys):
    with pytest.raises(ValidationError, match="of languages, or of classes"):
        Theorem(name="x", mechanisms=frozenset(), conditions="", source="", **keys)


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
    assert predict(masked, Theory("regular", c_rasp=False))[0] == "cannot"
    assert predict(masked, Theory("context-free", c_rasp=False)) == ("unknown", None)


def test_each_theorem_has_conditions_and_a_source():
    names = [theorem.name for theorem in theorems()]
    assert len(set(names)) == len(names) >= 10
    assert all(theorem.conditions and "20" in theorem.source for theorem in theorems())
    with pytest.raises(ValidationError, match="x names no class"):
        Theorem(name="x", mechanisms=frozenset(), conditions="", source="", at_least="starfree")


def test_what_is_shown(cli):
    shown = cli("show", "task", "even-pairs", "--json").data["theorems"]
    said = {theorem["name"]: theorem["verdict"] for theorem in shown}
    assert (said["non-negative-gates"], said["c-rasp-experiments"]) == ("can", "cannot")
    told = cli("show", "task", "even-pairs").out
    assert "theorem  future-masked + no-positions + softmax-attention: cannot (experiment: " in told
    of_model = cli("show", "model", "gru", "--json").data
    assert [theorem["name"] for theorem in of_model["theorems"]] == ["gru-finite-precision"]
    assert of_model["traits"]["mechanisms"] == ["gru-recurrence"]


@pytest.mark.parametrize("options", ["[p=0.5]", ":tag[p=0.3]"])
def test_theorems_about_a_language_by_name_are_shown_whatever_its_options(cli, options):
    plain = cli("show", "task", "parity", "--json").data["theorems"]
    assert any("parity" in theorem.get("languages", ()) for theorem in plain)
    assert cli("show", "task", f"parity{options}", "--json").data["theorems"] == plain


def test_nothing_is_shown_of_functions_from_strings_to_strings(cli):
    assert cli("show", "task", "reverse-string", "--json").data["theorems"] == []
    assert "theorem  " not in cli("show", "task", "reverse-string").out
