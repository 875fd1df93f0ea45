"""Reading YAML that somebody gave us: untrusted, so safely, and with errors of one line."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from formalbench.contracts.errors import RequestError, nearest
from formalbench.host.names import check_name

if TYPE_CHECKING:
    from formalbench.contracts.specs import SuiteSpec

MAX_BYTES = 1_000_000


def read_yaml(path: Path) -> dict[str, Any]:
    """Read a YAML file that holds one mapping.

    Aliases (which can blow a small file up) and keys given twice are refused.

    Raises:
        RequestError: one line that names the file and, where known, the line in it.
    """
    try:
        if path.stat().st_size > MAX_BYTES:
            raise RequestError(f"{path}: larger than {MAX_BYTES} bytes")
        text = path.read_bytes().decode("utf-8")
    except OSError as error:
        raise RequestError(f"{path}: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise RequestError(f"{path}: not UTF-8: {error.reason} at byte {error.start}") from None
    return parse_yaml(text, str(path))


def parse_yaml(text: str, name: str) -> dict[str, Any]:
    """Parse YAML text that holds one mapping; `name` stands for it in errors."""
    import yaml

    try:
        data = yaml.load(text, Loader=_loader())  # noqa: S506  # a SafeLoader, made stricter
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        place = f"{name}:{mark.line + 1}" if mark else name
        raise RequestError(f"{place}: malformed YAML: {error.problem}") from None
    except yaml.YAMLError as error:
        raise RequestError(f"{name}: malformed YAML: {' '.join(str(error).split())}") from None
    except (ArithmeticError, ValueError, RecursionError) as error:
        raise RequestError(f"{name}: malformed YAML: {error}") from None
    if not isinstance(data, dict) or not all(isinstance(key, str) for key in data):
        raise RequestError(f"{name}: the file must hold one mapping with names as keys")
    return data


def _loader() -> Any:
    import yaml
    from yaml.constructor import ConstructorError

    class StrictLoader(yaml.SafeLoader):
        def compose_node(self, parent: Any, index: Any) -> Any:
            if self.check_event(yaml.AliasEvent):
                mark = self.peek_event().start_mark  # type: ignore[no-untyped-call]
                raise ConstructorError(None, None, "aliases are not allowed", mark)
            return super().compose_node(parent, index)

        def construct_mapping(self, node: Any, deep: bool = False) -> dict[Hashable, Any]:
            seen: set[Hashable] = set()
            for key_node, _ in node.value:
                key = self.construct_object(key_node, deep=True)
                if not isinstance(key, Hashable):
                    break  # the library tells of it
                if key in seen:
                    mark = key_node.start_mark
                    raise ConstructorError(None, None, f"key {key!r} is given twice", mark)
                seen.add(key)
            return super().construct_mapping(node, deep=deep)

    return StrictLoader


SUITE_KEYS = ("name", "version", "summary", "tasks", "protocol", "reference")


def read_suite(path: Path, data: dict[str, Any]) -> SuiteSpec:
    """Check a suite file's contents.

    Raises:
        RequestError: one line that names the file, and every key that is wrong.
    """
    from formalbench.contracts.specs import SuiteSpec

    given = {**dict.fromkeys(SUITE_KEYS, ""), "version": 1, **data}
    if problems := [*_unknown_keys(given), *_suite_mistakes(given)]:
        raise RequestError(f"{path}: not a valid suite: {'; '.join(problems)}")
    return SuiteSpec(**{**given, "tasks": tuple(given["tasks"])})


def _unknown_keys(given: Mapping[str, Any]) -> Iterator[str]:
    for key in given:
        if key not in SUITE_KEYS:
            close = nearest(key, SUITE_KEYS, count=1)
            hint = f": did you mean {close[0]}?" if close else f" (known: {', '.join(SUITE_KEYS)})"
            yield f"unknown key {key!r}{hint}"


def _suite_mistakes(given: Mapping[str, Any]) -> Iterator[str]:
    for key in ("name", "summary", "protocol", "reference"):
        if not isinstance(given[key], str) or (key == "name" and not given[key]):
            yield f"{key} must be text"
    if given["name"] and isinstance(given["name"], str):
        try:
            check_name(given["name"])
        except ValueError as error:
            yield str(error)
    tasks, version = given["tasks"], given["version"]
    if not isinstance(tasks, list) or not tasks or not all(isinstance(t, str) for t in tasks):
        yield "tasks must be a list of task names"
    if not isinstance(version, int) or isinstance(version, bool) or version < 1:
        yield "version must be a number, 1 or more"
