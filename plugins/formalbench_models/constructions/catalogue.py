"""Announces the exact models: static data, so neither torch nor numpy is imported here."""

from __future__ import annotations

from dataclasses import replace

from formalbench import ModelSpec

from formalbench_models.constructions.yao_catalogue import YAO

_CHIANG = "Chiang & Cholak 2022, section "
_SLIDES = "Steffen, Glaus & Saeedi 2022, Evaluating solutions … for Dyck languages (slides)"


def _exact(name: str, task: str, summary: str, reference: str, config: str) -> ModelSpec:
    factory = name.partition("-{")[0].replace("-", "_")
    return ModelSpec(
        name=name,
        version=1,
        summary=summary,
        factory=f"formalbench_models.constructions.factories:{factory}",
        config=f"formalbench_models.constructions.configs:{config}",
        kind="exact",
        objectives=("classify",),
        reference=reference,
        task=task,
    )


def _for_automata(
    name: str, task: str, summary: str, factory: str, config: str, reference: str
) -> ModelSpec:
    return replace(
        _exact(name, task, summary, reference, config),
        factory=f"formalbench_models.constructions.{factory}:build",
        objectives=("classify", "tag", "next-symbols"),
    )


CONSTRUCTIONS: tuple[ModelSpec, ...] = (
    _exact(
        "ffnn-parity",
        "parity",
        "two layers of step functions, for one length",
        f"Rumelhart et al. 1986; {_CHIANG}2.1",
        "FfnnParityConfig",
    ),
    _exact(
        "exact-parity",
        "parity",
        "two layers: find k/n, then test whether position k is odd",
        f"{_CHIANG}2.2, 3.1, 3.2",
        "ExactParityConfig",
    ),
    _exact(
        "exact-first",
        "first",
        "two layers: mark a 1 at position 1, then attend to it",
        f"{_CHIANG}2.3, 3.1, 3.2, 4.3",
        "ExactFirstConfig",
    ),
    _exact(
        "flawed-first",
        "first",
        "one layer that others than position 1 disturb: fails on long strings",
        f"{_CHIANG}4.2, 4.3",
        "FlawedFirstConfig",
    ),
    _exact(
        "exact-dyck-1",
        "dyck-1",
        "two layers: depths by masked averages, then the mean of the faults",
        _SLIDES,
        "ExactDyckConfig",
    ),
    _exact(
        "exact-dyck-1-{D}",
        "dyck-1-{D}",
        "exact-dyck-1 with a greatest depth",
        _SLIDES,
        "ExactDyckConfig",
    ),
    _for_automata(
        "exact-regulargpt",
        "parity",
        "any automaton, written into the weights of regulargpt",
        "exact_regulargpt",
        "ExactRegularGptConfig",
        "Chi, Fan, Rudnicky & Ramadge 2023, section 7.2 and Lemma 1",
    ),
    _for_automata(
        "exact-deltaproduct",
        "parity",
        "any automaton of permutations and resets, as reflections of a linear recurrence",
        "exact_delta_product",
        "ExactDeltaProductConfig",
        "Siems et al. 2025, DeltaProduct; Grazzi et al. 2024, section 4",
    ),
    _for_automata(
        "exact-crasp",
        "dyck-2-3",
        "any automaton in C-RASP, written into a transformer without positions",
        "exact_crasp",
        "ExactCraspConfig",
        "Yang & Chiang 2024, Theorem 4.3; Yang et al. 2026, appendix J",
    ),
    *YAO,
)
"""The exact models of this package, in the order of their papers."""
