# Two commands matter: `make demo` and `make test`.

SF ?= 1
PYTHON ?= python3
# A fresh machine may have no toolchain, or one that only a new login shell would find.
export PATH := $(HOME)/.cargo/bin:$(PATH)
BENCH := .bench-venv
TESTS := .venv

.PHONY: demo test test-rust test-python bench wheel lint doc fuzz difference clean

# Builds MorselDB, generates TPC-H, loads it, runs the 22 queries, checks the answers, prints a table of times.
demo: toolchain
	cargo run --release -p bench -- demo --sf $(SF)

# Every test: Rust, documentation examples, Python.
test: test-rust test-python

test-rust: toolchain
	cargo test

test-python: $(TESTS)/installed
	$(TESTS)/bin/python -m pytest -q python/tests

# MorselDB beside its peers.
bench: $(BENCH)/installed
	cargo build --release --bin tpch-gen
	VIRTUAL_ENV=$(CURDIR)/$(BENCH) $(BENCH)/bin/maturin develop --release -m crates/python/Cargo.toml
	$(BENCH)/bin/python bench/tpch.py --sf $(SF)

# 10,000 random queries: in every way that MorselDB runs them, and beside DuckDB.
difference: $(BENCH)/installed
	cargo run --release --bin difference -- --queries 10000
	VIRTUAL_ENV=$(CURDIR)/$(BENCH) $(BENCH)/bin/maturin develop --release -m crates/python/Cargo.toml
	$(BENCH)/bin/python bench/difference.py --queries 10000

wheel: $(BENCH)/installed
	$(BENCH)/bin/maturin build --release -m crates/python/Cargo.toml --out dist

lint: toolchain
	cargo fmt --all --check
	cargo clippy --workspace --all-targets -- -D warnings

doc: toolchain
	RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps

# A minute for SQL text, CSV and Parquet each.
fuzz: toolchain
	cargo run --bin fuzz -- --seconds 60

clean:
	rm -rf target dist $(TESTS) $(BENCH)

# A cargo that runs is taken as it is: Cargo.toml names the oldest Rust that will do. A rustup without any toolchain
# (a new home directory) is given one; without rustup, rustup comes first.
RUST := $(shell sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml)
RUSTUP_INIT := https://static.rust-lang.org/rustup/dist/$(shell uname -m)-unknown-linux-gnu/rustup-init
.PHONY: toolchain
toolchain:
	@cargo --version >/dev/null 2>&1 || { echo "installing the Rust toolchain"; \
	  if command -v rustup >/dev/null; then rustup toolchain install $(RUST) --profile minimal --no-self-update && rustup default $(RUST); \
	  else curl --proto '=https' --tlsv1.2 -sSfo rustup-init $(RUSTUP_INIT) && chmod +x rustup-init \
	    && ./rustup-init -y --profile minimal --default-toolchain $(RUST); rm -f rustup-init; fi; \
	  cargo --version; }

# The module is built anew whenever tests run: cargo knows what changed.
.PHONY: $(TESTS)/installed
$(TESTS)/installed: toolchain $(TESTS)/ready
	VIRTUAL_ENV=$(CURDIR)/$(TESTS) $(TESTS)/bin/maturin develop -m crates/python/Cargo.toml

$(TESTS)/ready:
	$(PYTHON) -m venv $(TESTS)
	$(TESTS)/bin/pip install -q --upgrade pip
	$(TESTS)/bin/pip install -q maturin pytest pyarrow pandas polars
	touch $@

$(BENCH)/installed: toolchain
	$(PYTHON) -m venv $(BENCH)
	$(BENCH)/bin/pip install -q --upgrade pip
	$(BENCH)/bin/pip install -q maturin psutil matplotlib pyarrow duckdb tableauhyperapi polars datafusion
	touch $@
