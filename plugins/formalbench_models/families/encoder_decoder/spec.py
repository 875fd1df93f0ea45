"""Announces the encoder-decoders."""

from __future__ import annotations

from dataclasses import replace

from formalbench import ModelSpec

from formalbench_models.families.announced import family

_HERE = "encoder_decoder."


def _encoder_decoder(name: str, summary: str, reference: str, **defaults: bool) -> ModelSpec:
    factory, config = f"{_HERE}model:EncoderDecoder", f"{_HERE}config:EncoderDecoderConfig"
    announced = family(name, factory, config, summary, reference, **defaults)
    return replace(announced, objectives=("decode", "translate"))


ENCODER_DECODERS = (
    _encoder_decoder(
        "encoder-decoder",
        "transformer that reads a string and says another, symbol by symbol",
        "Vaswani et al. 2017, section 3.1",
    ),
    _encoder_decoder(
        "encoder-decoder-logn",
        "the encoder-decoder with logits scaled by the log of what is attended to",
        "Chiang & Cholak 2022, sections 4.3 and 4.4",
        log_length=True,
    ),
)
