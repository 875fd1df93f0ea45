"""Hybrids are blocks of their families, and every mixer is public."""

import pytest
import torch
from formalbench.contracts.network import Batch
from formalbench_models.catalogue.linear_recurrences import RECURRENCES
from formalbench_models.layers import AttentionMixer


def built(host, options):
    torch.manual_seed(0)
    network = host.network(f"hybrid[{options}]", host.task("parity:tag"))
    return network.backbone.double()


@pytest.mark.parametrize("part", sorted(RECURRENCES))
def test_a_block_is_one_of_its_family(host, part):
    hybrid = built(host, f"pattern={part}+attention, width=8, heads=2")
    heads = ", heads=2" if hasattr(hybrid.blocks[0].mixer, "heads") else ""
    task = host.task("parity:tag")
    own = host.network(f"{part}[width=8, layers=1{heads}]", task).backbone.double().blocks[0]
    own.load_state_dict(hybrid.blocks[0].state_dict())
    x_BNW = torch.randn(2, 7, 8, dtype=torch.float64)
    torch.testing.assert_close(hybrid.blocks[0](x_BNW, ())[0], own(x_BNW, ())[0])


def test_attention_is_the_equation_position_by_position():
    mixer = AttentionMixer(8, 2).double()
    x_ND = torch.randn(6, 8, dtype=torch.float64)
    layer = mixer.attention
    key_ND, value_ND = layer.key_value(x_ND).chunk(2, dim=-1)
    expected = []
    for place in range(6):
        query_D, heads = layer.query(x_ND[place]), []
        for head in (slice(0, 4), slice(4, 8)):
            logits = torch.stack([query_D[head] @ key_ND[j, head] / 2 for j in range(place + 1)])
            heads.append(sum(w * value_ND[j, head] for j, w in enumerate(logits.softmax(0))))
        expected.append(layer.merge_heads(torch.cat(heads)))
    torch.testing.assert_close(mixer(x_ND[None], ())[0][0], torch.stack(expected))


def test_attention_to_nothing_is_nothing():
    mixer = AttentionMixer(8, 2)
    for shape in ((2, 0, 8), (0, 3, 8), (0, 200, 8)):  # 200 symbols are trained by the kernel
        assert mixer(torch.zeros(shape))[0].shape == shape
        with torch.no_grad():
            assert mixer(torch.zeros(shape))[0].shape == shape
            assert mixer(torch.zeros(shape), (torch.zeros(shape[0], 3, 8),))[0].shape == shape
    with pytest.raises(ValueError, match="heads=3: must divide"):
        AttentionMixer(8, 3)


def test_a_string_can_be_read_in_pieces(host):
    network = built(host, "pattern=mamba-2+attention+deltanet, repeats=2, width=8")
    assert len(network.blocks) == 6
    ids = torch.randint(2, (3, 9))
    whole = network(Batch(ids))
    first, kept = network.go_on(ids[:, :4], [()] * 6)
    then, _ = network.go_on(ids[:, 4:], kept)
    torch.testing.assert_close(torch.cat((first, then), dim=1), whole)
