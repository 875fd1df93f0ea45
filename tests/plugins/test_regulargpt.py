"""RegularGPT: both forms, levels, large chunks, and how it begins."""

import subprocess
import sys

import pytest
import torch
from formalbench.contracts.network import Batch
from formalbench.host import PluginHost
from formalbench_models.catalogue.transformers import RegularGptConfig
from formalbench_models.families import regulargpt
from formalbench_models.families.regulargpt import RegularGPT, RegularGptBlock, levels
from formalbench_models.families.regulargpt_reference import reference
from formalbench_models.layers.dilated_attention import LEAST
from model_helpers import assert_same_gradients, fake_task, shaken, strings
from model_helpers import regulargpt as build


@pytest.fixture(params=[True, False], ids=["tables", "no-tables"])
def tables(request, monkeypatch):
    """With tables whenever they are not too large, and without any."""
    monkeypatch.setattr(
        regulargpt.Table,
        "pays",
        lambda table, positions: request.param and len(table.states_VD) ** table.chunk < 1500,
    )


def small(layout, symbols=2, **options):
    return shaken(build(fake_task(layout, symbols), width=8, heads=2, **options))


@pytest.mark.parametrize("norm", ["pre", "post"])
@pytest.mark.parametrize("thickness", [1, 2, 3])
@pytest.mark.parametrize("chunk", [2, 3, 5])
@pytest.mark.usefixtures("tables")
def test_both_forms_equal_the_dense_reference(chunk, thickness, norm):
    options = {"chunk": chunk, "thickness": thickness, "norm": norm}
    tree, each, prefixes = (small(x, **options) for x in ("last", "each", "prefixes"))
    each.load_state_dict(tree.state_dict())
    prefixes.load_state_dict(tree.state_dict())
    longest = 40 if thickness == 1 else chunk**2 + 1  # the reference's padding grows long
    for length in sorted({0, 1, 2, chunk, chunk**2 - 1, chunk**2, chunk**2 + 1, longest}):
        batch = Batch(strings(3, length, 2))
        want = reference(tree, batch.symbols)
        assert want.shape == (3, length + 1, 4)
        torch.testing.assert_close(tree(batch), want[:, -1], rtol=0, atol=1e-10)
        torch.testing.assert_close(each(batch), want[:, 1:], rtol=0, atol=1e-10)
        torch.testing.assert_close(prefixes(batch), want, rtol=0, atol=1e-10)


@pytest.mark.parametrize("thickness", [1, 2])
@pytest.mark.parametrize("chunk", [2, 3])
@pytest.mark.usefixtures("tables")
def test_every_prefix_goes_through_the_levels_of_its_string_if_asked_to(chunk, thickness):
    options = {"chunk": chunk, "thickness": thickness, "levels": "string"}
    each, prefixes = (small(x, **options) for x in ("each", "prefixes"))
    prefixes.load_state_dict(each.state_dict())
    own = small("prefixes", **{**options, "levels": "prefix"})
    own.load_state_dict(each.state_dict())
    for length in (1, chunk, chunk + 1, chunk**2, chunk**2 + 1):
        batch = Batch(strings(3, length, 2))
        want = reference(each, batch.symbols)
        torch.testing.assert_close(each(batch), want[:, 1:], rtol=0, atol=1e-10)
        torch.testing.assert_close(prefixes(batch), want, rtol=0, atol=1e-10)
        # Alike where a prefix has as many levels as the string, and not elsewhere.
        same = [levels(end, chunk) == levels(length, chunk) for end in range(1, length + 1)]
        alike = [True, *same]  # the empty prefix has one level
        found = (own(batch) - want).abs().amax((0, 2)) < 1e-10
        assert found.tolist() == alike


def test_a_padded_string_does_not_say_how_many_levels_its_neighbours_have():
    assert small("last", levels="string").traits.padding
    assert not small("each", levels="string").traits.padding
    assert small("each").traits.padding


