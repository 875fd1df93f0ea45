"""RegularGPT with large chunks: matrix products against attention chunk by chunk."""

import pytest
import torch
from formalbench import Batch
from formalbench.host import PluginHost
from formalbench_models.catalogue.transformer_variants import RegularGptConfig
from formalbench_models.families.regulargpt import RegularGPT, RegularGptBlock
from formalbench_models.families.regulargpt_reference import reference
from formalbench_models.layers.dilated_attention import LEAST


def make_block(chunk: int) -> RegularGptBlock:
    torch.manual_seed(chunk)
    block = RegularGptBlock(RegularGptConfig(chunk=chunk, width=8, heads=2)).double()
    torch.nn.init.normal_(block.relative_CH)
    return block


@pytest.mark.parametrize("chunk", [LEAST, LEAST + 1])
@pytest.mark.parametrize("length", [1, LEAST - 1, LEAST, LEAST + 1, 2 * LEAST + 1, 70])
def test_bands_are_what_attention_chunk_by_chunk_is(chunk, length):
    block = make_block(chunk)
    x_BND = torch.randn(2, length, 8).double().requires_grad_()
    pad_D = torch.randn(8).double().requires_grad_()
    for dilation in (1, chunk, chunk**2):
        bands = block.keep_all(x_BND, pad_D, dilation)
        one_by_one = block.keep_all(x_BND, pad_D, dilation, trace={})
        assert torch.allclose(bands, one_by_one, atol=1e-10)
        weights = torch.randn_like(bands)
        inputs = [x_BND, pad_D, block.relative_CH]
        ours, theirs = (
            torch.autograd.grad((y * weights).sum(), inputs) for y in (bands, one_by_one)
        )
        for gradient, expected in zip(ours, theirs, strict=True):
            assert torch.allclose(gradient, expected, atol=1e-9)


@pytest.mark.parametrize("length", [1, LEAST, 2 * LEAST + 1])
def test_bands_with_nothing_in_front_are_what_attention_chunk_by_chunk_is(length):
    block = make_block(LEAST)
    x_BND = torch.randn(2, length, 8).double()
    for dilation in (1, LEAST):
        bands = block.keep_all(x_BND, None, dilation)
        assert torch.allclose(bands, block.keep_all(x_BND, None, dilation, trace={}), atol=1e-10)
        # The first position has no key but itself, and its mixture is its value.
        _, value_BND = block.key_value(x_BND).chunk(2, dim=-1)
        assert torch.allclose(bands[:, 0], block.finish(x_BND, value_BND)[:, 0], atol=1e-10)


@pytest.mark.parametrize("chunk", [2, LEAST])
@pytest.mark.parametrize("thickness", [1, 2])
def test_windows_of_a_text_have_no_padding_and_a_tied_readout(chunk, thickness):
    config = RegularGptConfig(chunk=chunk, width=8, heads=2, thickness=thickness, levels="string")
    network = RegularGPT(PluginHost.load().task("tiny:causal-lm"), config).double()
    assert network.readout is None
    for block in network.blocks:
        torch.nn.init.normal_(block.relative_CH)
    symbols_BN = torch.randint(network.outputs, (2, 2 * LEAST + 3))
    with torch.no_grad():
        answers, expected = network(Batch(symbols_BN)), reference(network, symbols_BN)
        assert torch.allclose(answers, expected, atol=1e-9)
        network.embedding.weight[network.alphabet["pad"]] += 1
        assert torch.equal(network(Batch(symbols_BN)), answers)


@pytest.mark.parametrize(("thickness", "millions"), [(6, 81), (12, 123)])
def test_the_sizes_of_table_5(thickness, millions):
    task = PluginHost.load().task("tiny:causal-lm")
    config = RegularGptConfig(
        chunk=128, width=768, heads=12, thickness=thickness, activation="gelu", bias=True,
        norm="pre", init="gpt2",
    )  # fmt: skip
    with torch.device("meta"):
        network = RegularGPT(task, config)
    own = sum(p.numel() for name, p in network.named_parameters() if "embedding" not in name)
    assert (own + 50257 * 768) / 1e6 == pytest.approx(millions, abs=1)


def test_bands_under_vmap():
    block = make_block(LEAST)
    pad_D = torch.randn(8).double()
    x_RBND = torch.randn(3, 2, 40, 8).double()
    together = torch.func.vmap(lambda x_BND: block.keep_all(x_BND, pad_D, 1))(x_RBND)
    assert torch.allclose(together, torch.stack([block.keep_all(x, pad_D, 1) for x in x_RBND]))
