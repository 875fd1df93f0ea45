"""From `--set key=value`, and from a config class, to the config that a factory is given."""

from typing import Literal

import pytest
from formalbench.contracts.config import Config, option
from formalbench.contracts.errors import BrokenPluginError, RequestError
from formalbench.contracts.specs import ModelSpec
from formalbench.host.options import (
    changed_options,
    check_settings,
    make_config,
    option_facts,
    parse_instance,
    parse_settings,
    settings_for,
    settings_of,
    sweep,
)
from pydantic import model_validator
from refusals import refusal


class Everything(Config):
    width: int = option(8, "a size", minimum=2, maximum=64)
    share: float = option(1, "a share", minimum=0.0)
    loud: bool = option(False, "a switch")
    word: str = option("text", "a word")
    kind: Literal["plain", "fancy"] = option("plain", "a choice")
    few: Literal[2, 4] = option(2, "a choice of numbers")
    heads: int = option(2, "they divide the width", minimum=1)

    @model_validator(mode="after")
    def _heads_divide(self):
        if self.width % self.heads:
            raise ValueError(f"width must be divisible by heads: {self.width} is not")
        return self


class Chunked(Config):
    chunk: int = option(2, "", minimum=2, maximum=8)


class Both(Config):
    p: float = option(0.5, "", minimum=0.0, maximum=1.0)


class Pair(Config):
    betas: tuple[float, float] = (0.9, 0.999)


def spec_of(config, **defaults):
    return ModelSpec("mine", 1, "for tests", "a:b", config, defaults)


FACTS = option_facts(spec_of(Everything))
CHUNK = option_facts(spec_of(Chunked))
BOTH = option_facts(spec_of(Both))


def changed(config, key, value):
    """Return what a record keeps of an option that is set."""
    spec = spec_of(config)
    return changed_options(spec, make_config(spec, {key: value}))


# What is set.


def test_settings_are_parsed():
    assert parse_settings(["model.chunk=3", "task.p = 0.3", "r=a=b", "q="]) == (
        ("model", "chunk", "3"),
        ("task", "p", "0.3"),
        ("", "r", "a=b"),
        ("", "q", ""),
    )
    assert parse_settings(["protocol.test.strings=64", "executor.nodes=2"]) == (
        ("protocol", "test.strings", "64"),
        ("executor", "nodes", "2"),
    )


def test_the_same_key_of_different_things_is_not_set_twice():
    assert len(parse_settings(["model.p=1", "task.p=2", "executor.p=3", "protocol.p=4"])) == 4
    assert len(parse_settings(["steps=1", "protocol.steps=2"])) == 2


def test_values_are_set_like_their_texts():
    assert settings_of([("model.chunk", 3), ("p", [0.25, 0.5])]) == (
        ("model", "chunk", 3),
        ("", "p", [0.25, 0.5]),
    )
    with pytest.raises(RequestError, match=r"--set run\.chunk=3: write model\.key=value"):
        settings_of([("run.chunk", 3)])
    with pytest.raises(RequestError, match=r"--set p=0\.5,1: p is set twice"):
        settings_of([("p", 1), ("p", [0.5, 1])])


@pytest.mark.parametrize(
    ("config", "key", "value", "kept"),
    [
        (Everything, "width", "4", 4),
        (Everything, "width", " 4 ", 4),
        (Everything, "share", "3", 3.0),
        (Everything, "share", "1e-3", 0.001),
        (Everything, "loud", "true", True),
        (Everything, "loud", True, True),
        (Everything, "word", "3", "3"),
        (Everything, "kind", "fancy", "fancy"),
        (Everything, "few", "4", 4),
        (Pair, "betas", "0.9, 0.95", (0.9, 0.95)),
        (Pair, "betas", [0.9, 0.95], (0.9, 0.95)),
    ],
)
def test_the_type_is_that_of_the_field(config, key, value, kept):
    found = changed(config, key, value)
    assert found == {key: kept}
    assert type(found[key]) is type(kept)


@pytest.mark.parametrize(
    ("config", "key", "value", "said"),
    [
        (Everything, "width", True, "mine: width=true: must be a whole number"),
        (Everything, "width", "9" * 5000, "width=9999"),
        (Everything, "share", "nan", "mine: share=nan: must be a finite number"),
        (Everything, "share", "1e999", "share=1e999: must be a finite number"),
        (Everything, "loud", "maybe", "loud=maybe: must be true or false"),
        (Pair, "betas", "0.9,x", "mine: betas.1=x: must be a number"),
        (Everything, "width", "1", "width=1: must be at least 2"),
        (Everything, "width", "65", "width=65: must be at most 64"),
        (Everything, "kind", "c", "kind=c: must be 'plain' or 'fancy'"),
        (Everything, "few", "3", "few=3: must be 2 or 4"),
        (Everything, "word", "x" * 201, "must be at most 200 printable characters"),
        (Everything, "word", "a\nb", "must be at most 200 printable characters"),
    ],
    ids=str,
)
def test_what_is_not_allowed_is_refused(config, key, value, said):
    with pytest.raises(RequestError) as caught:
        changed(config, key, value)
    assert said in str(caught.value)
    assert len(str(caught.value)) < 200


