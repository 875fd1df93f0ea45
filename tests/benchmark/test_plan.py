"""From a request to runs, and what a run's identity is made of."""

import dataclasses
import shlex

import numpy as np
import pytest
from formalbench.cli.run import split_names
from formalbench.contracts.errors import RequestError
from formalbench.contracts.record import Origin
from formalbench.host import PluginHost
from formalbench.host.options import parse_settings
from formalbench.running.plan import RunRequest, make_plan, parse_seeds


def tasks_of(made):
    return tuple(dict.fromkeys(run.task.name for run in made.runs))


def protocols_of(made):
    return list(dict.fromkeys(run.protocol.title for run in made.runs))


@pytest.fixture
def plan(tiny, odd_models):
    host = PluginHost.load([tiny, odd_models])

    def plan(models, tasks=(), *, settings=(), **more):
        request = RunRequest(tuple(models), tuple(tasks), settings=parse_settings(settings), **more)
        return make_plan(host, request)

    return plan


def test_the_default_is_the_default_suite_under_quick(plan):
    made = plan(["lstm"])
    assert tasks_of(made) == tuple(
        f"{name}:classify"
        for name in ("parity", "first", "even-pairs", "cycle-navigation", "dyck-2-3", "tomita-3")
    )
    assert protocols_of(made) == ["quick"]
    assert len(made.runs) == 6 * 3
    published = plan(["lstm"], ["parity"], protocol="standard")
    assert protocols_of(published) == ["standard"]
    assert {(run.learning_rate, run.seed) for run in published.runs} == {
        (rate, seed) for rate in (0.001, 0.0003) for seed in range(5)
    }


def test_names_are_put_in_full_and_taken_once(plan):
    made = plan(["bag", "bag"], ["parity", "parity:classify", "parity:tag"], protocol="tiny")
    assert tasks_of(made) == ("parity:classify", "parity:tag")
    assert len(made.runs) == 2 * 2
    assert len({run.test_id for run in made.runs}) == 4


def test_seeds(plan):
    assert {run.seed for run in plan(["bag"], ["first"], seeds=4).runs} == {0, 1, 2, 3}
    assert [run.seed for run in plan(["bag"], ["first"], seeds=(3, 7, 3, 0)).runs] == [3, 7, 0]
    for seeds in (np.int64(2), np.arange(2), [np.int64(0), 1], iter([0, 1])):
        runs = plan(["bag"], ["first"], seeds=seeds, protocol="tiny").runs
        assert [(run.seed, type(run.seed)) for run in runs] == [(0, int), (1, int)]
    few = plan(["bag"], ["first"], seeds=1, protocol="tiny").runs[0]
    many = plan(["bag"], ["first"], seeds=9, protocol="tiny").runs[0]
    listed = plan(["bag"], ["first"], seeds=(0,), protocol="tiny").runs[0]
    # More seeds later do not repeat the first, however they are named.
    assert few.test_id == many.test_id == listed.test_id


@pytest.mark.parametrize(
    ("text", "seeds"), [("5", 5), ("3,7,11", (3, 7, 11)), ("7,", (7,)), ("0, 1", (0, 1))]
)
def test_seeds_as_they_are_written(text, seeds):
    assert parse_seeds(text) == seeds


@pytest.mark.parametrize("seeds", [0, -1, 1001, (), (-1,), (2**31,)])
def test_seeds_that_cannot_be(plan, seeds):
    with pytest.raises(RequestError, match="--seeds"):
        plan(["bag"], ["first"], seeds=seeds)


def test_all_is_every_learned_model(plan, odd_models):
    names = {run.model.name for run in plan(["all"], ["first"], seeds=1).runs}
    assert {"lstm", "regulargpt", "bag"} <= names
    assert "rejecting" not in names


def test_an_exact_model_runs_once(plan):
    (run,) = plan(["rejecting"], ["first"]).runs
    assert (run.learning_rate, run.seed, run.info.steps) == (None, 0, 0)


