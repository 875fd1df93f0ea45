"""README, on GitHub and on a package index, and what people are asked to cite."""

import json
import re
import runpy
import sys
import tomllib
from pathlib import Path
from xml.etree import ElementTree

import formalbench
import pytest
import yaml
from formalbench.host import PluginHost

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text("utf-8")
LEADERBOARD = ROOT / "leaderboard"
FINDINGS = re.findall(r"^- (\*\*.*?)(?=\n- |\n\n)", README.partition("<a href")[0], re.M | re.S)

sys.path.insert(0, str(ROOT / "docs"))

import address  # noqa: E402
import terminal  # noqa: E402


def lines_of(suite, model, task, protocol="standard"):
    """Return a line a run and length under the newest version of a protocol."""
    frame = formalbench.results(LEADERBOARD / "results" / suite / model)
    version = PluginHost.load().protocol(protocol).version
    return frame[(frame.task == task) & (frame.protocol == protocol) & (frame.version == version)]


def runs_on_parity(model, protocol="quick"):
    """Return the first line of each seed's run."""
    return lines_of("default", model, "parity", protocol).groupby("seed").first()


def linked_text(finding):
    (link,) = re.findall(r"\]\(([^)]*)\)", finding)
    return (ROOT / link.partition("#")[0]).read_text("utf-8")


def interval_on(task, page, model):
    """Return the interval of a model's mean, as the first table of the page has it."""
    section = page.partition(f"### {task}\n")[2]
    (row,) = re.findall(rf"^\| \[{model}\]\(.*$", section.partition("\n\n| model")[2], re.M)[:1]
    return row.split("|")[6].strip().replace(" … ", "–")


def test_it_is_short():
    assert len(README.split()) <= 900
    assert len(FINDINGS) == 3


def test_a_gru_learns_parity_and_transformers_do_not():
    finding, page = " ".join(FINDINGS[0].split()), linked_text(FINDINGS[0])
    gru = runs_on_parity("gru", "standard")
    assert f"{100 * gru.mean_accuracy.mean():.1f} %" in finding
    lengths = formalbench.results(LEADERBOARD / "results" / "default" / "gru")
    lengths = lengths[(lengths.task == "parity") & (lengths.protocol == "standard")].length
    assert f"of {lengths.min():.0f} to {lengths.max():.0f} symbols" in finding
    assert f"(95 % interval {interval_on('parity', page, 'gru')})" in finding
    names = [path.name for path in (LEADERBOARD / "results" / "default").glob("*transformer*")]
    runs = [one for name in names if len(one := runs_on_parity(name, "standard"))]
    numbers = ["no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"]
    assert f"Of {numbers[len(runs)]} transformers" in finding
    assert {len(one) for one in runs} == {3}
    assert not any(one.learned.any() for one in runs)
    assert f"within at most {max(one.budget.max() for one in runs):,} steps" in finding
    assert f"[{100 * max(one.validation.mean() for one in runs):.1f} %]" in finding
    assert all(number in page for number in re.findall(r"\d+\.\d", finding))


def test_the_construction_is_right_up_to_the_length_that_its_record_says():
    finding, page = FINDINGS[1], linked_text(FINDINGS[1])
    (path,) = (LEADERBOARD / "results/exact/exact-parity").rglob("*.json")
    record = json.loads(path.read_text("utf-8"))
    breaks = record["break_length"]
    assert sum(record["by_length"]["errors"]) == record["exhaustive"]["errors"] == 0
    assert f"[{breaks['fp64']:,} symbols]" in finding
    (wrong,) = [length for length in record["asked"]["lengths"] if length > breaks["bf16"]][:1]
    assert f"in bf16 not at {wrong}." in finding
    assert f"{breaks['fp64']:,}" in page


LINEAR = ("mlstm", "mamba-2", "deltanet", "gated-deltanet", "deltaproduct", "rwkv-7", "slice")


