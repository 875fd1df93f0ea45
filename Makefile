# Two commands on a fresh machine with Python 3.11 or later: `make demo`, `make test`.

PYTHON ?= python3
VENV ?= .venv
BIN = $(VENV)/bin
PIP = $(BIN)/python -m pip --disable-pip-version-check
EXTRAS = base test page published interop docs speed dev
SOURCES = benchmark tasks plugins leaderboard examples speed gpu tests docs hatch_build.py

.PHONY: demo test test-slow test-all golden test-base render test-published test-slurm test-page campaign docs picture tutorial lint format speed gpu evidence wheels lock clean

# Train RegularGPT on two languages and see it ranked, in under two minutes on two cores.
demo: $(VENV)/.installed
	$(BIN)/formalbench run --model regulargpt --task parity,cycle-navigation

# The tests, in five minutes on two cores: of each at most four cases, and no slow one. It installs its
# own extra.
ELSEWHERE = not campaign and not slurm and not published
test: $(VENV)/.installed-test
	$(BIN)/python -m pytest -n auto --dist worksteal -m "not slow and $(ELSEWHERE)"

# The whole test suite: these tests, then the others.
test-all: test test-slow
	$(BIN)/formalbench leaderboard check

# The other tests; of some folders with TESTS="tests/benchmark tests/tasks".
TESTS = tests
test-slow: $(VENV)/.installed-test
	$(BIN)/python -m pytest -n auto --dist worksteal -m "slow and $(ELSEWHERE)" $(TESTS)

# After a change that is meant: what tests/golden compares is written anew, and what changed is printed.
golden: $(VENV)/.installed-test
	$(BIN)/python tests/golden/golden.py --renew

# Every command that README, CONTRIBUTING and the tutorial show, where no extra is installed.
BASE = build/base-venv
test-base:
	$(MAKE) VENV=$(BASE) $(BASE)/.installed
	$(BASE)/bin/python tests/documented_commands.py

# What the leaderboard shows of its records, as the main branch does after every merge.
render: $(VENV)/.installed-test
	$(BIN)/formalbench leaderboard check
	$(BIN)/formalbench leaderboard render
	$(BIN)/formalbench leaderboard render --check

# Our models against other people's, with the same weights, a function of JAX scored, and exported
# strings in the libraries that read them; it installs all of these.
test-published: $(VENV)/.installed-test $(VENV)/.installed-published $(VENV)/.installed-speed \
		$(VENV)/.installed-interop
	$(BIN)/python -m pytest -m published tests/plugins/families tests/benchmark
	$(BIN)/python -m pytest tests/benchmark/test_scoring.py -k jax

# Faults on purpose (tests/campaign), for an hour or two; other cases with SEED=1, more with SIZE=500.
# It writes the table of what was lost into docs/records.md.
SEED = 0
SIZE = 100
campaign: $(VENV)/.installed-test
	$(BIN)/python -m pytest -n auto tests/campaign -m "" \
		--campaign-seed $(SEED) --campaign-size $(SIZE) --campaign-table docs/records.md

# The executor `slurm` on a Slurm of its own, on this machine: minutes. It installs one where it
# may; where there is none the tests are skipped, and its last line, a warning on GitHub, says so.
test-slurm: $(VENV)/.installed-test
	@command -v slurmctld >/dev/null || test "$$(id -u)" != 0 || ! command -v apt-get >/dev/null || \
		{ apt-get update && apt-get install --yes --no-install-recommends \
			slurmctld slurmd slurm-client slurm-wlm-basic-plugins munge; } || true
	$(BIN)/python -m pytest -m slurm tests/plugins/executors
	@{ command -v slurmctld >/dev/null && test "$$(id -u)" = 0; } || \
		echo "$${GITHUB_ACTIONS:+::warning::}test-slurm: SKIPPED: needs slurmctld, and to be root"

# The web page in a browser, offline; it installs its own extra, and the browser where it may.
test-page: $(VENV)/.installed-page
	@command -v chromium || command -v chromium-browser || command -v google-chrome || \
		{ test "$$(id -u)" = 0 && apt-get update && apt-get install --yes chromium; } || \
		{ echo "make test-page needs Chromium: apt-get install chromium" >&2; exit 1; }
	$(BIN)/python -m pytest tests/page

