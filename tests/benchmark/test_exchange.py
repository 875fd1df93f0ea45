"""Exported folders in the libraries that they are written for, without a network.

`make test-published` installs them.
"""

import json
import os
import subprocess
import sys

import formalbench as fb
import pytest

pytestmark = [pytest.mark.published, pytest.mark.filterwarnings("ignore")]

FEW = """
schema_version: 1
name: few
version: 1
steps: 20
splits: {train: [1, 10], test: [11, 30]}
decay: {steps: 20}
validation: {every: 20, lengths: 4, strings: 16}
test: {lengths: 5, strings: 32}
"""
TASKS = ["parity", "parity:tag", "tomita-3:next-symbols"]


@pytest.fixture
def few(write):
    return write("few.yaml", FEW)


@pytest.fixture
def load(few):
    return lambda name: fb.load(name, protocol="few", plugins=[few])


@pytest.fixture
def folder(cli, few, tmp_path):
    """Tasks as `formalbench export` writes them for lm-evaluation-harness."""
    pytest.importorskip("lm_eval")
    for name in TASKS:
        options = ("--format", "lm-eval", "--output", tmp_path / "harness", "--protocol", "few")
        assert cli("export", name, *options, "--plugin", few).code == 0
    return tmp_path / "harness"


def at_times(label):
    """Return a function that is right where a string begins as it ends."""
    return lambda string: label(string if string[0] == string[-1] else string[0] * len(string))


def scripted(answer):
    """Return a language model that says for each prompt what a function makes of its string."""
    from lm_eval.api.model import LM

    class Scripted(LM):
        def loglikelihood(self, requests):
            for request in requests:
                prompt, choice = request.args
                yield (0.0 if choice.strip() == self.said(prompt) else -1.0), False

        def generate_until(self, requests):
            return [f" {self.said(request.args[0])}" for request in requests]

        def said(self, prompt):
            (line,) = (one for one in prompt.split("\n") if one.startswith("String: "))
            return answer(line.removeprefix("String: "))

        def loglikelihood_rolling(self, requests):
            raise NotImplementedError

    return Scripted()


@pytest.fixture
def our_score(cli, few, tmp_path):
    """Score answers, by the strings' ids, with our command."""

    def score(name, answers):
        lines = [json.dumps({"id": one, "answer": answer}) for one, answer in answers.items()]
        (tmp_path / "mine.jsonl").write_text("\n".join(lines), encoding="utf-8")
        options = ("--protocol", "few", "--plugin", few, "--json")
        return cli("score", name, tmp_path / "mine.jsonl", *options).data["accuracy"]

    return score


def title(name):
    """Return what a task is called in the harness."""
    return f"formalbench_{name.replace(':', '--')}"


def score_of(results, name):
    """Return the one score of a task in the harness's results."""
    scores = {key: value for key, value in results[title(name)].items() if "stderr" not in key}
    (score,) = (scores[key] for key in scores if key.split(",")[0] in ("acc", "exact_match"))
    return score


@pytest.mark.parametrize("name", TASKS)
def test_the_harness_gives_a_scripted_model_our_score(
    folder, load, name, tmp_path, monkeypatch, our_score
):
    from lm_eval import simple_evaluate
    from lm_eval.tasks import TaskManager

    monkeypatch.setattr("datasets.config.HF_DATASETS_CACHE", tmp_path / "datasets")
    monkeypatch.setattr("datasets.config.HF_HUB_OFFLINE", True)
    answer = at_times(load(name).show)
    found = simple_evaluate(
        scripted(answer),
        tasks=[title(name)],
        task_manager=TaskManager(include_path=str(folder), include_defaults=False),
        bootstrap_iters=0,
    )
    (file,) = folder.glob(f"{name.replace(':', '--')}.test.jsonl")
    rows = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    assert found["n-samples"][title(name)]["effective"] == len(rows) == 160
    score = score_of(found["results"], name)
    assert score == our_score(name, {row["id"]: answer(row["string"]) for row in rows})
    assert 0 < score < 1


def test_a_language_model_answers_in_the_harness_from_its_command_line(folder, tmp_path, our_score):
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers
    from transformers import GPT2Config, GPT2LMHeadModel, PreTrainedTokenizerFast, set_seed

    set_seed(0)
    bytes_of = pre_tokenizers.ByteLevel(add_prefix_space=False)
    vocabulary = {text: i for i, text in enumerate(["<end>", *sorted(bytes_of.alphabet())])}
    text = Tokenizer(models.BPE(vocab=vocabulary, merges=[]))
    text.pre_tokenizer = bytes_of
    text.decoder = decoders.ByteLevel()
    own = PreTrainedTokenizerFast(tokenizer_object=text, eos_token="<end>", pad_token="<end>")
    own.save_pretrained(tmp_path / "gpt2")
    sizes = {"n_embd": 16, "n_layer": 1, "n_head": 2, "n_positions": 2048}
    config = GPT2Config(vocab_size=len(vocabulary), bos_token_id=0, eos_token_id=0, **sizes)
    GPT2LMHeadModel(config).save_pretrained(tmp_path / "gpt2")
    model = ("--model", "hf", "--model_args", f"pretrained={tmp_path / 'gpt2'}")
    tasks = ("--include_path", folder, "--tasks", "formalbench", "--log_samples")
    output = ("--output_path", tmp_path / "found", "--batch_size", "32", "--device", "cpu")
    done = subprocess.run(
        [sys.executable, "-m", "lm_eval", "run", *model, *tasks, *output],
        env=os.environ | {"HF_HOME": str(tmp_path / "home"), "HF_HUB_OFFLINE": "1"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    (file,) = (tmp_path / "found").rglob("results_*.json")
    results = json.loads(file.read_text())["results"]
    assert {title(name) for name in TASKS} <= results.keys()
    (file,) = (tmp_path / "found").rglob(f"samples_{title('parity')}_*.jsonl")
    answers = {}
    for line in file.read_text(encoding="utf-8").splitlines():
        sample = json.loads(line)
        likelihoods = [float(likelihood) for likelihood, _ in sample["filtered_resps"]]
        answers[sample["doc"]["id"]] = likelihoods.index(max(likelihoods))
    assert len(answers) == 160
    assert score_of(results, "parity") == our_score("parity", answers)


def test_the_library_datasets_loads_every_configuration(cli, few, load, tmp_path):
    datasets = pytest.importorskip("datasets")
    out = tmp_path / "hf"
    options = ("--format", "hf", "--output", out, "--protocol", "few", "--plugin", few)
    assert cli("export", "--suite", "default", *options, "--with-targets").code == 0
    names = datasets.get_dataset_config_names(str(out))
    assert len(names) == 6
    for name in names:
        loaded = datasets.load_dataset(str(out), name, cache_dir=str(tmp_path / "cache"))
        assert list(loaded) == ["test"]
        task = load(name.replace("--", ":"))
        rows = list(loaded["test"])
        assert {row["fingerprint"] for row in rows} == {task.test_set().fingerprint}
        strings = [row["string"] for row in rows]
        assert task.label(strings) == [row["target"] for row in rows]
