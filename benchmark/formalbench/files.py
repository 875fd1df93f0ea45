"""Read files of strangers safely, YAML strictly, and write files atomically."""

from __future__ import annotations

import contextlib
import hashlib
import os
import platform
import stat
import tempfile
import time
from collections.abc import Hashable, Iterator, Mapping
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from formalbench.contracts.errors import RequestError, UnwritableError, nearest
from formalbench.contracts.names import check_name

if TYPE_CHECKING:
    from formalbench.contracts.specs import SuiteSpec


def read_plain(path: Path, limit: int, what: str = "") -> bytes:
    """Return the contents of a regular file.

    A link leads anywhere, a device never ends and a pipe waits for ever: what the name stands for
    is looked at before it is opened, and again once it is open, since it may have changed in
    between. At most `limit` bytes are read, even if the file claims to be smaller.

    Args:
        path: of the file.
        limit: the most bytes that it may have.
        what: what a larger file cannot be, as ``a record``.

    Raises:
        RequestError: one line.
    """
    try:
        check_regular(path)
        asked = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
        with os.fdopen(os.open(path, asked | getattr(os, "O_BINARY", 0)), "rb") as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise RequestError(f"{path}: not a plain file")
            contents = file.read(limit + 1)
    except OSError as error:
        raise RequestError(f"{path}: {error.strerror}") from None
    if len(contents) > limit:
        no = f", so not {what}" if what else ""
        raise RequestError(f"{path}: larger than {limit} bytes{no}")
    return contents


def check_regular(path: Path) -> None:
    """Refuse what is no regular file.

    Raises:
        RequestError: one line, if it is a link, a folder, a pipe or a device.
        OSError: if there is nothing.
    """
    kind = path.lstat().st_mode
    if stat.S_ISLNK(kind):
        raise RequestError(f"{path}: a link, and only plain files are taken")
    if not stat.S_ISREG(kind):
        raise RequestError(f"{path}: not a plain file")


def check_replaceable(path: Path) -> None:
    """Refuse to put a file in the place of a device, a pipe, or a link to what is no file.

    Raises:
        RequestError: one line.
    """
    try:
        kind = path.lstat().st_mode
        if stat.S_ISLNK(kind):
            own = not path.parent.resolve().is_relative_to("/dev")  # as /dev/stdout is a link
            kind = path.stat().st_mode if path.exists() and own else stat.S_IFREG * own
    except OSError:
        return  # there is nothing yet, or writing will say why it cannot be
    if not stat.S_ISREG(kind) and not stat.S_ISDIR(kind):
        raise RequestError(f"cannot write {path}: not a plain file")


UNFINISHED = ".writing-"
"""What the name of a file begins with until it is written."""


ABANDONED = 3600
"""Seconds after which nobody is at a file any more."""


def write_atomically(path: Path, contents: str | bytes) -> None:
    """Write a file so that a reader sees the old contents or the new, never a part.

    Raises:
        UnwritableError: one line, if it cannot be written.
    """
    with replacing(path) as file:
        file.write(contents.encode() if isinstance(contents, str) else contents)


@contextlib.contextmanager
def replacing(path: Path) -> Iterator[IO[bytes]]:
    """Open a file to be written part by part, which takes its place when all of it is.

    Raises:
        UnwritableError: one line, if it cannot be written.
    """
    check_replaceable(path)
    temporary: Path | None = None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        prefix = f"{UNFINISHED}{_own_mark()}{os.getpid()}-"
        with tempfile.NamedTemporaryFile(dir=path.parent, prefix=prefix, delete=False) as file:
            temporary = Path(file.name)
            yield file
            file.flush()
            os.fsync(file.fileno())
        temporary.chmod(0o644)
        temporary.replace(path)
    except BaseException as error:  # Ctrl-C, too, leaves nothing behind
        if temporary is not None:
            with contextlib.suppress(OSError):
                temporary.unlink()
        if isinstance(error, OSError):
            raise UnwritableError(f"cannot write {path}: {error.strerror}") from None
        raise


def sweep(folder: Path, *, below: bool = True) -> None:
    """Delete what processes that were killed left half-written in a folder.

    Another process may be writing there: only files go whose writer ran on this machine and runs
    no more, or that nobody has touched for an hour.

    Args:
        folder: that was written to.
        below: whether its subfolders are swept, too.
    """
    for file in (folder.rglob if below else folder.glob)(f"{UNFINISHED}*"):
        with contextlib.suppress(OSError):
            old = time.time() - file.lstat().st_mtime > ABANDONED
            if file.is_file() and (old or _writer_is_gone(file.name)):
                file.unlink()


def _own_mark() -> str:
    """Return what the names of unfinished files of this machine have in common."""
    return hashlib.sha256(platform.node().encode()).hexdigest()[:8] + "-"


def _writer_is_gone(name: str) -> bool:
    """Say whether the process that wrote an unfinished file ran on this machine, and has ended."""
    pid = name.removeprefix(UNFINISHED + _own_mark()).partition("-")[0]
    if not pid.isdecimal() or os.name != "posix":
        return False
    try:
        os.kill(int(pid), 0)
    except ProcessLookupError:
        return True
    except (OSError, OverflowError):  # another user's, or no number of a process
        return False
    else:
        return False


