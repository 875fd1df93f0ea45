"""The networks that docs/your-model.md shows: ten lines at most, and they run."""

import re
from pathlib import Path

import pytest

PAGE = (Path(__file__).parents[3] / "docs" / "your-model.md").read_text("utf-8")
BLOCKS = [
    block for block in re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL) if "class " in block
]


def test_each_has_ten_lines_at_most():
    assert [re.search(r"class (\w+)", block)[1] for block in BLOCKS] == ["Mine", "Nano", "MinGru"]
    for block in BLOCKS[1:]:
        assert len([line for line in block.splitlines() if line]) <= 10


@pytest.mark.parametrize("index", [0, pytest.param(2, marks=pytest.mark.published)])
def test_it_runs(index, own_place, all_here, cli, tiny, write):
    if index:
        pytest.importorskip("minGRU_pytorch")
    path = write("shown.py", BLOCKS[index])
    (name,) = re.findall(r"class (\w+)", BLOCKS[index])
    asked = ("--task", "parity:tag", "--protocol", "tiny", "--plugin", tiny, "--seeds", 1)
    done = cli("run", "--model", f"{path}:{name}[width=8]", *asked, "--device", "cpu", "--json")
    assert done.data[0]["status"] == "finished"
    assert cli("check", f"{path}:{name}").code == 0
