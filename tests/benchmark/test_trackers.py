"""`formalbench run --tracker`: heard only if asked for, and it never costs a run."""

from pathlib import Path

import pytest
from formalbench import TrackerSpec, api
from formalbench.running import session

MINE = """
    from pathlib import Path
    from formalbench import Config, RequestError, TrackerSpec, hookimpl, option

    FAILING = {failing!r}

    def at(place):
        with Path("heard.txt").open("a") as file:
            print(place, file=file)
        if place == FAILING:
            raise OSError(f"no one answers at {{place}}")

    class MyConfig(Config):
        folder: str = option("here", "where")

    class Mine:
        def __init__(self, config):
            at(f"made in {{config.folder}}")
            if FAILING == "lacking":
                raise RequestError("--tracker mine needs the package yours: pip install yours")

        @hookimpl
        def formalbench_run_started(self, run):
            at("started")

        @hookimpl
        def formalbench_run_finished(self, run, record):
            at("finished")

        def close(self):
            at("closed")

    @hookimpl
    def formalbench_trackers():
        yield TrackerSpec("mine", "for tests", Mine, config=MyConfig)
"""


@pytest.fixture
def run(run, write):
    """Run a request with the tracker `mine`, a part of which fails."""

    def tracked(*arguments, failing="", text=""):
        Path("heard.txt").unlink(missing_ok=True)
        path = write("mine.py", text or MINE.format(failing=failing))
        return run("--quiet", *arguments, plugins=[path], seeds=1, jobs=None)

    return tracked


def heard():
    path = Path("heard.txt")
    return path.read_text().splitlines() if path.exists() else []


def test_a_tracker_hears_if_it_is_asked_for(run):
    done = run("--tracker", "mine,mine", "--set", "tracker.folder=there")
    assert (done.code, done.err) == (0, "")
    assert heard() == ["made in there", "started", "finished", "closed"]


def test_a_tracker_hears_nothing_unless_it_is_asked_for(run):
    assert run().code == 0
    assert heard() == []


def test_python_asks_for_trackers_too(run, write, tiny, odd_models):
    path = write("mine.py", MINE.format(failing=""))
    api.run(
        *(["bag"], ["first"]),
        protocol="tiny",
        seeds=1,
        device="cpu",
        trackers=["mine"],
        plugins=[tiny, odd_models, path],
    )
    assert heard() == ["made in here", "started", "finished", "closed"]


@pytest.mark.parametrize(
    ("failing", "line"),
    [
        ("made in here", "the tracker mine failed: OSError: no one answers at made in here"),
        (
            "started",
            "plugin mine tracker (formalbench) dropped as an observer: "
            "OSError: no one answers at started",
        ),
        (
            "finished",
            "plugin mine tracker (formalbench) dropped as an observer: "
            "OSError: no one answers at finished",
        ),
        ("closed", "the tracker mine failed: OSError: no one answers at closed"),
    ],
)
def test_a_tracker_that_fails_costs_one_line_and_no_run(run, results, failing, line):
    done = run("--tracker", "mine", failing=failing)
    assert done.code == 0
    assert done.err.splitlines() == [line]
    assert len(list(results.rglob("*.json"))) == 1


def test_a_tracker_with_a_misspelt_hook_costs_one_line(run, results):
    text = MINE.format(failing="").replace("formalbench_run_finished", "formalbench_run_finish")
    done = run("--tracker", "mine", text=text)
    assert done.code == 0
    (line,) = done.err.splitlines()
    assert "unknown hook 'formalbench_run_finish'" in line
    assert len(list(results.rglob("*.json"))) == 1


def interrupted(host, asked):
    with session.tracked(host, [asked]):
        raise KeyboardInterrupt


def test_a_tracker_is_closed_whatever_happens(host):
    class Observer:
        closed = False

        def close(self):
            self.closed = True

    observer = Observer()
    spec = TrackerSpec("mine", "for tests", lambda: observer)
    with pytest.raises(KeyboardInterrupt):
        interrupted(host, session.TrackerChoice(spec, None))
    assert observer.closed
    assert "mine tracker" not in [plugin.name for plugin in host.plugins]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--tracker", "mime"), "unknown tracker 'mime': did you mean mine?"),
        (("--tracker", ""), "--tracker '': an empty name in the list"),
        (
            ("--tracker", "mine", "--set", "tracker.fodler=x"),
            "unknown option of tracker mine 'fodler': did you mean folder?",
        ),
        (("--set", "tracker.folder=x"), "--set tracker.folder=x: this command uses no tracker"),
    ],
)
def test_bad_requests_are_one_line_before_anything_is_trained(run, results, arguments, said):
    done = run(*arguments)
    assert (done.code, done.out) == (2, "")
    assert done.err == f"formalbench: {said}\n"
    assert not results.exists()
    assert heard() == []


def test_what_a_tracker_lacks_is_one_line_before_anything_is_trained(run, results):
    done = run("--tracker", "mine", failing="lacking")
    assert done.code == 2
    assert done.err == "formalbench: --tracker mine needs the package yours: pip install yours\n"
    assert not results.exists()
