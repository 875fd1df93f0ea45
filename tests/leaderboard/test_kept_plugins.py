"""Records of local plugins are published with their source and must satisfy the contract.

Records that cannot be checked here fail the check and have no rank.
"""

import hashlib
import os
import shutil
from dataclasses import replace

import pytest
from built_records import write_all
from formalbench import RequestError
from formalbench.host import LocalPlugin
from formalbench.host.plugin import SESSION, content_hash
from formalbench.statistics import records as statistics_records
from formalbench.statistics.build import build_page
from formalbench.store import Store, weights_path
from formalbench_leaderboard.board.views import suite_view
from formalbench_leaderboard.publishing.plugin_sources import plugin_contents

MODEL = '''
"""A network that says the same whatever it reads."""

import torch
from formalbench import ModelSpec, hookimpl
from torch import nn


class Mine(nn.Module):
    def __init__(self, task, config=None):
        super().__init__()
        self.answers = nn.Parameter(torch.randn(task.outputs))

    def forward(self, batch):
        answers_BK = self.answers.expand(len(batch.symbols), -1)
        return ANSWER


@hookimpl
def formalbench_models():
    return [ModelSpec("mine", 1, "always the same", Mine)]
'''

PLAIN = """
from torch import nn


class Mine(nn.Module):
    def __init__(self, task):
        super().__init__()
        self.embed = nn.Embedding(len(task.alphabet), 1)

    def forward(self, ids):
        return self.embed(ids)
"""

COMMANDS = {
    "formalbench run --model mine": set(),
    "formalbench run --plugin a/mine.py": {"mine.py"},
    "formalbench run --plug'in' mine.py": {"mine.py"},
    "formalbench run --plugin a/mine.py:Mine": {"mine.py:Mine"},
    r"formalbench run --plug\in mine.py": {"mine.py"},
    'formalbench run "--plu"gin mine.py --plugin ../b.py': {"mine.py", "b.py"},
    "formalbench run --plugin": set(),
    "formalbench run --plugin --plugin": set(),
    "formalbench run --plugins mine.py": set(),
    "formalbench run --plugin 'mine.py": set(),
    "": set(),
}
HONEST = "answers_BK"
LEAKING = "answers_BK + batch.symbols.float().sum() * self.answers"
"""Depends on the other strings of the batch."""


@pytest.mark.parametrize("command", COMMANDS)
def test_the_plugins_of_a_command_are_those_of_the_command_taken_apart(command):
    assert (
        statistics_records.plugin_files(command)
        == statistics_records._files_named(command)
        == COMMANDS[command]
    )


@pytest.fixture
def plugin(tmp_path, host):
    """Write a plugin and let the host load it; return its path and hash."""

    def make(answer=HONEST, package=False):
        path = tmp_path / "plugins" / ("mine" if package else "mine.py")
        path.parent.mkdir()
        text = MODEL.replace("ANSWER", answer)
        if package:
            path.mkdir()
            (path / "__init__.py").write_text(text)
            (path / "table.txt").write_text("1 2 3")
        else:
            path.write_text(text)
        local = LocalPlugin(path, content_hash(path))
        host.load_local(local)
        return local

    return make


@pytest.fixture
def run(repository, make_runs):
    """Write the runs of a plugin, with something that stands for the weights of seed 0."""

    def write(local, **keys):
        source = {"distribution": local.path.name, "sha256": local.sha256, "parameters": 2}
        for record in make_runs("mine", **(source | keys)):
            weights = f"weights of {record.test_id}".encode()
            digest = hashlib.sha256(weights).hexdigest()
            changed = record.model_copy(update={"weights": digest})
            Store(repository.parent / "own").write(changed, weights)

    return write


@pytest.fixture
def forget(host):
    """Let the host know nothing of the plugin any more."""
    return lambda: host.models._entries.pop("mine")


