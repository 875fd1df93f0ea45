"""The commands, on an application made with the hook, inside a repository of its own."""

import json
from pathlib import Path

import pytest
from built_records import write_all
from formalbench.contracts.errors import RequestError
from formalbench.contracts.hooks import Session
from formalbench.store import Store
from formalbench_leaderboard import plugin, session


@pytest.fixture
def results(tmp_path, many_records):
    store = Store(tmp_path / "mine")
    write_all(store, many_records)
    return store.path


def contents(folder):
    return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def test_publish_then_check(invoke, repository, results, many_records):
    done = invoke("publish", "--results", results)
    assert done.exit_code == 0, done.output
    assert "added rnn on parity: 6 records" in done.output
    published = repository / "leaderboard" / "results"
    assert len(Store(published).records()) == len(many_records)
    assert contents(published / "default") == contents(results)
    assert {file.suffix for file in repository.rglob("*") if file.is_file()} == {".json"}
    assert invoke("check").exit_code == 0

    again = invoke("publish", "--results", results)
    assert again.exit_code == 0
    assert "added" not in again.output
    own = invoke("publish", "--results", published).exception
    assert "`formalbench leaderboard render` renders its pages" in str(own)


@pytest.mark.slow
def test_pages_are_rendered_apart_and_compared_where_told(invoke, repository, results):
    invoke("publish", "--results", results)
    page = repository / "leaderboard" / "README.md"
    assert invoke("check").exit_code == 0
    assert invoke("check", "--rendered").exit_code == 1
    assert invoke("render", "--check").exit_code == 1
    assert not page.exists()
    done = invoke("render")
    assert done.exit_code == 0
    assert "leaderboard/README.md" in done.stdout.splitlines()
    assert "| regulargpt" in page.read_text(encoding="utf-8")
    for words in (["check", "--rendered"], ["render", "--check"]):
        assert invoke(*words).exit_code == 0

    before = page.read_bytes()
    page.write_bytes(before + b"\n")
    for words in (["check", "--rendered"], ["render", "--check"]):
        done = invoke(*words)
        assert done.exit_code == 1
        assert "leaderboard/README.md does not match leaderboard/results" in done.stderr
        assert "run `formalbench leaderboard render`" in done.stderr
    assert page.read_bytes() == before + b"\n"  # they write nothing
    assert json.loads(invoke("render", "--check", "--json").stdout) == {
        "stale_files": ["leaderboard/README.md"]
    }
    written = json.loads(invoke("render", "--json").stdout)
    assert written == {"written": ["leaderboard/README.md"]}
    assert page.read_bytes() == before
    assert json.loads(invoke("render", "--json").stdout) == {"written": []}


def test_the_page_names_no_folder_and_no_day_of_its_own(invoke, repository, results):
    invoke("publish", "--results", results)
    invoke("render")
    text = (repository / "leaderboard" / "README.md").read_text(encoding="utf-8")
    assert str(repository.parent) not in text
    assert "2026-" not in text


def test_one_refused_record_and_nothing_is_written(
    invoke, repository, results, make_record, make_runs
):
    invoke("publish", "--results", results)
    before = contents(repository)
    fresh = Store(results.parent / "fresh")
    write_all(fresh, make_runs("newcomer"))
    bad = fresh.write(make_record("newcomer", "first:classify", task_version=2))
    done = invoke("publish", "--results", fresh.path)
    assert done.exit_code == 1
    assert bad.name in done.stderr
    assert "its task.version is 2, not 1" in done.stderr
    assert len(done.stderr.splitlines()) == 2
    assert contents(repository) == before


def test_runs_left_out_are_asked_for(invoke, repository, results, make_runs):
    fresh = Store(results.parent / "fresh")
    runs = make_runs("newcomer")
    write_all(fresh, runs[1:])
    done = invoke("publish", "--results", fresh.path)
    assert done.exit_code == 1
    assert "newcomer on parity: seed 0 at learning rate 0.001 missing" in done.stderr
    assert contents(repository) == {}
    fresh.write(runs[0])
    assert invoke("publish", "--results", fresh.path).exit_code == 0


