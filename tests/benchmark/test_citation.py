"""What to cite: the software as the repository says it, and papers as BibTeX reads them."""

from pathlib import Path

import pytest
import yaml
from formalbench import __version__
from formalbench.contracts.paper_tables import PublishedResult, PublishedRow, PublishedTable
from formalbench_leaderboard.page.descriptions import TITLE, bibtex

CFF = Path(__file__).parents[2] / "CITATION.cff"


def table(
    key="deep-2023-table-1", citation="Ann B. Deep and Cy Dee (2023), Words, More, ICLR 2023"
):
    row = PublishedRow(model="RNN", results={"parity": PublishedResult(max=100.0)})
    return PublishedTable(
        key=key, source="Deep 2023", citation=citation, arxiv="2301.00001", notes=(), rows=(row,)
    )


def test_the_software_is_cited_as_the_repository_says():
    told = yaml.safe_load(CFF.read_text())
    text = bibtex("default", 1, "", [])
    assert (told["title"], told["version"]) == (TITLE, __version__)
    for said in (told["title"], told["version"], told["license"], told["authors"][0]["name"]):
        assert said in text
    assert "note    = {Suite default, version 1}" in text


def test_a_paper_has_its_authors_title_and_number_once():
    text = bibtex("s", 1, "", [table(), table("deep-2023-table-2")])
    assert text.count("@misc") == 1
    assert "@misc{deep-2023," in text
    assert "author        = {Ann B. Deep and Cy Dee}" in text
    assert "title         = {{Words, More}}" in text
    assert "howpublished  = {ICLR 2023}" in text
    assert "eprint        = {2301.00001}" in text


@pytest.mark.parametrize("said", ["no year at all", "A (2023), x}\n@misc{y", "\\input{z}", "%#$"])
def test_what_a_stranger_says_stays_within_its_field(said):
    text = bibtex(said, 1, said, [table(citation=said)])
    assert text.count("@") == 2
    assert text.count("{") == text.count("}")
    assert "\\input" not in text
    assert [line[0] for line in text.splitlines() if line] == [
        *("@", *" " * 6, "}"),
        *("@", *" " * (text.split("@misc")[1].count("\n") - 2), "}"),
    ]
