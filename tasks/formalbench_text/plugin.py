"""The entry module: what this package provides, as static data."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from formalbench import (
    ObjectiveSpec,
    ProtocolSpec,
    Splits,
    TaskSpec,
    hookimpl,
)

if TYPE_CHECKING:
    import typer

_HERE = Path(__file__).parent

_TINY = TaskSpec(
    name="tiny",
    version=1,
    summary="a few pages of English on this suite's own matters, as bytes: to try things out on",
    factory="formalbench_text.tiny:build",
    objectives=("causal-lm", "masked-lm"),
    splits=Splits(train=(32, 32), test=(32, 512)),
    keywords=("language modelling",),
)


@hookimpl
def formalbench_tasks() -> Iterable[TaskSpec]:
    """Announce the corpus that comes with the suite."""
    yield _TINY


@hookimpl
def formalbench_objectives() -> Iterable[ObjectiveSpec]:
    """Announce the objectives."""
    yield ObjectiveSpec(
        "causal-lm",
        "which token comes next? The test asks for the last one of each window",
        "formalbench_text.objectives.causal_lm:CausalLM",
        reference="Chi et al. (2023), section 6",
    )
    yield ObjectiveSpec(
        "masked-lm",
        "which tokens were hidden?",
        "formalbench_text.objectives.masked_lm:MaskedLM",
        reference="Devlin et al. (2019), section 3.1; Yao et al. (2021), section 6.3",
    )


@hookimpl
def formalbench_protocols() -> Iterable[ProtocolSpec]:
    """Announce the protocol for texts."""
    yield ProtocolSpec(
        name="text-quick",
        summary="texts on a CPU: 1,000 steps of 4,096 tokens",
        path=_HERE / "protocols" / "text-quick.yaml",
    )


@hookimpl
def formalbench_read_file(path: Path) -> TaskSpec | None:
    """Take YAML files that describe a corpus (`formalbench_text.description`)."""
    if path.suffix not in (".yaml", ".yml"):
        return None
    from formalbench import read_yaml

    data = read_yaml(path)
    if "corpus" not in data:
        return None
    from formalbench_text.description import read

    return read(path, data)


@hookimpl
def formalbench_commands(app: typer.Typer) -> None:
    """Add ``formalbench corpus``."""
    from formalbench_text.commands import corpus

    app.add_typer(corpus, name="corpus")
