"""Where weights are looked for: in archives, and beside the records in folders."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path

from formalbench.contracts.errors import RequestError
from formalbench.contracts.record import Record
from formalbench.store.archive import Archive
from formalbench.store.records import read_record, weights_path


class AtHand:
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
                raise RequestError(f"{place}: neither a folder nor an archive of weights")
            self._read = dict(found) | self._read

    def __contains__(self, record: Record) -> bool:
        return record.weights in self._read

    def read(self, record: Record) -> bytes:
        """Return a run's weights, held to the hash in its record.

        Raises:
            RequestError: one line, if they are not at hand, or are others.
        """
        if record.weights is None or record not in self:
            raise RequestError(f"the weights of run {record.test_id} are not at hand")
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
