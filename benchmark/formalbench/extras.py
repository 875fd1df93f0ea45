"""Packages that only some requests need: an extra of the distribution installs them."""

from __future__ import annotations

from importlib.util import find_spec

from formalbench.contracts.errors import MissingPackageError


def need_package(asked: str, package: str, extra: str) -> None:
    """Refuse what was asked for, if its package is not installed.

    Args:
        asked: what needs it, as people wrote it: ``--tracker wandb``.
        package: the name it is imported by.
        extra: what installs it.

    Raises:
        MissingPackageError: saying what to install.
    """
    if find_spec(package) is None:
        raise MissingPackageError(
            f"{asked} needs the package {package}: pip install 'formalbench[{extra}]'"
        )
