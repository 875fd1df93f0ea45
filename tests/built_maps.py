"""Maps of made-up records, and how a drawing of one is read back."""

import random
from dataclasses import replace
from xml.etree import ElementTree

from formalbench import Theory
from formalbench.statistics.board import ExactModel, ExactModels
from formalbench.statistics.build import View, build_page
from formalbench.statistics.length_profile import Step
from formalbench.statistics.result import Prediction
from formalbench_leaderboard.board.plugin_info import PluginFacts
from formalbench_leaderboard.charts.language_map import (
    FamilyRows,
    LanguageMap,
    MapCell,
    MapColumn,
    MapRow,
    language_map,
)
from formalbench_leaderboard.charts.map_chart import render

SVG = "{http://www.w3.org/2000/svg}"
CAN = Prediction("can", "a-theorem", "theorem")
THEORIES = {
    "parity:classify": Theory.least("solvable"),
    "tomita-3:classify": Theory.least("solvable"),
    "even-pairs:classify": Theory.least("star-free"),
    "first:classify": Theory.least("r-trivial"),
    "group-a5:classify": Theory.least("regular"),
    "anbn:classify": Theory.least("counter"),
}
KNOWN = PluginFacts(
    family=lambda model: "recurrent" if model in ("rnn", "lstm", "by-hand") else model,
    theory=THEORIES.get,
    modulus=lambda task: {"parity:classify": 2}.get(task),
    trained_to=lambda task: 40,
    predicted=lambda model, task: CAN if model == "rnn" else None,
)
HOSTILE = [
    "<script>alert(1)</script>",
    '" onmouseover="alert(1)" x="',
    "]]></style><script>alert(1)</script>",
    "a\nb\x00\u202eevil",
    "{{ 7 * 7 }}{% raw %}",
    "m" * 10_000,
]


def mapped(records, *tasks, exact=(), known=KNOWN):
    page = build_page(records, View("test", tasks))
    return language_map(replace(page, exact=ExactModels(tuple(exact))), known)


def verified(task, *, model="by-hand", to=1000, errors=0):
    return ExactModel(
        model=model,
        key=(model, "formalbench"),
        task=task,
        exhaustive=8,
        tested_to=to,
        strings=10,
        errors=errors,
        margin=1.0,
        bits=(),
        break_length=None,
        depth=1,
        width=1,
        parameters=1,
        commands=(),
        records=(),
    )


def drawn(shown, *more):
    """Draw a map, and read it back: it is well-formed."""
    text = render(shown, *more)
    return text, ElementTree.fromstring(text)


def told_by(root, kind):
    return [one.text for one in root.iter(f"{SVG}text") if kind in one.get("class").split()]


def large(models, tasks):
    """Make a map of much: cells of every kind, drawn at random."""
    draws = random.Random(1)
    groups = ("R-trivial", "C-RASP", "star-free", "mod 2", "solvable", "counter", "context-free")
    columns = tuple(
        MapColumn(f"a-language-{n}", groups[n * len(groups) // tasks], 40, 41, 500)
        for n in range(tasks)
    )

    def cell(column):
        kind = draws.random()
        if kind < 0.2:
            command = f"formalbench run --model m --task {column.task} --protocol standard"
            return MapCell(column.task, "not run", command)
        if kind < 0.5:
            found = draws.random()
            return MapCell(column.task, "unlearned", "", seeds=3, validation=found, budget=9)
        strip = tuple(Step(46 * n, 46 * n + 45, draws.random()) for n in range(10))
        return MapCell(column.task, "learned", "", strip, draws.choice([2, 3]), 3, 1.0, 9)

    def family(number):
        rows = [MapRow(f"fam{number}[width={n}]", tuple(map(cell, columns))) for n in range(10)]
        said = tuple(draws.choice([None, "can", "some (experiments)"]) for _ in columns)
        built = tuple(draws.choice([None, 10_000]) for _ in columns)
        return FamilyRows(f"fam{number}", said, built, tuple(rows))

    return LanguageMap("quick (version 1)", columns, tuple(map(family, range(models // 10))))