def kept(repository):
    folder = repository / "leaderboard" / "plugins"
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("package", [False, True])
def test_the_source_goes_along(invoke, repository, plugin, run, package):
    local = plugin(package=package)
    run(local)
    done = invoke("publish")
    assert done.exit_code == 0, done.output
    names = ("mine/__init__.py", "mine/table.txt") if package else ("mine.py",)
    assert kept(repository) == {f"{local.sha256}/{name}" for name in names}
    place = repository / "leaderboard" / "plugins" / local.sha256 / local.path.name
    assert content_hash(place) == local.sha256
    assert invoke("check").exit_code == 0


@pytest.mark.parametrize("in_session", [False, True])
def test_a_plain_class_is_published_with_its_file_or_not_at_all(
    invoke, repository, tmp_path, host, run, in_session, monkeypatch
):
    path = tmp_path / "mine.py"
    path.write_text(PLAIN)
    host.models_named([f"{path}:Mine"])
    (local,) = host.locals()
    run(replace(local, path=SESSION) if in_session else local, parameters=7)
    for file in (tmp_path / "own").rglob("*.json"):
        text = file.read_text()
        file.write_text(text.replace(" --seeds", " --plugin mine.py:Mine --seeds"))
    done = invoke("publish")
    assert (done.exit_code, kept(repository)) == (
        (1, set()) if in_session else (0, {f"{local.sha256}/mine.py"})
    ), done.output
    if in_session:
        assert "its model is a class that no file has" in done.stderr
    else:
        assert invoke("check").exit_code == 0


def test_what_cannot_be_checked_is_a_failure(invoke, repository, plugin, run, forget):
    """Every number is invented and the plugin is missing: the check reports it."""
    run(plugin(), accuracy=1.0)
    assert invoke("publish").exit_code == 0
    forget()
    done = invoke("check")
    assert done.exit_code == 1
    assert "model mine is not known here: name its --plugin mine.py" in done.stderr
    assert "6 records not checked and no page compared" in done.stderr


def test_a_source_that_is_missing_or_other_or_of_nobody_is_found(invoke, repository, plugin, run):
    local = plugin()
    run(local)
    invoke("publish")
    folder = repository / "leaderboard" / "plugins"
    file = folder / local.sha256 / "mine.py"
    text = file.read_text()
    file.write_text(text + "\n")
    assert "not the source that its folder is named after" in invoke("check").stderr
    file.unlink()
    file.symlink_to("/dev/zero")
    assert "a link, and only plain files" in invoke("check").stderr
    file.unlink()
    os.mkfifo(file)
    assert "not a plain file" in invoke("check").stderr
    file.unlink()
    assert "does not hold one plugin" in invoke("check").stderr
    shutil.rmtree(file.parent)
    missing = f"of a plugin whose source is not in leaderboard/plugins/{local.sha256}"
    assert invoke("check").stderr.count(missing) == 6
    file.parent.mkdir()
    file.write_text(text)
    assert invoke("check").exit_code == 0
    stray = folder / hashlib.sha256(b"x").hexdigest() / "stray.py"
    stray.parent.mkdir()
    stray.write_bytes(b"x")
    assert "the source of no published record" in invoke("check").stderr


def test_a_source_that_is_too_large_is_refused(invoke, repository, plugin, run, monkeypatch):
    run(plugin())
    monkeypatch.setattr("formalbench_leaderboard.publishing.plugin_sources.MAX_BYTES", 100)
    done = invoke("publish")
    assert done.exit_code == 1
    assert "larger than 100 bytes, so not a plugin to publish" in done.stderr
    assert list((repository / "leaderboard" / "results").rglob("*.json")) == []


def test_a_source_that_changed_since_it_was_loaded_is_refused(invoke, plugin, run):
    local = plugin()
    run(local)
    local.path.write_text("other = True")
    assert "changed while it was in use" in invoke("publish").stderr