def test_an_lstm_tracks_the_states_of_s3_and_transformers_do_not():
    finding, page = " ".join(FINDINGS[2].split()), linked_text(FINDINGS[2])
    task, folder = "group-s3:tag", LEADERBOARD / "results" / "state-tracking"
    frames = {path.name: lines_of(path.parent.name, path.name, task) for path in folder.iterdir()}
    seeds = {
        name: frame.groupby(["seed", "learning_rate"]).first()
        for name, frame in frames.items()
        if len(frame)
    }
    assert seeds["lstm"].learned.tolist() == [True] * 3
    lengths = frames["lstm"].length
    assert f"of {lengths.min():.0f} to {lengths.max():.0f} permutations" in finding
    assert f"[{100 * seeds['lstm'].mean_accuracy.mean():.1f} %]" in finding
    assert f"without an error ({interval_on(task, page, 'lstm')})" in finding
    transformers = [runs for name, runs in seeds.items() if "transformer" in name]
    assert len(transformers) == 6
    assert not any(runs.learned.any() for runs in transformers)
    budgets = {budget for runs in transformers for budget in runs.budget}
    assert f"within {max(budgets):,} steps" in finding
    linear = {name: runs for name, runs in seeds.items() if name.startswith(LINEAR)}
    assert len(linear) == 12
    learned = {name for name, runs in linear.items() if runs.learned.any()}
    blocks = {name for name in linear if name.startswith("slice-shell=slice")}
    assert learned == {"deltaproduct", *blocks}
    assert all(linear[name].learned.all() for name in learned)
    named = "DeltaProduct and SLiCE with its authors' blocks"
    assert f"of twelve linear recurrences only {named}" in finding


def test_runs_on_s5_are_capped_and_one_lstm_learns_it_with_more_steps():
    finding, task = " ".join(FINDINGS[2].split()), "group-s5:tag"
    folders = list((LEADERBOARD / "results" / "state-tracking").iterdir())
    runs = [one for path in folders if len(one := lines_of(path.parent.name, path.name, task))]
    assert len(runs) >= 23
    assert not any(one.learned.any() for one in runs)
    assert {ended for one in runs for ended in one.ended} == {"capped"}
    assert all(one.steps.between(5500, 6500).all() for one in runs)
    assert "stopped near step 6,000" in finding
    longer = lines_of("state-tracking", "lstm", task, "standard-long")
    longer = longer[longer.selected_rate]
    assert sorted(longer.groupby("seed").first().learned) == [False, False, True]
    assert f"given {longer.budget.max():,}, one of three LSTMs learns" in finding


def test_the_program_prints_what_the_published_records_say():
    shown = dict(re.findall(r"^# \d +(\w+) +(\d\.\d+)$", README, re.M))
    assert shown.keys() == {"gru", "transformer"}
    for model, accuracy in shown.items():
        published = runs_on_parity(model).mean_accuracy[0]
        assert float(accuracy) == pytest.approx(published, abs=0.02)


@pytest.mark.slow
def test_the_program_runs(tmp_path, monkeypatch, capsys):
    (code,) = re.findall(r"```python\n(.*?)```", README, re.S)
    short = {"protocol.steps": 20, "protocol.decay.steps": 20, "protocol.test.lengths": 2}
    given = formalbench.run

    def run(**arguments):
        return given(**arguments, settings=short, device="cpu")

    monkeypatch.setenv("FORMALBENCH_RESULTS", str(tmp_path / "results"))
    monkeypatch.setattr(formalbench, "run", run)
    exec(code, {})
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines[-3:]] == ["model", "0", "1"]


@pytest.mark.parametrize("kind", ["", "-narrow"])
def test_the_map_is_no_taller_than_it_may_be(kind):
    path = LEADERBOARD / "figures" / f"readme-map{kind}.svg"
    assert path.name in README
    root = ElementTree.parse(path).getroot()
    scale = 358 / float(root.get("width")) if "narrow" in kind else 1  # as wide as a phone
    assert float(root.get("height")) * scale <= 500


