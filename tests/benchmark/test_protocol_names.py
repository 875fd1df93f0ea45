"""From a protocol's name to its contents: what it extends, and what is set of it."""

import pytest
from formalbench.contracts.errors import RequestError
from formalbench.contracts.specs import ProtocolSpec
from formalbench.host import PluginHost
from refusals import refusal

BASE = """
    name: base
    version: 3
    summary: the base
    seeds: 2
    learning_rates: [0.01, 0.02]
    steps: 40
    evaluate_every: 10
    optimiser: {name: sgd, momentum: 0.5, gradient_clip: 2.0}
    decay: {steps: 20, final: 0.5}
    validation: {every: 20, lengths: 3, strings: 8}
    test: {lengths: 3, strings: 16}
    watch: {every: 10, lengths: [5, 9]}
"""


@pytest.fixture
def protocols(write):
    """Return a host with the base and these files, by name."""

    def make(**files):
        host = PluginHost.load()
        for name, text in {"base": BASE, **files}.items():
            if name != "base":
                text = f"name: {name}\nversion: 1\n{text}"
            path = write(f"{name}.yaml", text)
            host.protocols.add(ProtocolSpec(name, "", path), host.plugins[0])
        return host

    return make


# What a protocol extends.


def test_a_protocol_is_its_base_but_for_what_it_says(protocols):
    host = protocols(mine="extends: base\nsteps: 60\ndecay: {final: 0.1}\ntest: {strings: 32}\n")
    base, mine = host.protocol("base"), host.protocol("mine")
    assert (mine.name, mine.version, mine.summary) == ("mine", 1, "")
    assert mine.steps == 60
    assert (mine.decay.steps, mine.decay.final) == (20, 0.1)
    assert (mine.test.lengths, mine.test.strings) == (3, 32)
    changed = {"name", "version", "summary", "steps", "decay", "test"}
    assert mine.model_dump(exclude=changed) == base.model_dump(exclude=changed)


def test_lists_are_replaced(protocols):
    host = protocols(mine="extends: base\nlearning_rates: [0.5]\nwatch: {lengths: [7]}\n")
    mine = host.protocol("mine")
    assert mine.learning_rates == (0.5,)
    assert (mine.watch.every, mine.watch.lengths) == (10, (7,))


def test_an_extension_can_be_extended(protocols):
    host = protocols(
        third="extends: second\nseeds: 5\n", second="extends: base\nsteps: 60\nseeds: 4\n"
    )
    assert (host.protocol("third").steps, host.protocol("third").seeds) == (60, 5)
    assert host.protocol_chain("third") == ("third", "second", "base")
    assert host.protocol_chain("base") == ("base",)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "summary: other\n",
        "seeds: 7\n",
        "learning_rates: [0.3]\n",
        "test: {lengths: all, strings: 5}\n",
        "splits: {test: [50, 60]}\n",
        "watch: {every: 20, lengths: [3]}\n",
        "steps: 40\n",  # as in the base
        "optimiser: {nesterov: false}\n",  # the default
        "schedule: {name: constant}\n",
    ],
)
def test_what_trains_as_its_base_draws_its_strings_and_has_its_weights(protocols, text):
    host = protocols(mine=f"extends: base\n{text}", again="extends: mine\n")
    base, mine, again = (host.protocol(name) for name in ("base", "mine", "again"))
    assert base.key == mine.key == again.key == ("base", 3)
    assert base.train_facts() == mine.train_facts() == again.train_facts()


@pytest.mark.parametrize(
    "text",
    [
        "steps: 60\n",
        "batch: 4\n",
        "precision: bf16\n",
        "time_limit: 3.0\n",
        "splits: {train: [5, 6]}\n",
        "optimiser: {nesterov: true}\n",
        "schedule: {name: cosine}\n",
        "decay: {mastered: 0.5}\n",
        "validation: {strings: 9}\n",
    ],
)
def test_what_trains_otherwise_draws_strings_of_its_own(protocols, text):
    host = protocols(mine=f"extends: base\n{text}", again="extends: mine\nseeds: 9\n")
    assert host.protocol("mine").key == ("mine", 1)
    assert host.protocol("again").key == ("mine", 1)


def test_another_optimiser_leaves_the_options_of_the_first_behind(protocols):
    host = protocols(mine="extends: base\noptimiser: {name: adamw, eps: 0.001}\n")
    assert host.protocol("base").optimiser.options == {
        "momentum": 0.5, "nesterov": False, "weight_decay": 0.0,
    }  # fmt: skip
    mine = host.protocol("mine").optimiser
    assert mine.options == {"betas": (0.9, 0.999), "eps": 0.001, "weight_decay": 0.01}
    assert mine.gradient_clip == 2.0