# The site, into build/docs: the tutorial is executed, the reference made from the code. Warnings
# are errors, dead links too. The leaderboard's page lies in it.
docs: $(VENV)/.installed-docs
	rm -rf build/docs
	PATH="$(abspath $(BIN)):$$PATH" $(BIN)/sphinx-build \
		-c docs -d build/doctrees -E -W --keep-going . build/docs
	$(BIN)/formalbench leaderboard --results leaderboard/results \
		--format html --output build/docs/leaderboard
	$(BIN)/python -m pytest tests/site

lint: $(VENV)/.installed-dev
	$(BIN)/ruff check $(SOURCES)
	$(BIN)/ruff format --check $(SOURCES)
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python tests/mutants/mutants.py --check

format: $(VENV)/.installed-dev
	$(BIN)/ruff check --fix $(SOURCES)
	$(BIN)/ruff format $(SOURCES)

# Measure on an idle machine, and write the tables of speed/README.md. With PEER=PATH, a checkout
# of neural_networks_chomsky_hierarchy, also against that; PEER_PYTHON has its requirements.
speed: $(VENV)/.installed-speed $(VENV)/.installed-published
	$(BIN)/python speed/measure.py \
		$(if $(PEER),--peer '$(PEER)') $(if $(PEER_PYTHON),--peer-python '$(PEER_PYTHON)')

# The picture of a terminal that README shows: a run of two minutes and its board.
picture: $(VENV)/.installed
	$(BIN)/python docs/terminal.py

# The tutorial's outputs and plots, as they are kept in docs/tutorial.ipynb.
tutorial: $(VENV)/.installed-docs
	$(BIN)/python docs/execute_tutorial.py

# Train what leaderboard/plan.yaml lacks, with the code that it names, for HOURS hours; what is new is
# published into leaderboard/results. The same command continues (CONTRIBUTING.md).
HOURS = 2.5
JOBS = 2
evidence: $(VENV)/.installed-test
	$(BIN)/python leaderboard/evidence.py --hours $(HOURS) --jobs $(JOBS)

# What needs a GPU, part by part, into one folder (gpu/README.md); torch is the machine's own. Without a
# network the rest comes from the folder of wheels that `make wheels` fills elsewhere.
GPU_VENV = .venv-gpu
WHEELS = wheels
GPU =
gpu: $(GPU_VENV)/.installed
	$(GPU_VENV)/bin/python gpu/run.py $(GPU)

$(GPU_VENV)/.installed: locks/published.txt
	$(PYTHON) -c "import torch" || { echo "make gpu needs a torch in $(PYTHON)" >&2; exit 1; }
	$(PYTHON) -m venv --system-site-packages $(GPU_VENV)
	$(GPU_VENV)/bin/python -m pip --disable-pip-version-check install --require-hashes --no-deps --requirement $< \
		$(if $(wildcard $(WHEELS)),--no-index --find-links '$(WHEELS)')
	$(GPU_VENV)/bin/python -m pip --disable-pip-version-check install --no-index --no-deps \
		--no-build-isolation --editable .
	touch $@

# For a machine that has another Python: WHEELS_FOR="--python-version 3.12 --platform manylinux_2_28_x86_64"
WHEELS_FOR =
wheels:
	$(PYTHON) -m pip --disable-pip-version-check download --require-hashes --only-binary :all: --no-deps \
		$(WHEELS_FOR) --dest '$(WHEELS)' --requirement locks/published.txt

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)

# Everything is held to its hash but torch, whose build is the machine's to choose (CONTRIBUTING.md).
$(VENV)/.installed: pyproject.toml constraints.txt locks/base.txt | $(VENV)/bin/python
	$(PIP) install --require-hashes --no-deps --requirement locks/base.txt
	$(PIP) install --constraint constraints.txt torch
	$(PIP) install --no-deps --no-build-isolation --editable .
	touch $@

$(VENV)/.installed-%: locks/%.txt $(VENV)/.installed
	$(PIP) install --require-hashes --no-deps --requirement $<
	touch $@

# After a change of pyproject.toml or constraints.txt: every wheel of every package, with its hash.
.PHONY: lock
lock:
	@command -v uv || { echo "make lock needs uv: python3 -m pip install uv" >&2; exit 1; }
	for extra in $(EXTRAS); do printf 'hatchling\neditables\n' | uv pip compile --quiet \
		--universal --python-version 3.11 --generate-hashes --no-annotate --no-header \
		--constraint constraints.txt --no-emit-package torch \
		$$([ $$extra = base ] || echo --extra $$extra) pyproject.toml - \
		--output-file locks/$$extra.txt || exit 1; done

clean:
	rm -rf $(VENV) $(GPU_VENV) build docs/reference .mypy_cache .ruff_cache .pytest_cache .hypothesis
