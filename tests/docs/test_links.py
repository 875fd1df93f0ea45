"""Links, files and names in texts of this repository lead somewhere."""

import pkgutil
import re
import subprocess
import warnings
from functools import cache
from pathlib import Path
from urllib.parse import unquote

import pytest

ROOT = Path(__file__).parents[2]
HIDDEN = {"build", "results", "reference"}  # made by commands, records, made for the site
FENCED = re.compile(r"^( *)(`{3,}|~{3,}).*?^\1\2`*$", re.MULTILINE | re.DOTALL)
INLINE = re.compile(r"(?<!`)(`+)(?!`).*?(?<!`)\1(?!`)", re.DOTALL)
LINK = re.compile(r"\]\(\s*<?([^)<>\s]+)>?[^)]*\)|(?:src|href|srcset)=\"([^\"]+)\"")


def pages():
    found = [*ROOT.glob("*.md")]
    for folder in ("benchmark", "docs", "examples", "leaderboard", "plugins", "speed", "tasks"):
        found += (ROOT / folder).rglob("*.md")
    found += (ROOT / "tests").rglob("*.md")
    return sorted(page for page in found if not HIDDEN & set(page.relative_to(ROOT).parts))


@cache
def anchors(page):
    """Return the places of a page: each heading's words, as GitHub writes them."""
    seen = set()
    text = FENCED.sub("", page.read_text("utf-8"))
    for heading in re.findall(r"^#{1,6} +(.*?)(?: +#+)?$", text, re.MULTILINE):
        shown = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading)
        slug = re.sub(r"[^\w\- ]", "", shown.lower()).replace(" ", "-")
        number = 1
        while (place := slug if number == 1 else f"{slug}-{number - 1}") in seen:
            number += 1
        seen.add(place)
    return seen | set(re.findall(r"<a (?:id|name)=\"([^\"]+)\"", text))


def dead_links(page):
    text = INLINE.sub("", FENCED.sub("", page.read_text("utf-8")))
    for link in ("".join(found) for found in LINK.findall(text)):
        if re.match(r"[a-z]+:", link):
            continue
        path, _, anchor = link.partition("#")
        target = (page.parent / unquote(path)).resolve() if path else page
        if not target.exists() or (
            anchor and target.suffix == ".md" and unquote(anchor) not in anchors(target)
        ):
            yield link


@pytest.mark.parametrize("page", pages(), ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page):
    assert list(dead_links(page)) == []


def test_a_dead_link_is_found(tmp_path):
    (tmp_path / "other.md").write_text("# One `two`, three!\n\n# Same\n\n# Same\n")
    page = tmp_path / "page.md"
    page.write_text(
        "# Here\n[a](other.md) [b](other.md#one-two-three) [c](#here) [d](other.md#same-1)\n"
        "[e](https://example.org/none) `[f](none.md)`\n```\n[g](none.md)\n```\n"
        '[h](none.md) [i](other.md#none) [j](#none "title") <img src="none.png">\n'
    )
    assert list(dead_links(page)) == ["none.md", "other.md#none", "#none", "none.png"]


def test_each_page_of_the_site_is_in_its_navigation():
    """Sphinx says so, too, but only `make docs` asks it."""
    index = (ROOT / "docs" / "index.md").read_text("utf-8")
    trees = re.findall(r"^```\{toctree\}\n(.*?)^```$", index, re.MULTILINE | re.DOTALL)
    listed = re.findall(r"^(?:[\w ]+ <)?([\w./-]+)>?$", "\n".join(trees), re.MULTILINE)
    there = {page.stem for page in (ROOT / "docs").glob("*.md")} - {"index"}
    assert there - set(listed) == set()


PATH = re.compile(r"(?<![\w./~-])(?:\.\./)*((?:[\w-][\w.-]*/)+[\w-]+\.(?:py|pyi|js|toml))\b")
FOLDER = re.compile(r"(?<!`)`((?:[a-z_]+/)+)`")
PACKAGES = "_models|_tasks|_text|_papers|_executors|_trackers|_leaderboard"
DOTTED = re.compile(rf"(?<![\w./@-])formalbench(?:{PACKAGES})?(?:[.:][A-Za-z_]\w*)+(?![\w/{{-])")
BARE = re.compile(r"(?<!`)`([a-z_]+\.py)`")
IGNORED = {"evidence/", "wheels/"}
"""Folders that commands make; git ignores them."""


@cache
def tracked() -> list[str]:
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    return [line for line in listed.stdout.splitlines() if (ROOT / line).exists()]


def pages_with_names() -> list[Path]:
    found = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "Makefile"]
    found += [*(ROOT / "docs").glob("*.md"), *(ROOT / "docs").glob("*.ipynb")]
    for folder in ("examples", "speed", "gpu", "tests", "benchmark", "tasks", "plugins"):
        found += (ROOT / folder).rglob("README.md")
    return sorted(found)


def missing(text: str) -> list[str]:
    """Return the paths, folders and dotted names in a text that lead nowhere."""
    files = "".join(f"/{line}\n" for line in tracked())
    lost = [path for path in PATH.findall(text) if f"/{path}\n" not in files]
    folders = set(FOLDER.findall(text)) - IGNORED
    lost += [folder for folder in sorted(folders) if f"/{folder}" not in files]
    for name in DOTTED.findall(text):
        if name.endswith("_"):
            continue  # the beginning of a name that code completes
        try:
            with warnings.catch_warnings(action="ignore"):  # old names
                pkgutil.resolve_name(name)
        except (ImportError, AttributeError):
            lost.append(name)
    return lost


@pytest.mark.parametrize("page", pages_with_names(), ids=lambda page: str(page.relative_to(ROOT)))
def test_pages_name_what_exists(page):
    assert missing(page.read_text("utf-8")) == []


def test_docstrings_and_comments_name_what_exists():
    lost = {}
    names = {Path(line).name for line in tracked()} | {"parity.py"}  # a file of Chiang & Cholak
    for line in tracked():
        if line.endswith(".py") and not line.startswith("tests/"):
            text = (ROOT / line).read_text("utf-8")
            lost[line] = [*missing(text), *(set(BARE.findall(text)) - names)]
    assert {line: names for line, names in lost.items() if names} == {}


def test_a_missing_name_is_found():
    text = "`layers/none.py` formalbench.none.name formalbench_models:none `nowhere/` "
    kept = "`contracts/source.py` formalbench.contracts.source.Source `contracts/` formalbench.run"
    assert missing(text + kept) == [
        "layers/none.py",
        "nowhere/",
        "formalbench.none.name",
        "formalbench_models:none",
    ]
