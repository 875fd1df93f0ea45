"""A plugin: its files, their hash, and its import.

In the part ``data`` of a YAML plugin, values under ``strings``, ``labels`` and ``outputs`` are
files relative to the plugin's folder. The plugin's hash, and thus the id of a run, includes their
contents. In ``corpus`` and ``pairs``, ``file`` is a file whose hash is given next to it.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib.util
import os
import sys
import traceback
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.machinery import ModuleSpec, PathFinder
from itertools import chain
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from formalbench.contracts.errors import PLUGIN_FAILURES, BrokenPluginError, RequestError, unknown
from formalbench.files import read_plain, read_yaml

if TYPE_CHECKING:
    from formalbench.contracts.record import Origin


SESSION = Path("(session)")
"""The path of a class that exists only in this Python session, such as in a notebook."""


@dataclass(frozen=True, slots=True)
class LocalPlugin:
    """Location and hash of a local plugin, passed to worker processes.

    Attributes:
        path: file or package; `SESSION` for a class of this Python session.
        sha256: hash of its contents, or of the class's source and the values that it uses.
        attribute: name of a plain class, in a package after its module: ``module.Mine``. Empty for
            a plugin with hooks.
    """

    path: Path
    sha256: str
    attribute: str = ""

    @property
    def named(self) -> Path:
        """The plugin's argument for ``--plugin``, with only the file's name, as in records."""
        return Path(f"{self.path}:{self.attribute}") if self.attribute else self.path

    @property
    def is_code(self) -> bool:
        """Whether it is Python code (not a data file)."""
        return self.path.suffix == ".py" or self.path.is_dir()


@dataclass(slots=True)
class Plugin:
    """A plugin known to the host, loaded or broken.

    Attributes:
        name: the entry point's name, or the local file's.
        distribution: its installed distribution; for a local plugin, the path.
        version: distribution's version; empty for a local plugin.
        module: the registered module; None if it could not be loaded.
        local: set for a local plugin.
        error: one line, if it is broken.
        provides: number of announced specs of each kind.
        reader: the plugin that reads it, if it is a file in a plugin's format.
        noted: whether it was not loaded in this process, so that its contents are unknown.
    """

    name: str
    distribution: str
    version: str
    module: Any = None
    local: LocalPlugin | None = None
    error: str = ""
    provides: dict[str, int] = field(default_factory=dict)
    reader: Plugin | None = None
    noted: bool = False

    @property
    def source(self) -> Origin:
        """The origin of the plugin's code in records."""
        from formalbench.contracts.record import Origin

        if self.local:
            return Origin(distribution=self.local.path.name, sha256=self.local.sha256)
        return Origin(distribution=self.distribution, version=self.version)

    def describe(self) -> str:
        """Return the plugin's origin for error messages."""
        if self.local:
            return str(self.local.named)
        return f"{self.distribution} {self.version}".strip()


DATA = "data"


FILES = ("strings", "labels", "outputs")


TEXTS = ("corpus", "pairs")


TEXT_FILES = ("file",)


MAX_BYTES = 1 << 30
"""Maximum bytes of a file."""


def data_files(path: Path) -> list[Path]:
    """Return the data files of a YAML plugin without repeats; none if it cannot be read."""
    texts = (_files_of(path, part, TEXT_FILES) for part in TEXTS)
    return [*_files_of(path, DATA, FILES), *chain.from_iterable(texts)]


def data_hash(path: Path) -> str:
    """Return the SHA-256 of a YAML plugin and its data files.

    An unreadable data file does not raise here; reading it later reports the error.

    Raises:
        OSError: if the plugin itself cannot be read.
    """
    own = hashlib.sha256(path.read_bytes())
    files = _files_of(path, DATA, FILES)
    if not files:
        return own.hexdigest()
    digest = hashlib.sha256(own.digest())
    for file in files:
        try:
            digest.update(hashlib.sha256(read_plain(file, MAX_BYTES)).digest())
        except RequestError:
            digest.update(b"unreadable")
    return digest.hexdigest()


def _files_of(path: Path, part: str, keys: Collection[str]) -> list[Path]:
    try:
        names = _file_names(read_yaml(path).get(part), keys)
        return list(dict.fromkeys(path.parent / name for name in names))
    except RequestError:  # loading it reports the error
        return []


