"""Networks of flash-linear-attention and transformers (`make test-published` installs both)."""

import builtins

import pytest
import torch
from formalbench import RequestError
from formalbench.checks.models import model_promises
from formalbench.checks.plugins import keep
from formalbench.contracts.network import Batch, traits_of

LAYERS = ["gated_deltanet", "delta_net", "gla", "retnet", "linear_attn"]

pytestmark = pytest.mark.filterwarnings("ignore")
published = pytest.mark.published


@pytest.fixture
def installed():
    pytest.importorskip("triton")
    pytest.importorskip("fla.models")


@pytest.fixture(scope="module")
def interpreted():
    """Let Triton compute kernels on a CPU.

    Two things of Triton do not work there: it measures which form of a kernel is the fastest, and
    loops over `range` count with numbers that lack the methods of Triton's own.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TRITON_INTERPRET", "1")
        pytest.importorskip("triton")
        pytest.importorskip("fla.models")
        from fla.ops.common import chunk_delta_h, chunk_h
        from triton.runtime import autotuner, interpreter

        def first(self, *arguments, **keys):
            self.nargs = dict(zip(self.arg_names, arguments, strict=False))
            return self.fn.run(*arguments, **keys, **self.configs[0].all_kwargs())

        def counted(*ends):
            return map(interpreter._implicit_cvt, builtins.range(*map(int, ends)))

        patch.setattr(autotuner.Autotuner, "run", first)
        for file in (chunk_delta_h, chunk_h):
            patch.setattr(file, "range", counted, raising=False)
        yield


def built(host, options):
    return host.network(f"fla[{options}]", host.task("parity:tag"))


@published
@pytest.mark.parametrize("layer", LAYERS)
def test_a_layer_gives_states_and_gradients(interpreted, host, layer):
    network = built(host, f"layer={layer}, width=32, layers=1, heads=2")
    assert traits_of(network).causal
    assert not traits_of(network).vmap
    ids = torch.tensor([[0, 1, 1, 0, 1], [1, 1, 0, 0, 0]])
    logits = network(Batch(ids))
    assert logits.shape == (2, 5, 2)
    assert torch.allclose(network(Batch(ids[:, :3])), logits[:, :3], atol=1e-4)
    logits.square().sum().backward()
    gradients = [parameter.grad for parameter in network.parameters()]
    assert all(one is not None and one.isfinite().all() for one in gradients)
    assert sum(bool(one.any()) for one in gradients) > len(gradients) / 2


@published
def test_sizes_and_further_fields_reach_it(interpreted, host):
    options = "layer=gla, width=64, layers=2, heads=4, config=expand_k=1;hidden_ratio=2"
    network = built(host, options).backbone.network.network
    assert len(network.layers) == 2
    assert network.embeddings.weight.shape == (2, 64)
    assert network.embeddings.padding_idx is None
    assert (network.config.num_heads, network.config.hidden_ratio) == (4, 2)
    assert network.layers[0].attn.key_dim == 64


@published
@pytest.mark.parametrize(
    ("options", "says"),
    [
        (
            "layer=gated_deltane",
            "unknown layer of fla 'gated_deltane': did you mean gated_deltanet",
        ),
        ("config=expnad_v=1", "unknown field of the config of gated_deltanet 'expnad_v'"),
        ("layer=transformer", r"fla\[layer=transformer\] cannot be built with these options"),
    ],
)
def test_what_cannot_be_built_is_refused(interpreted, host, options, says):
    with pytest.raises(RequestError, match=says) as refused:
        built(host, options)
    assert "\n" not in str(refused.value)


@published
def test_models_of_transformers_stay_its_own(interpreted, host):
    import transformers

    network = host.network("hf[architecture=mamba2, width=16]", host.task("parity:tag"))
    assert type(network.backbone.network.network) is transformers.Mamba2Model


@published
@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_without_a_gpu_it_says_so(installed, refused, monkeypatch, own_place, all_here):
    monkeypatch.delenv("TRITON_INTERPRET", raising=False)
    line = refused("run", "--model", "fla", "--task", "parity")
    assert "fla[layer=gated_deltanet] needs a GPU: its kernels are written in Triton" in line


def test_without_the_extra_it_says_what_to_install(refused, monkeypatch, own_place, all_here):
    monkeypatch.setattr("formalbench.contracts.errors.find_spec", lambda name: None)
    line = refused("run", "--model", "fla", "--task", "parity")
    assert "fla[layer=gated_deltanet] needs the package fla: pip install 'formalbench[fla]'" in line


ARCHITECTURES = ["gpt2", "llama", "mamba2", "recurrent_gemma", "bamba", "jamba", "lfm2", "rwkv"]
IN_SINGLE = {"mamba2": {"works in bfloat16", "runs under vmap, if its traits say so"}}
"""What does not hold: the library always computes a part in single precision."""


@pytest.fixture
def library():
    return pytest.importorskip("transformers")


def hf_built(host, options, task="parity:tag"):
    return host.network(f"hf[{options}]", host.task(task))


@published
@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_an_architecture_keeps_the_contract(library, host, architecture):
    task = host.task("parity:tag")
    name = f"hf[architecture={architecture}, width=16]"
    checks = list(keep(name, model_promises(lambda: host.network(name, task), task)))
    failed = {check.promise for check in checks if not check.passed}
    assert len(checks) == 10
    assert failed <= IN_SINGLE.get(architecture, set())


@published
@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_sizes_and_the_absence_of_dropout_reach_it(library, host, architecture):
    network = hf_built(host, f"architecture={architecture}, width=24, layers=3, heads=2")
    theirs = network.backbone.network.network.config
    assert traits_of(network).width == theirs.hidden_size == 24
    assert theirs.num_hidden_layers == 3
    heads = {"mamba2": "num_heads", "rwkv": "num_hidden_layers"}  # RWKV-4 has none
    assert getattr(theirs, heads.get(architecture, "num_attention_heads")) in (2, 3)
    assert theirs.vocab_size == 2
    assert [key for key, value in theirs.to_dict().items() if "drop" in key and value] == []
    assert traits_of(network).causal
    assert all(parameter.requires_grad for parameter in network.parameters())


@published
def test_no_symbol_is_padding(library, host):
    for architecture in ARCHITECTURES:
        network = hf_built(host, f"architecture={architecture}, width=16").backbone.network.network
        assert network.get_input_embeddings().padding_idx is None
        assert network.get_input_embeddings().weight.abs().sum(1).min() > 0


@published
def test_further_fields_of_the_config(library, host):
    few, more = (
        hf_built(
            host, f"architecture=jamba, width=16, config=num_experts={n};expert_layer_offset=0"
        )
        for n in (2, 4)
    )
    sizes = [sum(p.numel() for p in network.parameters()) for network in (few, more)]
    assert sizes[0] < sizes[1]
    listed = hf_built(host, "architecture=lfm2, width=16, config=layer_types=conv+conv")
    assert listed.backbone.network.network.config.layer_types == ["conv", "conv"]


@published
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
def test_what_cannot_be_built_is_refused_by_hf(library, host, options, says):
    with pytest.raises(RequestError, match=says) as refused:
        hf_built(host, options)
    assert "\n" not in str(refused.value)


@published
def test_an_encoder_may_see_what_follows(library, host):
    assert not traits_of(hf_built(host, "architecture=bert", "parity")).causal
    with pytest.raises(RequestError, match="hf does not support tag: its answers depend on later"):
        hf_built(host, "architecture=bert")


@published
def test_a_run_says_which_version_it_was(library, own_place, all_here, cli, tiny):
    asked = ("--task", "parity", "--protocol", "tiny", "--plugin", tiny, "--seeds", 1)
    done = cli("run", "--model", "hf[width=8]", *asked, "--device", "cpu", "--json")
    (record,) = done.data
    assert record["status"] == "finished"
    assert record["environment"]["versions"]["transformers"] == library.__version__