def test_a_network_that_breaks_the_contract_is_not_published(
    invoke, repository, plugin, run, monkeypatch
):
    run(plugin(LEAKING))
    done = invoke("publish")
    assert done.exit_code == 1
    assert "mine on parity: gives the same answer to a string alone and in a batch" in done.stderr
    assert kept(repository) == set()
    module = "formalbench_leaderboard.publishing.publish.broken_promises"
    monkeypatch.setattr(module, lambda *_: [])  # as if copied by hand
    assert invoke("publish").exit_code == 0
    assert "gives the same answer to a string alone and in a batch" in invoke("check").stderr


def test_a_package_called_formalbench_is_not_built_in(host, repository, plugin):
    from formalbench.contracts.record import Origin
    from formalbench_leaderboard.board.sources import is_built_in

    assert is_built_in(Origin(distribution="formalbench", version="9"))
    assert not is_built_in(Origin(distribution="formalbench", sha256="a" * 64))
    assert not is_built_in(Origin(distribution="other"))


def test_an_unknown_model_has_no_rank_and_moves_nobody(host, make_runs):
    """Many records of an unknown name with 100 % and another chance level."""
    tasks = [f"{name}:classify" for name in ("parity", "first", "tomita-3")]
    ours = [run for task in tasks for run in make_runs("rnn", task=task, accuracy=0.9)]
    unknown = {"distribution": "nobody.py", "sha256": "a" * 64, "chance": 0.8, "accuracy": 1.0}
    theirs = [
        run
        for task in tasks
        for number in range(4)
        for run in make_runs(f"best-{number}", task=task, **unknown)
    ]
    view = replace(suite_view(host, "default"), ranks_unchecked=False)
    (alone,), (board,) = (build_page(runs, view).boards for runs in (ours, [*ours, *theirs]))
    rows = {row.model: row for row in board.rows}
    assert rows["rnn"] == alone.rows[0]
    assert board.facts == alone.facts
    assert (rows["best-0"].rank, rows["best-0"].score) == (None, None)
    told = " ".join(board.notes)
    assert "best-0 has no rank, because it cannot be checked" in told
    assert "not installed (its model is of nobody.py)." in told


def test_a_row_without_a_rank_names_the_plugin_that_is_missing(host, make_runs):
    runs = make_runs("rnn", task="mine:classify", task_file="mine.py", task_sha256="a" * 64)
    view = replace(suite_view(host, "default"), ranks_unchecked=False)
    (board,) = build_page(runs, view).boards
    assert "not installed (mine:classify is of mine.py)." in " ".join(board.notes)


def test_special_files_in_the_clone_are_found_and_not_read(invoke, repository, make_runs):
    write_all(Store(repository.parent / "own"), make_runs())
    invoke("publish")
    assert invoke("render").exit_code == 0
    folder = repository / "leaderboard"
    figure = next((folder / "figures").glob("*.svg"))
    figure.unlink()
    figure.symlink_to("/dev/zero")
    (folder / "figures" / "more.svg").symlink_to("/dev/zero")
    done = invoke("check", "--rendered")
    assert done.exit_code == 1
    assert f"{figure.relative_to(repository).as_posix()} does not match" in done.stderr
    assert "more.svg does not match" in done.stderr
    assert "a link" in str(invoke("render").exception)
    figure.unlink()
    (folder / "figures" / "more.svg").unlink()
    record = next((folder / "results").rglob("*.json"))
    weights_path(record).symlink_to("/dev/zero")
    assert "weights of no record" in invoke("check").stderr


def test_output_does_not_replace_a_device(invoke, repository, make_runs, tmp_path):
    write_all(Store(tmp_path / "mine"), make_runs())
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for path in (pipe, "/dev/null", "/dev/stdout"):
        done = invoke("--results", tmp_path / "mine", "--format", "csv", "--output", path)
        assert "not a plain file" in str(done.exception)
    assert pipe.is_fifo()


def test_data_is_not_published(tmp_path):
    (tmp_path / "s.tok").write_text("a\n")
    path = tmp_path / "data.yaml"
    path.write_text("name: my-data\ndata: {train: {strings: s.tok}}\n")
    with pytest.raises(RequestError, match="its data is not published, so no record of it can be"):
        plugin_contents(LocalPlugin(path, content_hash(path)))