def _file_names(value: Any, keys: Collection[str]) -> Iterator[str]:
    if isinstance(value, dict):
        for key, inner in value.items():
            if key in keys and isinstance(inner, str):
                if inner.isprintable():  # only text can be a file's name
                    yield inner
            else:
                yield from _file_names(inner, keys)
    elif isinstance(value, list):
        for inner in value:
            yield from _file_names(inner, keys)


YAML_SUFFIXES = (".yaml", ".yml")


SUFFIXES = (".py", *YAML_SUFFIXES, ".att")
"""Suffixes of plugins in a folder; other files can only be named directly."""


MOST_FILES = 1000
"""Maximum files of a package with a model class; all are read for the hash."""


def plugin_files(path: Path, named_by: str = "--plugin") -> list[Path]:
    """Return the plugins at a path.

    A file or a package (a folder with ``__init__.py``) is one plugin; in any other folder, each
    file directly inside with one of `SUFFIXES` is one.

    Raises:
        RequestError: if there is nothing that can be a plugin.
    """
    if not path.is_file() and not path.is_dir():
        raise RequestError(f"{named_by} {path}: no such file or folder")
    if path.is_dir() and not (path / "__init__.py").is_file():
        inside = sorted(
            file
            for file in path.iterdir()
            if file.suffix in SUFFIXES and not file.name.startswith("test_")
        )
        if not inside:
            raise RequestError(f"{named_by} {path}: the folder holds no .py or .yaml file")
        return [file.resolve() for file in inside]
    return [path.resolve()]


def find_plugins(path: Path, named_by: str = "--plugin") -> list[LocalPlugin]:
    """Return the plugins at a path, or the plain class ``mine.py:Mine``.

    Before the colon there may also be a module name (``package.module``), which is searched in the
    working directory and on Python's path.
    """
    before, colon, name = str(path).rpartition(":")
    if not colon or path.exists() or not all(map(str.isidentifier, name.split("."))):
        return [LocalPlugin(file, content_hash(file)) for file in plugin_files(path, named_by)]
    if Path(before).exists() or "/" in before or before.endswith(".py"):
        files = plugin_files(Path(before), named_by)
        if len(files) > 1:
            inside = ", ".join(f"{file.name}:{name}" for file in files[:3])
            raise RequestError(
                f"{named_by} {path}: the folder has several files: name one, as in {inside}"
            )
        (file,) = files
    elif (module := find_module(before)) is None:
        raise RequestError(f"{named_by} {path}: there is no file or module {before}")
    else:
        file, name = module[0], ".".join((*module[1], name))
    local = LocalPlugin(file, content_hash(file), name)
    if not local.is_code:
        raise RequestError(f"{named_by} {path}: a class is in a .py file or a package")
    return [local]


def find_module(name: str) -> tuple[Path, list[str]] | None:
    """Find the file of a module without importing it.

    Returns:
        Its file or, inside a package, that package's folder and the module's name in it.
    """
    parts = name.split(".")
    search: Sequence[str] | None = ["", *sys.path]
    for index in range(len(parts)):
        spec = PathFinder.find_spec(".".join(parts[: index + 1]), search)
        if spec is None:
            return None
        if spec.origin is None:  # a namespace package
            search = spec.submodule_search_locations
            continue
        file = Path(spec.origin).resolve()
        inside = parts[index + 1 :]
        if file.name == "__init__.py":
            files = sum(1 for _ in file.parent.rglob("*"))
            if files > MOST_FILES:
                raise RequestError(
                    f"package {name} has {files} files, too many to be a model's code: "
                    "import it in a file of your own, and name a class of that"
                )
            return file.parent, inside
        return None if inside or file.suffix != ".py" else (file, [])
    return None


def content_hash(path: Path) -> str:
    """Return the SHA-256 of a file, or of names and contents of a package's files (`is_source`).

    For a YAML file it includes its data files.
    """
    try:
        if path.suffix in YAML_SUFFIXES and path.is_file():
            return data_hash(path)
        if path.is_file():
            return hashlib.sha256(path.read_bytes()).hexdigest()
        files = {file.relative_to(path): file for file in path.rglob("*") if file.is_file()}
        return package_hash({at: files[at].read_bytes() for at in files if is_source(at)})
    except OSError as error:
        raise RequestError(f"--plugin {path}: {error.strerror}") from None


