"""From `--set key=value` to typed values."""

import pytest
from formalbench.contracts.errors import RequestError
from formalbench.contracts.specs import Option
from formalbench.host.options import (
    check_settings,
    chosen_options,
    complete_options,
    parse_settings,
    parse_value,
)

CHUNK = {"chunk": Option(2, "", minimum=2, maximum=8)}
BOTH = {"p": Option(0.5, "", minimum=0.0, maximum=1.0)}


def test_settings_are_parsed():
    assert parse_settings(["model.chunk=3", "task.p = 0.3", "r=a=b", "q="]) == (
        ("model", "chunk", "3"),
        ("task", "p", "0.3"),
        ("", "r", "a=b"),
        ("", "q", ""),
    )
    assert parse_settings([]) == ()


@pytest.mark.parametrize(
    "text", ["", "=", "=3", "chunk", "model.=3", ".chunk=3", "run.chunk=3", "a.model.chunk=3"]
)
def test_other_settings_are_refused(text):
    with pytest.raises(RequestError, match=r"write model\.key=value"):
        parse_settings([text])


@pytest.mark.parametrize(
    "texts", [["p=1", "p=2"], ["task.p=1", "task.p=1"], ["p=0.3", "task.p=0.4"]], ids=str
)
def test_a_key_set_twice_is_refused(texts):
    with pytest.raises(RequestError, match="twice"):
        check_settings(parse_settings(texts), [CHUNK], [BOTH])


@pytest.mark.parametrize(
    ("text", "default", "value"),
    [
        ("3", 2, 3),
        ("-3", 2, -3),
        ("3", 0.5, 3.0),
        ("1e-3", 0.5, 0.001),
        ("true", False, True),
        ("False", True, False),
        ("3", "text", "3"),
        ("", "text", ""),
    ],
)
def test_the_type_is_that_of_the_default(text, default, value):
    parsed = parse_value("here", text, Option(default, ""))
    assert parsed == value
    assert type(parsed) is type(value)


@pytest.mark.parametrize(
    ("text", "default", "said"),
    [
        ("3.0", 2, "a whole number"),
        ("three", 2, "a whole number"),
        ("", 2, "a whole number"),
        ("9" * 5000, 2, "a whole number"),
        ("nan", 0.5, "a number"),
        ("inf", 0.5, "a number"),
        ("1e999", 0.5, "a number"),
        ("x", 0.5, "a number"),
        ("1", False, "true or false"),
        ("yes", False, "true or false"),
    ],
)
def test_another_type_is_refused(text, default, said):
    with pytest.raises(RequestError, match=f"here: must be {said}"):
        parse_value("here", text, Option(default, ""))


@pytest.mark.parametrize(
    ("text", "option", "said"),
    [
        ("1", Option(2, "", minimum=2), "at least 2"),
        ("9", Option(2, "", maximum=8), "at most 8"),
        ("-0.1", Option(0.5, "", minimum=0.0), "at least 0"),
        ("c", Option("a", "", choices=("a", "b")), "one of a, b"),
        ("3", Option(2, "", choices=(2, 4)), "one of 2, 4"),
    ],
)
def test_what_is_not_allowed_is_refused(text, option, said):
    with pytest.raises(RequestError, match=said):
        parse_value("here", text, option)


def test_the_ends_are_allowed():
    option = Option(0.5, "", minimum=0.0, maximum=1.0)
    assert parse_value("here", "0", option) == 0.0
    assert parse_value("here", "1", option) == 1.0


def test_a_bare_key_is_allowed_where_one_side_has_it():
    settings = parse_settings(["chunk=3", "p=0.25"])
    check_settings(settings, [CHUNK], [BOTH])
    assert chosen_options("model", "m", settings, CHUNK) == {"chunk": 3}
    assert chosen_options("task", "t", settings, BOTH) == {"p": 0.25}


def test_a_bare_key_of_both_sides_is_refused():
    with pytest.raises(RequestError, match=r"model\.p= or task\.p="):
        check_settings(parse_settings(["p=0.3"]), [BOTH], [BOTH])
    check_settings(parse_settings(["model.p=0.3"]), [BOTH], [BOTH])


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("chnk=3", "unknown option 'chnk': did you mean chunk?"),
        ("model.p=3", "unknown model option 'p'"),
        ("task.chunk=3", "unknown task option 'chunk'"),
    ],
)
def test_an_unknown_key_is_refused_with_a_hint(text, said):
    with pytest.raises(RequestError) as caught:
        check_settings(parse_settings([text]), [CHUNK], [BOTH])
    assert said in str(caught.value)


def test_a_default_set_by_hand_is_no_choice():
    settings = parse_settings(["chunk=2"])
    assert chosen_options("model", "m", settings, CHUNK) == {}
    assert complete_options({}, CHUNK) == {"chunk": 2}
    assert complete_options({"chunk": 5}, CHUNK) == {"chunk": 5}


def test_an_error_names_whose_option_it_is():
    with pytest.raises(RequestError, match=r"regulargpt: --set chunk=1: must be at least 2"):
        chosen_options("model", "regulargpt", parse_settings(["chunk=1"]), CHUNK)
