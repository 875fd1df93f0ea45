"""From a request to runs, and what a run's identity is made of."""

import dataclasses

import pytest
from formalbench.contracts.errors import RequestError
from formalbench.contracts.record import Source
from formalbench.host import PluginHost
from formalbench.host.options import parse_settings
from formalbench.plan import Request, make_plan


def tasks_of(made):
    return tuple(dict.fromkeys(run.task.name for run in made.runs))


@pytest.fixture
def plan(tiny, odd_models):
    host = PluginHost.load([tiny, odd_models])

    def plan(models, tasks=(), *, device="cpu", settings=(), **more):
        request = Request(tuple(models), tuple(tasks), settings=parse_settings(settings), **more)
        return make_plan(host, request, device)

    return plan


def test_the_default_is_the_default_suite_and_the_devices_protocol(plan):
    made = plan(["lstm"])
    assert tasks_of(made) == tuple(
        f"{name}:classify"
        for name in ("parity", "first", "even-pairs", "cycle-navigation", "d2", "tomita-3")
    )
    assert made.protocol.name == "quick"
    assert len(made.runs) == 6 * 3
    gpu = plan(["lstm"], ["parity"], device="cuda:0")
    assert gpu.protocol.name == "standard"
    assert {(run.learning_rate, run.seed) for run in gpu.runs} == {
        (rate, seed) for rate in (0.0001, 0.0003, 0.0005) for seed in range(3)
    }


def test_names_are_put_in_full_and_taken_once(plan):
    made = plan(["bag", "bag"], ["parity", "parity:classify", "parity:tag"], protocol="tiny")
    assert tasks_of(made) == ("parity:classify", "parity:tag")
    assert len(made.runs) == 2 * 2
    assert len({run.run_id for run in made.runs}) == 4


def test_seeds(plan):
    assert {run.seed for run in plan(["bag"], ["first"], seeds=4).runs} == {0, 1, 2, 3}
    few = plan(["bag"], ["first"], seeds=1, protocol="tiny").runs[0]
    many = plan(["bag"], ["first"], seeds=9, protocol="tiny").runs[0]
    assert few.run_id == many.run_id  # more seeds later do not repeat the first


def test_all_is_every_learned_model(plan, odd_models):
    names = {run.model.name for run in plan(["all"], ["first"], seeds=1).runs}
    assert {"lstm", "regulargpt", "bag"} <= names
    assert "rejecting" not in names


def test_an_exact_model_runs_once(plan):
    (run,) = plan(["rejecting"], ["first"], device="cuda:0").runs
    assert (run.learning_rate, run.seed, run.info.steps) == (None, 0, 0)


def test_a_suite_brings_its_protocol(tiny, odd_models, write):
    path = write("s.yaml", "name: mine\ntasks: [first, parity:tag]\nprotocol: tiny\n")
    host = PluginHost.load([path, tiny, odd_models])
    made = make_plan(host, Request(("bag",), suite="mine"), "cpu")
    assert tasks_of(made) == ("first:classify", "parity:tag")
    assert made.protocol.name == "tiny"
    assert (
        make_plan(host, Request(("bag",), suite="mine", protocol="quick"), "cpu").protocol.name
        == "quick"
    )


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (([],), "name a model"),
        ((["bgg"], ["first"]), "did you mean bag"),
        ((["bag"], ["frst"]), "did you mean first"),
        ((["rejecting"], ["first:tag"]), "rejecting does not do tag"),
    ],
)
def test_what_cannot_be_planned(plan, arguments, said):
    with pytest.raises(RequestError, match=said):
        plan(*arguments)


def test_tasks_and_a_suite_exclude_each_other(plan):
    with pytest.raises(RequestError, match="exclude"):
        plan(["bag"], ["first"], suite="all")


def test_options_are_part_of_a_run(plan):
    made = plan(["bag", "lstm"], ["first", "parity"], settings=["width=16", "p=0.25"], seeds=1)
    used = {(r.model.name, r.task.name): (r.model.options, r.task.options) for r in made.runs}
    assert used["bag", "parity:classify"] == ({"width": 16}, {"p": 0.25})
    assert used["lstm", "first:classify"] == ({"width": 16}, {})
    (plain,) = plan(["bag"], ["first"], seeds=1).runs
    (default,) = plan(["bag"], ["first"], seeds=1, settings=["model.width=8"]).runs
    assert plain.run_id == default.run_id


def test_what_a_runs_identity_depends_on(plan):
    (run,) = plan(["bag"], ["parity"], protocol="tiny", seeds=1).runs

    def changed(part, **change):
        return dataclasses.replace(run, **{part: getattr(run, part).model_copy(update=change)})

    source = Source(distribution="odd_models.py", sha256="f" * 64)
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
        changed("protocol", test=run.protocol.test.model_copy(update={"strings": 17})),
        dataclasses.replace(run, learning_rate=0.5),
        dataclasses.replace(run, seed=1),
    ]
    identities = {other.run_id for other in [run, *others]}
    assert len(identities) == len(others) + 1
    assert all(len(identity) == 16 for identity in identities)
    assert changed("protocol", summary="other words").run_id == run.run_id
    assert changed("model", parameters=99).run_id == run.run_id


def test_a_run_has_one_identity_in_every_process(plan, tiny, odd_models, python):
    code = (
        "from pathlib import Path\nfrom formalbench.host import PluginHost\n"
        "from formalbench.plan import Request, make_plan\n"
        f"host = PluginHost.load([Path({str(tiny)!r}), Path({str(odd_models)!r})])\n"
        "request = Request(('bag',), ('parity',), protocol='tiny')\n"
        "print(*(run.run_id for run in make_plan(host, request, 'cuda:3').runs))"
    )
    here = [run.run_id for run in plan(["bag"], ["parity"], protocol="tiny").runs]
    assert python("-c", code, PYTHONHASHSEED="5").split() == here


def test_the_command_of_a_run(plan):
    runs = plan(["lstm"], ["parity"], settings=["width=16", "p=0.25"], seeds=2).runs
    command = runs[-1].command
    assert command == (
        "formalbench run --model lstm --task parity:classify --protocol quick --seeds 2 "
        "--set model.width=16 --set task.p=0.25"
    )