def test_a_bare_key_means_no_option_of_an_executor():
    settings = parse_settings(["p=0.25", "executor.chunk=4"])
    assert settings_for("executor", settings, BOTH) == {}
    assert settings_for("executor", settings, CHUNK) == {"chunk": "4"}


def test_a_bare_key_of_both_sides_is_refused():
    with pytest.raises(RequestError, match=r"model\.p= or task\.p="):
        check_settings(parse_settings(["p=0.3"]), {"m": BOTH}, {"t": BOTH})
    check_settings(parse_settings(["model.p=0.3"]), {"m": BOTH}, {"t": BOTH})


def test_several_values_are_a_sweep_unless_the_option_takes_commas():
    settings = settings_of([("chunk", "3, 4"), ("task.p", [0.25, 0.5]), ("protocol.rates", "1,2")])
    groups = sweep(settings, [CHUNK], [BOTH], {"rates": True}.get)
    assert [[one.value for one in group] for group in groups] == [
        ["3", 0.25, "1,2"], ["3", 0.5, "1,2"], ["4", 0.25, "1,2"], ["4", 0.5, "1,2"],
    ]  # fmt: skip
    whole = settings_of([("word", "a,b"), ("executor.chunk", "3,4")])
    assert sweep(whole, [FACTS], [], {}.get) == [whole]


def test_a_default_set_by_hand_is_no_choice():
    assert changed(Chunked, "chunk", "2") == {}
    own = spec_of(Chunked, chunk=3)
    assert changed_options(own, make_config(own, {"chunk": "3"})) == {}
    assert changed_options(own, make_config(own, {"chunk": "2"})) == {"chunk": 2}


# Names with options behind them.


@pytest.mark.parametrize(
    ("text", "name", "options"),
    [
        ("mine", "mine", {}),
        ("mine[width=32,layers=2]", "mine", {"width": "32", "layers": "2"}),
        ("parity:tag[p=0.3]", "parity:tag", {"p": "0.3"}),
        ("mine[a=x=y]", "mine", {"a": "x=y"}),
        (" mine [ width = 32 , b= ] ", "mine", {"width": "32", "b": ""}),
        ("regulargpt[chunk=3, width=4]", "regulargpt", {"chunk": "3", "width": "4"}),
    ],
)
def test_instances(text, name, options):
    assert parse_instance(text.strip()) == (name, options)


@pytest.mark.parametrize(
    "text",
    ["mine[", "mine[]", "mine[width]", "mine[=3]", "mine[a=1", "mine[a=1]b", "mine[a=1,]", "[a=1]",
     "mine[a=[1]]", "mine[a=1][b=2]"],
)  # fmt: skip
def test_what_is_no_instance_is_refused(text):
    with pytest.raises(RequestError, match=r"write name\[key=value,key=value\]"):
        parse_instance(text)


def test_an_option_twice_in_an_instance_is_refused():
    with pytest.raises(RequestError, match="a is set twice"):
        parse_instance("mine[a=1,a=2]")


# Configs.


def test_without_a_config_there_is_nothing_to_set():
    assert option_facts(spec_of(None)) == {}
    assert make_config(spec_of(None)) is None
    with pytest.raises(RequestError, match="unknown option of mine 'width': there is none"):
        make_config(spec_of(None), {"width": 3})


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"width": 9}, "mine: width must be divisible by heads: 9 is not"),
        ({"width": None}, "mine: width: must be a whole number"),
        ({"width": 1, "few": 3}, "mine: width=1: must be at least 2 (and 1 more)"),
        ({"wdith": 4}, "unknown option of mine 'wdith': did you mean width?"),
    ],
    ids=str,
)
def test_a_config_that_cannot_be_is_one_line(options, said):
    assert refusal(lambda: make_config(spec_of(Everything), options)) == said


class TooLittle(Config):
    width: int = option(4, "a size", minimum=8)


class NoDefault(Config):
    width: int


class Unbounded(Config):
    width: float = option(1.0, "", minimum=-float("inf"), maximum=float("inf"))


def test_a_bound_at_infinity_is_none():
    width = option_facts(spec_of(Unbounded))["width"]
    assert (width["minimum"], width["maximum"]) == (None, None)


@pytest.mark.parametrize(
    ("config", "said"),
    [
        ("nowhere_at_all:Config", "the config of mine cannot be loaded: No module named"),
        ("formalbench.training.configs:Nothing", "the config of mine cannot be loaded"),
        ("formalbench.contracts.specs:ModelSpec", "is no formalbench.Config"),
        (NoDefault, "the config of mine: width has no default"),
    ],
)
def test_a_config_that_is_none_is_the_plugins_fault(config, said):
    with pytest.raises(BrokenPluginError, match=said):
        option_facts(spec_of(config))


def test_a_default_is_held_to_its_own_bounds():
    with pytest.raises(RequestError, match=r"^mine: width=4: must be at least 8$"):
        make_config(spec_of(TooLittle))
    assert isinstance(make_config(spec_of(Everything)).share, float)  # as if it had been set


def test_a_default_for_no_option_is_the_plugins_fault():
    spec = spec_of("formalbench.training.configs:AdamConfig", width=3)
    with pytest.raises(BrokenPluginError, match="mine has a default for 'width'"):
        option_facts(spec)
