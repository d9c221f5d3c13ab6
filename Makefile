# `make` only wraps plain cargo commands; the README shows them too.
.PHONY: demo mac-report test check lint docs corpus judge coverage quality guide arithmetic setup accuracy fit ablate executions test-python test-editors test-fleet test-metal web test-web

CARGO ?= cargo

demo: setup
	@./scripts/demo.sh

# On a Mac: everything that only a Mac can show, in one file without personal data, to send to the project.
REPORT ?= target/mac-report.txt

mac-report: setup
	@./scripts/mac-report.sh $(REPORT)

# Tests for which a tool is missing are counted, and their reasons shown.
test: setup
	@mkdir -p target && rm -f target/skipped
	ASSAY_SKIPPED=$(CURDIR)/target/skipped $(CARGO) test --workspace --quiet
	@./scripts/skipped.sh target/skipped

# What is found without running anything.
check: setup lint docs

lint:
	$(CARGO) fmt --all --check
	$(CARGO) clippy --workspace --all-targets -- -D warnings

docs:
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --workspace --no-deps --quiet

# The Python package under python/: wheel, tests, types, notebook. Exit 3 where a package registry is missing.
test-python:
	@./scripts/python.sh

# `assay mcp`, `assay lsp` and the VS Code extension, by their clients; the GitHub Action, as a runner runs it. Exit 3 where a
# package registry is missing.
test-editors:
	@./scripts/editors.sh
	@./scripts/gate.sh

# Programs with a Metal back end on Linux. Exit 3 where a package registry is missing.
test-metal:
	@./scripts/metal.sh

# Workers, jobs and the team's board with a real nats-server and PostgreSQL on the loopback interface. BIG=1 adds the large run.
# Exit 3 where a package is missing.
test-fleet:
	@./scripts/fleet.sh

# The page in the browser, without a server: OUT can be hosted below any path. Exit 3 where a package registry is missing.
OUT ?= target/web/site

web: setup
	@./scripts/web.sh build $(abspath $(OUT))

# The same built quickly, against the program and in a headless Chromium.
test-web:
	@./scripts/web.sh test

corpus:
	@./scripts/corpus.sh mlx run metalbench registered

# Predicted against published GPU times. With SOURCES, a folder of checkouts named
# repository@commit, kernels are compiled and executed again; without it the stored
# executions are judged. FIXTURES has the published times.
FIXTURES ?= ../shared/fixtures/measured
ACCURACY = $(CARGO) run --release --quiet -p assay-accuracy --

accuracy: $(if $(SOURCES),executions)
	$(ACCURACY) page

fit: $(if $(SOURCES),executions)
	$(ACCURACY) fit --write crates/chip/data/model.tsv --page docs/accuracy.md

# What each term of the model is worth: fits again without it.
ablate:
	$(ACCURACY) ablate

executions:
	$(ACCURACY) execute --sources $(SOURCES) --fixtures $(FIXTURES)

judge:
	@./scripts/judge.sh

coverage:
	SEEDS="1 2 3" PAGE=crates/codegen/COVERAGE.md ./scripts/judge.sh

quality:
	$(CARGO) run --release --quiet -p assay-codegen --example quality > crates/codegen/QUALITY.md
	@tail -n 3 crates/codegen/QUALITY.md

# Instructions and error of every operation in every mode.
arithmetic:
	$(CARGO) run --release --quiet -p assay-codegen --example operations > docs/arithmetic.md

# The guide as pages; its commands and links are checked by `make test`.
guide:
	@command -v mdbook >/dev/null || { echo "guide: no mdbook (cargo install mdbook)"; exit 3; }
	mdbook build docs

setup:
	@./scripts/setup.sh
