# `make` or `make help` lists the targets. Everything is made in .venv, target and dist; `make clean` removes these.

export PYTHON ?= python3
UV_VERSION := 0.13.8
PYTEST_ARGS ?=
LONG_TESTS := $(addprefix tests/lab/test_,calibration.py mechanisms.py measure.py emulated_links.py peer_bench.py)
PEERS_ARGS ?=
NOW := $(shell date -u +%Y%m%dT%H%M%SZ)

VENV := .venv
BIN := $(VENV)/bin
STAMPS := $(VENV)/stamps
UV_STAMP := $(STAMPS)/uv-$(UV_VERSION)
UV_PIP_OPTIONS := --quiet --python $(BIN)/python

# Rust is often installed for one user, in a folder that only login shells have in PATH.
export PATH := $(PATH):$(HOME)/.cargo/bin

# What the agent is built from. Folders too, so that a deleted file counts as a change.
AGENT_SOURCES := $(shell find Cargo.toml Cargo.lock crates bpf -name target -prune -o -print 2>/dev/null)
BPF_SOURCES := $(wildcard bpf/*.c bpf/*.h)

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.NOTPARALLEL:
MAKEFLAGS += --no-builtin-rules

.PHONY: help
help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-13s %s\n", $$1, $$2 }' Makefile

# --- install ------------------------------------------------------------------------------------------------------

.PHONY: install
install: $(STAMPS)/sixbench $(STAMPS)/agent ## install everything into .venv: quick when nothing changed

.PHONY: system system-test system-bench system-peers system-guest
system:
	@tools/system-packages
system-test:
	@tools/system-packages test
system-bench:
	@tools/system-packages bench
system-peers:
	@tools/system-packages peers
system-guest:
	@tools/system-packages test guest

# The stamp's name carries the version, so that another version makes another stamp.
$(UV_STAMP): | system
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check uv==$(UV_VERSION)
	@mkdir -p $(STAMPS) && touch $@

$(STAMPS)/packages: requirements.lock $(UV_STAMP)
	$(BIN)/uv pip sync $(UV_PIP_OPTIONS) --require-hashes requirements.lock
	@touch $@

$(STAMPS)/sixbench: pyproject.toml $(STAMPS)/packages
	$(BIN)/uv pip install $(UV_PIP_OPTIONS) --no-deps --no-build-isolation --editable .
	@touch $@

# The stamp is as old as the start of the build: what is edited during the build is built the next time.
$(STAMPS)/agent: $(AGENT_SOURCES) $(STAMPS)/packages | system
	@touch $@.started
	$(BIN)/uv pip install $(UV_PIP_OPTIONS) --no-deps --no-build-isolation --reinstall-package sixbench-agent ./crates/agent
	@mv $@.started $@

# --- use ----------------------------------------------------------------------------------------------------------

.PHONY: demo
demo: OUT ?= runs/demo-$(NOW)
demo: install ## build a network, compare IPv4 with IPv6, and write the report (OUT=DIR)
	$(BIN)/sixbench run quickstart --out $(OUT)

# --- check --------------------------------------------------------------------------------------------------------

.PHONY: test test-rust test-python test-long test-peers test-guest test-endurance
test: test-rust test-python ## run all tests but those of test-long, test-peers and test-guest

test-rust: | system
	cargo test --workspace --locked

test-python: install system-test
	$(strip $(BIN)/pytest --ignore=tests/peers --ignore=tests/guest $(LONG_TESTS:%=--ignore=%) $(PYTEST_ARGS))

test-long: install system-test ## run the longer tests: every mechanism, two machines, emulated links, the bench with peers
	SIXBENCH_EXPECT_LAB=1 $(strip $(BIN)/pytest $(LONG_TESTS) $(PYTEST_ARGS))

test-endurance: install system-test ## build and take down a network of forty nodes two hundred times
	SIXBENCH_EXPECT_LAB=1 SIXBENCH_ENDURANCE_BUILDS=200 $(strip $(BIN)/pytest tests/lab/test_endurance.py $(PYTEST_ARGS))

test-peers: install system-peers ## run the tests of tunnels and links against Linux's own, in user-mode Linux (docs/peers.md)
	SIXBENCH_EXPECT_PEERS=1 $(strip $(BIN)/pytest tests/peers $(PYTEST_ARGS))

test-guest: install system-guest ## run the tests that boot emulated machines with other kernels (docs/kernels.md)
	SIXBENCH_EXPECT_GUEST=1 $(strip $(BIN)/pytest tests/guest $(PYTEST_ARGS))

.PHONY: lint lint-python lint-rust lint-c
lint: lint-python lint-rust lint-c ## check style, types and layers; `make -k lint` does not stop at the first finding

lint-python: $(STAMPS)/sixbench
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports

lint-rust: | system
	cargo fmt --all --check
	cargo clippy --workspace --all-targets --locked -- -D warnings

lint-c: $(STAMPS)/packages
	$(if $(BPF_SOURCES),$(BIN)/clang-format --dry-run -Werror $(BPF_SOURCES),@:)

.PHONY: format
format: $(STAMPS)/packages ## put all sources into the form that lint asks for
	$(BIN)/ruff check --fix-only --quiet
	$(BIN)/ruff format
	cargo fmt --all
	$(if $(BPF_SOURCES),$(BIN)/clang-format -i $(BPF_SOURCES),@:)

.PHONY: bench
bench: install system-bench ## measure what sixbench costs
	$(BIN)/python benches/run.py

.PHONY: bench-peers
bench-peers: OUT ?= runs/bench-peers-$(NOW)
bench-peers: install system-bench ## compare the traffic engine with iperf3 and others (OUT=DIR PEERS_ARGS='--rounds 8')
	$(strip $(BIN)/python benches/peers.py --out $(OUT) $(PEERS_ARGS))

# --- maintain -----------------------------------------------------------------------------------------------------

.PHONY: lock
lock: $(UV_STAMP) ## resolve requirements.lock anew, to the newest versions that pyproject.toml allows
	$(BIN)/uv pip compile --quiet --upgrade --universal --generate-hashes --no-annotate \
		--no-emit-index-url --no-emit-find-links --custom-compile-command 'make lock' \
		--group dev --output-file requirements.lock pyproject.toml
	@! grep -n 'http' requirements.lock

.PHONY: wheels
wheels: install ## build the wheels of both distributions into dist
	$(BIN)/uv build --quiet --wheel --no-build-isolation --python $(BIN)/python --out-dir dist .
	$(BIN)/maturin build --quiet --release --locked --manifest-path crates/agent/Cargo.toml --out dist

.PHONY: clean
clean: ## remove what make made; results in runs stay
	rm -rf $(VENV) target dist .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache
	find src tests benches -name __pycache__ -type d -prune -exec rm -rf {} + 2>/dev/null || true
