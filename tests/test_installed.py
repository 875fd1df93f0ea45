"""What is installed is what is written down: pinned, with hashes, and actions by their commits."""

import re
import tomllib
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[1]
LOCKS = sorted((REPOSITORY / "locks").glob("*.txt"))
PROJECT = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["project"]
EXTRAS = PROJECT["optional-dependencies"]


def normal(name):
    return re.sub(r"[-_.]+", "-", name).lower()


def locked(path):
    """Return the versions that a lock names, and how many hashes each has."""
    found = {}
    for entry in re.split(r"\n(?=\S)", path.read_text().strip()):
        name, version = re.match(r"([A-Za-z0-9._-]+)==([^ ;]+)", entry).groups()
        hashes = re.findall(r"--hash=sha256:[0-9a-f]{64}(?= |$)", entry)
        found.setdefault(normal(name), []).append((version, len(hashes)))
    return found


def needed(extra):
    """Return the packages that an extra asks for."""
    found = set()
    for line in EXTRAS[extra]:
        name, inner = re.match(r"([A-Za-z0-9._-]+)(?:\[([a-z,]+)\])?", line).groups()
        if name == PROJECT["name"]:
            found |= {one for part in inner.split(",") for one in needed(part)}
        else:
            found.add(normal(name))
    return found


def test_there_is_a_lock_for_each_extra_that_make_installs():
    assert [path.stem for path in LOCKS] == [
        "base",
        "dev",
        "docs",
        "interop",
        "page",
        "published",
        "speed",
        "test",
    ]
    makefile = (REPOSITORY / "Makefile").read_text()
    assert "--editable '.[" not in makefile
    assert re.search(
        r"^EXTRAS = base test page published interop docs speed dev$", makefile, re.MULTILINE
    )


@pytest.mark.parametrize("path", LOCKS, ids=lambda path: path.stem)
def test_everything_in_a_lock_is_pinned_and_has_hashes(path):
    packages = locked(path)
    assert all(count for versions in packages.values() for _, count in versions)
    assert "torch" not in packages  # installed apart from the rest
    assert {"hatchling", "editables"} <= packages.keys()  # nothing is fetched to build
    base = {normal(re.match(r"[A-Za-z0-9._-]+", line)[0]) for line in PROJECT["dependencies"]}
    more = set() if path.stem == "base" else needed(path.stem)
    assert (base | more) - {"torch"} <= packages.keys()


def test_locks_agree_with_the_constraints():
    lines = (REPOSITORY / "constraints.txt").read_text().splitlines()
    pins = dict(line.split("==") for line in lines if line and not line.startswith("#"))
    everything = [locked(path) for path in LOCKS]
    for name, version in pins.items():
        versions = {v for packages in everything for v, _ in packages.get(normal(name), [])}
        assert versions == ({version} if name != "torch" else set()), name
