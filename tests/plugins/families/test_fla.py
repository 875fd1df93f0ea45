"""Networks of flash-linear-attention; its kernels are computed by Triton's interpreter, on a CPU.

`make test-published` installs the library.
"""

from __future__ import annotations

import builtins

import pytest
import torch
from formalbench import RequestError
from formalbench.contracts.network import Batch, traits_of
from formalbench.host import PluginHost

LAYERS = ["gated_deltanet", "delta_net", "gla", "retnet", "linear_attn"]

pytestmark = pytest.mark.filterwarnings("ignore")
published = pytest.mark.published


@pytest.fixture(scope="module")
def host():
    return PluginHost.load()


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
