"""The pages of the repository: what they say, where they lead, and what is left over."""

import re
from pathlib import Path
from types import SimpleNamespace
from urllib.parse import unquote

import pytest
from built_records import build_document, build_runs
from formalbench.documents.reproduction import TableCell
from formalbench.statistics.build import View, build_page
from formalbench.store import PUBLISHED_RESULTS, Store
from formalbench_leaderboard.renderers import renderer
from formalbench_leaderboard.renderers.evidence_pages import PREDICTIONS
from formalbench_leaderboard.renderers.render import linked_files, render, render_files, stale_files

MODELS, SUITES = Path("leaderboard/models"), Path("leaderboard/suites")


def placed(records):
    store = Store(PUBLISHED_RESULTS / "default")
    return {store.path_of(record): record for record in records}


def pages(records, host, files=()):
    contents = render_files(placed(records), host, files)
    return {path: text.decode() for path, text in contents.items() if path.suffix == ".md"}


def test_the_first_page_ranks_by_what_taught_most_and_says_where_the_rest_is(many_records, host):
    def under(protocol, validation):
        def selected(record):
            right = round(validation * record.selected.strings)
            return record.selected.model_copy(update={"correct": right})

        return [
            record.model_copy(update={"protocol": protocol, "selected": selected(record)})
            for record in many_records
        ]

    quick = many_records[0].protocol
    thorough = quick.model_copy(update={"name": "thorough"})
    found = pages([*under(quick, 0.8), *under(thorough, 1.0)], host)
    front = found[Path("leaderboard/README.md")]
    assert re.findall("^## Suite .*", front, re.M) == [
        "## Suite default, protocol thorough (version 1)"
    ]
    assert "with intervals, and under quick (version 1): [default](suites/default.md)." in front
    assert re.findall("^## Protocol .*", found[SUITES / "default.md"], re.M) == [
        "## Protocol thorough (version 1)",
        "## Protocol quick (version 1)",
    ]


def test_every_link_between_files_leads_somewhere(clone):
    files = list(clone.rglob("*.md"))
    assert len(files) == 8
    for file in files:
        targets = re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", file.read_text(encoding="utf-8"))
        assert targets, file
        for target in targets:
            if "://" not in target:
                assert (file.parent / unquote(target)).exists(), (file, target)


@pytest.mark.slow
def test_no_page_hangs_on_weights_being_at_hand(clone, host):
    """They are in no repository; unpacked weights must not change rendered files."""
    (record, *_) = (clone / PUBLISHED_RESULTS).rglob("*.json")
    record.with_suffix(".safetensors").write_bytes(b"weights")
    assert stale_files(clone, host) == []
    assert render(clone, host) == []


def test_a_suite_has_a_page_once_it_has_records(make_record, host):
    assert not any(path.parent == SUITES for path in pages([], host))
    found = pages([make_record(task="even-pairs:classify")], host)
    assert "### even-pairs" in found[SUITES / "other.md"]
    partial = pages([make_record()], host)[SUITES / "default.md"]
    assert "No ranking: no model" in partial
    assert "### parity" in partial
    alone = [make_record(task=f"{task}:classify") for task in ("parity", "first", "tomita-3")]
    whole = pages(alone, host)[SUITES / "default.md"]
    assert "No ranking: no model" not in whole
    assert "has no rank, because no other row has a score" in whole


def test_two_models_never_share_a_page(make_record, host):
    records = [
        make_record("a model"),
        make_record("a-model"),
        make_record("A-model"),
        make_record("rnn"),
        make_record("rnn", distribution="rnn.py", sha256="a" * 64),
        make_record("🙂"),
    ]
    found = pages(records, host)
    names = [path.name for path in found if path.parent == MODELS]
    assert len({name.casefold() for name in names}) == len(records)
    assert "model.md" in names
    assert sum("# rnn (rnn.py)" in text for text in found.values()) == 1


