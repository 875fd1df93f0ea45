"""What goes wrong in a run: a record with a place in the plugin's code, and the rest goes on."""

import textwrap

import pytest
from formalbench.store import Store

MINE = textwrap.dedent(
    """
    from torch import nn
    from formalbench import Config, ModelSpec, RequestError, Traits, hookimpl, option


    class Mine(nn.Module):
        traits = Traits(vmap=False)

        def __init__(self, task, config):
            super().__init__()
            if task.source_name == config.refused:
                raise RequestError(f"mine does not like {task.name}")
            self.read = nn.Linear(1, task.outputs)

        def forward(self, batch):
            return self.step(batch.symbols)

        def step(self, symbols):
            return self.read(symbols)


    class MineConfig(Config):
        refused: str = option("", "a task")


    @hookimpl
    def formalbench_models():
        yield ModelSpec("mine", 1, "for tests", Mine, config=MineConfig)
    """
)


@pytest.mark.parametrize(
    ("model", "status", "message"),
    [
        ("stumbling", "error", "ValueError: one foot over the other"),
        ("not-a-number", "diverged", ""),
        ("hungry", "out-of-memory", "MemoryError: ate it all"),
        ("unbuildable", "error", "RuntimeError: no such network"),
        ("unspeakable", "error", "ValueError: half a pair"),
        ("quitting", "error", "SystemExit"),
    ],
)
def test_what_goes_wrong_is_a_record_and_the_rest_goes_on(run, results, model, status, message):
    done = run("--model", f"{model},bag", "--task", "first", "--seeds", 1, "--json")
    assert done.code == 1
    bad, good = done.data
    assert (bad["model"]["name"], bad["status"]) == (model, status)
    assert message in bad["message"]
    assert "\n" not in bad["message"]
    assert bad["test"] is None
    assert good["status"] == "finished"
    assert "Traceback" not in done.err
    assert len(Store(results).records()) == 2
    assert ("place" in bad) == (status != "diverged")


@pytest.mark.slow
@pytest.mark.parametrize("jobs", [1, 2])
@pytest.mark.parametrize("folder", ["", "a_package/"])
def test_the_place_in_a_plugins_code(run, write, results, folder, jobs):
    path = write("mine.py" if not folder else "a_package/models.py", MINE)
    if folder:
        write(
            "a_package/__init__.py",
            """
            from formalbench import ModelSpec, hookimpl
            from .models import Mine, MineConfig

            @hookimpl
            def formalbench_models():
                yield ModelSpec("mine", 1, "for tests", Mine, config=MineConfig)
            """,
        )
    plugin = path.parent if folder else path
    done = run("--model", "mine", "--task", "first", "--seeds", 2, "--plugin", plugin, jobs=jobs)
    assert done.code == 1
    assert "Traceback" not in done.err
    record, other = Store(results).records()
    assert record.place == other.place
    line = MINE.splitlines().index("        return self.read(symbols)") + 1
    assert (record.place.file, record.place.line) == (path.name, line)
    assert record.place.frames == (
        f"{path.name}:{line - 3} in forward: return self.step(batch.symbols)",
        f"{path.name}:{line} in step: return self.read(symbols)",
    )
    assert record.message.startswith("RuntimeError: ")
    assert str(path.parent) not in record.to_json()


def test_the_first_failure_can_end_a_session(run, results):
    command = ("--model", "bag,stumbling,rnn", "--task", "first", "--seeds", 1, "--json")
    stopped = run(*command, "--fail-fast")
    assert stopped.code == 1
    assert [row["status"] for row in stopped.data] == ["finished", "error"]
    assert len(Store(results).records()) == 2
    assert [row["status"] for row in run(*command).data] == ["finished", "error", "finished"]


def test_a_pairing_that_is_refused_at_once_is_a_bad_request(run, write, results):
    path = write("mine.py", MINE)
    done = run(
        "--model", "mine", "--task", "first", "--set", "refused=first", "--plugin", path
    )  # fmt: skip
    assert (done.code, done.out) == (2, "")
    assert done.err == "formalbench: mine does not like first:classify\n"
    assert not list(results.rglob("*.json"))


def test_a_pairing_that_is_refused_later_costs_its_own_runs_only(run, write, results):
    path = write("mine.py", MINE)
    done = run(
        "--model", "bag,mine", "--task", "parity,first", "--set", "refused=first",
        "--seeds", 2, "--plugin", path, "--json",
    )  # fmt: skip
    assert done.code == 1
    status = {(row["model"]["name"], row["task"]["name"]): row["message"] for row in done.data}
    assert status["mine", "first:classify"] == "mine does not like first:classify"
    assert status["bag", "parity:classify"] == status["bag", "first:classify"] == ""
    assert len(Store(results).records()) == 8


def test_what_a_task_refuses_is_said_before_anything_trains(refused, tiny, write, odd_models):
    long = write(
        "long.yaml",
        "name: long\nversion: 1\nextends: tiny\nsplits: {test: [42, 42]}\n",
    )
    line = refused(
        "run", "--model", "bag", "--task", "first,modular-arithmetic", "--protocol", "long",
        "--device", "cpu", "--plugin", tiny, "--plugin", long, "--plugin", odd_models,
    )  # fmt: skip
    assert "modular-arithmetic:classify has no strings of length 42 to 42" in line


METRIC = """
    import torch
    from formalbench import Metric, MetricSpec, hookimpl
    from formalbench.contracts.objective import Measure

    class Odd(Metric):
        name = "odd"

        def measure(self, logits, example):
            return torch.tensor([TOTAL, 4.0])

        def finish(self, state):
            return {"odd": Measure(float(state[0]), COUNT)}

    @hookimpl
    def formalbench_metrics():
        yield MetricSpec("odd", 1, "for tests", Odd, ("classify",))
"""


@pytest.mark.slow
@pytest.mark.parametrize("jobs", [1, 2])
def test_what_no_record_can_hold_is_said_in_one(run, write, results, jobs):
    path = write("odd.py", METRIC.replace("TOTAL", "1.0").replace("COUNT", "-4"))
    done = run(
        *("--model", "bag", "--task", "first", "--seeds", 2, "--plugin", path, "--json"), jobs=jobs
    )
    assert done.code == 1
    for record in Store(results).records():
        assert record.status == "error"
        said = "the result does not fit into a record: count: must be at least 0"
        assert record.message.startswith(said)
        assert record.message.isprintable()
        assert "twice" not in record.message  # it would be the same again


def test_what_is_not_finite_is_named(run, write, results):
    path = write("odd.py", METRIC.replace("TOTAL", 'float("nan")').replace("COUNT", "4"))
    assert run("--model", "bag", "--task", "first", "--seeds", 1, "--plugin", path).code == 1
    (record,) = Store(results).records()
    assert record.status == "diverged"
    assert "the odd at length" in record.message
    assert record.message.endswith("is not finite, step 20")


def test_a_dry_run_refuses_what_a_task_refuses(refused, write):
    path = write(
        "large.yaml",
        f"""
        name: large
        alphabet: ab
        regex: (a|b)*a{"(a|b)" * 40}
    """,
    )
    for dry in ((), ("--dry-run",)):
        told = refused("run", "--model", "lstm", "--task", "large", "--plugin", path, *dry)
        assert "its automaton is too large" in told
