"""Archives of weights, and lookup of weights by their checksum.

The first member, ``index.json``, maps each record's ``test_id`` to the SHA-256 of its weights. The
other members are the weights files, named by their SHA-256. Archives are untrusted input: a file is
identified by the checksum of its contents, and names in an archive are never used as paths.
"""

from __future__ import annotations

import contextlib
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
from formalbench.files import read_plain, replacing
from formalbench.store import read_record, weights_path

INDEX = "index.json"


VERSION = 1


MAX_BYTES = 32 << 20
"""Maximum bytes of stored weights: 8 million parameters, twice the largest model of the papers."""


MAX_FILES = 100_000
"""Maximum number of members in an archive."""


_WEIGHTS = re.compile(r"([0-9a-f]{64})\.safetensors")


_IDENTITY = re.compile(r"[0-9a-f]{16}")


def read_weights(record: Record, path: Path) -> bytes:
    """Return the contents of a run's weights file, verified by the record's hash."""
    if record.weights is None:
        raise RequestError(f"run {record.test_id} has no weights: train it again")
    packed = read_plain(path, MAX_BYTES, "a run's weights")
    digest = hashlib.sha256(packed).hexdigest()
    if digest != record.weights:
        raise RequestError(
            f"{path}: not the weights of run {record.test_id}: its SHA-256 is {digest[:16]}…, "
            f"the record's {record.weights[:16]}…"
        )
    return packed


class _Member(tarfile.TarInfo):
    """A header of an archive; reading refuses headers that `write_archive` never writes.

    Links, devices, folders, headers that change the next one, and sizes that are negative or too
    large are refused here, before tarfile acts on them.
    """

    @classmethod
    def frombuf(cls, buf: bytes | bytearray, encoding: str, errors: str) -> Self:
        info = super().frombuf(buf, encoding, errors)
        valid = info.name == INDEX or _WEIGHTS.fullmatch(info.name)
        if not valid or info.type not in (tarfile.REGTYPE, tarfile.AREGTYPE):
            raise RequestError(f"{info.name!r:.100} in it is neither weights nor their index")
        if not 0 <= info.size <= MAX_BYTES:
            raise RequestError(f"{info.name} in it has {info.size} bytes: more than weights can")
        return info


def write_archive(path: Path, named: Mapping[str, str], read: Callable[[str], bytes]) -> None:
    """Write an archive; the same weights of the same records give the same bytes.

    Args:
        path: the archive.
        named: the SHA-256 of each record's weights, by its ``test_id``.
        read: returns weights by their SHA-256.

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
    """An archive opened for reading.

    Attributes:
        path: the file.
        index: the SHA-256 of each record's weights, by its ``test_id``; not verified.

    Raises:
        RequestError: one line, if the file is not an archive of weights.
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
            RequestError: one line, if the contents of the member have another SHA-256.
        """
        contents = self._contents(f"{sha256}.safetensors")
        digest = hashlib.sha256(contents).hexdigest()
        if digest != sha256:
            raise RequestError(f"{self.path}: {sha256}.safetensors in it has SHA-256 {digest}")
        return contents

    def _contents(self, name: str) -> bytes:
        offset, size = self._places[name]
        with self.path.open("rb") as file:
            file.seek(offset)
            return file.read(size)


def _places(tar: tarfile.TarFile) -> dict[str, tuple[int, int]]:
    """Return the offset and the size in bytes of each member, by its name."""
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
    """Parse an index.

    Raises:
        RequestError: if it is not a valid index.
        ValueError: if it is not JSON.
    """
    try:
        data = json.loads(text)
    except RecursionError:
        raise RequestError(f"{INDEX} is too deep") from None
    version = data.get("schema_version") if isinstance(data, dict) else None
    weights = data.get("weights") if isinstance(data, dict) else None
    if version != VERSION or not isinstance(weights, dict):
        raise RequestError(f"{INDEX} is not of version {VERSION}")
    for identity, sha256 in weights.items():
        valid = isinstance(sha256, str) and _WEIGHTS.fullmatch(f"{sha256}.safetensors")
        if not valid or not _IDENTITY.fullmatch(identity):
            raise RequestError(f"{INDEX} names {identity!r:.50} and {sha256!r:.100}")
    return weights


class WeightLookup:
    """The weights in some archives and folders, looked up by their SHA-256.

    Args:
        places: archives, and folders of records with weights beside them; weights are read from
            the first place that has them.

    Raises:
        RequestError: one line, for a path that is neither an archive nor a folder.
    """

    def __init__(self, places: Iterable[Path] = ()) -> None:
        self.places = tuple(places)
        self.archives: list[Archive] = []
        self._readers: dict[str, Callable[[], bytes]] = {}
        for place in self.places:
            if place.is_dir():
                readers = _folder_weights(place)
            elif place.is_file():
                self.archives.append(archive := Archive(place))
                readers = {name: partial(archive.read, name) for name in archive.index.values()}
            else:
                raise RequestError(f"{place}: not a folder and not an archive of weights")
            self._readers = dict(readers) | self._readers

    def __contains__(self, record: Record) -> bool:
        return record.weights in self._readers

    def read(self, record: Record) -> bytes:
        """Return a run's weights, verified by the hash in its record.

        Raises:
            RequestError: one line, if they are missing or have another hash.
        """
        if record.weights is None or record not in self:
            raise RequestError(f"the weights of run {record.test_id} were not found")
        return self._readers[record.weights]()


def _folder_weights(folder: Path) -> Mapping[str, Callable[[], bytes]]:
    """Return functions that read the weights in a folder, by the SHA-256 in their records."""
    readers: dict[str, Callable[[], bytes]] = {}
    for file in sorted(folder.rglob("*.safetensors")):
        path = file.with_suffix(".json")
        with contextlib.suppress(RequestError):  # the record is missing or unreadable
            record = read_record(path)
            if isinstance(record, Record) and record.weights and weights_path(path) == file:
                readers.setdefault(record.weights, partial(read_weights, record, file))
    return readers
