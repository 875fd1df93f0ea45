"""English and Vietnamese: what programs of Debian say, and LibreOffice's help."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from formalbench_text.fetch.download import debian
from formalbench_text.fetch.gettext import messages_of
from formalbench_text.fetch.libreoffice import PACKAGES as HELP
from formalbench_text.fetch.libreoffice import help_pages
from formalbench_text.fetch.recipe import CorpusRecipe, PairedPage

PROGRAMS = (
    *("libreoffice-l10n-vi", "audacity-data", "binutils-common", "e2fsprogs-l10n"),
    *("evolution-common", "filezilla-common", "git", "gnucash-common", "gnumeric-common"),
    *("libgtk-3-common", "pidgin-data", "util-linux-locales", "vlc-l10n"),
)


def pages(folder: Path) -> Iterator[PairedPage]:
    """Return the catalogues of programs, each as a page, and the pages of the help."""
    place = debian(PROGRAMS, folder)
    for path in sorted(place.rglob("vi/LC_MESSAGES/*.mo")):
        told = [(en, vi) for en, vi in messages_of(path) if en and vi and en != vi]
        yield PairedPage(path.relative_to(place).as_posix(), told)
    yield from help_pages(folder)


DEBIAN = CorpusRecipe(
    name="debian-en-vi",
    summary="what programs say, and LibreOffice's help, English to Vietnamese",
    source=f"the packages {', '.join((*HELP, *PROGRAMS))} (Debian)",
    licence="MPL-2.0 (LibreOffice); GPL-2+, GPL-3+ and LGPL-2.1+ (the translators of the others)",
    pages=pages,
)
