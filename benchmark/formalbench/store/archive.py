"""Archives of weights, and weights found by their checksum.

``index.json`` comes first: it says of which record (by its ``test_id``) which weights are. Then
comes each file of weights, under its SHA-256. Whoever made an archive is a stranger: a file in it
counts by its contents alone, and nothing is ever written where a name in it leads.
"""

from __future__ import annotations

import hashlib
import io
import json
import re
import tarfile
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Self

from formalbench.contracts.errors import RequestError
from formalbench.contracts.record import Record
from formalbench.files import replacing
from formalbench.store.records import read_record, weights_path

INDEX = "index.json"


VERSION = 1


MAX_BYTES = 32 << 20
"""Of a file in an archive: no run keeps more weights."""


MAX_FILES = 100_000
"""In an archive."""


_WEIGHTS = re.compile(r"([0-9a-f]{64})\.safetensors")


_IDENTITY = re.compile(r"[0-9a-f]{16}")


class _Member(tarfile.TarInfo):
    """A header of an archive; one that `write_archive` never writes is refused as it is read.

    Links, devices, folders and headers that change the next one end here, before tarfile acts on
    them: so do sizes that are negative, or larger than a file can be.
    """

    @classmethod
    def frombuf(cls, buf: bytes | bytearray, encoding: str, errors: str) -> Self:
        found = super().frombuf(buf, encoding, errors)
        named = found.name == INDEX or _WEIGHTS.fullmatch(found.name)
        if not named or found.type not in (tarfile.REGTYPE, tarfile.AREGTYPE):
            raise RequestError(f"{found.name!r:.100} in it is neither weights nor their index")
        if not 0 <= found.size <= MAX_BYTES:
            raise RequestError(f"{found.name} in it has {found.size} bytes: more than weights can")
        return found


def write_archive(path: Path, named: Mapping[str, str], read: Callable[[str], bytes]) -> None:
    """Write an archive; the same weights of the same records give the same bytes.

    Args:
        path: of the archive.
        named: the SHA-256 of the weights of each record, by its ``test_id``.
        read: gives weights by their SHA-256.

    Raises:
        UnwritableError: one line, if it cannot be written.
    """
    index = {"schema_version": VERSION, "weights": dict(sorted(named.items()))}
    with (
        replacing(path) as file,
        tarfile.open(fileobj=file, mode="w:", format=tarfile.USTAR_FORMAT) as tar,
    ):
        _add(tar, INDEX, (json.dumps(index, indent=1) + "\n").encode())
        for sha256 in sorted(set(named.values())):
            _add(tar, f"{sha256}.safetensors", read(sha256))


def _add(tar: tarfile.TarFile, name: str, contents: bytes) -> None:
    member = tarfile.TarInfo(name)  # no date, no owner
    member.size = len(contents)
    tar.addfile(member, io.BytesIO(contents))