def test_the_picture_of_a_terminal_is_of_what_make_demo_runs():
    makefile = (ROOT / "Makefile").read_text("utf-8")
    assert terminal.COMMAND in makefile.partition("\ndemo:")[2].partition("\n\n")[0]
    svg = terminal.PICTURE.read_text("utf-8").replace("&#160;", " ")
    assert terminal.COMMAND in svg
    assert "regulargpt (new)" in svg
    assert not re.search(r"(href|src|url)\W+https?:", svg)


def test_it_is_told_from_a_benchmark_of_nearly_the_same_name():
    for file in ("README.md", "CITATION.cff"):
        text = " ".join((ROOT / file).read_text("utf-8").split())
        assert "not FormalBench (ACL 2025)" in text, file


TARGET = re.compile(r"\]\(([^)]+)\)|\b(?:href|src|srcset)=\"([^\"]+)\"")


@pytest.fixture(scope="module")
def readme_for_index():
    return runpy.run_path(str(ROOT / "hatch_build.py"))["readme_for_index"]


def targets(text: str) -> list[str]:
    return [one or other for one, other in TARGET.findall(text)]


def test_with_an_address_every_link_is_absolute_and_names_a_file(readme_for_index):
    address = "https://example.org/us/formalbench"
    shown = readme_for_index(README, address, "v1.2.3")
    found = targets(shown)
    assert len(found) == len(targets(README)) > 20
    for target in found:
        assert target.startswith("https://")
        if target.startswith(address):
            kind, tag, place = target.removeprefix(f"{address}/").split("/", 2)
            assert (kind, tag) == ("raw" if place.endswith(".svg") else "blob", "v1.2.3")
            assert (ROOT / place.partition("#")[0]).exists()


def test_without_an_address_there_is_no_link_to_a_file(readme_for_index):
    shown = readme_for_index(README, "", "v1.2.3")
    assert all(target.startswith("https://") for target in targets(shown))
    assert "![" not in shown
    assert "<picture>" not in shown
    assert "leaderboard](" not in shown
    assert "Every number on its leaderboard has its seeds" in shown
    assert "What `make demo` prints:" not in shown
    assert "This is a part of" not in shown
    words = len(re.findall(r"[A-Za-z]{4,}", shown))
    assert words > 0.7 * len(re.findall(r"[A-Za-z]{4,}", re.sub(r"\([^)]*\)|<.*?>", "", README)))


PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
CITED = yaml.safe_load((ROOT / "CITATION.cff").read_text("utf-8"))


def test_it_says_what_the_package_says():
    assert CITED["version"] == PROJECT["version"]
    assert CITED["authors"] == PROJECT["authors"]
    assert CITED["license"] == PROJECT["license"]
    assert CITED["keywords"] == PROJECT["keywords"]


def test_the_readme_says_the_same():
    entry = re.search(r"```bibtex\n(.*?)```", (ROOT / "README.md").read_text("utf-8"), re.DOTALL)[1]
    fields = dict(re.findall(r"(\w+) += \{+([^{}]*)\}+", entry))
    assert fields["version"] == CITED["version"]
    assert fields["title"] == CITED["title"]
    assert fields["author"] == CITED["authors"][0]["name"]


def test_the_date_is_that_of_the_release():
    text = (ROOT / "CHANGELOG.md").read_text("utf-8")
    assert f"\n## {CITED['version']} ({CITED['date-released'].isoformat()})\n" in text


@pytest.mark.parametrize("file", address.PLACES)
def test_the_address_is_the_projects_or_absent(file):
    text = (ROOT / file).read_text("utf-8")
    assert address.rendered(file, address.address()) == text
    named = address.rendered(file, "https://example.org/formalbench")
    assert named.count("https://example.org/formalbench") == 1
    assert "https://" not in text.replace(address.address() or "\0", "")
