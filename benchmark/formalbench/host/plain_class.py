"""Plain classes as models: built with the task, `forward(ids)` gives states (B, N, D).

A class needs no hooks and no config: the host creates the spec, with options from the constructor's
signature.
"""

from __future__ import annotations

import dis
import hashlib
import inspect
import re
import sys
import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import TYPE_CHECKING, Any, Literal, get_args, get_origin

from pydantic import ConfigDict, create_model

from formalbench.contracts.config import Config, option
from formalbench.contracts.errors import RequestError
from formalbench.contracts.specs import ModelSpec, check_name
from formalbench.host.plugin import SESSION, LocalPlugin, content_hash, find_module, import_class

if TYPE_CHECKING:
    from formalbench.contracts.task import Task
    from formalbench.host.plain_network import PlainNetwork

CONSTRUCTOR = "__init__(self, task, *, width=64, …)"
FORWARD = "forward(self, ids): LongTensor (B, N) to states (B, N, D)"

_session: dict[str, type] = {}
"""Model classes of this Python session by the SHA-256 of their `SessionText`."""


class PlainOptions(Config):
    """Options of a plain class, named as in its constructor."""

    model_config = ConfigDict(protected_namespaces=())


class PlainFactory:
    """Builds the networks of a plain class."""

    def __init__(self, get: Callable[[], type]) -> None:
        self.get = get

    def __call__(self, task: Task, *configs: Config) -> PlainNetwork:
        """Build a network of the class, wrapped as a backbone."""
        from formalbench.host.plain_network import PlainNetwork

        options = configs[0].model_dump() if configs else {}
        return PlainNetwork(self.get()(task, **options), task)


def names_class(text: str) -> bool:
    """Return whether a text can only be the name of a plain class, and not that of a task.

    Example:
        >>> names_class("mine.py:Mine[width=8]"), names_class("parity:tag[p=0.3]")
        (True, False)
    """
    before, _, name = text.partition("[")[0].rpartition(":")
    return bool(before) and (before.endswith(".py") or name.rpartition(".")[2][:1].isupper())


def class_spec(local: LocalPlugin) -> ModelSpec:
    """Return the spec of a plain class that the user named."""
    get: Callable[[], Any] = partial(import_class, local)
    if local.path == SESSION:
        if local.sha256 not in _session:
            raise RequestError(
                f"class {local.attribute} is known to the Python session that defined it, and not "
                "to this process: put it in a file"
            )
        get = partial(_session.__getitem__, local.sha256)
    cls, where = get(), local.path.name
    _check_class(cls, f"{local.attribute} of {where}")
    # Two modules of a package may have a class of one name, and share the hash.
    name = model_name(local.attribute.replace(".", "_"))
    try:
        check_name(name)
    except ValueError as error:
        raise RequestError(f"class {cls.__name__} of {where}: {error}") from None
    options: dict[str, Any] = {
        key: (kind, option(default, "")) for key, kind, default in _options(cls)
    }
    config = create_model(f"{cls.__name__}Options", __base__=PlainOptions, **options)
    return ModelSpec(
        name=name,
        version=1,  # its contents are part of its identity
        summary=f"the class {cls.__name__} of {where}",
        factory=PlainFactory(get),
        config=config if options else None,
    )


def model_name(name: str) -> str:
    """Return the model name of a class: lower case with hyphens.

    Example:
        >>> model_name("MyGRU2Network")
        'my-gru2-network'
    """
    parts = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|_+", "-", name)
    return parts.lower().strip("-")


def class_plugin(found: type) -> LocalPlugin:
    """Return the plugin of a class object: its file or, if it has none, the class alone."""
    place = find_module(found.__module__) if _is_importable(found) else None
    if place and Path(inspect.getfile(found)).resolve().is_relative_to(place[0]):
        return LocalPlugin(place[0], content_hash(place[0]), ".".join((*place[1], found.__name__)))
    sha256 = hashlib.sha256(SessionText(found).text.encode()).hexdigest()
    _session[sha256] = found
    return LocalPlugin(SESSION, sha256, found.__name__)


def _is_importable(value: type | FunctionType) -> bool:
    """Return whether another process finds a class or function by its module and name."""
    module = sys.modules.get(value.__module__)
    return value.__module__ != "__main__" and getattr(module, value.__name__, None) is value


