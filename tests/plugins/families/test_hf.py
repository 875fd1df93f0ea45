"""Architectures of the library transformers, each on a CPU (`make test-published` installs it)."""

from __future__ import annotations

import pytest
from formalbench import RequestError
from formalbench.checks.models import model_promises
from formalbench.checks.promises import keep
from formalbench.contracts.network import traits_of
from formalbench.host import PluginHost

ARCHITECTURES = ["gpt2", "llama", "mamba2", "recurrent_gemma", "bamba", "jamba", "lfm2", "rwkv"]
IN_SINGLE = {"mamba2": {"works in bfloat16", "runs under vmap, as its traits say"}}
"""What does not hold: the library always computes a part in single precision."""

pytestmark = [pytest.mark.published, pytest.mark.filterwarnings("ignore")]


@pytest.fixture(scope="module")
def host():
    return PluginHost.load()


@pytest.fixture
def library():
    return pytest.importorskip("transformers")


def built(host, options, task="parity:tag"):
    return host.network(f"hf[{options}]", host.task(task))


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_an_architecture_keeps_the_contract(library, host, architecture):
    task = host.task("parity:tag")
    name = f"hf[architecture={architecture}, width=16]"
    checks = list(keep(name, model_promises(lambda: host.network(name, task), task)))
    failed = {check.promise for check in checks if not check.passed}
    assert len(checks) == 10
    assert failed <= IN_SINGLE.get(architecture, set())


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_sizes_and_the_absence_of_dropout_reach_it(library, host, architecture):
    network = built(host, f"architecture={architecture}, width=24, layers=3, heads=2")
    theirs = network.backbone.network.network.config
    assert traits_of(network).width == theirs.hidden_size == 24
    assert theirs.num_hidden_layers == 3
    heads = {"mamba2": "num_heads", "rwkv": "num_hidden_layers"}  # RWKV-4 has none
    assert getattr(theirs, heads.get(architecture, "num_attention_heads")) in (2, 3)
    assert theirs.vocab_size == 2
    assert [key for key, value in theirs.to_dict().items() if "drop" in key and value] == []
    assert traits_of(network).causal
    assert all(parameter.requires_grad for parameter in network.parameters())


def test_no_symbol_is_padding(library, host):
    for architecture in ARCHITECTURES:
        network = built(host, f"architecture={architecture}, width=16").backbone.network.network
        assert network.get_input_embeddings().padding_idx is None
        assert network.get_input_embeddings().weight.abs().sum(1).min() > 0


def test_further_fields_of_the_config(library, host):
    few, more = (
        built(host, f"architecture=jamba, width=16, config=num_experts={n};expert_layer_offset=0")
        for n in (2, 4)
    )
    sizes = [sum(p.numel() for p in network.parameters()) for network in (few, more)]
    assert sizes[0] < sizes[1]
    listed = built(host, "architecture=lfm2, width=16, config=layer_types=conv+conv")
    assert listed.backbone.network.network.config.layer_types == ["conv", "conv"]


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ("architecture=lama", "unknown architecture of hf 'lama': did you mean llama"),
        ("config=expnad=1", "unknown field of the config of gpt2 'expnad'"),
        ("config=n_inner", "unknown field of the config of gpt2"),
        ("architecture=t5", r"hf\[architecture=t5\] cannot be built with these options"),
        ("width=10", "width must be divisible by heads: 10 is not by 4"),
    ],
)
def test_what_cannot_be_built_is_refused(library, host, options, says):
    with pytest.raises(RequestError, match=says) as refused:
        built(host, options)
    assert "\n" not in str(refused.value)


def test_an_encoder_may_see_what_follows(library, host):
    assert not traits_of(built(host, "architecture=bert", "parity")).causal
    with pytest.raises(RequestError, match="an answer may not see what follows it"):
        built(host, "architecture=bert")


def test_a_run_says_which_version_it_was(library, own_place, all_here, cli, tiny):
    asked = ("--task", "parity", "--protocol", "tiny", "--plugin", tiny, "--seeds", 1)
    done = cli("run", "--model", "hf[width=8]", *asked, "--device", "cpu", "--json")
    (record,) = done.data
    assert record["status"] == "finished"
    assert record["environment"]["versions"]["transformers"] == library.__version__


