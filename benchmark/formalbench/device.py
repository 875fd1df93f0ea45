"""The device at hand, and what a record says about the machine."""

from __future__ import annotations

import os
import platform
import re
import sys
from collections.abc import Mapping
from functools import lru_cache
from importlib import metadata
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from formalbench.contracts.errors import RequestError

if TYPE_CHECKING:
    from formalbench.contracts.record import Environment


MOST_THREADS = 256
"""CPU threads that a process trains with; of thousands the thread library dies."""


def choose_device(asked: str) -> str:
    """Return ``cpu`` or ``cuda:i`` for ``auto``, ``cpu``, ``cuda`` or ``cuda:i``.

    Raises:
        RequestError: if it is none of these, or not there.
    """
    return choose_devices(asked)[0]


def choose_devices(asked: str) -> tuple[str, ...]:
    """Return all that ``auto``, ``cpu``, ``cuda`` or ``cuda:i`` means: the CPU, one GPU, or all.

    Raises:
        RequestError: if it is none of these, or not there.
    """
    if not re.fullmatch(r"auto|cpu|cuda(:\d+)?", asked):
        raise RequestError(f"--device {asked}: must be auto, cpu, cuda or cuda:N")
    if asked == "cpu":
        return ("cpu",)
    import torch

    count = torch.cuda.device_count() if torch.cuda.is_available() else 0
    if asked == "auto" and not count:
        return ("cpu",)
    if not count:
        raise RequestError(f"--device {asked}: this machine has no CUDA device that torch can use")
    _, colon, index = asked.partition(":")
    if not colon:
        return tuple(f"cuda:{number}" for number in range(count))
    if int(index) >= count:
        raise RequestError(f"--device {asked}: there are {count} CUDA devices, counted from 0")
    return (f"cuda:{int(index)}",)


def usable_cores() -> int:
    """Return how many CPU cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def check_threads(threads: int) -> None:
    """Refuse a number of threads that no process could have.

    Raises:
        RequestError: one line.
    """
    if not 1 <= threads <= MOST_THREADS:
        raise RequestError(f"--threads {threads}: must be at least 1 and at most {MOST_THREADS}")


def wait_passively() -> None:
    """Have OpenMP's threads sleep while they wait for one another, unless the user says otherwise.

    They would spin, and beside other busy processes keep the very threads they wait for from the
    cores: ten times the duration. It counts only before torch is imported, here or in a worker.
    """
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")


@lru_cache
def keep_freed_memory() -> None:
    """Tell glibc's allocator to reuse freed memory instead of returning it to the system.

    It returns every large block, and each training step then waits for the system to find
    and clear the same pages again. Elsewhere this does nothing.
    """
    if platform.libc_ver()[0] != "glibc":
        return
    import ctypes

    set_option = ctypes.CDLL(None).mallopt
    trim_threshold, map_at_most = -1, -4  # M_TRIM_THRESHOLD, M_MMAP_MAX of malloc.h
    set_option(trim_threshold, 2**31 - 1)
    set_option(map_at_most, 0)


def describe_environment(
    device: str, source: str | None = None, packages: Mapping[str, str] = MappingProxyType({})
) -> Environment:
    """Return the machine, the libraries and the code, for a record.

    Args:
        device: ``cpu`` or ``cuda:i``.
        source: SHA-256 of a run's source.
        packages: versions of what its plugins imported, by distribution.
    """
    import torch

    from formalbench.commit import own_commit
    from formalbench.contracts.record import Environment

    cuda = device.startswith("cuda")
    there = torch.cuda.is_available()  # not where a run is told of whose worker is lost
    gpu = torch.cuda.get_device_name(device) if cuda and there else "unknown"
    return Environment(
        device=device.partition(":")[0],
        hardware=gpu if cuda else cpu_name(),
        threads=torch.get_num_threads(),
        peak_memory_mib=_peak_bytes(device) >> 20,
        versions={**packages, **_versions()},
        commit=own_commit() or None,
        source=source,
    )


@lru_cache
def _versions() -> dict[str, str]:
    names = ("formalbench", "torch", "numpy")
    versions = {name: metadata.version(name) for name in names}
    return {"python": platform.python_version(), **versions}


@lru_cache
def cpu_name() -> str:
    """Return the processor's name, as the system tells it."""
    try:
        for line in Path("/proc/cpuinfo").read_text("utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass  # not a Linux system
    return platform.processor() or platform.machine()


def _peak_bytes(device: str) -> int:
    if device.startswith("cuda"):
        import torch

        return int(torch.cuda.max_memory_allocated(device))
    try:
        import resource
    except ImportError:  # Windows
        return 0
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return int(peak) if sys.platform == "darwin" else int(peak) * 1024
