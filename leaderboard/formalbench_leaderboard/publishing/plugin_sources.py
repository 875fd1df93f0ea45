"""The sources of local plugins, published with the records that they made.

A record names a local plugin by the SHA-256 of its contents. Nobody can test its network again
without the sources, so they are stored in ``leaderboard/plugins/<sha256>/<name>``. Here they are
only data: their hash and size are checked, and they run only if the user names them with
``--plugin``.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from formalbench.contracts.errors import RequestError
from formalbench.contracts.record import Record
from formalbench.contracts.verification import AnyRecord
from formalbench.files import read_plain
from formalbench.host import LocalPlugin, PluginHost
from formalbench.host.plugin import data_files, is_source, package_hash
from formalbench.statistics.records import plugin_files

FOLDER = Path("leaderboard", "plugins")


MAX_BYTES = 1_000_000
"""Maximum total size of a plugin's files."""


MAX_FILES = 100


_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.+=-]{0,119}")


_SHA256 = re.compile(r"[0-9a-f]{64}")


def named_by(record: AnyRecord, host: PluginHost) -> list[LocalPlugin]:
    """Return the local plugins that a record names."""
    hashes, names = _hashes(record), plugin_files(record.command)
    return [one for one in host.locals() if one.sha256 in hashes or one.named.name in names]


def plugin_contents(local: LocalPlugin) -> dict[Path, bytes]:
    """Return the files of a local plugin to publish, by their paths below the repository's root.

    Raises:
        RequestError: one line, if its name is not valid, or it is too large, has files that are not
            plain files, has changed, or reads data files. Data files are never published, and
            nobody could test the network without them.
    """
    if not local.is_code and data_files(local.path):
        raise RequestError(f"{local.path}: its data is not published, so no record of it can be")
    if not _NAME.fullmatch(local.path.name):
        raise RequestError(f"{local.path.name!r:.100} is no name for a published plugin")
    files = _read(local.path)
    if _hash(files) != local.sha256:
        raise RequestError(f"plugin {local.path} changed while it was in use: start again")
    return {FOLDER / local.sha256 / file: contents for file, contents in files.items()}


def kept_problems(repository: Path, records: Mapping[Path, AnyRecord]) -> Iterator[str]:
    """Return the sources that are missing, do not match their path or belong to no record.

    Returns:
        A line for each.
    """
    folder, stored = repository / FOLDER, set()
    names = {name for one in records.values() for name in plugin_files(one.command)}
    by_record = {file: _hashes(record) for file, record in records.items()}
    all_hashes = {sha256 for hashes in by_record.values() for sha256 in hashes}
    for place in sorted(folder.iterdir()) if folder.is_dir() else ():
        try:
            name = _check_source(place)
        except RequestError as error:
            yield str(error)
            continue
        stored.add(place.name)
        if place.name not in all_hashes and name not in names:
            yield f"{place}: the source of no published record"
    for file, hashes in by_record.items():
        if missing := sorted(hashes - stored):
            yield f"{file}: of a plugin whose source is not in {FOLDER / missing[0]}"


def _hashes(record: AnyRecord) -> set[str]:
    """Return the SHA-256 of every local plugin that a record names."""
    hashes = {one.source.sha256 for one in (record.model, record.task)}
    code = (isinstance(record, Record) and record.code) or {}
    hashes |= {text.split()[0] for text in code.values() if _SHA256.match(text)}
    return hashes - {""}


def _check_source(place: Path) -> str:
    """Check that a folder contains exactly the plugin of its name; return the plugin's name."""
    if place.is_symlink() or not place.is_dir() or not _SHA256.fullmatch(place.name):
        raise RequestError(f"{place}: not the folder of a plugin's source")
    files = sorted(place.iterdir())
    if len(files) != 1 or not _NAME.fullmatch(files[0].name):
        raise RequestError(f"{place}: does not hold one plugin")
    if _hash(_read(files[0])) != place.name:
        raise RequestError(f"{files[0]}: not the source that its folder is named after")
    return files[0].name


def _read(path: Path) -> dict[Path, bytes]:
    """Return a plugin's files by their paths relative to its folder, starting with its own name."""
    if path.is_symlink() or not path.is_dir():
        return {Path(path.name): read_plain(path, MAX_BYTES, "a plugin to publish")}
    files = [one for one in sorted(path.rglob("*")) if one.is_symlink() or not one.is_dir()]
    files = [one for one in files if is_source(one.relative_to(path))]
    if len(files) > MAX_FILES:
        raise RequestError(f"{path}: more than {MAX_FILES} files, too many to publish")
    result, remaining = {}, MAX_BYTES
    for file in files:
        contents = read_plain(file, MAX_BYTES, "a plugin to publish")
        remaining -= len(contents)
        if remaining < 0:
            raise RequestError(f"{path}: larger than {MAX_BYTES} bytes, too large to publish")
        result[Path(path.name) / file.relative_to(path)] = contents
    return result


def _hash(files: Mapping[Path, bytes]) -> str:
    """Return the SHA-256 of a plugin, computed as by `formalbench.host.plugin.content_hash`."""
    by_path = {Path(*path.parts[1:]): contents for path, contents in files.items()}
    if [*by_path] == [Path()]:  # a plugin of one file
        return hashlib.sha256(by_path[Path()]).hexdigest()
    return package_hash(by_path)