@pytest.mark.parametrize(
    ("length", "chunk", "want"),
    [
        (0, 2, 1),
        (1, 2, 1),
        (2, 2, 1),
        (3, 2, 2),
        (4, 2, 2),
        (5, 2, 3),
        (243, 3, 5),
        (244, 3, 6),
        (1000, 10, 3),
        (1 << 20, 2, 20),
        ((1 << 20) + 1, 2, 21),
    ],
)
def test_levels_are_counted_in_integers(length, chunk, want):
    assert levels(length, chunk) == want


@pytest.mark.parametrize("chunk", [2, 3])
def test_every_level_pads_with_the_same_vector(chunk):
    """As the published code does: pad to a multiple of C, apply the block, keep every C-th."""
    network = small("last", chunk=chunk)
    pad_D = network.embedding.weight[network.alphabet["pad"]]
    for length in range(1, 30):
        symbols = strings(3, length, 2)
        x_BND = network.embedding(symbols) * 8**0.5
        for _ in range(levels(length, chunk)):
            x_BND = torch.cat((pad_D.expand(3, -x_BND.shape[1] % chunk, -1), x_BND), dim=1)
            x_BND = network.blocks[0].keep_all(x_BND, None, 1)[:, chunk - 1 :: chunk]
        assert x_BND.shape[1] == 1
        torch.testing.assert_close(network(Batch(symbols)), network.answer(x_BND[:, 0]))


def test_it_begins_as_the_published_code():
    network = build(fake_task(symbols=8, outputs=2), width=512)
    block = network.blocks[0]
    for layer in (block.query, block.key_value, block.merge_heads):
        assert layer.bias is None
        # a normal distribution cut off at two deviations has 0.88 of its deviation
        assert layer.weight.detach().std() * 512**0.5 == pytest.approx(0.88, rel=0.05)
    assert block.feed_forward.activation is torch.nn.functional.relu
    assert (block.feed_forward.up.bias == 0).all()
    weight = network.embedding.weight.detach()
    symbols, pad = weight[:8], weight[8]
    assert symbols.std() == pytest.approx(0.88 * 0.02, rel=0.1)
    assert pad.std() == pytest.approx(0.02, rel=0.1)
    vectors, vector = network.vectors()
    assert torch.equal(vectors[8], pad)
    assert torch.equal(vector, pad)
    torch.testing.assert_close(vectors[:8], symbols * 512**0.5)
    assert block.heads == 8


def test_the_dilated_form_has_no_square_matrix():
    network = build(fake_task("each", symbols=2), width=4, heads=1, feed_forward=1)
    with torch.no_grad():
        answers = network(Batch(strings(1, 1 << 17, 2)))
    assert answers.shape == (1, 1 << 17, 4)
    assert answers.isfinite().all()


@pytest.mark.parametrize("layout", ["last", "each", "prefixes"])
@pytest.mark.parametrize("lengths", [None, torch.tensor([10, 3, 0])])
def test_the_trace_holds_what_is_read(layout, lengths):
    network = small(layout)
    symbols = strings(3, 10, 2)
    if lengths is not None:
        symbols = symbols * (torch.arange(10) < lengths[:, None])
    batch = Batch(symbols, lengths)
    answers = network.answer(network.norm(network.trace(batch)["read"]))
    want = network(batch)
    torch.testing.assert_close(answers[:, 0] if layout == "last" else answers, want)


@pytest.mark.slow
def test_a_string_of_a_million_symbols_in_little_memory():
    """Both forms at length 1,048,576, in a process that may not take 3 GiB; they agree."""
    program = """
import resource, torch
from formalbench.contracts.network import Batch
from formalbench.host import PluginHost

torch.set_num_threads(1)
host = PluginHost.load()
tree, dilated = (
    host.network("regulargpt", host.task(task), {"width": 4, "heads": 1})
    for task in ("parity", "parity:tag")
)
dilated.load_state_dict(tree.state_dict())
batch = Batch(torch.randint(2, (1, 1 << 20)))
with torch.no_grad():
    torch.testing.assert_close(tree(batch), dilated(batch)[:, -1])
assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss < 3 << 20  # KiB
"""
    subprocess.run([sys.executable, "-c", program], check=True)


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
        assert_same_gradients(bands, one_by_one, [x_BND, pad_D, block.relative_CH])


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
