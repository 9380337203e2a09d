PYTHON ?= python

.DEFAULT_GOAL := help
.PHONY: help install test test-all-seeds test-under-load test-paper lint types imports native check demo docs picture paper bench fuzz faults faults-dask test-versions mutate sanitize fuzz-engine coverage package properties clean

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

install: ## Install the package for development, with all tools, into the current environment
	$(PYTHON) -m pip install --editable ".[dev]"

test: ## Run the tests, the doctests and the examples of README.md
	$(PYTHON) -m pytest -n logical

test-all-seeds: ## Run every stochastic test with seeds 0 to 99 (up to two hours)
	$(PYTHON) reliability/all_seeds.py --seeds 0-99

test-under-load: ## Run the tests in random orders on a busy machine (up to four hours)
	$(PYTHON) reliability/under_load.py

test-paper: ## Compare quick runs of the paper with what is expected of any seed (30 minutes)
	$(PYTHON) reliability/reproduction.py

lint: ## Look for mistakes and check the format
	ruff check
	ruff format --check

types: ## Check the types
	mypy

imports: ## Check that imports point one way
	lint-imports

NATIVE = src/bbclust/_native/*.hpp src/bbclust/_native/*.cpp tests/native/*.cpp reliability/*.cpp
UNITS = src/bbclust/_native/bindings.cpp src/bbclust/_native/kernels_float.cpp src/bbclust/_native/kernels_double.cpp \
  src/bbclust/_native/missing.cpp

native: ## Check the format of the C++ and look for mistakes in it
	clang-format --dry-run --Werror $(NATIVE)
	$(PYTHON) -c "import nanobind, sysconfig; print('-isystem', nanobind.include_dir(), '-isystem', sysconfig.get_path('include'))" \
	  | xargs clang-tidy --quiet $(UNITS) -- -std=c++20 -DBBCLUST_MODULE=_engine_portable '-DBBCLUST_ISA_NAME="portable"'

check: lint types imports native test ## All of the above

demo: ## Analyse Iris and write a report into bbclust-demo/
	$(PYTHON) -m bbclust demo --force

docs: ## Build the site into build/docs (extra docs; three minutes)
	$(PYTHON) -m sphinx -W --keep-going -q -b html docs build/docs
	$(PYTHON) docs/check_links.py build/docs

picture: ## Draw the pictures of the documentation again
	$(PYTHON) docs/make_images.py
	$(PYTHON) docs/make_screenshot.py

paper: ## Run the tables and figures of the paper and write docs/paper.md (within an hour)
	$(PYTHON) -m reproduction --full --out docs --force

BENCHMARKS = against_peers_1 against_peers_2 against_peers_3 share_of_peak growth start_up file_to_report profile_stages same_measure
# Seeds that were not used while the engine was made.
GRID_SEEDS = 1007 1008

bench: ## Measure the engine on a quiet machine and write benchmarks/README.md (two hours)
	@mkdir -p benchmarks/results
	@for name in $(BENCHMARKS); do \
	  $(PYTHON) benchmarks/$${name%_[1-3]}.py --json benchmarks/results/$$name.json || exit 1; done
	@for run in 1 2 3; do for seed in $(GRID_SEEDS); do \
	  $(PYTHON) benchmarks/random_shapes.py --seed $$seed --rounds 1 --isas $$($(PYTHON) -c "from bbclust._native import ISAS; print(*ISAS[::-1])") \
	    --json benchmarks/results/random_shapes_$${run}_$$seed.json || exit 1; done; done
	$(PYTHON) benchmarks/make_readme.py

fuzz: ## Give files of strangers to everything that reads files (ten minutes)
	$(PYTHON) reliability/fuzz_files.py

faults: ## Interrupt, starve, fill disks, kill, and compare with an undisturbed run (ten minutes)
	$(PYTHON) reliability/faults.py

faults-dask: ## Kill, freeze and cut off workers, schedulers and connections (15 minutes)
	$(PYTHON) reliability/dask_faults.py

test-versions: ## Run some tests with the oldest and the newest dependencies on each Python (an hour)
	$(PYTHON) reliability/versions.py

mutate: ## Make mistakes in engine and stages, one at a time: tests must notice (an hour)
	$(PYTHON) reliability/mutation.py

sanitize: ## Run the engine's tests on builds with sanitizers of addresses, threads, undefined behaviour
	$(PYTHON) reliability/sanitize.py

fuzz-engine: ## Call the compiled engine with arguments that do not fit, fork, and exit during fits
	$(PYTHON) reliability/fuzz_engine.py

coverage: ## Measure how much of the package the tests run (half an hour)
	$(PYTHON) reliability/measure_coverage.py

package: ## Build sdist and wheel twice, repair the wheel, try it where there is no compiler (20 minutes)
	$(PYTHON) reliability/packages.py

properties: ## Try the properties of tests/properties on many random tables and lives of a model (five minutes)
	$(PYTHON) reliability/properties.py

clean: ## Remove what was built or cached
	rm -rf build dist .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
	find src reproduction tests docs -name __pycache__ -prune -exec rm -rf {} +
