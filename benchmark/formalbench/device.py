"""Device, precision, threads, and the environment in records."""

from __future__ import annotations

import contextlib
import os
import platform
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from importlib import metadata
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from formalbench.contracts.errors import RequestError

if TYPE_CHECKING:
    import torch

    from formalbench.contracts.protocol import Protocol
    from formalbench.contracts.record import Environment


@contextlib.contextmanager
def own_numerics() -> Iterator[None]:
    """Use torch's default settings, then restore those of a plugin or caller.

    They affect weights and are not part of ids, so a run must not depend on them.
    """
    import torch

    settings = _settings()
    before = [get() for get, _, _ in settings]
    device = torch.empty(0).device  # torch 2.8's get_default_device fails after None
    torch.set_default_device(None)
    try:
        for _, set_to, default in settings:
            set_to(default)
        yield
    finally:
        for (_, set_to, _), value in zip(settings, before, strict=True):
            set_to(value)
        if device.type != "cpu":
            torch.set_default_device(device)


@contextlib.contextmanager
def one_thread() -> Iterator[None]:
    """Compute on one CPU thread, as a run does: the rounding depends on the number of threads."""
    import torch

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)


Setting = tuple[Callable[[], Any], Callable[[Any], Any], Any]
"""Getter, setter and default of each setting."""


def _settings() -> list[Setting]:
    import torch

    cudnn: Any = torch.backends.cudnn
    mkldnn: Any = torch.backends.mkldnn
    return [
        (torch.get_default_dtype, torch.set_default_dtype, torch.float32),
        (torch.get_deterministic_debug_mode, torch.set_deterministic_debug_mode, 0),
        (torch.get_float32_matmul_precision, torch.set_float32_matmul_precision, "highest"),
        (torch.is_grad_enabled, torch.set_grad_enabled, True),
        (torch.is_anomaly_enabled, torch.autograd.set_detect_anomaly, False),
        (_flushes_denormals, torch.set_flush_denormal, False),
        *(_attribute(cudnn, "enabled", True), _attribute(mkldnn, "enabled", True)),
        *(_attribute(cudnn, "benchmark", False), _attribute(cudnn, "deterministic", False)),
    ]


def _attribute(owner: Any, name: str, default: Any) -> Setting:
    return lambda: getattr(owner, name), lambda value: setattr(owner, name, value), default


def _flushes_denormals() -> bool:
    import torch

    smallest: torch.Tensor = torch.tensor(1e-310, dtype=torch.float64, device="cpu")
    return bool(smallest * 1.0 == 0.0)


def check_precision(protocol: Protocol, device: str) -> None:
    """Check that a device supports a precision."""
    if protocol.precision == "tf32" and not device.startswith("cuda"):
        raise RequestError(
            f"protocol {protocol.name}: precision tf32 needs a CUDA device; on a CPU use fp32"
        )


@contextlib.contextmanager
def multiplying(precision: str) -> Iterator[None]:
    """Let CUDA multiply fp32 matrices in TF32 (10 bits of mantissa), or forbid it."""
    import torch

    backends: tuple[Any, ...] = (torch.backends.cuda.matmul, torch.backends.cudnn)
    before = [backend.allow_tf32 for backend in backends]
    try:
        for backend in backends:
            backend.allow_tf32 = precision == "tf32"  # cuDNN uses it by default
        yield
    finally:
        for backend, value in zip(backends, before, strict=True):
            backend.allow_tf32 = value


def forward_in(precision: str, device: torch.device) -> contextlib.AbstractContextManager[object]:
    """Return the context of a forward pass; for bf16, autocast chooses the operations.

    Parameters, their gradients and the optimiser stay in fp32, as do the logits' losses.
    """
    if precision == "bf16":
        import torch

        return torch.autocast(device.type, torch.bfloat16)
    return contextlib.nullcontext()


MOST_THREADS = 256
"""Maximum CPU threads per process; thousands crash the thread library."""


def choose_device(asked: str) -> str:
    """Return ``cpu`` or ``cuda:i`` for ``auto``, ``cpu``, ``cuda`` or ``cuda:i``."""
    return choose_devices(asked)[0]


def choose_devices(asked: str) -> tuple[str, ...]:
    """Return the devices of ``auto``, ``cpu``, ``cuda`` or ``cuda:i``: the CPU, one GPU, or all."""
    if not re.fullmatch(r"auto|cpu|cuda(:\d+)?", asked):
        raise RequestError(f"--device {asked}: must be auto, cpu, cuda or cuda:N")
    if asked == "cpu":
        return ("cpu",)
    import torch

    count = torch.cuda.device_count() if torch.cuda.is_available() else 0
    if asked == "auto" and not count:
        return ("cpu",)
    if not count:
        raise RequestError(f"--device {asked}: torch finds no CUDA device on this machine")
    _, colon, index = asked.partition(":")
    if not colon:
        return tuple(f"cuda:{number}" for number in range(count))
    if int(index) >= count:
        raise RequestError(
            f"--device {asked}: this machine has {count} CUDA devices, numbered from 0"
        )
    return (f"cuda:{int(index)}",)


def usable_cores() -> int:
    """Return the number of CPU cores available to this process."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def check_threads(threads: int) -> None:
    """Check a number of threads."""
    if not 1 <= threads <= MOST_THREADS:
        raise RequestError(f"--threads {threads}: must be at least 1 and at most {MOST_THREADS}")


def wait_passively() -> None:
    """Let waiting OpenMP threads sleep, unless the user has set this.

    By default they spin, which blocks cores when other processes are busy (ten times slower). This
    must be set before torch is imported, here or in a worker.
    """
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")


@lru_cache
def keep_freed_memory() -> None:
    """Tell glibc's allocator to reuse freed memory instead of returning it to the system.

    By default it returns every large block, and each training step waits until the system has
    cleared the same pages again. Without glibc this does nothing.
    """
    if platform.libc_ver()[0] != "glibc":
        return
    import ctypes

    set_option = ctypes.CDLL(None).mallopt
    trim_threshold, map_at_most = -1, -4  # M_TRIM_THRESHOLD, M_MMAP_MAX of malloc.h
    set_option(trim_threshold, 2**31 - 1)
    set_option(map_at_most, 0)


def is_out_of_memory(error: BaseException) -> bool:
    """Say whether an error is that there was not enough memory, of this machine or of a GPU."""
    import torch

    by_type = isinstance(error, MemoryError | torch.cuda.OutOfMemoryError)
    return by_type or "can't allocate memory" in str(error)


def describe_environment(
    device: str, source: str | None = None, packages: Mapping[str, str] = MappingProxyType({})
) -> Environment:
    """Return machine, libraries and code for a record.

    Args:
        device: ``cpu`` or ``cuda:i``.
        source: SHA-256 of a run's source.
        packages: versions of distributions that its plugins imported.
    """
    import torch

    from formalbench.commit import own_commit
    from formalbench.contracts.record import Environment

    cuda = device.startswith("cuda")
    available = torch.cuda.is_available()  # unknown for a run whose worker was lost
    gpu = torch.cuda.get_device_name(device) if cuda and available else "unknown"
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
    """Return the processor's name."""
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
