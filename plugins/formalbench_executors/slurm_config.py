"""The options of the executor ``slurm``."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Literal

from formalbench import Config, Workplace, option
from formalbench.device import usable_cores

if TYPE_CHECKING:
    from formalbench.running.units import Unit

MOST_JOBS = 1000
"""Jobs queued or running at a time, unless ``--jobs`` says otherwise."""

TESTING = 60
"""Minutes for loading and testing, beyond those that a protocol gives training."""

UNLIMITED = 24 * 60
"""Minutes for a unit whose protocol has no time limit."""


class SlurmConfig(Config):
    """What jobs ask of the cluster, and how they are followed."""

    partition: str = option("", "partition of the jobs; empty for the cluster's default")
    account: str = option("", "account that the time is charged to, if the cluster needs one")
    qos: str = option("", "quality of service, if the cluster needs one")
    constraint: str = option("", "required features of a node: a100")
    gpus: int = option(
        0, "GPUs per job: 1 to train on a GPU, 0 to train on the CPU", minimum=0, maximum=1
    )
    cpus: int = option(
        1, "CPU cores per job; only testing uses more than one", minimum=1, maximum=256
    )
    memory: int = option(
        0, "memory per job in GB; 0 for the partition's default", minimum=0, maximum=4096
    )
    minutes: int = option(
        0, "time limit of a job; 0 for the protocol's limit plus one hour", minimum=0, maximum=43200
    )
    parallel: int = option(
        256, "most jobs of an array that run at the same time", minimum=1, maximum=100000
    )
    poll: float = option(15.0, "seconds between two polls of the queue", minimum=0.1, maximum=600)
    grace: float = option(
        60.0, "seconds to wait for a result after its job left the queue", minimum=0, maximum=3600
    )
    cluster: Literal["slurm", "local"] = option(
        "slurm", "local: run the same jobs as processes on this machine, for a trial"
    )

    def minutes_of(self, unit: Unit) -> int:
        """Return the time limit of a unit's job, in minutes."""
        if self.minutes:
            return self.minutes
        limit = unit.runs[0].protocol.time_limit
        return UNLIMITED if limit is None else math.ceil(limit * len(unit.runs) / 60) + TESTING


def workplace(config: SlurmConfig) -> Workplace:
    """Return where units are worked on, and how many at a time."""
    jobs = MOST_JOBS if config.cluster == "slurm" else usable_cores()
    return Workplace(("cuda",) if config.gpus else ("cpu",), jobs)
