# `make` only wraps plain cargo commands; the README shows them too.
.PHONY: demo test lint docs unit corpus setup

CARGO ?= cargo

demo: setup
	@./scripts/demo.sh

test: setup lint docs unit

lint:
	$(CARGO) fmt --all --check
	$(CARGO) clippy --workspace --all-targets -- -D warnings

docs:
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --workspace --no-deps --quiet

unit:
	$(CARGO) test --workspace --quiet

corpus:
	@./scripts/corpus.sh

setup:
	@./scripts/setup.sh
