"""The leaderboard's entry module: its commands, and the board at the end of ``run``.

Light by rule: what is heavy is imported inside the functions.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from formalbench.contracts.hooks import Session, hookimpl
from formalbench.contracts.specs import ProtocolSpec, SuiteSpec

if TYPE_CHECKING:
    import typer
    from formalbench.contracts.record import Record

_PROTOCOLS = Path(__file__).parent / "reproductions" / "protocols"

PROTOCOLS = {
    "chi-table1-quick": "RegularGPT's Table 1 on a CPU: 6,000 steps, one learning rate",
    "chi-table1": "RegularGPT's Table 1 on a GPU, as in the paper: 100,000 steps, three rates",
    **{
        f"steffen-dyck-{length}-quick": f"Dyck at length {length} on a CPU: 3,000 steps of 16"
        for length in (6, 10, 26, 50, 100)
    },
    **{
        f"steffen-dyck-{length}": f"Dyck at length {length}: 15,000 steps of one string"
        for length in (6, 10, 26, 50, 76, 100, 150, 200)
    },
    "yao": "Yao et al. on learned models: 2e8 tokens, two learning rates, windows of lengths",
    "yao-fig4-quick": "Yao et al., Figure 4, on a CPU: 2e7 tokens, one learning rate",
    "yao-fig4-lstm-quick": "Yao et al., Figure 4, the LSTM on a CPU: 2e7 tokens, both rates",
    "yao-fig5-quick": "Yao et al., Figures 5 and 8, on a CPU: 5e6 tokens, one learning rate",
}
PROTOCOLS |= {
    f"chiang-cholak-fig4-{length}{scale}": f"FIRST trained at length {length}, tested at 1000{runs}"
    for length in (10, 30, 100, 300)
    for scale, runs in (("-quick", ", 5 runs"), ("", ", 20 runs"))
}
"""How the papers' models are trained anew; NAME-quick for a CPU, NAME as in the paper."""


@hookimpl
def formalbench_protocols() -> Iterable[ProtocolSpec]:
    """Announce the protocols of the reproductions."""
    for name, summary in PROTOCOLS.items():
        yield ProtocolSpec(name, summary, _PROTOCOLS / f"{name}.yaml")


SUITES = (
    SuiteSpec(
        name="yao-fig4",
        version=1,
        summary="Dyck-(8, 10), generated: Yao et al., Figure 4",
        tasks=("dyck-8-10:generate",),
        protocol="yao",
        reference="Yao et al. (2021), section 6.1",
    ),
    SuiteSpec(
        name="yao-fig5",
        version=1,
        summary="sixteen Dyck-(k, D), generated: Yao et al., Figure 5",
        tasks=tuple(f"dyck-{k}-{d}:generate" for k in (2, 8, 32, 128) for d in (3, 5, 10, 15)),
        protocol="yao",
        reference="Yao et al. (2021), section 6.2",
    ),
)
"""What the papers train on, where the tasks' own package has no suite of it."""


@hookimpl
def formalbench_suites() -> Iterable[SuiteSpec]:
    """Announce the suites of the reproductions."""
    return SUITES


@hookimpl
def formalbench_commands(app: typer.Typer) -> None:
    """Add ``formalbench leaderboard`` and ``formalbench reproduce``."""
    from formalbench_papers.framework.command import add_command

    from formalbench_leaderboard.commands import leaderboard

    app.add_typer(leaderboard, name="leaderboard")
    add_command(app)


@hookimpl
def formalbench_session_finished(session: Session, records: Sequence[Record]) -> None:
    """Print the board with the rows that the session measured."""
    if session.quiet or not records:
        return
    from formalbench_leaderboard.session import print_session

    print_session(session, records)
