"""The tutorial's cells run one after another, outside a notebook, with few steps.

`make docs` executes it in full, in a notebook's kernel; `make tutorial` keeps what comes out.
"""

import ast
import json
from pathlib import Path

import formalbench

TUTORIAL = Path(__file__).parents[2] / "docs" / "tutorial.ipynb"
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
