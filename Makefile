PYTHON ?= python

.DEFAULT_GOAL := help
.PHONY: help install test lint types imports check demo picture paper bench clean

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-9s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

install: ## Install the package for development, with all tools, into the current environment
	$(PYTHON) -m pip install --editable ".[dev]"

test: ## Run the tests, the doctests and the examples of README.md
	$(PYTHON) -m pytest -n logical

lint: ## Look for mistakes and check the format
	ruff check
	ruff format --check

types: ## Check the types
	mypy

imports: ## Check that imports point one way
	lint-imports

check: lint types imports test ## All of the above

demo: ## Analyse Iris and write a report into bbclust-demo/
	$(PYTHON) -m bbclust demo --force

picture: ## Draw the pictures of the documentation again
	$(PYTHON) docs/make_images.py
	$(PYTHON) docs/make_screenshot.py

paper: ## Run the tables and figures of the paper and write docs/paper.md (within an hour)
	$(PYTHON) -m reproduction --full --out docs --force

BENCHMARKS = against_peers_1 against_peers_2 against_peers_3 share_of_peak growth start_up profile_stages same_measure

bench: ## Measure the engine on a quiet machine and write benchmarks/README.md (an hour)
	@mkdir -p benchmarks/results
	@for name in $(BENCHMARKS); do \
	  $(PYTHON) benchmarks/$${name%_[1-3]}.py --json benchmarks/results/$$name.json || exit 1; done
	$(PYTHON) benchmarks/make_readme.py

clean: ## Remove what was built or cached
	rm -rf build dist .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
	find src reproduction tests docs -name __pycache__ -prune -exec rm -rf {} +
