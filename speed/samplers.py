"""Uniform members of a regular language: ours against automata-lib's own sampler."""

from __future__ import annotations

import numpy as np
from automata.fa.dfa import DFA
from formalbench.contracts.source import Stream
from formalbench.host import PluginHost
from formalbench_tasks.automata.automaton import Automaton, from_table
from harness import Comparison, compare

LENGTH, THEIRS, OURS = 500, 20, 1000


def library(automaton: Automaton) -> DFA:
    states = range(automaton.num_states)
    return DFA(
        states={str(q) for q in states},
        input_symbols={str(s) for s in range(automaton.num_symbols)},
        transitions={
            str(q): {str(s): str(t) for s, t in enumerate(automaton.transitions[q].tolist())}
            for q in states
        },
        initial_state=str(automaton.start),
        final_states={str(q) for q in states if automaton.classes[q] == 1},
    )


def random_automaton(states: int) -> Automaton:
    rng = np.random.default_rng(0)
    return from_table(
        rng.integers(states, size=(states, 2)).tolist(), rng.integers(2, size=states).tolist()
    )


def measure() -> list[Comparison]:
    tomita = PluginHost.load().task("tomita-3").source.automaton
    rows = []
    for name, automaton in (("tomita-3", tomita), ("a random 50-state DFA", random_automaton(50))):
        dfa = library(automaton)
        wanted = np.ones(OURS, dtype=np.int64)

        def ours(automaton=automaton, wanted=wanted):
            for _ in range(THEIRS):
                automaton.paths.sample(Stream("speed"), LENGTH, wanted)

        def theirs(dfa=dfa):
            for seed in range(THEIRS * 10):
                dfa.random_word(LENGTH, seed=seed)

        one = compare(("ours", ours), ("automata-lib", theirs), "")
        scale = THEIRS * OURS / (THEIRS * 10)  # per string
        rows.append(
            Comparison(
                a=f"ours, {OURS} a call",
                b="automata-lib, one a call",
                inputs=f"one member of {name}, length {LENGTH}",
                seconds_a=one.seconds_a / (THEIRS * OURS),
                seconds_b=one.seconds_b / (THEIRS * 10),
                ratio=one.ratio * scale,
                low=one.low * scale,
                high=one.high * scale,
                repeats=one.repeats,
            )
        )
    return rows
