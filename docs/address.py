"""Write the project's address into the files that name it: `python docs/address.py`.

The address is `Repository` below `[project.urls]` in pyproject.toml. While it is empty, no file
names one.
"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]

PLACES = {
    "README.md": (r"(?m)^(\$ git clone .*\n)?(?=\$ make demo )", "$ git clone {}\n"),
    "CITATION.cff": (r"(?m)^(repository-code: .*\n)?(?=license: )", 'repository-code: "{}"\n'),
}
"""By file: the pattern of its line, which may be absent, and the line."""


def address() -> str:
    """Return the project's address without a slash at its end; empty if there is none yet."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    return str(project["urls"].get("Repository", "")).rstrip("/")


def rendered(file: str, address: str) -> str:
    """Return a file's text with the line of an address, or without one if that is empty."""
    pattern, line = PLACES[file]
    text = (ROOT / file).read_text("utf-8")
    return re.sub(pattern, line.format(address) if address else "", text, count=1)


if __name__ == "__main__":
    for name in PLACES:
        (ROOT / name).write_text(rendered(name, address()), "utf-8")