def test_a_board_leaves_out_what_is_no_record_and_says_so_all_at_once(invoke, results):
    whole = invoke("--results", results, "--format", "csv")
    assert whole.exit_code == 0
    (results / "broken.json").write_text('{"schema_version": 2')
    (results / "other.json").write_text("[]")
    done = invoke("--results", results, "--format", "csv")
    assert done.exit_code == 1
    assert done.stdout == whole.stdout
    first, second, last = done.stderr.splitlines()
    assert "broken.json" in first
    assert "other.json" in second
    assert last == "2 files skipped: not a valid record"
    for command in ("predictions", "papers"):
        done = invoke(command, "--results", results)
        assert (done.exit_code, done.stderr.splitlines()[-1]) == (1, last)


def test_a_task_that_is_named_twice_counts_once(invoke, results):
    once, twice = (
        invoke("--results", results, "--format", "json", "--task", tasks)
        for tasks in ("parity", "parity,parity:classify")
    )
    assert once.exit_code == twice.exit_code == 0
    assert once.stdout == twice.stdout


@pytest.mark.parametrize(
    "words", [("audit", "--seed", "-1"), ("fill", "--hours", "inf"), ("fill", "--hours", "0")]
)
def test_numbers_out_of_range(cli, words):
    assert cli("leaderboard", *words).code == 2


@pytest.mark.slow
def test_what_publish_and_check_say_for_programs(invoke, repository, results, many_records):
    done = invoke("publish", "--results", results, "--json")
    assert done.exit_code == 0
    told = json.loads(done.stdout)
    assert {"model": "rnn", "task": "parity", "records": 6} in told["added"]
    assert sum(row["records"] for row in told["added"]) == len(many_records)
    assert (told["kept"], told["weights_added"], told["already"]) == ([], [], 0)
    assert any("new row regulargpt" in line for line in told["changes"])
    assert told["archive"] is None
    again = json.loads(invoke("publish", "--results", results, "--json").stdout)
    assert (again["added"], again["already"]) == ([], len(many_records))

    lists = ("problems", "stale_files", "uncompared_figures")
    counts = ("stale_records", "unchecked_records", "weightless_records")
    nothing = {**{key: [] for key in lists}, **dict.fromkeys(counts, 0)}
    done = invoke("check", "--json")
    assert (done.exit_code, json.loads(done.stdout)) == (0, nothing)
    invoke("render")
    (repository / "leaderboard" / "README.md").write_text("mine")
    done = invoke("check", "--rendered", "--json")
    assert (done.exit_code, done.stderr) == (1, "")
    assert json.loads(done.stdout) == nothing | {"stale_files": ["leaderboard/README.md"]}

    (results / "broken.json").write_text("{")
    done = invoke("publish", "--results", results, "--json")
    assert (done.exit_code, done.stderr) == (1, "")
    (line,) = json.loads(done.stdout)["refused"]
    assert "broken.json" in line


def test_more_seeds_than_the_protocol_are_no_other_protocol(
    invoke, repository, make_runs, protocol
):
    own = Store(repository.parent / "own")
    write_all(own, make_runs(seeds=5, protocol=protocol | {"seeds": 5}))
    done = invoke("publish")  # the user's own results
    assert done.exit_code == 0, done.output
    for record in make_runs(seeds=5):  # the same runs under other identities
        Store(repository.parent / "again").write(record)
    again = invoke("publish", "--results", repository.parent / "again")
    assert "10 records already published" in again.output


def test_a_published_run_is_kept_and_a_failed_one_replaced(invoke, repository, make_runs):
    published = Store(repository / "leaderboard" / "results")
    mine = Store(repository.parent / "own")
    for store, records in {
        published: make_runs(accuracy=0.5) + make_runs("rnn", status="error"),
        mine: make_runs(accuracy=0.9)[:1] + make_runs("rnn", accuracy=0.8)[:1],
    }.items():
        write_all(store, records)
    done = invoke("publish")
    assert done.exit_code == 0, done.output
    first = {
        r.model.name: r.test and r.test.accuracy
        for r in published.records()
        if r.seed == 0 and r.learning_rate == 0.001
    }
    assert first == {"regulargpt": 0.5, "rnn": 0.8}
    assert len(published.records()) == 12