@pytest.mark.parametrize(
    ("files", "said"),
    [
        ({"mine": "extends: mine\n"}, "mine extends mine"),
        ({"mine": "extends: other\n", "other": "extends: mine\n"}, "mine extends other extends"),
        ({"mine": "extends: bsae\n"}, "unknown protocol 'bsae': did you mean base?"),
        ({"mine": "extends: [base]\n"}, "extends must be a protocol's name"),
        ({"mine": "extends: base\nchanged: {steps: 3}\n"}, "changed is for --set"),
        ({"mine": "extends: base\nstpes: 3\n"}, "unknown key 'stpes': did you mean steps?"),
        ({"mine": "test: {stings: 3}\n"}, "'test.stings': did you mean test.strings"),
        ({"mine": "optimiser: {name: adma}\n"}, "unknown optimiser 'adma': did you mean adam"),
        ({"mine": "optimiser: {bets: [0, 0]}\n"}, "unknown option of adam 'bets': did you mean"),
        ({"mine": "schedule: {final: 0.1}\n"}, "unknown option of constant 'final'"),
        (  # all mistakes at once
            {"mine": "optimiser: {bets: 3}\nschedule: {wrm_up: 2}\n"},
            "'bets': did you mean betas or eps?; unknown option of constant 'wrm_up'",
        ),
        (
            {"mine": "steps: many\nseeds: -1\nlearnin_rates: 3\n"},
            "unknown key 'learnin_rates': did you mean learning_rates?; "
            "seeds=-1: must be at least 1; steps=many: must be a whole number",
        ),
    ],
    ids=str,
)
def test_what_cannot_be_is_one_line(protocols, files, said):
    assert said in refusal(lambda: protocols(**files).protocol("mine"))


def test_a_file_that_extends_is_loaded_before_its_base(write, cli):
    write("folder/a.yaml", "name: a\nversion: 1\nextends: b\nseeds: 4\n")
    write("folder/b.yaml", "name: b\nversion: 1\nsteps: 700\n")
    facts = cli("show", "protocol", "a", "--json", "--plugin", "folder").data
    assert (facts["steps"], facts["seeds"], facts["draws"]) == (700, 4, ["b", 1])


# What is default.


def test_the_options_of_an_optimiser_are_written_out(protocols):
    host = protocols(
        short="steps: 700\n",
        long="steps: 700\noptimiser: {name: adam, betas: [0.9, 0.999], weight_decay: 0}\n"
        "schedule: {name: constant, warm_up: 0}\n",
    )
    short, long = host.protocol("short"), host.protocol("long")
    assert short.optimiser == long.optimiser
    assert short.optimiser.options["betas"] == (0.9, 0.999)
    assert short.model_dump(exclude={"name"}) == long.model_dump(exclude={"name"})
    assert {**short.train_facts(), "draws": 0} == {**long.train_facts(), "draws": 0}


# What is set on the command line.


@pytest.mark.parametrize(
    ("key", "text", "value"),
    [
        ("steps", "60", 60),
        ("decay.final", "0.25", 0.25),
        ("precision", "tf32", "tf32"),
        ("learning_rates", "0.5,0.25", (0.5, 0.25)),
        ("test.lengths", "all", "all"),
        ("test.lengths", "50,60", (50, 60)),
        ("splits.train", "5,9", (5, 9)),
        ("time_limit", "2.5", 2.5),
        ("optimiser.momentum", "0.75", 0.75),
        ("optimiser.nesterov", "true", True),
        ("schedule.name", "cosine", "cosine"),
    ],
)
def test_a_text_is_read_by_the_type_of_its_key(protocols, key, text, value):
    base = protocols().protocol("base")
    done = protocols().protocol("base", {key: text})
    for part in key.split("."):
        done = getattr(done, part)
    assert done == value
    assert type(done) is type(value)
    assert protocols().protocol("base", {key: text}).changed == {key: value}
    assert base.changed is None


def test_what_is_set_is_noted_and_the_strings_stay(protocols):
    host = protocols(mine="extends: base\nseeds: 9\n")
    done = host.protocol("mine", {"steps": "60", "test.lengths": "50,60"})
    assert (done.name, done.version, done.key) == ("mine", 1, ("base", 3))
    assert done.title == "mine[steps=60, test.lengths=50,60]"
    assert host.protocol("mine", {}).title == "mine"


def test_nothing_is_changed_by_what_is_so_already(protocols):
    host = protocols()
    same = {"steps": "40", "optimiser.momentum": "0.5", "learning_rates": "0.01,0.02"}
    assert host.protocol("base", same) == host.protocol("base")
    assert host.protocol("base", {**same, "batch": "7"}).changed == {"batch": 7}


