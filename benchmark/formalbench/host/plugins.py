"""One plugin: an installed distribution's entry point, or a local file or folder."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from formalbench.contracts.record import Origin

SESSION = Path("(session)")
"""The path of a class that only this Python session knows, as one of a notebook."""


@dataclass(frozen=True, slots=True)
class LocalPlugin:
    """A local plugin as a worker process is told of it: where it is and what it must contain.

    Attributes:
        path: of the file or the package; `SESSION` for a class of this Python session.
        sha256: of its contents, or of the class's source text.
        attribute: of a plain class, which is a model: its name, in a package behind that of its
            module, as in ``module.Mine``. Empty for a plugin with hooks.
    """

    path: Path
    sha256: str
    attribute: str = ""

    @property
    def named(self) -> Path:
        """The plugin as ``--plugin`` takes it; only its name is in records."""
        return Path(f"{self.path}:{self.attribute}") if self.attribute else self.path

    @property
    def is_code(self) -> bool:
        """Whether it is Python, and not a file that is only read."""
        return self.path.suffix == ".py" or self.path.is_dir()


@dataclass(slots=True)
class Plugin:
    """A plugin the host knows, loaded or broken.

    Attributes:
        name: the entry point's name, or the local file's.
        distribution: the installed distribution it came with; the path for a local one.
        version: the distribution's version; empty for a local one.
        module: what was registered; None if it could not be loaded.
        local: set for a local plugin.
        error: one line, if it is broken.
        provides: how many specs of each kind it announced.
        reader: the plugin that reads it, if it is a file of a kind that only a plugin knows.
    """

    name: str
    distribution: str
    version: str
    module: Any = None
    local: LocalPlugin | None = None
    error: str = ""
    provides: dict[str, int] = field(default_factory=dict)
    reader: Plugin | None = None

    @property
    def source(self) -> Origin:
        """What a record says about where the plugin's code came from."""
        from formalbench.contracts.record import Origin

        if self.local:
            return Origin(distribution=self.local.path.name, sha256=self.local.sha256)
        return Origin(distribution=self.distribution, version=self.version)

    def describe(self) -> str:
        """Return where the plugin comes from, for errors."""
        if self.local:
            return str(self.local.named)
        return f"{self.distribution} {self.version}".strip()
