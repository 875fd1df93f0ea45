"""Plugins of an earlier formalbench: one line that says what to change."""

import pytest
from formalbench.contracts.hooks import Progress, RunInfo
from formalbench.host import PluginHost


@pytest.mark.parametrize(
    ("text", "advice"),
    [
        (
            "from formalbench import hookimpl\nfrom formalbench.contracts.specs import Option\n",
            "Option is now formalbench.option",
        ),
        (
            "from formalbench import ModelSpec, hookimpl\n@hookimpl\ndef formalbench_models():\n"
            "    yield ModelSpec('m', 1, '', 'a:b', options={})\n",
            "Option is now formalbench.option",
        ),
        (
            "from formalbench import hookimpl\n@hookimpl\ndef formalbench_read_yaml(path, data):\n"
            "    return None\n",
            "formalbench_read_yaml(path, data) is now formalbench_read_file(path)",
        ),
        (
            "from formalbench.plan import make_plan\n",
            "the engine's files have moved",
        ),
        (
            "from formalbench.evaluation.probes import attention_on_first\n",
            "the engine's files have moved",
        ),
        (
            "from formalbench.contracts.specs import ModelSpec, Value\n",
            "import from formalbench itself",
        ),
    ],
)
def test_a_plugin_of_an_earlier_version_is_one_line(write, refused, text, advice):
    path = write("mine.py", text)
    line = refused("plugins", "--plugin", path, code=3)
    assert line.startswith(f"formalbench: plugin {path}: it was written for formalbench 0.2: ")
    assert advice in line
    assert line.endswith("(docs/plugins.md)")


@pytest.mark.parametrize(
    ("line", "advice"),
    [
        ("self.size = len(task.language.alphabet)", "task.language is now task.source"),
        ("self.accepts_padding = True", "are now fields of formalbench.Traits"),
        ("self.vmappable = False", "are now fields of formalbench.Traits"),
        ("self.cpu_cohort = 2", "are now fields of formalbench.Traits"),
        ("self.lengths = (1, 50)", "are now fields of formalbench.Traits"),
        ("self.constants = {'c': 2.0}", "are now fields of formalbench.Traits"),
        ("self.description = {'depth': 2}", "are now fields of formalbench.Traits"),
    ],
)
def test_a_network_of_an_earlier_version_is_one_line(write, refused, line, advice):
    path = write(
        "mine.py",
        f"""
        from formalbench import ModelSpec, hookimpl
        from torch import nn

        class Mine(nn.Module):
            def __init__(self, task):
                super().__init__()
                {line}

        @hookimpl
        def formalbench_models():
            yield ModelSpec("mine", 1, "", Mine)
        """,
    )
    told = refused("show", "model", "mine", "--plugin", path, code=3)
    assert f"{path}: it was written for formalbench 0.2: " in told
    assert advice in told


@pytest.mark.parametrize(
    ("line", "advice"),
    [
        ("print(run.run_id)", "run_id is now train_id"),
        ("print(progress.error)", "progress.error is now progress.metrics['train/error']"),
        ("print(progress.validation)", "are progress.metrics['validation/NAME']"),
    ],
)
def test_an_observer_of_an_earlier_version_is_one_line(write, line, advice):
    path = write(
        "mine.py",
        f"""
        from formalbench import hookimpl

        @hookimpl
        def formalbench_run_progress(run, progress):
            {line}
        """,
    )
    told = []
    host = PluginHost.load([path], warn=told.append)
    run = RunInfo("t", "u", "lstm", "parity", "quick", 0.001, 0, 10)
    host.notify("formalbench_run_progress", run=run, progress=Progress("train", 1, 1))
    assert len(told) == 1
    assert "dropped as an observer: it was written for formalbench 0.2: " in told[0]
    assert advice in told[0]
