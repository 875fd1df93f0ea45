"""A Slurm of its own, on this machine: controller, node and keys in a temporary folder."""

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from waiting import until

DAEMONS = ("munged", "slurmctld", "slurmd")

CONFIG = """
ClusterName=formalbench
SlurmctldHost={host}(127.0.0.1)
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge/socket
MpiDefault=none
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
JobCompType=jobcomp/none
ReturnToService=2
KillWait=2
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmctldPort={controller}
SlurmdPort={node}
SlurmdSpoolDir={folder}/spool
StateSaveLocation={folder}/state
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
SchedulerType=sched/backfill
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
NodeName={host} NodeAddr=127.0.0.1 CPUs={cpus} RealMemory=1000 State=UNKNOWN
PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE State=UP
PartitionName=short Nodes=ALL MaxTime=5 State=UP
"""


class Slurm:
    """A cluster of this machine alone.

    Args:
        folder: for everything that it writes; not long, since a socket's path is in it.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.config = folder / "slurm.conf"

    def start(self) -> None:
        """Start the daemons, and wait until the node is idle."""
        for name in ("munge", "spool", "state"):
            (self.folder / name).mkdir(mode=0o755)
        key = self.folder / "munge" / "key"
        key.write_bytes(os.urandom(1024))
        key.chmod(0o600)
        controller, node = _free_ports(2)
        host = socket.gethostname().partition(".")[0]
        text = CONFIG.format(
            host=host, folder=self.folder, controller=controller, node=node, cpus=os.cpu_count()
        )
        self.config.write_text(text)
        munge = [f"--{name}={self.folder}/munge/{name}" for name in ("socket", "seed-file")]
        munge += [f"--pid-file={self.folder}/munged.pid", f"--log-file={self.folder}/munge/log"]
        subprocess.run(["munged", f"--key-file={key}", *munge], check=True)
        self.start_controller()
        subprocess.run(["slurmd", "-f", self.config], check=True)
        until(lambda: "idle" in self.call("sinfo", "--noheader", "--format=%T"))

    def start_controller(self) -> None:
        subprocess.run(["slurmctld", "-f", self.config], check=True)

    def stop(self, *daemons: str) -> None:
        """End daemons, and wait until they have."""
        for name in daemons:
            with contextlib.suppress(OSError, ValueError):
                process = int((self.folder / f"{name}.pid").read_text())
                os.kill(process, signal.SIGTERM)
                until(lambda process=process: not Path(f"/proc/{process}").exists())

    def call(self, *command: str) -> str:
        """Return what a command of Slurm prints; nothing if it fails."""
        environment = {**os.environ, "SLURM_CONF": str(self.config)}
        done = subprocess.run(command, capture_output=True, text=True, env=environment)
        return done.stdout

    def jobs(self) -> list[str]:
        """Return the jobs that run."""
        return self.call("squeue", "-h", "-r", "--states=R", "--format=%i").split()


def _free_ports(count: int) -> list[int]:
    with contextlib.ExitStack() as stack:
        found = [stack.enter_context(socket.socket()) for _ in range(count)]
        for one in found:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in found]


@pytest.fixture(scope="session")
def one_slurm() -> Iterator[Slurm]:
    """A cluster for all tests of a session."""
    if os.name != "posix" or os.geteuid() != 0 or not all(map(shutil.which, DAEMONS)):
        pytest.skip(f"needs {', '.join(DAEMONS)}, and to be root")
    with tempfile.TemporaryDirectory(prefix="fb-", ignore_cleanup_errors=True) as folder:
        cluster = Slurm(Path(folder))
        cluster.folder.chmod(0o755)  # munged would have it so
        try:
            cluster.start()
            yield cluster
        finally:
            cluster.call("scancel", "--user=root")
            cluster.stop("slurmd", "slurmctld", "munged")


@pytest.fixture
def slurm(one_slurm, monkeypatch) -> Iterator[Slurm]:
    """That cluster, for this test's commands; no job outlives the test."""
    monkeypatch.setenv("SLURM_CONF", str(one_slurm.config))
    yield one_slurm
    one_slurm.call("scancel", "--user=root")


@pytest.fixture
def pretend(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Path]:
    """Put commands on the PATH that say what a Slurm would; what is submitted is written down."""

    def pretend(nodes: str, partitions: str = "main* infinite") -> Path:
        folder, submitted = tmp_path / "bin", tmp_path / "submitted"
        folder.mkdir()
        told = {
            "sinfo": f'case "$*" in *--Node*) echo "{nodes}";; *) echo "{partitions}";; esac',
            "sbatch": f"cat $1 >> {submitted}; echo Submitted batch job 7",
        }
        for name in ("sbatch", "squeue", "srun", "sinfo"):
            command = folder / name
            command.write_text(f"#!/bin/sh\n{told.get(name, ':')}\n")
            command.chmod(0o755)
        monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
        return submitted

    return pretend