@pytest.mark.parametrize(
    "name", ["<script>x</script>", "a|b", "x](http://e.org)", "a\n# b", "`", "../../up"]
)
def test_hostile_names_do_no_harm(make_record, host, name):
    task = make_record(task=f"{name}:classify", fingerprint="0" * 64, validation=0.6)
    found = pages([make_record(name, command=name), make_record("good"), task], host)
    page = found[MODELS / "regulargpt.md"]
    (verdict,) = (line for line in page.splitlines() if "Not learned: " in line)
    assert not {"|", "`"} & set(verdict)
    assert len(found) == 7
    assert PREDICTIONS in found
    for path, text in found.items():
        assert "\n# b" not in text
        assert path.is_relative_to("leaderboard")
        assert ".." not in path.parts
        assert "<script" not in text
        assert "://e.org" not in text


@pytest.mark.slow
def test_files_left_over_are_noticed_and_removed(clone, host):
    assert stale_files(clone, host) == []
    old = clone / MODELS / "renamed.md"
    old.write_text("# gone\n")
    page = clone / SUITES / "default.md"
    page.write_bytes(page.read_bytes().replace(b"9", b"8", 1))
    assert stale_files(clone, host) == [SUITES / "default.md", MODELS / "renamed.md"]
    render(clone, host)
    assert not old.exists()
    assert stale_files(clone, host) == []


def document(title, source="A paper"):
    """Return what a reproduction found: one cell holds and two do not, no claim was looked at."""
    said = {"row": "a", "column": "b", "paper": "1", "ours": "2"}
    cells = [TableCell(**said, verdict=verdict) for verdict in ("holds", "differs", "differs")]
    return build_document(cells, reproduction="chi-table2", title=title, source=source)


@pytest.mark.slow
def test_reproductions_are_told_with_their_verdicts(clone, host):
    folder = clone / "leaderboard" / "reproductions"
    folder.mkdir()
    (folder / "chi-table2.md").write_text("# it\n")
    (folder / "chi-table2.json").write_text(document("It is so").model_dump_json())
    (folder / "yao-fig5.md").write_text("# no data beside it\n")
    assert Path("leaderboard/reproductions/chi-table2.md") in linked_files(clone)
    assert Path("leaderboard/README.md") in stale_files(clone, host)
    render(clone, host)
    assert stale_files(clone, host) == []
    front = (clone / "leaderboard" / "README.md").read_text(encoding="utf-8")
    rows = [line.split(" | ") for line in front.splitlines() if "(reproductions/" in line]
    told = [[cell.strip("| ") for cell in row] for row in rows]
    assert told == [
        ["[It is so](reproductions/chi-table2.md)", "A paper", "quick", "–", "1 holds, 2 differ"],
        ["[yao-fig5](reproductions/yao-fig5.md)", "–", "–", "–", "–"],
    ]


def test_tasks_lead_to_what_defines_them(many_records, host):
    python, data = Path("tasks/there/parity.py"), Path("tasks/there/regular/first.yaml")
    for name, factory in (
        ("parity", "there.parity:Parity"),
        ("first", SimpleNamespace(path=Path("/anywhere/site-packages", *data.parts[1:]))),
        ("tomita-3", "elsewhere.tomita:Tomita"),
    ):
        entry, _ = host.tasks.get(name)
        object.__setattr__(entry.spec, "factory", factory)
    found = pages(many_records, host, {python, data})
    lines = found[Path("leaderboard/README.md")].splitlines()
    head = next(line for line in lines if re.match(r"\| +rank ", line))
    assert "[parity](../tasks/there/parity.py)" in head
    assert "[first](../tasks/there/regular/first.yaml)" in head
    assert re.search(r"\| +tomita-3 \|", head)
    assert "[Definition](../../tasks/there/parity.py)." in found[SUITES / "default.md"]
    assert "../tasks/" not in pages(many_records, host)[Path("leaderboard/README.md")]


def test_no_table_is_wider_than_a_page_of_the_repository():
    names = [f"group-z{number}" for number in range(2, 30)]
    page = build_page(build_runs({"rnn": {}}, names), View("many", tuple(names)))
    text = renderer("markdown")(page)
    heads = [line for line in text.splitlines() if line.startswith("|") and "group-z" in line]
    ranked = [line for line in heads if "rank" in line]
    assert len(ranked) > 3
    assert all(line.count("|") - 1 <= 12 for line in text.splitlines() if line.startswith("|"))
    assert all("model" in line for line in ranked)
    assert [name for line in ranked for name in re.findall(r"group-z\d+", line)] == names
