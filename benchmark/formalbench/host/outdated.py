"""Plugins that were written for an earlier formalbench: one line that says what to change."""

from __future__ import annotations

import re
from collections.abc import Mapping

_ADVICE: tuple[tuple[str, str], ...] = (
    (
        r"cannot import name 'Option' from 'formalbench\.contracts\.specs'"
        r"|(Model|Task)Spec\.__init__\(\) got an unexpected keyword argument 'options'",
        "Option is now formalbench.option, in a formalbench.Config that the spec names",
    ),
    (
        r"formalbench_read_yaml",
        "formalbench_read_yaml(path, data) is now formalbench_read_file(path), "
        "with formalbench.read_yaml",
    ),
    (
        r"cannot import name 'get_objective' from 'formalbench\.objectives'",
        "an objective is announced by formalbench_objectives",
    ),
    (
        r"cannot import name 'Corpus' from 'formalbench\.contracts\.language'",
        "Corpus is now formalbench.Strings",
    ),
    (
        r"No module named 'formalbench\.contracts\.(closes|close_brackets)'",
        "what is counted of brackets is now a formalbench.Metric",
    ),
    (
        r"No module named 'formalbench\.(plan|execute|work|weights|evaluation\.(kept|probes)"
        r"|training\.(control|optimiser|resume|strings))'"
        r"|cannot import name '(Value|Language|Splits)' from 'formalbench\.",
        "the engine's files have moved: import from formalbench itself",
    ),
    (
        r"'Task' object has no attribute 'language(_name)?'",
        "task.language is now task.source, and task.language_name is task.source_name",
    ),
    (
        r"'(RunInfo|Record)' object has no attribute 'run_id'",
        "run_id is now train_id (what was trained) and test_id (and tested)",
    ),
    (
        r"'Progress' object has no attribute '(error|validation)'",
        "progress.error is now progress.metrics['train/error'], and those of a validation "
        "are progress.metrics['validation/NAME']",
    ),
    (
        r"has the attribute \w+, which its traits should say",
        "accepts_padding, vmappable, lengths, constants and the like are now fields of "
        "formalbench.Traits",
    ),
)
"""What an error of such a plugin looks like, and what to say of it."""

LOOSE_TRAITS = ("accepts_padding", "vmappable", "cpu_cohort")
"""Attributes of a network that are said in its `Traits` now, and would be overlooked."""

COMMON_TRAITS = {"lengths": tuple, "constants": Mapping, "description": Mapping}
"""Likewise, where a network has no traits and they are what they were: their names are common."""


def advice(error: BaseException) -> str:
    """Return what to change in a plugin that failed so; empty if it is not its age."""
    text = f"{type(error).__name__}: {error}"
    for pattern, what in _ADVICE:
        if re.search(pattern, text):
            return f"it was written for formalbench 0.2: {what} (docs/plugins.md)"
    return ""


def check_network(network: object) -> None:
    """Refuse a network that says what it is in the way of earlier versions.

    Raises:
        TypeError: of a kind that `advice` knows.
    """
    found = [name for name in LOOSE_TRAITS if hasattr(network, name)]
    if not hasattr(network, "traits"):
        common = COMMON_TRAITS.items()
        found += [name for name, kind in common if isinstance(getattr(network, name, None), kind)]
    if found:
        kind = type(network).__name__
        raise TypeError(f"{kind} has the attribute {found[0]}, which its traits should say")
