"""The regular languages that come as YAML files, announced without reading the files.

`regular/index.json` holds what a listing says of each; a file is read when its language is asked
for. After a change to a file, ``python -m formalbench_tasks.automata.index`` writes the index
again, and a test compares it with the files.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from formalbench import Splits, TaskSpec, Theory

if TYPE_CHECKING:
    from formalbench.contracts.source import Language


FOLDER = Path(__file__).parents[1] / "regular"


INDEX = FOLDER / "index.json"


@dataclass(frozen=True, slots=True)
class LanguageFile:
    """A factory that reads a file.

    Attributes:
        path: a YAML file as `formalbench_tasks.automata.language_file` reads it.
    """

    path: Path

    def __call__(self) -> Language:
        """Return the language of the file."""
        factory = _read(self.path).factory
        assert callable(factory)
        language: Language = factory()
        return language


def announce() -> tuple[TaskSpec, ...]:
    """Return the specs of all files, as the index has them."""
    return tuple(
        TaskSpec(
            name=name,
            version=facts["version"],
            summary=facts["summary"],
            factory=LanguageFile(FOLDER / f"{name}.yaml"),
            objectives=tuple(facts["objectives"]),
            splits=Splits(tuple(facts["train"]), tuple(facts["test"]), facts["step"]),
            reference=facts["reference"],
            theory=Theory.least(facts["class"]),
            keywords=tuple(facts["keywords"]),
        )
        for name, facts in json.loads(INDEX.read_text(encoding="utf-8")).items()
    )


def index() -> dict[str, Any]:
    """Return what the index has to hold, by name: read from the files, and worked out."""
    from formalbench import theory_of

    found = {}
    for path in sorted(FOLDER.glob("*.yaml")):
        spec = _read(path)
        theory = theory_of(LanguageFile(path)())
        assert theory is not None
        assert theory.note == "", f"{path.name}: {theory.note}"
        found[spec.name] = {
            "version": spec.version,
            "summary": spec.summary,
            "reference": spec.reference,
            "keywords": list(spec.keywords),
            "objectives": list(spec.objectives),
            "train": list(spec.splits.train),
            "test": list(spec.splits.test),
            "step": spec.splits.step,
            "class": theory.finest,
        }
    return found


def _read(path: Path) -> TaskSpec:
    from formalbench import read_yaml

    from formalbench_tasks.automata.language_file import read

    return read(path, read_yaml(path))


if __name__ == "__main__":
    INDEX.write_text(json.dumps(index(), indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
