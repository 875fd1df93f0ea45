"""README on a package index: links are absolute, or absent while the project has no address."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text("utf-8")
TARGET = re.compile(r"\]\(([^)]+)\)|\b(?:href|src|srcset)=\"([^\"]+)\"")


@pytest.fixture(scope="module")
def readme_for_index():
    return runpy.run_path(str(ROOT / "hatch_build.py"))["readme_for_index"]


def targets(text: str) -> list[str]:
    return [one or other for one, other in TARGET.findall(text)]


def test_with_an_address_every_link_is_absolute_and_names_a_file(readme_for_index):
    address = "https://example.org/us/formalbench"
    shown = readme_for_index(README, address, "v1.2.3")
    found = targets(shown)
    assert len(found) == len(targets(README)) > 20
    for target in found:
        assert target.startswith("https://")
        if target.startswith(address):
            kind, tag, place = target.removeprefix(f"{address}/").split("/", 2)
            assert (kind, tag) == ("raw" if place.endswith(".svg") else "blob", "v1.2.3")
            assert (ROOT / place.partition("#")[0]).exists()


def test_without_an_address_there_is_no_link_to_a_file(readme_for_index):
    shown = readme_for_index(README, "", "v1.2.3")
    assert all(target.startswith("https://") for target in targets(shown))
    assert "![" not in shown
    assert "<picture>" not in shown
    assert "leaderboard](" not in shown
    assert "Every number on its leaderboard has its seeds" in shown
    assert "What `make demo` prints:" not in shown
    assert "This is a part of" not in shown
    words = len(re.findall(r"[A-Za-z]{4,}", shown))
    assert words > 0.7 * len(re.findall(r"[A-Za-z]{4,}", re.sub(r"\([^)]*\)|<.*?>", "", README)))