def test_none_is_a_value_where_there_may_be_none(protocols):
    done = protocols().protocol("base", {"optimiser.gradient_clip": "none", "time_limit": "none"})
    assert done.optimiser.gradient_clip is None
    assert done.changed == {"optimiser.gradient_clip": "none"}


def test_an_optimiser_is_named_before_its_options_whatever_the_order(protocols):
    done = protocols().protocol("base", {"optimiser.betas": "0.5,0.6", "optimiser.name": "adamw"})
    assert done.optimiser.options["betas"] == (0.5, 0.6)
    assert "momentum" not in done.optimiser.options


def test_fewer_steps_cut_a_decay_that_nobody_spoke_of(protocols):
    host = protocols()
    assert host.protocol("base", {"steps": "10"}).decay.steps == 10
    assert host.protocol("base", {"steps": "10"}).title == "base[steps=10]"
    assert host.protocol("base", {"steps": "30"}).decay.steps == 20
    with pytest.raises(RequestError, match=r"decay\.steps \(20\) must not exceed steps \(10\)"):
        host.protocol("base", {"steps": "10", "decay.steps": "20"})


@pytest.mark.parametrize(
    ("key", "text", "said"),
    [
        ("stpes", "3", "--set protocol.stpes=3: unknown key 'stpes': did you mean steps?"),
        ("test", "3", "test has parts: name one of them, as test.lengths"),
        ("draws", "x", "unknown key 'draws'"),
        (
            "steps",
            "ten",
            "protocol.steps=ten: not a valid protocol: steps=ten: must be a whole",
        ),
        ("optimiser.momentun", "1", "unknown option of sgd 'momentun': did you mean momentum?"),
        ("optimiser.momentum", "2", "sgd: momentum=2: must be at most 1"),
    ],
)
def test_what_cannot_be_set_is_one_line(protocols, key, text, said):
    assert said in refusal(lambda: protocols().protocol("base", {key: text}))


@pytest.mark.parametrize(
    ("key", "text", "said"),
    [
        ("learning_rates", "nan", "learning_rates.0=nan: must be a finite number"),
        *(
            (
                "test.lengths",
                text,
                f"test.lengths{shown}: must be how many, at least 1, or",
            )
            for text, shown in (("0", "=0"), ("some", "=some"), ("50,x", ""), ("-1,5", ""))
        ),
    ],
)
def test_a_value_that_cannot_be_is_told_once(protocols, key, text, said):
    told = refusal(lambda: protocols().protocol("base", {key: text}))
    begin = f"--set protocol.{key}={text}: not a valid protocol: "
    assert told.startswith(begin + said)
    assert ";" not in told
    assert "uple" not in told


@pytest.mark.parametrize(
    ("key", "takes"),
    [
        ("learning_rates", True),
        ("splits.train", True),
        ("optimiser.betas", True),
        ("steps", False),
        ("nowhere", False),
    ],
)
def test_where_a_comma_parts_the_values_of_one_key(protocols, key, takes):
    assert protocols().protocol_takes_list(key) == takes


def test_a_protocol_with_what_was_set_survives_a_record(protocols):
    changes = {"test.lengths": "50,60", "optimiser.gradient_clip": "none", "steps": "60"}
    done = protocols().protocol("base", changes)
    again = type(done).model_validate_json(done.model_dump_json())
    assert again == done
    assert again.title == done.title


def test_all_that_is_wrong_with_several_keys_is_said_at_once(protocols):
    host = protocols()
    asked = {"steps": "45", "batch": "0", "nonsense": "1", "optimiser.foo": "3", "seeds": "x"}
    said = refusal(lambda: host.protocol("base", asked))
    for part in (
        "unknown key 'nonsense'",
        "unknown option of sgd 'foo'",
        "batch=0: must be at least 1",
        "seeds=x: must be a whole number",
        "steps must be a multiple of evaluate_every, 10",
    ):
        assert said.count(part) == 1, part
    wrong = {"steps": "45", "validation.every": "15", "decay.steps": "50"}
    said = refusal(lambda: host.protocol("base", wrong))
    assert "steps must be a multiple of evaluate_every" in said
    assert "validation.every must be a multiple of evaluate_every" in said
    assert "decay.steps (50) must not exceed steps (45)" in said


def test_nothing_is_said_of_a_key_that_is_compared_with_an_invalid_one(protocols):
    assert "must be a multiple" not in refusal(
        lambda: protocols().protocol("base", {"steps": "45", "evaluate_every": "0"})
    )
