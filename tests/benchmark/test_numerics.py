"""Runs use torch's default settings and restore the caller's afterwards."""

import torch
from formalbench.device import own_numerics


def test_defaults_are_torchs_inside_and_the_callers_after(monkeypatch):
    def fails():
        raise AttributeError("as it does before torch 2.9, once the default was None")

    monkeypatch.setattr(torch, "get_default_device", fails)
    torch.set_default_dtype(torch.float64)
    torch.set_default_device("meta")
    with own_numerics():
        made = torch.ones(1)
        assert (made.dtype, made.device.type) == (torch.float32, "cpu")
    made = torch.ones(1)
    assert (made.dtype, made.device.type) == (torch.float64, "meta")
    torch.set_default_device(None)
    with own_numerics(), own_numerics():
        assert torch.ones(1).device.type == "cpu"
    assert torch.ones(1).device.type == "cpu"
