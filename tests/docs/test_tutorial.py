"""The tutorial's cells run one after another, outside a notebook, with few steps.

`make docs` executes it in full, in a notebook's kernel; `make tutorial` keeps what comes out.
"""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
from pathlib import Path

import formalbench
import pytest

TUTORIAL = Path(__file__).parents[2] / "docs" / "tutorial.ipynb"
BUDGET = '{"protocol.steps": 300, "protocol.decay.steps": 100, "protocol.test.strings": 64}'
LEAST = """{
    **{"protocol.steps": 20, "protocol.decay.steps": 20},
    **{"protocol.test.strings": 4, "protocol.test.lengths": 2},
    **{"protocol.validation.strings": 4, "protocol.validation.lengths": 2},
}"""


CELLS = [
    cell for cell in json.loads(TUTORIAL.read_text("utf-8"))["cells"] if cell["cell_type"] == "code"
]
SOURCES = ["".join(cell["source"]) for cell in CELLS]


def test_it_was_executed_from_top_to_bottom():
    assert [cell["execution_count"] for cell in CELLS] == list(range(1, len(CELLS) + 1))
    outputs = [output for cell in CELLS for output in cell["outputs"]]
    assert "error" not in {output["output_type"] for output in outputs}
    assert sum("image/svg+xml" in output.get("data", {}) for output in outputs) == 2
    shown = json.dumps(outputs)
    assert "100.0% at 41\\u2013500" in shown
    assert str(Path.home()) not in shown


def test_it_uses_what_formalbench_exports_and_nothing_else():
    code = "\n".join("\n".join(source.splitlines()) for source in SOURCES if source[0] != "!")
    trees = [ast.parse(code)]
    trees += [
        ast.parse(node.value)
        for node in ast.walk(trees[0])
        if isinstance(node, ast.Constant) and "hookimpl" in str(node.value)
    ]
    assert len(trees) == 2
    nodes = [node for tree in trees for node in ast.walk(tree)]
    used = {
        node.attr
        for node in nodes
        if isinstance(node, ast.Attribute) and getattr(node.value, "id", "") == "formalbench"
    }
    imports = [node for node in nodes if isinstance(node, ast.ImportFrom | ast.Import)]
    for node in imports:
        module = getattr(node, "module", node.names[0].name)
        assert not module.startswith("formalbench."), module
        if isinstance(node, ast.ImportFrom) and module == "formalbench":
            used |= {one.name for one in node.names}
    assert {"run", "results", "load", "label", "evaluate", "ModelSpec"} <= used
    assert used <= set(formalbench.__all__)


@pytest.mark.slow
def test_every_cell_runs(tmp_path):
    code = "\n".join(SOURCES)
    assert code.count(BUDGET) == 1
    script = tmp_path / "tutorial.ipy"
    script.write_text(f"{code.replace(BUDGET, LEAST)}\nprint('last', len(frame), len(own))\n")
    places = {
        name: str(tmp_path / name.lower())
        for name in ("FORMALBENCH_CACHE", "FORMALBENCH_RESULTS", "IPYTHONDIR", "MPLCONFIGDIR")
    }
    path = os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"]))
    done = subprocess.run(
        [sys.executable, "-m", "IPython", "--HistoryManager.enabled=False", str(script)],
        cwd=tmp_path,
        env={**os.environ, **places, "PATH": path, "MPLBACKEND": "agg", "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    lines = done.stdout.splitlines()
    assert lines[-1] == "last 2 2"
    assert sum(line.startswith('{"string": ') for line in lines) == 4
    assert "a5-orbit   star-free: False  in C-RASP: False  solvable: False" in lines
    assert any(line.startswith("theorem  gru-recurrence: can (") for line in lines)
    assert (
        "runs were already finished" not in done.stdout + done.stderr
    )  # no table but in notebooks
    assert len(list(tmp_path.glob("*runs/**/*.json"))) == 4