def test_a_suite_brings_its_protocol(tiny, odd_models, write):
    path = write("s.yaml", "name: mine\ntasks: [first, 'parity:tag[p=0.25]']\nprotocol: tiny\n")
    host = PluginHost.load([path, tiny, odd_models])
    made = make_plan(host, RunRequest(("bag",), suite="mine"))
    assert tasks_of(made) == ("first:classify", "parity:tag")
    assert made.runs[-1].task.options == {"p": 0.25}
    assert protocols_of(made) == ["tiny"]
    other = make_plan(host, RunRequest(("bag",), suite="mine", protocol="quick"))
    assert protocols_of(other) == ["quick"]


def test_options_are_part_of_a_run(plan):
    made = plan(["bag", "lstm"], ["first", "parity"], settings=["width=16", "p=0.25"], seeds=1)
    used = {(r.model.name, r.task.name): (r.model.options, r.task.options) for r in made.runs}
    assert used["bag", "parity:classify"] == ({"width": 16}, {"p": 0.25})
    assert used["lstm", "first:classify"] == ({"width": 16}, {})
    (plain,) = plan(["bag"], ["first"], seeds=1).runs
    (default,) = plan(["bag"], ["first"], seeds=1, settings=["model.width=8"]).runs
    assert plain.test_id == default.test_id


def test_options_behind_a_name(plan):
    names = ["bag[width=16]", "bag", "bag[width=8]"]
    made = plan(names, ["parity[p=0.25]", "parity"], settings=["width=4"], seeds=1)
    assert [(run.model.options, run.task.options) for run in made.runs] == [
        (model, task)
        for model in ({"width": 16}, {"width": 4}, {})  # 8 is the default, and what was asked for
        for task in ({"p": 0.25}, {})
    ]
    (bare,) = plan(["bag"], ["first"], seeds=1, settings=["width=16"]).runs
    (named,) = plan(["bag[width=16]"], ["first"], seeds=1).runs
    assert bare.test_id == named.test_id


def test_names_in_a_list_may_have_commas_in_brackets():
    names = ("a[x=1,y=2]", "b", "c[z=3]")
    assert split_names("--model", "a[x=1,y=2], b,c[z=3]") == names
    for text in ("", ",", "a,", "a,,b", "a[x=1],"):
        with pytest.raises(RequestError, match="an empty name in the list"):
            split_names("--model", text)


def test_several_values_are_a_sweep(plan):
    made = plan(
        ["bag"],
        ["parity"],
        settings=["width=4,16", "p=0.25,0.5", "protocol.steps=40,60"],
        protocol="tiny",
        seeds=1,
    )
    found = {
        (run.model.options["width"], run.task.options.get("p"), run.protocol.steps)
        for run in made.runs
    }
    assert found == {(w, p, s) for w in (4, 16) for p in (0.25, None) for s in (40, 60)}
    assert len({run.test_id for run in made.runs}) == 8
    assert protocols_of(made) == ["tiny", "tiny[steps=60]"]


def test_texts_and_lists_are_no_sweeps(plan, write, tiny):
    made = plan(["bag"], ["parity"], settings=["protocol.learning_rates=0.1,0.2"], protocol="tiny")
    assert {run.learning_rate for run in made.runs} == {0.1, 0.2}
    assert protocols_of(made) == ["tiny[learning_rates=0.1,0.2]"]
    text = write(
        "texts.py",
        """
        from formalbench import Config, ModelSpec, hookimpl, option

        class Texts(Config):
            words: str = option("", "any text")

        @hookimpl
        def formalbench_models():
            yield ModelSpec("texts", 1, "for tests", lambda task, config: None, config=Texts)
        """,
    )
    host = PluginHost.load([tiny, text])
    settings = parse_settings(["words=a,b"])
    request = RunRequest(("texts",), ("first",), protocol="tiny", seeds=1, settings=settings)
    (run,) = make_plan(host, request).runs
    assert run.model.options == {"words": "a,b"}


def test_a_protocol_that_only_tests_otherwise_trains_the_same_run(plan):
    (run,) = plan(["bag"], ["first"], protocol="tiny", seeds=1).runs

    def changed(*settings):
        (other,) = plan(["bag"], ["first"], protocol="tiny", seeds=1, settings=settings).runs
        return other

    tested = changed("protocol.test.strings=8")
    assert (tested.train_id == run.train_id, tested.test_id == run.test_id) == (True, False)
    trained = changed("protocol.steps=60")
    assert (trained.train_id == run.train_id, trained.test_id == run.test_id) == (False, False)
    stated = changed("protocol.steps=40")
    assert (stated.test_id, stated.protocol.title) == (run.test_id, "tiny")


