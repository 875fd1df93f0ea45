"""Bugs planted on purpose, one at a time: which of them do the tests catch?

    python tests/mutants/mutants.py               every mutant that has no result yet
    python tests/mutants/mutants.py --again       all of them
    python tests/mutants/mutants.py --check       only whether every mutant finds its place
    python tests/mutants/mutants.py --only models     one wing

`mutants.yaml` has, by wing, the test files that cover a place (below `tests`), the text there and
what stands in its place. The text is found wherever it is, so that it survives a move; where the
code itself changes, the line is mended by hand. Tests run in a copy of what git tracks, up to the
first failure, and the test that failed again without the bug. `results.txt` has a line for each
mutant: whether it was caught, and by which test.
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import yaml

FOLDER = Path(__file__).parent
ROOT = FOLDER.parent.parent
RESULTS = FOLDER / "results.txt"
SOURCES = ("benchmark", "tasks", "plugins", "leaderboard")
LIMIT = 900.0
"""Seconds for the tests of one mutant."""

HANGS = "tests that do not end"


@dataclass(frozen=True)
class Mutant:
    """One planted bug."""

    wing: str
    tests: tuple[str, ...]
    old: str
    new: str

    @property
    def title(self) -> str:
        """One line that names it."""
        return f"{self.wing}: {' '.join(self.old.split())} => {' '.join(self.new.split())}"

    def place(self, root: Path) -> Path:
        """Return the one file that has its text, once.

        Raises:
            ValueError: one line, if there is none, or more.
        """
        files = (file for folder in SOURCES for file in sorted((root / folder).rglob("*.py")))
        found = [(file, n) for file in files if (n := file.read_text("utf-8").count(self.old))]
        if sum(times for _, times in found) != 1:
            raise ValueError(
                f"{self.title}: stands in {[str(file) for file, _ in found]}, not once"
            )
        return found[0][0]


def mutants() -> list[Mutant]:
    """Read the table."""
    table = yaml.safe_load((FOLDER / "mutants.yaml").read_text("utf-8"))
    return [
        Mutant(wing, tuple(f"tests/{test}" for test in tests.split()), old, new)
        for wing, rows in table.items()
        for tests, old, new in rows
    ]


def first_failure(root: Path, tests: tuple[str, ...]) -> str:
    """Run tests in a copy of the repository; return the first that fails, empty if none does."""
    paths = os.pathsep.join(str(root / folder) for folder in SOURCES)
    environment = {**os.environ, "PYTHONPATH": paths, "PYTHONDONTWRITEBYTECODE": "1"}
    environment |= {"OMP_NUM_THREADS": "1"}
    words = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *tests]
    try:
        done = subprocess.run(
            words, cwd=root, env=environment, capture_output=True, text=True, timeout=LIMIT
        )
    except subprocess.TimeoutExpired:
        return HANGS
    if done.returncode == 0:
        return ""
    failed = re.search(r"^(?:FAILED|ERROR) (.+?)(?: - .*)?$", done.stdout, re.MULTILINE)
    if failed is None:
        raise RuntimeError(f"{' '.join(tests)}: {(done.stdout + done.stderr)[-2000:]}")
    return failed[1]


def copied(root: Path, folder: Path) -> None:
    """Copy what git tracks, as it is in the work tree."""
    files = subprocess.run(
        ["git", "ls-files", "-z"], cwd=root, check=True, capture_output=True, text=True
    )
    for name in filter(None, files.stdout.split("\0")):
        if (root / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes((root / name).read_bytes())


def main() -> int:
    """Plant each bug; 1 if one was not caught or finds no place."""
    form = argparse.RawTextHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=form)
    parser.add_argument("--check", action="store_true", help="look for their places, run nothing")
    parser.add_argument("--again", action="store_true", help="those that have a result, too")
    parser.add_argument("--only", default="", metavar="WING", help="of one wing")
    asked = parser.parse_args()
    chosen = [mutant for mutant in mutants() if asked.only in mutant.wing]
    lost = 0
    for mutant in chosen:
        try:
            mutant.place(ROOT)
        except ValueError as error:
            print(error)
            lost += 1
    if asked.check or lost:
        return int(lost > 0)
    known = {}
    if RESULTS.exists():
        lines = RESULTS.read_text("utf-8").splitlines()
        known = {line.rpartition(" | ")[0]: line for line in lines}  # a title may have one, too
    with tempfile.TemporaryDirectory() as name:
        root = Path(name)
        copied(ROOT, root)
        for mutant in chosen:
            if mutant.title in known and not asked.again:
                continue
            place = mutant.place(root)
            text = place.read_text("utf-8")
            place.write_text(text.replace(mutant.old, mutant.new), "utf-8")
            failed = first_failure(root, mutant.tests)
            place.write_text(text, "utf-8")
            if failed and failed != HANGS and first_failure(root, (failed,)):
                print(f"{failed} fails without any bug, too", flush=True)
                continue
            known[mutant.title] = (
                f"{mutant.title} | {f'caught by {failed}' if failed else 'NOT CAUGHT'}"
            )
            print(known[mutant.title], flush=True)
            order = [each.title for each in mutants() if each.title in known]
            RESULTS.write_text("".join(f"{known[title]}\n" for title in order), "utf-8")
    return int(any("NOT CAUGHT" in known.get(mutant.title, "") for mutant in chosen))


if __name__ == "__main__":
    sys.exit(main())