class SessionText:
    """Everything that determines the networks of a class without a file, as text.

    These are its source, that of the classes and functions of the session that it uses, and the
    values that its functions read from outside: variables, defaults, attributes of the class.

    Attributes:
        text: the source of the class first.
    """

    def __init__(self, found: type) -> None:
        self._parts: list[str] = []
        self._seen: set[int] = set()
        self._modules = ("__main__", found.__module__)
        self._define(found)
        self.text = "\n".join(self._parts)

    def _define(self, value: type | FunctionType) -> None:
        """Add a class or function of the session."""
        if id(value) in self._seen:
            return
        self._seen.add(id(value))
        try:
            self._parts.append(textwrap.dedent(inspect.getsource(value)))
        except (OSError, TypeError):
            if value.__module__ in self._modules:
                kind = "class" if isinstance(value, type) else "function"
                raise RequestError(
                    f"the source of {kind} {value.__name__} is not known: put it in a file"
                ) from None
            self._parts.append(f"{value.__module__}.{value.__qualname__}")  # not Python
            return
        if isinstance(value, FunctionType):
            self._read_by(value)
            return
        for base in value.__bases__:
            self._add("base", base)
        for name, member in vars(value).items():
            members: tuple[Any, ...] = (getattr(member, "__func__", member),)
            if isinstance(member, property):
                members = (member.fget, member.fset, member.fdel)
            for part in members:
                if getattr(part, "__qualname__", "") == f"{value.__qualname__}.{name}":
                    if isinstance(part, FunctionType):
                        self._read_by(part)
                elif not name.startswith("__"):
                    self._add(name, part)

    def _read_by(self, function: FunctionType) -> None:
        """Add the values that a function reads from outside."""
        self._add("defaults", function.__defaults__)
        self._add("defaults", function.__kwdefaults__)
        cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
        for name, cell in cells:
            try:
                self._add(name, cell.cell_contents)
            except ValueError:  # a variable without a value yet
                continue
        if function.__globals__.get("__name__") in self._modules:
            for name in _globals_of(function.__code__):
                if name in function.__globals__:
                    self._add(name, function.__globals__[name])

    def _add(self, name: str, value: object) -> None:
        """Add a value; of what is importable, only its name."""
        if isinstance(value, type | FunctionType):
            if _is_importable(value):
                self._parts.append(f"{name}: {value.__module__}.{value.__qualname__}")
            else:
                self._define(value)
        elif isinstance(value, Mapping | list | tuple):
            if id(value) not in self._seen:
                self._seen.add(id(value))
                pairs = value.items() if isinstance(value, Mapping) else enumerate(value)
                for key, item in pairs:
                    self._add(f"{name}[{key!r}]", item)
        elif isinstance(value, set | frozenset):
            self._parts.append(f"{name}: {sorted(map(repr, value))}")
        elif isinstance(value, ModuleType):
            self._parts.append(f"{name}: {value.__name__}")
        elif value is not None:
            array = getattr(value, "tolist", None)  # of a tensor, whose repr omits values
            shown = repr(array() if callable(array) else value)
            self._parts.append(f"{name}: " + re.sub(r" at 0x[0-9a-fA-F]+", "", shown))
            if not (callable(array) or _is_importable(type(value))):
                self._add(name, type(value))
                self._add(name, getattr(value, "__dict__", None))


def _globals_of(code: CodeType) -> list[str]:
    """Return the names of globals that code reads, that of its inner functions included."""
    reads = ("LOAD_GLOBAL", "LOAD_NAME")
    names = {one.argval for one in dis.get_instructions(code) if one.opname in reads}
    inner = (const for const in code.co_consts if isinstance(const, CodeType))
    return sorted(names.union(*map(_globals_of, inner)))


def _check_class(cls: object, title: str) -> None:
    """Check that an object is a class of networks with a suitable constructor."""
    from torch import nn

    if not (isinstance(cls, type) and issubclass(cls, nn.Module)):
        raise RequestError(f"{title} is no class of torch.nn.Module")
    first, *others = _parameters(cls)
    required = [p.name for p in others if p.kind in _BY_NAME and p.default is p.empty]
    if first.default is not first.empty or first.kind not in _FIRST or required:
        actual = f"__init__{inspect.signature(cls.__init__)}"
        reason = f"{required[0]} has no default" if required else "the first argument is the task"
        raise RequestError(f"{title}: expected {CONSTRUCTOR}, found {actual}: {reason}")
    signature = inspect.signature(cls.forward)
    try:
        signature.bind(None, None)
    except TypeError:
        raise RequestError(f"{title}: expected {FORWARD}, found forward{signature}") from None


_FIRST = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
_BY_NAME = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)


def _parameters(cls: type) -> Sequence[inspect.Parameter]:
    """Return the parameters of a class's constructor; of one without any, one that cannot be."""
    try:
        signature = inspect.signature(cls.__init__, eval_str=True)  # type: ignore[misc]
    except NameError:  # an annotation for type checkers only
        signature = inspect.signature(cls.__init__)  # type: ignore[misc]
    nothing = inspect.Parameter("nothing", inspect.Parameter.KEYWORD_ONLY)
    return [*signature.parameters.values()][1:] or [nothing]


def _options(cls: type) -> Iterator[tuple[str, Any, Any]]:
    """Yield name, type and default of each option of a class.

    A keyword whose default is no bool, int, float or str is no option and keeps its default.
    """
    for parameter in _parameters(cls)[1:]:
        kind, default = parameter.annotation, parameter.default
        if parameter.kind in _BY_NAME and isinstance(default, bool | int | float | str):
            if get_origin(kind) is Literal and default in get_args(kind):
                yield parameter.name, kind, default
            elif kind is float and isinstance(default, int):
                yield parameter.name, float, float(default)
            else:
                yield parameter.name, type(default), default
