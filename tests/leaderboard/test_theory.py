"""What theory says on a board: of each task its class, and of a model whether it can at all."""

import json
import sys
from types import ModuleType

import pytest
from formalbench import Theory
from formalbench.cache import package_digest
from formalbench.host import Plugin, PluginHost
from formalbench.statistics.build import View, build_page
from formalbench.store import Store
from formalbench_leaderboard.board.sources import Held
from formalbench_leaderboard.board.views import Predictions, in_class, suite_view, theory_here
from formalbench_leaderboard.page.descriptions import definitions
from formalbench_leaderboard.page.page import render_page as render_html
from formalbench_leaderboard.page.page_data import contents
from formalbench_leaderboard.renderers import renderer

TASKS = ("parity:classify", "first:classify", "no-such-task:classify")


@pytest.fixture(scope="module")
def real() -> PluginHost:
    return PluginHost.load()


@pytest.fixture
def records(make_record):
    return [make_record("gru", task, fingerprint="0" * 64) for task in TASKS]


@pytest.fixture
def view(real):
    titles = tuple(task.partition(":")[0] for task in TASKS)
    return View("test", titles, theory=lambda task: theory_here(real, task))


def test_each_task_has_its_class(records, view):
    [board] = build_page(records, view).boards
    assert {facts.title: facts.language_class for facts in board.facts} == {
        "parity": "solvable",
        "first": "r-trivial",
        "no-such-task": None,
    }


def test_every_face_shows_it(records, view, real):
    page = build_page(records, view)
    assert renderer("markdown")(page).count("Language class: ") == 2
    told = json.loads(renderer("json")(page))["measured"][0]["facts"]
    assert [facts["language_class"] for facts in told] == ["solvable", "r-trivial", None]
    known = definitions(real, records)
    assert "<td>r-trivial</td>" in render_html(page, known)["index.html"]
    facts = contents(page, known)["boards"][0]["facts"]
    assert facts["parity"]["language_class"] == "solvable"


def test_nothing_is_said_where_nothing_is_known(records):
    page = build_page(records, View("test", ("parity",)))
    assert "Language class: " not in renderer("markdown")(page)
    assert "r-trivial" not in renderer("json")(page)


def test_a_class_is_escaped(records, monkeypatch):
    monkeypatch.setattr(Theory, "finest", "<script>|x|")
    page = build_page(records, View("test", ("parity",), theory=lambda task: Theory("regular")))
    for name in ("markdown", "json"):
        assert "<script>" not in renderer(name)(page)


def test_only_tasks_of_a_class(records, view):
    held, seen = in_class(Held(records, [], []), view, "star-free")
    assert [record.task.name for record in held.records] == ["first:classify"]
    assert seen.tasks == ("first",)
    assert seen.title == "test, star-free tasks"
    assert in_class(Held(records, [], []), view, "context-free")[0].records == []
    assert len(in_class(Held(records, [], []), view, "regular")[0].records) == 2


def test_published_numbers_are_parted_likewise(real):
    view = suite_view(real, "chi-table1")
    _, seen = in_class(Held([], [], []), view, "c-rasp")
    shown = {table.column(name).task for table in seen.published for name in table.tasks}
    assert {"d2", "majority"} <= shown
    assert all(theory_here(real, task).within("c-rasp") for task in shown)


def predicted(host, model, task):
    return Predictions(host, lambda name: theory_here(host, name)).of(model, task)


def test_a_strangers_network_is_not_built(tmp_path):
    (tmp_path / "bomb.py").write_text(
        "from formalbench import ModelSpec, hookimpl\n\n"
        "def build(task):\n    raise SystemExit('built')\n\n"
        "@hookimpl\ndef formalbench_models():\n    yield ModelSpec('bomb', 1, '', build)\n"
    )
    host = PluginHost.load([tmp_path / "bomb.py"])
    assert predicted(host, "bomb", "parity:classify") is None


NETWORK = """
from formalbench import ModelSpec, Traits
from torch import nn

class Recurrence(nn.Module):
    traits = Traits(mechanisms=("diagonal-recurrence", "input-dependent-gates"), eigenvalues="{}")

    def __init__(self, task):
        super().__init__()

SPEC = ModelSpec("made-up", 1, "", Recurrence)
"""


def test_another_network_of_the_same_version_is_looked_at_again(real, tmp_path, monkeypatch):
    """Its code is part of what a prediction is kept under."""
    monkeypatch.setenv("FORMALBENCH_CACHE", str(tmp_path / "cache"))
    file = tmp_path / "made_up_plugin.py"

    def asked(eigenvalues):
        file.write_text(NETWORK.format(eigenvalues))
        module = ModuleType(file.stem)
        module.__file__ = str(file)
        exec(file.read_text(), module.__dict__)
        monkeypatch.setitem(sys.modules, file.stem, module)
        package_digest.cache_clear()
        host = PluginHost.load()
        host.models.add(module.SPEC, Plugin(file.stem, "made-up", "1.0", module=module))
        found = predicted(host, "made-up", "parity:classify")
        return None if found is None else found.verdict

    assert asked("[0, 1]") == "cannot"
    assert asked("[-1, 1]") != "cannot"
    assert asked("[0, 1]") == "cannot"


@pytest.mark.slow
def test_the_command(cli, own_place, tmp_path, make_record, protocol, real):
    store, version = Store(tmp_path / "runs"), real.models.get("gru")[0].spec.version
    for task in TASKS[:2]:
        own = {**protocol, "name": "own"}
        store.write(make_record("gru", task, protocol=own, model_version=version))
    told = ("leaderboard", "--results", store.path, "--class")
    [measured] = cli(*told, "star-free", "--format", "json").data["measured"]
    assert measured["tasks"] == ["first", "even-pairs", "dyck-2-3"]
    [result] = measured["rows"][0]["results"]
    said = result["prediction"]
    assert (result["task"], said["verdict"], said["instance"]) == ("first", "can", "unknown")
    done = cli(*told, "starfree")
    assert (done.code, done.out) == (2, "")
    assert "unknown class 'starfree': did you mean star-free" in done.err
    assert cli(*told, "").code == 2
    lost = cli("leaderboard", "--class", "star-free", "check")
    assert "--class does nothing before check" in lost.err