def is_source(path: Path) -> bool:
    """Return whether a file counts as part of a package, by its path below the package's folder.

    Hidden files and those in hidden folders do not, since tools write them.
    """
    return not any(part == "__pycache__" or part.startswith(".") for part in path.parts)


def package_hash(files: Mapping[Path, bytes]) -> str:
    """Return the SHA-256 of paths below a folder and contents of files."""
    digest = hashlib.sha256()
    for path in sorted(files):
        digest.update(path.as_posix().encode() + b"\0")
        digest.update(hashlib.sha256(files[path]).digest())
    return digest.hexdigest()


def import_local(path: Path, sha256: str, *, named: bool = False) -> ModuleType:
    """Import a Python plugin under a unique module name.

    The name contains a hash of path and contents, so that two files called ``model.py`` do not
    conflict. It is in `sys.modules` before the code runs, because dataclasses need it.

    Args:
        path: of a file, or of a package's folder.
        sha256: of its contents.
        named: whether a package's modules can import each other by its name, too.

    Raises:
        BrokenPluginError: if it cannot be imported.
    """
    identity = os.fsencode(path) + sha256.encode()
    name = f"formalbench_local_{hashlib.sha256(identity).hexdigest()[:16]}"
    if name in sys.modules:
        return sys.modules[name]
    init = path / "__init__.py" if path.is_dir() else path
    search = [str(path)] if path.is_dir() else None
    spec = importlib.util.spec_from_file_location(name, init, submodule_search_locations=search)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        with _package_names(path, module) if named else contextlib.nullcontext():
            _execute(module, spec, init)
    except BaseException as error:
        for loaded in [key for key in sys.modules if key.split(".")[0] == name]:
            del sys.modules[loaded]
        if isinstance(error, PLUGIN_FAILURES):
            raise BrokenPluginError(broken(path, error)) from None
        raise
    return module


def import_class(local: LocalPlugin) -> object:
    """Import the plugin's module or, if it names one, its class."""
    module = import_local(local.path, local.sha256, named=True)
    *modules, name = local.attribute.split(".")
    with _package_names(local.path, module):
        for part in modules:
            try:
                module = importlib.import_module(f"{module.__name__}.{part}")
            except PLUGIN_FAILURES as error:
                raise BrokenPluginError(broken(local.path, error)) from None
    if not hasattr(module, name):
        kinds = (key for key, value in vars(module).items() if isinstance(value, type))
        raise unknown(f"class of {local.path}", name, kinds)
    return getattr(module, name)


@contextlib.contextmanager
def _package_names(path: Path, package: ModuleType) -> Iterator[None]:
    """Let a package's modules import each other by its name while they are imported."""
    if not path.is_dir() or path.name in sys.modules:
        yield
        return
    sys.modules[path.name] = package
    before, sys.dont_write_bytecode = sys.dont_write_bytecode, True
    try:
        yield
    finally:
        sys.dont_write_bytecode = before
        for key in [key for key in sys.modules if key.split(".")[0] == path.name]:
            del sys.modules[key]


def _execute(module: ModuleType, spec: ModuleSpec, init: Path) -> None:
    # Compiled here and not by the import system, which would write __pycache__ beside
    # the user's file and could run bytecode that is older than the contents we hashed.
    code = compile(init.read_bytes(), str(init), "exec", dont_inherit=True)
    before, sys.dont_write_bytecode = sys.dont_write_bytecode, True  # for a package's modules
    try:
        exec(code, module.__dict__)  # noqa: S102  # the user named this file as a plugin
    finally:
        sys.dont_write_bytecode = before


def broken(path: Path, error: BaseException) -> str:
    """Describe a plugin's error: one line for a syntax error, else only the plugin's frames."""
    if isinstance(error, SyntaxError):
        return f"{error.filename or path}:{error.lineno}: {type(error).__name__}: {error.msg}"
    inside = [
        frame
        for frame in traceback.extract_tb(error.__traceback__)
        if Path(frame.filename).resolve().is_relative_to(path)
    ]
    frames = "".join(traceback.format_list(inside)).rstrip()
    last = " ".join(str(error).split())
    head = f"plugin {path} is broken"
    return "\n".join(filter(None, [head, frames, f"{type(error).__name__}: {last}"]))