MAX_BYTES = 1_000_000


MAX_NODES = 100_000
"""Keys, values, lists and mappings in one YAML file: reading each takes some 50 microseconds."""


MAX_KEYS = 1_000
"""Of the mapping that a YAML file holds: each that is unknown is compared with every known one."""


def read_yaml(path: Path) -> dict[str, Any]:
    """Read a YAML file that holds one mapping.

    Aliases (which can blow a small file up) and keys given twice are refused.

    Raises:
        RequestError: one line that names the file and, where known, the line in it.
    """
    try:
        if path.stat().st_size > MAX_BYTES:
            raise RequestError(f"{path}: larger than {MAX_BYTES} bytes")
        text = path.read_bytes().decode("utf-8")
    except OSError as error:
        raise RequestError(f"{path}: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise RequestError(f"{path}: not UTF-8: {error.reason} at byte {error.start}") from None
    return parse_yaml(text, str(path))


def parse_yaml(text: str, name: str) -> dict[str, Any]:
    """Parse YAML text that holds one mapping; `name` stands for it in errors."""
    import yaml

    try:
        data = yaml.load(text, Loader=_loader())  # noqa: S506  # a SafeLoader, made stricter
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        place = f"{name}:{mark.line + 1}" if mark else name
        raise RequestError(f"{place}: malformed YAML: {error.problem}") from None
    except yaml.YAMLError as error:
        raise RequestError(f"{name}: malformed YAML: {' '.join(str(error).split())}") from None
    except (ArithmeticError, ValueError, RecursionError) as error:
        raise RequestError(f"{name}: malformed YAML: {error}") from None
    if not isinstance(data, dict) or not all(isinstance(key, str) for key in data):
        raise RequestError(f"{name}: the file must contain one mapping with names as keys")
    if len(data) > MAX_KEYS:
        raise RequestError(f"{name}: has {len(data)} keys: at most {MAX_KEYS}")
    return data


def _loader() -> Any:
    import yaml
    from yaml.constructor import ConstructorError

    class StrictLoader(yaml.SafeLoader):
        nodes = 0

        def compose_node(self, parent: Any, index: Any) -> Any:
            if self.check_event(yaml.AliasEvent):
                mark = self.peek_event().start_mark  # type: ignore[no-untyped-call]
                raise ConstructorError(None, None, "aliases are not allowed", mark)
            self.nodes += 1
            if self.nodes > MAX_NODES:
                mark = self.peek_event().start_mark  # type: ignore[no-untyped-call]
                problem = f"more than {MAX_NODES} keys and values in one file"
                raise ConstructorError(None, None, problem, mark)
            return super().compose_node(parent, index)

        def construct_mapping(self, node: Any, deep: bool = False) -> dict[Hashable, Any]:
            seen: set[Hashable] = set()
            for key_node, _ in node.value:
                key = self.construct_object(key_node, deep=True)
                if not isinstance(key, Hashable):
                    break  # the library tells of it
                if key in seen:
                    mark = key_node.start_mark
                    raise ConstructorError(None, None, f"key {key!r} is given twice", mark)
                seen.add(key)
            return super().construct_mapping(node, deep=deep)

    return StrictLoader


SUITE_KEYS = ("name", "version", "summary", "tasks", "protocol", "reference")


def read_suite(path: Path, data: dict[str, Any]) -> SuiteSpec:
    """Check a suite file's contents.

    Raises:
        RequestError: one line that names the file, and every key that is wrong.
    """
    from formalbench.contracts.specs import SuiteSpec

    given = {**dict.fromkeys(SUITE_KEYS, ""), "version": 1, **data}
    if problems := [*_unknown_keys(given), *_suite_mistakes(given)]:
        raise RequestError(f"{path}: not a valid suite: {'; '.join(problems)}")
    return SuiteSpec(**{**given, "tasks": tuple(given["tasks"])})


def _unknown_keys(given: Mapping[str, Any]) -> Iterator[str]:
    for key in given:
        if key not in SUITE_KEYS:
            close = nearest(key, SUITE_KEYS, count=1)
            hint = f": did you mean {close[0]}?" if close else f" (known: {', '.join(SUITE_KEYS)})"
            yield f"unknown key {key!r}{hint}"


def _suite_mistakes(given: Mapping[str, Any]) -> Iterator[str]:
    for key in ("name", "summary", "protocol", "reference"):
        if not isinstance(given[key], str) or (key == "name" and not given[key]):
            yield f"{key} must be text"
    if given["name"] and isinstance(given["name"], str):
        try:
            check_name(given["name"])
        except ValueError as error:
            yield str(error)
    tasks, version = given["tasks"], given["version"]
    if not isinstance(tasks, list) or not tasks or not all(isinstance(t, str) for t in tasks):
        yield "tasks must be a list of task names"
    if not isinstance(version, int) or isinstance(version, bool) or version < 1:
        yield "version must be a number, 1 or more"
