"""English and Vietnamese: the help pages of LibreOffice, paragraph by paragraph."""

from __future__ import annotations

from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

from formalbench_text.fetch.download import debian
from formalbench_text.fetch.recipe import CorpusRecipe, PairedPage

PACKAGES = ("libreoffice-help-en-us", "libreoffice-help-vi")
HELP = "usr/share/libreoffice/help"

_BLOCKS = {"h1", "h2", "h3", "h4", "h5", "h6", "p"}
_SILENT = {"script", "style"}


class Blocks(HTMLParser):
    """Reads the headings and paragraphs of a page.

    Attributes:
        found: their texts, in order; an empty one for a block that says nothing.
    """

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []
        self._open = False
        self._silent = 0

    def handle_starttag(self, tag: str, attrs: object) -> None:
        """Begin a block."""
        self._silent += tag in _SILENT
        if tag in _BLOCKS:
            self.found.append("")
            self._open = True

    def handle_endtag(self, tag: str) -> None:
        """End a block."""
        self._silent -= tag in _SILENT
        self._open = self._open and tag not in _BLOCKS

    def handle_data(self, data: str) -> None:
        """Take what a block says."""
        if self._open and not self._silent:
            self.found[-1] += data


def blocks_of(page: Path) -> list[str]:
    """Return what the headings and paragraphs of a page say."""
    reader = Blocks()
    reader.feed(page.read_text(encoding="utf-8", errors="replace"))
    return [" ".join(block.split()) for block in reader.found]


def help_pages(folder: Path) -> Iterator[PairedPage]:
    """Return the pages, with those of their blocks that are translated.

    Both languages have the same blocks on a page; a page where they do not is left out.
    """
    place = debian(PACKAGES, folder) / HELP
    for page in sorted((place / "en-US").rglob("*.html")):
        name = page.relative_to(place / "en-US")
        other = place / "vi" / name
        if not other.is_file():
            continue
        english, vietnamese = blocks_of(page), blocks_of(other)
        if len(english) == len(vietnamese):
            both = zip(english, vietnamese, strict=True)
            yield PairedPage(
                name.as_posix(), [(en, vi) for en, vi in both if en and vi and en != vi]
            )


LIBREOFFICE = CorpusRecipe(
    name="libreoffice-en-vi",
    summary="LibreOffice's help, English to Vietnamese",
    source=f"the packages {' and '.join(PACKAGES)} (Debian)",
    licence="MPL-2.0 (the LibreOffice contributors)",
    pages=help_pages,
)
