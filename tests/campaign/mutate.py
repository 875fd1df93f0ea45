"""Damage that a disk, an editor or an attacker can do to a file."""

import random
from collections.abc import Callable

VALUES = [
    b"", b"null", b"~", b"true", b"-1", b"0", b"1e309", b".nan", b"1" * 400, b"0x10", b"[]", b"{}",
    b"[[[]]]", b"{a: 1}", b"'", b'"', b"*x", b"&x [*x]", b"!!python/object:os.system", b"../../x",
    b"\x00", b"\xff\xfe", b"\x1b[31m", "\u202e".encode(), b"x" * 10_000, b"2026-01-01", b"{" * 300,
]  # fmt: skip


def damaged(rng: random.Random, contents: bytes) -> bytes:
    """Return contents with one to three kinds of damage, never as they were."""
    result = contents
    while result == contents:
        for _ in range(rng.randint(1, 3)):
            result = rng.choice(KINDS)(rng, result)
    return result


def _flip(rng: random.Random, contents: bytes) -> bytes:
    if not contents:
        return b"\x00"
    place = rng.randrange(len(contents))
    return (
        contents[:place] + bytes([contents[place] ^ 1 << rng.randrange(8)]) + contents[place + 1 :]
    )


def _cut(rng: random.Random, contents: bytes) -> bytes:
    return contents[: rng.randrange(len(contents) + 1)]


def _insert(rng: random.Random, contents: bytes) -> bytes:
    place = rng.randrange(len(contents) + 1)
    return contents[:place] + rng.choice(VALUES) + contents[place:]


def _repeat_line(rng: random.Random, contents: bytes) -> bytes:
    lines = contents.splitlines(keepends=True) or [b""]
    line = rng.choice(lines)
    lines.insert(rng.randrange(len(lines) + 1), line)
    return b"".join(lines)


def _drop_line(rng: random.Random, contents: bytes) -> bytes:
    lines = contents.splitlines(keepends=True) or [b""]
    del lines[rng.randrange(len(lines))]
    return b"".join(lines)


def _other_value(rng: random.Random, contents: bytes) -> bytes:
    """Give a key another value, in YAML as in JSON."""
    parts = contents.split(b":")
    if len(parts) < 2:
        return _insert(rng, contents)
    index = rng.randrange(1, len(parts))
    value = parts[index]
    ends = [end for sign in b",}\n" if (end := value.find(bytes([sign]))) >= 0]
    parts[index] = b" " + rng.choice(VALUES) + value[min(ends, default=len(value)) :]
    return b":".join(parts)


KINDS: list[Callable[[random.Random, bytes], bytes]] = [
    _flip, _cut, _insert, _repeat_line, _drop_line, _other_value, _other_value, _other_value,
]  # fmt: skip
