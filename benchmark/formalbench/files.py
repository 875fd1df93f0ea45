"""Read untrusted files safely, read YAML strictly, and write files atomically."""

from __future__ import annotations

import contextlib
import hashlib
import os
import platform
import shutil
import stat
import tempfile
import time
from collections.abc import Hashable, Iterator
from pathlib import Path
from typing import IO, Any

from formalbench.contracts.errors import RequestError, UnwritableError


def read_plain(path: Path, limit: int, what: str = "") -> bytes:
    """Read a regular file of at most `limit` bytes; `what` is its expected content, for errors.

    Links, devices and pipes are errors. The type is checked before and after opening, because it
    may change in between. At most `limit` bytes are read, even if the file claims to be smaller.

    Raises:
        RequestError: one line.
    """
    try:
        check_regular(path)
        flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
        with os.fdopen(os.open(path, flags | getattr(os, "O_BINARY", 0)), "rb") as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise RequestError(f"{path}: not a plain file")
            contents = file.read(limit + 1)
    except OSError as error:
        raise RequestError(f"{path}: {error.strerror}") from None
    if len(contents) > limit:
        hint = f", so not {what}" if what else ""
        raise RequestError(f"{path}: larger than {limit} bytes{hint}")
    return contents


def check_regular(path: Path) -> None:
    """Check that a path is a regular file.

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
    """Check that a file may be written here: not over a device, a pipe, or a link to one."""
    try:
        kind = path.lstat().st_mode
        if stat.S_ISLNK(kind):
            own = not path.parent.resolve().is_relative_to("/dev")  # /dev/stdout is a link
            kind = path.stat().st_mode if path.exists() and own else stat.S_IFREG * own
    except OSError:
        return  # it does not exist, or writing will report the error
    if not stat.S_ISREG(kind) and not stat.S_ISDIR(kind):
        raise RequestError(f"cannot write {path}: not a plain file")


UNFINISHED = ".writing-"
"""Prefix of the names of unfinished files and folders."""


ABANDONED = 3600
"""Seconds without a write after which an unfinished file counts as abandoned."""


def write_atomically(path: Path, contents: str | bytes) -> None:
    """Write a file atomically: readers see the old or the new contents.

    Raises:
        UnwritableError: one line, if it cannot be written.
    """
    with replacing(path) as file:
        file.write(contents.encode() if isinstance(contents, str) else contents)


@contextlib.contextmanager
def replacing(path: Path) -> Iterator[IO[bytes]]:
    """Open a temporary file that replaces `path` atomically when it is complete."""
    check_replaceable(path)
    temporary: Path | None = None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(
            dir=path.parent, prefix=unfinished_prefix(), delete=False
        ) as file:
            temporary = Path(file.name)
            yield file
            file.flush()
            os.fsync(file.fileno())
        temporary.chmod(0o644)
        temporary.replace(path)
    except BaseException as error:  # also after Ctrl-C
        if temporary is not None:
            with contextlib.suppress(OSError):
                temporary.unlink()
        if isinstance(error, OSError):
            raise UnwritableError(f"cannot write {path}: {error.strerror}") from None
        raise


def sweep(folder: Path, *, below: bool = True, age: float = ABANDONED) -> None:
    """Delete abandoned unfinished files and folders in a folder, and `below` it."""
    for path in [*(folder.rglob if below else folder.glob)(f"{UNFINISHED}*")]:
        delete_abandoned(path, age)


def delete_abandoned(path: Path, age: float) -> None:
    """Delete an unfinished file or folder unless a process may still be writing to it.

    Args:
        path: its name begins with the writer's `unfinished_prefix`.
        age: seconds since the last write after which it is deleted in any case. If its writer ran
            on this machine and has ended, it is deleted immediately.
    """
    with contextlib.suppress(OSError):
        modified = max(file.lstat().st_mtime for file in (path, *path.rglob("*")))
        if time.time() - modified <= age and not _writer_is_gone(path.name):
            return
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink()


def unfinished_prefix() -> str:
    """Return the prefix of this process's unfinished files and folders."""
    return f"{UNFINISHED}{_own_mark()}{os.getpid()}-"


def _own_mark() -> str:
    """Return the part of unfinished names that identifies this machine."""
    return hashlib.sha256(platform.node().encode()).hexdigest()[:8] + "-"


def _writer_is_gone(name: str) -> bool:
    """Return whether an unfinished file's writer ran on this machine and has ended."""
    pid = name.removeprefix(UNFINISHED + _own_mark()).partition("-")[0]
    if not pid.isdecimal() or os.name != "posix":
        return False
    try:
        os.kill(int(pid), 0)
    except ProcessLookupError:
        return True
    except (OSError, OverflowError):  # another user's process, or an invalid number
        return False
    else:
        return False


MAX_BYTES = 1_000_000


MAX_NODES = 100_000
"""Maximum keys, values, lists and mappings of a YAML file; each takes about 50 microseconds."""


MAX_KEYS = 1_000
"""Maximum top-level keys of a YAML file; each unknown one is compared with every known one."""


def read_yaml(path: Path | str) -> dict[str, Any]:
    """Read a YAML file with one mapping.

    Aliases (which can expand a small file enormously) and duplicate keys are errors.

    Raises:
        RequestError: one line that names the file and, where known, the line in it.
    """
    path = Path(path)
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
    """Parse YAML text with one mapping; `name` is used in errors."""
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
                    break  # yaml reports the place
                if key in seen:
                    mark = key_node.start_mark
                    raise ConstructorError(None, None, f"key {key!r} is given twice", mark)
                seen.add(key)
            return super().construct_mapping(node, deep=deep)

    return StrictLoader
