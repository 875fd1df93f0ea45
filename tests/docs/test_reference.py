"""The reference pages of the site, made from the code: nothing is missing, and what is there is so.

They are not kept, so they cannot be out of date; `make docs` shows them.
"""

import re
from pathlib import Path

import formalbench
import pytest
from formalbench.contracts import hooks
from formalbench.contracts.protocol import Protocol
from formalbench.host import PluginHost

DOCS = Path(__file__).parents[2] / "docs"


@pytest.fixture
def made(monkeypatch):
    monkeypatch.syspath_prepend(DOCS)
    import formalbench_site

    return formalbench_site


@pytest.fixture
def page(made):
    return lambda name: made.PAGES[name]()


def rows(text):
    """Return the cells of every row of every table, by the first."""
    lines = [line for line in text.splitlines() if line.startswith("| ")]
    cells = [re.split(r" (?<!\\)\| ", line.removeprefix("| ").removesuffix(" |")) for line in lines]
    return {first: rest for first, *rest in cells}


def section(text, heading):
    return text.partition(f"\n{heading}\n")[2].partition("\n#")[0]


@pytest.mark.slow
def test_each_command_is_there_with_its_options(page, cli):
    text = page("commands")
    headings = re.findall(r"^## (.*)$", text, re.MULTILINE)
    assert {"formalbench run", "formalbench leaderboard audit", "formalbench corpus fetch"} <= set(
        headings
    )
    for heading in headings:
        told = section(text, f"## {heading}")
        help_text = cli(*heading.split()[1:], "--help").out
        options = re.findall(r"^  (?:-\w, )?(--[a-z-]+)", help_text, re.MULTILINE)
        assert "--help" in options
        assert [option for option in options if f"{option}" not in told] == []


def test_each_key_of_a_protocol_is_there(page):
    text = page("protocols").partition("\n## Suite\n")[0]
    told = rows(text)
    written = Protocol.model_fields.keys() - {"changed", "draws"}
    assert {f"`{key}`" for key in written} <= told.keys()
    assert told["`steps`"] == [
        "`2000`",
        "whole number at least 1",
        "maximum number of optimiser steps of a run.",
    ]
    assert told["`version`"][0] == "must be given"
    assert told["`precision`"][1] == "`fp32`, `tf32`, `bf16`"
    assert told["`decay.final`"][:2] == ["`0.02`", "number at least 0 and at most 1"]
    assert told["`decay`"][1] == "[its own keys](#decay)"
    assert "### decay\n\nThe end of training: the learning rate falls linearly" in text
    assert all(meaning for key, (*_, meaning) in told.items() if key.strip("`") in written)


def test_each_family_has_its_options_with_defaults_bounds_and_help(page):
    text = page("options")
    for heading in ("### gru", "### lstm", "### rnn"):
        told = rows(section(text, heading))
        assert told["`width`"][0].startswith("`")
        assert told["`width`"][1] == "a whole number, 1 to 8192"
        assert told["`width`"][2].startswith("size of the state")
    assert "tanh" in told["`nonlinearity`"][0]
    host = PluginHost.load([])
    headings = ", ".join(re.findall(r"^### (.*)$", text, re.MULTILINE)).split(", ")
    with_options = [
        entry.spec.name
        for kind in ("models", "tasks", "optimisers", "schedules", "executors", "trackers")
        for entry in host.registries[kind].all()
        if entry.spec.config is not None
    ]
    assert sorted(headings) == sorted(with_options)


def test_each_hook_and_each_name_is_there(page):
    directives = set(re.findall(r"autofunction:: \S+\.(\w+)", page("hooks")))
    assert directives == {name for name in vars(hooks) if name.startswith("formalbench_")}
    told = re.findall(
        r"^\.\. auto\w+:: formalbench\.(?:\S+\.)?(\w+)$", page("python"), re.MULTILINE
    )
    assert sorted(told) == sorted(set(formalbench.__all__) - {"__version__"})
