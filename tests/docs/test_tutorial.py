"""The tutorial's cells run one after another, outside a notebook, with few steps.

`make docs` executes it in full, in a notebook's kernel.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

TUTORIAL = Path(__file__).parents[2] / "docs" / "tutorial.md"
BUDGET = '{"protocol.steps": 300, "protocol.decay.steps": 100, "protocol.test.strings": 64}'
LEAST = """{
    **{"protocol.steps": 20, "protocol.decay.steps": 20},
    **{"protocol.test.strings": 4, "protocol.test.lengths": 2},
    **{"protocol.validation.strings": 4, "protocol.validation.lengths": 2},
}"""


@pytest.mark.slow
def test_every_cell_runs(tmp_path):
    text = TUTORIAL.read_text("utf-8")
    cells = re.findall(r"^```\{code-cell\} python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    code = "\n".join(cells)
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
    imported = set(re.findall(r"^ *(?:from|import) (formalbench[.\w]*)", code, re.MULTILINE))
    assert imported == {"formalbench"}
    assert "runs are done already" not in done.stdout + done.stderr  # no table but in notebooks
    assert len(list(tmp_path.glob("*runs/**/*.json"))) == 4