def test_whoever_prints_names_lets_no_control_character_through(
    invoke, repository, host, make_record, make_runs, capsys
):
    bad = "a\x1b[31mred\x9b2J\x1b]0;title\x07\u202e"
    own = Store(repository.parent / f"own{bad}")
    own.write(make_record(bad, command=bad, hardware=bad))
    for format in ("table", "markdown", "latex", "csv", "json"):
        shown = invoke("--results", own.path, "--format", format)
        assert shown.exit_code == 0
        assert shown.output.replace("\n", "").isprintable()
    refused = invoke("publish", "--results", own.path)
    assert refused.exit_code == 1
    assert refused.output.replace("\n", "").isprintable()
    records = make_runs(bad, sha256="a" * 64, distribution=f"{bad}.py")
    session = Session(own.path, host, quiet=False, plugins=(Path(f"/x/{bad}.py"),))
    plugin.formalbench_session_finished(session=session, records=records)
    shown = capsys.readouterr().out
    assert shown.replace("\n", "").isprintable()
    assert "--plugin" in shown.splitlines()[-1]


def test_bad_requests_are_one_line(invoke, repository, tmp_path, monkeypatch, results):
    for arguments in (
        ["--suite", "nonsense"],
        ["--results", results, "--protocol", "nonsense"],
        ["--results", tmp_path / "nowhere"],
        ["--results", ""],  # which would be the working directory
        ["publish", "--results", ""],
        ["--results", results, "--results", tmp_path / "nowhere"],
        ["publish", "--results", tmp_path / "nowhere"],
        ["--suite", "other", "check"],
    ):
        error = invoke(*arguments).exception
        assert isinstance(error, RequestError), arguments
        assert "\n" not in str(error)
    monkeypatch.chdir(tmp_path)
    assert isinstance(invoke("check").exception, RequestError)


def test_show_reads_own_and_published_results_by_default(invoke, repository, make_record):
    Store(repository / "leaderboard" / "results").write(make_record("published-one"))
    Store(repository.parent / "own").write(make_record("own-one"))
    shown = invoke("--format", "json")
    assert shown.exit_code == 0, shown.output
    names = {row["model"] for row in json.loads(shown.stdout)["measured"][0]["rows"]}
    assert names == {"published-one", "own-one"}


def test_figures_go_into_a_folder(invoke, repository, results):
    shown = invoke("--results", results, "--format", "figures", "--output", "drawn")
    assert shown.exit_code == 0, shown.output
    written = sorted(path.as_posix() for path in Path("drawn").iterdir())
    assert written == sorted(shown.stdout.split())
    assert written == ["drawn/default-quick-length.png", "drawn/default-quick-length.svg"]
    assert isinstance(invoke("--results", results, "--format", "figures").exception, RequestError)


def test_session_shows_what_it_ran_although_something_newer_is_there(
    repository, host, make_record, capsys
):
    mine = {"distribution": "mine.py", "date": "2026-01-01T00:00:00Z"}
    old = [make_record("mine", accuracy=0.7, sha256="a" * 64, **mine)]
    newer = make_record("mine", accuracy=0.9, sha256="b" * 64, distribution="mine.py")
    session = Session(repository.parent / "own", host, quiet=False)
    Store(session.results).write(newer)
    plugin.formalbench_session_finished(session=session, records=old)
    (row,) = [line for line in capsys.readouterr().out.splitlines() if "mine (new)" in line]
    assert row.split()[-1] == "70.0"


def test_session_compares_with_what_counts_and_shows_weak_evidence(
    repository, host, make_runs, protocol, capsys, monkeypatch
):
    """Records of an older protocol or of another version of a model do not count."""
    monkeypatch.setattr(session, "shortcut_here", lambda host, title: 0.97)
    published = Store(repository / "leaderboard" / "results")
    write_all(published, make_runs("rnn", task="even-pairs:classify", accuracy=1.0))
    write_all(published, make_runs("lstm", task="even-pairs:classify", model_version=2))
    write_all(
        published, make_runs("gru", task="even-pairs:classify", protocol=protocol | {"version": 2})
    )
    plugin.formalbench_session_finished(
        session=Session(repository.parent / "own", host),
        records=make_runs(task="even-pairs:classify", accuracy=1.0),
    )
    shown = capsys.readouterr().out
    assert "shortcut" in shown
    assert "rnn" in shown
    assert "1 run" not in shown
    assert "gru" not in shown


