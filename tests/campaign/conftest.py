"""The campaign: faults on purpose, drawn from a seed; a file for each kind of fault.

A test that takes `rng` is a case of its kind: it runs `--campaign-size` times, each with random
numbers that the seed, the test and the number of the case decide. A few of each are in the default
run; `make campaign` has more, and those that are marked ``campaign``, which take longer.
"""

import random
import sys
from collections import Counter
from itertools import chain
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))  # what the kinds share


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run a test that draws once per case."""
    if "rng" in metafunc.fixturenames:
        size = metafunc.config.getoption("--campaign-size")
        metafunc.parametrize("rng", range(size), ids="case{}".format, indirect=True)


TABLE = "<!-- written by `make campaign` -->\n", "<!-- end -->\n"
"""What stands before and after the table of a page."""


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    """Write what the faults of a campaign did (the property ``fault`` of a test) into a page.

    Rows of faults that were not among them stay.
    """
    page = None if hasattr(config, "workerinput") else config.getoption("--campaign-table")
    totals: dict[str, Counter[str]] = {}
    for report in chain(*terminalreporter.stats.values()):
        for name, value in getattr(report, "user_properties", ()):
            if name == "fault" and report.when == "call":
                fault, harms = value
                totals.setdefault(fault, Counter()).update({"cases": 1, **harms})
    if page is None or not totals:
        return
    columns = list(dict.fromkeys(chain(*totals.values())))
    before, begin, rest = page.read_text("utf-8").partition(TABLE[0])
    old, end, after = rest.partition(TABLE[1])
    rows = {line.split(" | ")[0]: line for line in old.splitlines()[2:]}
    for fault, total in totals.items():
        cells = (f"| {fault}", *(str(total[one]) for one in columns))
        rows[cells[0]] = f"{' | '.join(cells)} |"
    head = [f"| {' | '.join(('fault', *columns))} |", f"|{' --- |' * (1 + len(columns))}"]
    table = "".join(f"{line}\n" for line in [*head, *(rows[fault] for fault in sorted(rows))])
    page.write_text(f"{before}{begin}{table}{end}{after}", "utf-8")


@pytest.fixture
def rng(request: pytest.FixtureRequest) -> random.Random:
    """The random numbers of a case."""
    seed = request.config.getoption("--campaign-seed")
    test = f"{request.path.name}::{request.node.originalname}"
    return random.Random(f"{seed} {test} {request.param}")


@pytest.fixture(autouse=True)
def _a_place_of_its_own(own_place: None) -> None:
    """Keep every test out of the user's folders."""
