"""What to cite, as BibTeX: this software, and the papers whose numbers stand beside a suite."""

from __future__ import annotations

import re
from collections.abc import Iterable

from formalbench import __version__
from formalbench.analysis.text import harmless
from formalbench.contracts.published import PublishedTable

TITLE = "formalbench: which formal languages a sequence model can express, learn and extrapolate on"
YEAR = 2026

_CITATION = re.compile(r"(?P<authors>.+?) \((?P<year>\d{4})\), (?P<said>.+)")
_PLACE = re.compile(r"(Table|Figure|section|§).*")
_UNSAFE = str.maketrans(dict.fromkeys('{}\\@%"#$', ""))


def bibtex(suite: str, version: int, reference: str, tables: Iterable[PublishedTable]) -> str:
    """Return what a paper that uses a suite should cite.

    Args:
        suite: its name.
        version: of the suite.
        reference: where its list of tasks comes from; may be empty.
        tables: the papers whose numbers stand beside it; of two tables of one paper the first.
    """
    note = f"Suite {_plain(suite)}, version {version}"
    note += f"; its tasks are those of {_plain(reference)}" if reference else ""
    software = _entry(
        "software",
        "formalbench",
        title=f"{{{TITLE}}}",
        author="{formalbench contributors}",
        year=str(YEAR),
        version=__version__,
        license="Apache-2.0",
        note=note,
    )
    papers = {table.arxiv: table for table in reversed(list(tables))}
    return "\n".join([software, *map(_paper, reversed(papers.values()))])


def _paper(table: PublishedTable) -> str:
    said = _CITATION.fullmatch(harmless(table.citation))
    if said is None:  # a stranger's, in another manner
        fields = {"title": _plain(table.citation)}
    else:
        *title, last = [part for part in said["said"].split(", ") if not _PLACE.fullmatch(part)]
        venue = last if title and re.search(r"\d{4}$", last) else ""
        fields = {
            "author": " and ".join(_plain(said["authors"]).replace(", ", " and ").split(" and ")),
            "title": f"{{{_plain(', '.join(title if venue else [*title, last]))}}}",
            "year": said["year"],
            "howpublished": _plain(venue),
        }
    key = re.sub(r"-(table|figure)-\d+$", "", table.key)
    return _entry("misc", key, **fields, eprint=table.arxiv, archiveprefix="arXiv")


def _entry(kind: str, key: str, **fields: str) -> str:
    wide = max(map(len, fields))
    lines = [f"  {name:<{wide}} = {{{text}}}," for name, text in fields.items() if text]
    return "\n".join([f"@{kind}{{{key},", *lines, "}"]) + "\n"


def _plain(text: str) -> str:
    """Return text without the signs that BibTeX would act upon."""
    return harmless(text).translate(_UNSAFE).replace("&", r"\&")