def test_what_a_runs_identity_depends_on(plan):
    (run,) = plan(["bag"], ["parity"], protocol="tiny", seeds=1).runs

    def changed(part, **change):
        return dataclasses.replace(run, **{part: getattr(run, part).model_copy(update=change)})

    source = Origin(distribution="odd_models.py", sha256="f" * 64)
    others = [
        changed("model", name="other"),
        changed("model", version=2),
        changed("model", options={"width": 9}),
        changed("model", source=source),
        changed("task", name="parity:tag"),
        changed("task", version=2),
        changed("task", options={"p": 0.25}),
        changed("task", source=source),
        changed("protocol", version=2),
        changed("protocol", steps=41),
        dataclasses.replace(run, learning_rate=0.5),
        dataclasses.replace(run, seed=1),
        *(dataclasses.replace(run, code={role: "a"}) for role in ("objective", "optimiser")),
        dataclasses.replace(run, code={"optimiser": "b"}),
    ]
    for name in ("train_id", "test_id"):
        identities = {getattr(other, name) for other in [run, *others]}
        assert len(identities) == len(others) + 1
        assert all(len(identity) == 16 for identity in identities)
    tested = [
        changed("protocol", test=run.protocol.test.model_copy(update={"strings": 17})),
        dataclasses.replace(run, code={"metric mine": "a"}),
        dataclasses.replace(run, code={"metric mine": "b"}),
    ]
    assert {other.train_id for other in tested} == {run.train_id}
    assert len({other.test_id for other in [run, *tested]}) == 4
    for same in (
        changed("protocol", summary="other words"),
        changed("protocol", seeds=9),
        changed("protocol", learning_rates=(0.01, 0.02)),
        changed("model", parameters=99),
    ):
        assert same.test_id == run.test_id


def test_a_plan_needs_no_torch(tiny, odd_models, python):
    code = (
        "import sys\nfrom pathlib import Path\nfrom formalbench.host import PluginHost\n"
        "from formalbench.running.plan import RunRequest, make_plan\n"
        f"host = PluginHost.load([Path({str(tiny)!r})])\n"
        "make_plan(host, RunRequest(('lstm', 'transformer'), protocol='tiny'))\n"
        "print('torch' in sys.modules)"
    )
    assert python("-c", code).strip() == "False"


def test_the_command_of_a_run_repeats_it(plan):
    changes = [
        "protocol.steps=60",
        "protocol.learning_rates=0.1,0.2",
        "protocol.test.lengths=41,50",
        "protocol.time_limit=none",
        "protocol.validation.strings=16",
    ]
    made = plan(
        ["lstm[width=16]"], ["parity[p=0.25]"], settings=changes, seeds=(3, 7), protocol="tiny"
    )
    run = made.runs[-1]
    words = shlex.split(run.command)
    assert words[words.index("--seeds") + 1] == "7,"
    settings = [words[i + 1] for i, word in enumerate(words) if word == "--set"]
    again = plan(
        [words[words.index("--model") + 1]],
        [words[words.index("--task") + 1]],
        settings=settings,
        seeds=parse_seeds(words[words.index("--seeds") + 1]),
        protocol=words[words.index("--protocol") + 1],
    )
    assert {other.learning_rate for other in again.runs} == {0.1, 0.2}
    assert again.runs[-1] == run


@pytest.mark.apart
def test_whose_code_a_run_needs(plan):
    (ours, *_) = plan(["gru"], ["first"], protocol="tiny").runs
    (mine, *_) = plan(["bag"], ["first"], protocol="tiny").runs
    assert ours.foreign_code == ()  # a protocol's file is no code
    assert mine.foreign_code == ("odd_models.py",)
    newer = dataclasses.replace(ours, code={"objective": "formalbench version 2"})
    other = dataclasses.replace(ours, code={"optimiser": "somebody version 3"})
    assert (newer.foreign_code, other.foreign_code) == ((), ("somebody",))
