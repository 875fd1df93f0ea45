"""What people are asked to cite is this version, wherever it is said."""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "docs"))

import address  # noqa: E402

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
CITED = yaml.safe_load((ROOT / "CITATION.cff").read_text("utf-8"))


def test_it_says_what_the_package_says():
    assert CITED["version"] == PROJECT["version"]
    assert CITED["authors"] == PROJECT["authors"]
    assert CITED["license"] == PROJECT["license"]
    assert CITED["keywords"] == PROJECT["keywords"]


def test_the_readme_says_the_same():
    entry = re.search(r"```bibtex\n(.*?)```", (ROOT / "README.md").read_text("utf-8"), re.DOTALL)[1]
    fields = dict(re.findall(r"(\w+) += \{+([^{}]*)\}+", entry))
    assert fields["version"] == CITED["version"]
    assert fields["title"] == CITED["title"]
    assert fields["author"] == CITED["authors"][0]["name"]


def test_the_date_is_that_of_the_release():
    text = (ROOT / "CHANGELOG.md").read_text("utf-8")
    assert f"\n## {CITED['version']} ({CITED['date-released'].isoformat()})\n" in text


@pytest.mark.parametrize("file", address.PLACES)
def test_the_address_is_the_projects_or_absent(file):
    text = (ROOT / file).read_text("utf-8")
    assert address.rendered(file, address.address()) == text
    named = address.rendered(file, "https://example.org/formalbench")
    assert named.count("https://example.org/formalbench") == 1
    assert "https://" not in text.replace(address.address() or "\0", "")