class Archive:
    """An archive, to be read.

    Attributes:
        path: of the file.
        index: the SHA-256 of the weights of each record, by its ``test_id``; the archive's word.

    Raises:
        RequestError: one line, if it is none.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            with tarfile.open(path, "r:", tarinfo=_Member) as tar:
                self._places = _places(tar)
            self.index = _index(self._contents(INDEX))
        except RequestError as error:
            raise RequestError(f"{path}: no archive of weights: {error}") from None
        except (tarfile.TarError, OSError, ValueError) as error:
            reason = " ".join(str(error).split())[:200]
            raise RequestError(f"{path}: no archive of weights: {reason}") from None
        inside = {name.removesuffix(".safetensors") for name in self._places} - {INDEX}
        if odd := sorted(inside ^ set(self.index.values())):
            where = "has" if odd[0] in inside else "lacks"
            raise RequestError(f"{path}: damaged: it {where} {odd[0]}, against its index")

    def __contains__(self, sha256: str) -> bool:
        return f"{sha256}.safetensors" in self._places

    def read(self, sha256: str) -> bytes:
        """Return weights by their SHA-256.

        Raises:
            RequestError: one line, if what is under this name has another one.
        """
        contents = self._contents(f"{sha256}.safetensors")
        digest = hashlib.sha256(contents).hexdigest()
        if digest != sha256:
            raise RequestError(f"{self.path}: {sha256}.safetensors in it has SHA-256 {digest}")
        return contents

    def _contents(self, name: str) -> bytes:
        at, size = self._places[name]
        with self.path.open("rb") as file:
            file.seek(at)
            return file.read(size)


def _places(tar: tarfile.TarFile) -> dict[str, tuple[int, int]]:
    """Return where in the file each member begins, and its size, by its name."""
    places: dict[str, tuple[int, int]] = {}
    for member in tar:
        if member.name in places:
            raise RequestError(f"{member.name} is in it twice")
        if len(places) >= MAX_FILES:
            raise RequestError(f"more than {MAX_FILES:,} files are in it")
        places[member.name] = member.offset_data, member.size
    if INDEX not in places:
        raise RequestError(f"{INDEX} is not in it")
    return places


def _index(text: bytes) -> dict[str, str]:
    """Return what an index says.

    Raises:
        RequestError: if it is none.
        ValueError: if it is no JSON.
    """
    try:
        data = json.loads(text)
    except RecursionError:
        raise RequestError(f"{INDEX} is too deep") from None
    version = data.get("schema_version") if isinstance(data, dict) else None
    named = data.get("weights") if isinstance(data, dict) else None
    if version != VERSION or not isinstance(named, dict):
        raise RequestError(f"{INDEX} is not of version {VERSION}")
    for identity, sha256 in named.items():
        good = isinstance(sha256, str) and _WEIGHTS.fullmatch(f"{sha256}.safetensors")
        if not good or not _IDENTITY.fullmatch(identity):
            raise RequestError(f"{INDEX} names {identity!r:.50} and {sha256!r:.100}")
    return named


class WeightLookup:
    """The weights of some archives and folders; who has which, its SHA-256 alone says.

    Args:
        places: archives, and folders of records with weights beside them; the first that has
            some gives them.

    Attributes:
        places: as given.
        archives: those among them.

    Raises:
        RequestError: one line, for what is neither.
    """

    def __init__(self, places: Iterable[Path] = ()) -> None:
        self.places = tuple(places)
        self.archives: list[Archive] = []
        self._read: dict[str, Callable[[], bytes]] = {}
        for place in self.places:
            if place.is_dir():
                found = _beside_records(place)
            elif place.is_file():
                self.archives.append(archive := Archive(place))
                found = {name: partial(archive.read, name) for name in archive.index.values()}
            else:
                raise RequestError(f"{place}: not a folder and not an archive of weights")
            self._read = dict(found) | self._read

    def __contains__(self, record: Record) -> bool:
        return record.weights in self._read

    def read(self, record: Record) -> bytes:
        """Return a run's weights, held to the hash in its record.

        Raises:
            RequestError: one line, if they are not at hand, or are others.
        """
        if record.weights is None or record not in self:
            raise RequestError(f"the weights of run {record.test_id} were not found")
        return self._read[record.weights]()


def _beside_records(folder: Path) -> Mapping[str, Callable[[], bytes]]:
    """Return how to read the weights in a folder, by the SHA-256 that the record beside names."""
    from formalbench.store.weights import read_weights

    found: dict[str, Callable[[], bytes]] = {}
    for file in sorted(folder.rglob("*.safetensors")):
        record = record_beside(file)
        if record is not None and record.weights is not None:
            found.setdefault(record.weights, partial(read_weights, record, file))
    return found


def record_beside(file: Path) -> Record | None:
    """Return the record of a run that weights lie beside, if one does and can be read."""
    path = file.with_suffix(".json")
    if not path.is_file() or weights_path(path) != file:
        return None
    try:
        record = read_record(path)
    except RequestError:
        return None
    return record if isinstance(record, Record) else None
