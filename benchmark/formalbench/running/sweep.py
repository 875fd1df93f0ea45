"""Sweeps: ``--set width=16,32`` means a group of runs for each value."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import product
from typing import TYPE_CHECKING, Any

from formalbench.host.options import ABOUT_NO_RUN, Setting, Settings

if TYPE_CHECKING:
    from formalbench.host.values import OptionTable


def sweep(
    settings: Settings,
    models: Sequence[OptionTable],
    tasks: Sequence[OptionTable],
    takes_list: Callable[[str], bool],
) -> list[Settings]:
    """Return the settings of each group of runs: every combination of the values listed.

    Args:
        settings: what was set; a value may be several with commas between them, unless the
            option takes a text or a list itself.
        models: the options of each requested model.
        tasks: the options of each requested task.
        takes_list: says whether a key of a protocol may hold several values.
    """
    tables = {"model": models, "task": tasks, "": [*models, *tasks]}
    ways = [
        [setting._replace(text=text) for text in _values(setting, tables, takes_list)]
        for setting in settings
    ]
    return list(product(*ways))


def _values(
    setting: Setting,
    tables: Mapping[str, Sequence[OptionTable]],
    takes_list: Callable[[str], bool],
) -> list[str]:
    whole = [setting.text]
    if setting.scope in ABOUT_NO_RUN or "," not in setting.text:
        return whole
    if setting.scope == "protocol":
        if takes_list(setting.key):
            return whole
    elif any(
        _takes_commas(table[setting.key]) for table in tables[setting.scope] if setting.key in table
    ):
        return whole
    return list(dict.fromkeys(part.strip() for part in setting.text.split(",")))


def _takes_commas(option: Mapping[str, Any]) -> bool:
    default = option["default"]
    return isinstance(default, tuple) or (isinstance(default, str) and not option["choices"])


def changes_of(settings: Settings) -> dict[str, str]:
    """Return what is changed of the protocol, by dotted key."""
    return {key: text for scope, key, text in settings if scope == "protocol"}
