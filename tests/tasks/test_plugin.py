"""What the plugin announces, and that announcing it costs nothing."""

import re

import pytest
from formalbench import HasAutomaton, HasMembers, HasPrefixClasses, RequestError
from formalbench.contracts.source import Stream
from formalbench.host import PluginHost
from formalbench_tasks import plugin

TASKS = {spec.name: spec for spec in plugin.formalbench_tasks()}


def test_every_plain_language_is_in_the_suite_of_all():
    """What each suite holds, tests/golden compares."""
    suites = {suite.name: suite for suite in plugin.formalbench_suites()}
    assert all(len(set(suite.tasks)) == len(suite.tasks) for suite in suites.values())
    languages = {name for name, spec in TASKS.items() if "classify" in spec.objectives}
    plain = {name for name in languages if "{" not in name and not name.startswith("group-")}
    assert set(suites["all"].tasks) == plain - {"even-a", "fours-a"}


def within(task, name):
    return TASKS[task.partition(":")[0]].theory.within(name)


def test_suites_divide_as_theory_does():
    suites = {suite.name: suite.tasks for suite in plugin.formalbench_suites()}
    assert all(within(task, "star-free") for task in suites["star-free"])
    assert not any(within(task, "star-free") for task in suites["not-star-free"])
    assert all(within(task, "c-rasp") for task in suites["crasp"][::2])
    assert not any(within(task, "c-rasp") for task in suites["crasp"][1::2])


def test_chance_is_not_always_right_on_a_language_of_the_suite_of_all():
    host = PluginHost.load()
    for title in host.suite("all").tasks:
        if TASKS[title].theory.level != "regular":
            continue
        task = host.task(title)
        lengths = task.lengths(*task.splits.test)[:3]
        chance = task.objective.chance(task.source, lengths, Stream("chance"))
        assert min(chance.by_length) < 1, title


def test_specs_are_complete(spec, language):
    assert spec.summary
    assert spec.reference
    assert "classify" in spec.objectives
    assert ("next-symbols" in spec.objectives) <= (language.num_classes == 2)
    assert len(set(language.alphabet)) == len(language.alphabet)


def test_languages_say_what_they_know(spec, language):
    assert isinstance(language, HasAutomaton) == (
        "tag" in spec.objectives and spec.theory.level == "regular"
    )
    assert isinstance(language, HasPrefixClasses) == ("tag" in spec.objectives)
    assert isinstance(language, HasMembers) == ("next-symbols" in spec.objectives)


def test_other_files_are_left_to_others(tmp_path):
    for name, text in (("x.yaml", "grammar: S\n"), ("x.txt", "alphabet: ab\n")):
        (tmp_path / name).write_text(text)
        assert plugin.formalbench_read_file(tmp_path / name) is None


@pytest.mark.parametrize(
    ("word", "found"),
    [
        ("state-tracking", "group-s5"),
        ("word-problem", "group-a5"),
        ("associative-recall", "mqar"),
        ("addition", "binary-addition"),
        ("compute-sqrt", "square-root"),
        ("palindrome", "unmarked-reversal"),
        ("a^nb^n", "anbn"),
        ("boolean-expressions", "boolean-{n}"),
    ],
)
def test_what_people_call_a_task_leads_to_it(word, found):
    asked = re.escape(f"unknown task '{word}': did you mean ")
    with pytest.raises(RequestError, match=f"{asked}.*{re.escape(found)}"):
        PluginHost.load().select_task(word)