def test_session_ends_with_the_board(repository, host, many_records, make_record, capsys):
    session = Session(repository.parent / "own", host)
    Store(repository / "leaderboard" / "results").write(make_record("rnn", "parity:classify"))
    Store(session.results).write(make_record("lstm", "first:classify"))
    new = [r for r in many_records if r.model.name == "regulargpt" and "first" not in r.task.name]
    plugin.formalbench_session_finished(session=session, records=new)
    shown = capsys.readouterr().out
    assert "regulargpt (new)" in shown
    assert "rnn (new)" not in shown
    assert "rnn" in shown
    assert "lstm" not in shown  # it has none of the session's tasks
    last = shown.splitlines()[-1]
    assert last == f"To publish: formalbench leaderboard publish --results {session.results}"
    assert shown.index("regulargpt (new)") < shown.index("To publ")
    assert "published: Chi" not in shown  # beside the board by request: the board comes last


def test_the_command_that_publishes_can_be_typed_as_it_is(
    repository, host, make_runs, capsys, monkeypatch
):
    monkeypatch.chdir(repository)
    records = make_runs("mine", command="formalbench run --model mine --plugin mine.py")
    below, elsewhere, other = repository / "a b" / "mine.py", Path("/x/mine.py"), Path("/x/y.py")
    for plugins, shown in (
        ((below, other), " --plugin 'a b/mine.py'"),
        ((elsewhere,), " --plugin /x/mine.py"),
        ((), ""),
    ):
        session = Session(Path("own"), host, plugins=plugins)
        plugin.formalbench_session_finished(session=session, records=records)
        last = capsys.readouterr().out.splitlines()[-1]
        assert last == f"To publish: formalbench leaderboard publish --results own{shown}"


def test_a_session_says_under_which_protocol_runs_are_ranked(repository, host, make_runs, capsys):
    session = Session(Path("own"), host)
    quick = make_runs()
    named = {"protocol": quick[0].protocol.model_copy(update={"name": "standard"})}
    standard = [record.model_copy(update=named) for record in quick]
    hint = "The leaderboard ranks standard: add --protocol standard."
    for records, said in ((quick, True), (standard, False)):
        plugin.formalbench_session_finished(session=session, records=records)
        shown = " ".join(capsys.readouterr().out.split())
        assert (f"These runs use the protocol quick. {hint}" in shown) is said
        assert "To publish: " in shown


def test_publish_is_offered_only_for_what_it_would_accept(repository, host, make_runs, capsys):
    session = Session(repository.parent / "own", host, quiet=False)
    runs = make_runs("mine")
    cases = (
        (runs[:-1], "mine on parity: seed 2 at learning rate 0.0003 missing"),
        (make_runs("mine", distribution="(session)"), "the model's class is not in a file"),
    )
    for records, reason in cases:
        plugin.formalbench_session_finished(session=session, records=records)
        shown = capsys.readouterr().out
        assert "To publish" not in shown
        last = shown.splitlines()[-1]
        assert last.startswith("Not publishable: ")
        assert reason in last
    changed = {"protocol": runs[0].protocol.model_copy(update={"changed": {"steps": 100}})}
    own_board = [record.model_copy(update=changed) for record in runs]  # quick[steps=100]
    plugin.formalbench_session_finished(session=session, records=own_board)
    assert "To publish: " in capsys.readouterr().out
    # What lies in the results folder from an earlier session counts.
    write_all(Store(session.results), runs[:-1])
    plugin.formalbench_session_finished(session=session, records=runs[-1:])
    assert "To publish: " in capsys.readouterr().out


def test_quiet_session_prints_nothing(repository, host, many_records, capsys):
    session = Session(repository.parent / "own", host, quiet=True)
    plugin.formalbench_session_finished(session=session, records=many_records)
    assert capsys.readouterr().out == ""
