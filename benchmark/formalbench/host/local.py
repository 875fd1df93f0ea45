"""Loading a local plugin: a Python file or a package folder, named by the user."""

from __future__ import annotations

import hashlib
import importlib.util
import os
import sys
import traceback
from collections.abc import Mapping
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType

from formalbench.contracts.errors import PLUGIN_FAILURES, BrokenPluginError, RequestError
from formalbench.host.data_files import data_hash
from formalbench.host.outdated import advice

YAML_SUFFIXES = (".yaml", ".yml")
SUFFIXES = (".py", *YAML_SUFFIXES, ".att")
"""Of the files that a folder stands for; a file with another can be named itself."""


def plugin_files(path: Path, named_by: str = "--plugin") -> list[Path]:
    """Return the plugins a path stands for.

    A file or a package (a folder with ``__init__.py``) is one plugin; any other folder
    stands for the files right inside it that have one of `SUFFIXES`.

    Args:
        path: of the plugin.
        named_by: the option or the variable that names it, for errors.

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


def content_hash(path: Path) -> str:
    """Return the SHA-256 of a file, or of the names and contents of a package's files.

    That of a YAML file is also of the data files that it names.
    """
    try:
        if path.suffix in YAML_SUFFIXES and path.is_file():
            return data_hash(path)
        if path.is_file():
            return hashlib.sha256(path.read_bytes()).hexdigest()
        files = (file for file in path.rglob("*") if "__pycache__" not in file.parts)
        return package_hash({f.relative_to(path): f.read_bytes() for f in files if f.is_file()})
    except OSError as error:
        raise RequestError(f"--plugin {path}: {error.strerror}") from None


def package_hash(files: Mapping[Path, bytes]) -> str:
    """Return the SHA-256 of the contents of files, by their paths below a folder."""
    digest = hashlib.sha256()
    for path in sorted(files):
        digest.update(path.as_posix().encode() + b"\0")
        digest.update(hashlib.sha256(files[path]).digest())
    return digest.hexdigest()


def import_local(path: Path, sha256: str) -> ModuleType:
    """Import a Python plugin under a module name of its own.

    The name holds a hash of path and contents, so that two files called ``model.py`` do not
    meet; it stands in `sys.modules` before the code runs, because dataclasses look there.

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
        _execute(module, spec, init)
    except BaseException as error:
        for loaded in [key for key in sys.modules if key.split(".")[0] == name]:
            del sys.modules[loaded]
        if isinstance(error, PLUGIN_FAILURES):
            raise BrokenPluginError(broken(path, error)) from None
        raise
    return module


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
    """Say what is wrong with a plugin: one line for its syntax, else its own frames only."""
    if isinstance(error, SyntaxError):
        return f"{error.filename or path}:{error.lineno}: {type(error).__name__}: {error.msg}"
    if outdated := advice(error):
        return f"plugin {path}: {outdated}"
    inside = [
        frame
        for frame in traceback.extract_tb(error.__traceback__)
        if Path(frame.filename).resolve().is_relative_to(path)
    ]
    frames = "".join(traceback.format_list(inside)).rstrip()
    last = " ".join(str(error).split())
    head = f"plugin {path} is broken"
    return "\n".join(filter(None, [head, frames, f"{type(error).__name__}: {last}"]))
