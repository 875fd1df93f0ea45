"""Articles of the English Wikipedia: what gensim's wheel has to test itself with."""

from __future__ import annotations

import bz2
import io
import re
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

from formalbench_text.fetch.packages import member, wheel
from formalbench_text.fetch.writing import CorpusRecipe, Text

PACKAGE = "gensim==4.4.0"
DUMP = "gensim/test/test_data/enwiki-latest-pages-articles1.xml-p000000010p000030302-shortened.bz2"
SHA256 = "a53f4648dec40467ebdcbc7a1307eddb51fe6e28e9309f6ebde81ba0d04bea2d"

_HIDDEN = re.compile(
    r"<!--.*?-->|<(ref|math|gallery|timeline|score|table)\b[^>/]*>.*?</\1\s*>|<[^>]*>",
    re.DOTALL | re.IGNORECASE,
)
_INNERMOST = re.compile(r"\{\{[^{}]*\}\}|\{\|(?:(?!\{\||\|\}).)*\|\}", re.DOTALL)
_PICTURE = re.compile(
    r"\[\[(?:File|Image|Category|[a-z-]{2,12}):(?:[^\[\]]|\[\[[^\[\]]*\]\])*\]\]", re.IGNORECASE
)
_LINK = re.compile(r"\[\[(?:[^\[\]|]*\|)?([^\[\]]*)\]\]")
_OUTSIDE = re.compile(r"\[(?:https?:|//)\S+ ?([^\]]*)\]")
_SIGNS = re.compile(r"'{2,}|^[*#:;]+ *|__[A-Z]+__|&nbsp;", re.MULTILINE)
_HEADING = re.compile(r"^=+ *(.*?) *=+ *$", re.MULTILINE)
_EMPTY = re.compile(r"\n{3,}")


def articles(folder: Path) -> Iterator[Text]:
    """Return the articles that are more than a reference to another, in the order of the dump."""
    with wheel(PACKAGE, folder) as files:
        dump = io.BytesIO(bz2.decompress(member(files, DUMP, SHA256)))
    for _, page in ElementTree.iterparse(dump):  # noqa: S314  # its checksum is right
        if page.tag.rpartition("}")[2] == "page":
            title, space, text = (
                page.findtext(f".//{{*}}{key}") for key in ("title", "ns", "text")
            )
            if space == "0" and text and not text.upper().lstrip().startswith("#REDIRECT"):
                yield Text(title or "", plain_text(text))
            page.clear()


def plain_text(markup: str) -> str:
    """Return an article without its markup, its tables, templates, pictures and references."""
    text = _HIDDEN.sub("", markup)
    for pattern, kept in ((_INNERMOST, ""), (_PICTURE, ""), (_LINK, r"\1")):
        before = None
        while before != text:  # they stand in one another
            before, text = text, pattern.sub(kept, text)
    text = _SIGNS.sub("", _HEADING.sub(r"\1", _OUTSIDE.sub(r"\1", text)))
    return _EMPTY.sub("\n\n", text).strip() + "\n"


WIKIPEDIA = CorpusRecipe(
    name="wikipedia-gensim",
    summary="articles of the English Wikipedia, without markup",
    source=f"the test data of the package {PACKAGE} (PyPI)",
    licence="CC BY-SA 3.0 (the authors of Wikipedia); the package is LGPL-2.1",
    texts=articles,
)
