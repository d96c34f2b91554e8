# `make` or `make help` lists the targets. Everything is made in .venv, target and dist; `make clean` removes these.

export PYTHON ?= python3
UV_LOCK := requirements-uv.lock
UV_VERSION := $(shell sed -n 's/^uv==\([0-9.]*\).*/\1/p' $(UV_LOCK))
PYTEST_ARGS ?=
lab_files = $(patsubst %,tests/lab/test_%.py,$(1))
LONG_TESTS := $(call lab_files,workers connections emulated_links host_translators hosts lw4o6 measure mechanisms nat64 outside page_rights siit translate_nat translate_small_links translate_softwires)
# tayga is there only where these are run.
PEERS_TESTS := tests/peers $(call lab_files,translate_tayga)
# The programs are there only where these are run: installing some of them starts servers.
PROGRAMS_TESTS := $(call lab_files,program_ends reach_agreement reach_servers)
# Not in CI, which they would take over an hour.
SLOW_TESTS := $(call lab_files,added_workload calibration dns64_tested endurance happy_eyeballs hosts_internet hosts_processors link_down machines_killed map monitor moving notebook null_comparisons one_way_delays papers_on_hosts peer_bench ptp reach serve_flood translate_carrier_errors translate_engines translated_packets tutorials vantages workers_killed wrong_clocks)
JOOL_TESTS := tests/guest/test_jool.py
STAMPS_TESTS := tests/guest/test_stamping.py
# Not in CI: they need a machine on which nothing else measures.
QUIET_TESTS := $(call lab_files,page rfc timer_losses)
PEERS_ARGS ?=
BENCH_ARGS ?=
ENDURANCE_ARGS ?=
PRECISION_ARGS ?=
FUZZ_SECONDS ?= 60
# Tests that only root can run are marked `ignore`. Without root the others have a network of their own.
CARGO_TEST_OPTIONS := --config "target.'cfg(all())'.runner='tools/run-rust-tests'" $(if $(filter 0,$(shell id -u)),-- --include-ignored)
# 1 where root has run the tests of the same commit: those for which it does not matter who runs them are left out. They
# are whole crates, examples in documentation, the tests of pages in a browser, tests with the marker `computes`, and
# tests in namespaces of what packets and statistics do there.
PASSED_ONCE ?=
ONCE_TESTS := $(call lab_files,applications atomic_fragments background_packets bypass conditions dns64 draft_translator dstm filters flows fragments frames late_timers losses mechanism_evidence models prefix_discovery reassembly strays trt)
CARGO_TEST_PACKAGES := --workspace $(if $(PASSED_ONCE),--lib --bins --tests $(addprefix --exclude sixbench-,applications wire plane emulate fuzz))
PYTHON_TESTS := tests/property tests/unit tests/golden benches/tests tools/tests
# Files are named where some are left out, because collecting all tests takes some twenty seconds.
PYTHON_CHOICE = $(if $(PASSED_ONCE),-m 'not computes' $(shell grep -rLx --include='test_*.py' 'pytestmark = pytest.mark.computes' $(PYTHON_TESTS)),$(PYTHON_TESTS) tests/pages)
FRESH_RUNS ?= root lint user wheels
NOW := $(shell date -u +%Y%m%dT%H%M%SZ)

VENV := .venv
BIN := $(VENV)/bin
STAMPS := $(VENV)/stamps
UV_STAMP := $(STAMPS)/uv-$(UV_VERSION)
UV_PIP_OPTIONS := --quiet --python $(BIN)/python

# Rust is often installed for one user, in a folder that only login shells have in PATH.
export PATH := $(PATH):$(HOME)/.cargo/bin

# The certificate authorities that apt and pip trust too: a proxy may have one of its own.
export UV_SYSTEM_CERTS ?= true

# What the agent is built from. Folders too, so that a deleted file counts as a change.
AGENT_SOURCES := $(shell find Cargo.toml Cargo.lock crates bpf -name target -prune -o -print 2>/dev/null)
BPF_SOURCES := $(wildcard bpf/*.c bpf/*.h)
C_SOURCES := $(BPF_SOURCES) $(wildcard tests/lab/*.c benches/endurance/*.c tests/guest/stamping/*.c)

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.NOTPARALLEL:
MAKEFLAGS += --no-builtin-rules

.PHONY: help
help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-16s %s\n", $$1, $$2 }' Makefile

# --- install ------------------------------------------------------------------------------------------------------

.PHONY: install
install: $(STAMPS)/sixbench $(STAMPS)/agent ## install everything into .venv: quick when nothing changed

.PHONY: system system-test system-bench system-bench-peers system-peers system-programs system-guest
system:
	@tools/system-packages
system-test:
	@tools/system-packages test
system-bench:
	@tools/system-packages bench
system-bench-peers:
	@tools/system-packages bench programs
system-peers:
	@tools/system-packages peers
system-programs:
	@tools/system-packages test programs
system-guest:
	@tools/system-packages test guest

# The stamp's name carries the version, so that another version makes another stamp.
$(UV_STAMP): $(UV_LOCK) | system
	@echo 'sixbench: making $(VENV)' >&2
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --only-binary :all: --require-hashes \
		--requirement $(UV_LOCK)
	@mkdir -p $(STAMPS) && touch $@

$(STAMPS)/packages: requirements.lock $(UV_STAMP)
	@echo 'sixbench: installing the Python packages of requirements.lock into $(VENV)' >&2
	$(BIN)/uv pip sync $(UV_PIP_OPTIONS) --require-hashes requirements.lock
	@touch $@

$(STAMPS)/sixbench: pyproject.toml $(STAMPS)/packages
	$(BIN)/uv pip install $(UV_PIP_OPTIONS) --no-deps --no-build-isolation --editable .
	@touch $@

# The stamp is as old as the start of the build: what is edited during the build is built the next time.
$(STAMPS)/agent: $(AGENT_SOURCES) $(STAMPS)/packages | system
	@echo 'sixbench: compiling the agent (Rust; some minutes the first time)' >&2
	@touch $@.started
	$(BIN)/uv pip install $(UV_PIP_OPTIONS) --no-deps --no-build-isolation --reinstall-package sixbench-agent ./crates/agent
	@mv $@.started $@

# --- use ----------------------------------------------------------------------------------------------------------

.PHONY: demo
demo: OUT ?= runs/demo-$(NOW)
demo: install ## build a network, compare IPv4 with IPv6, and write the report (OUT=DIR)
	$(BIN)/sixbench run quickstart --out $(OUT)

# --- check --------------------------------------------------------------------------------------------------------

.PHONY: test test-rust test-python test-lab test-long test-slow test-quiet test-peers test-programs test-guest test-jool test-stamps test-fresh
test: test-rust test-python test-lab ## run all tests but those of test-long, test-slow, test-quiet, test-peers, test-programs, test-guest, test-jool and test-stamps

test-rust: | system-test
	@echo 'sixbench: compiling the agent and its tests, and running these' >&2
	cargo test $(strip $(CARGO_TEST_PACKAGES)) --locked $(CARGO_TEST_OPTIONS)

test-python: install system-test
	$(strip $(BIN)/pytest -n auto --maxprocesses 8 --max-worker-restart 0 --dist loadgroup $(PYTHON_CHOICE) $(PYTEST_ARGS))

test-lab: install system-test
	$(strip $(BIN)/pytest tests/lab $(addprefix --ignore=,$(LONG_TESTS) $(SLOW_TESTS) $(QUIET_TESTS) $(PEERS_TESTS) $(PROGRAMS_TESTS) $(if $(PASSED_ONCE),$(ONCE_TESTS))) $(PYTEST_ARGS))

test-long: install system-test ## run the longer tests: every mechanism, translators, two machines, hosts, workers, emulated links
	SIXBENCH_EXPECT_LAB=1 $(strip $(BIN)/pytest $(LONG_TESTS) $(PYTEST_ARGS))

test-slow: install system-test ## run what CI has no time for: several clocks, floods, links that go down, tutorials, calibrations, clocks that are wrong, machines that are killed, all folders of strangers
	SIXBENCH_EXPECT_LAB=1 $(strip $(BIN)/pytest --timeout=7200 $(SLOW_TESTS) $(PYTEST_ARGS))
	SIXBENCH_LINKS=all SIXBENCH_EXPECT_LAB=1 $(strip $(BIN)/pytest --timeout=7200 tests/lab/test_mechanisms.py $(PYTEST_ARGS))
	SIXBENCH_TRAPS=all $(strip $(BIN)/pytest --timeout=7200 tests/unit/test_hostile_folders.py $(PYTEST_ARGS))

test-quiet: install system-test ## run the tests that need a quiet machine: a run of the page by keyboard, throughputs of known wires
	SIXBENCH_EXPECT_LAB=1 $(strip $(BIN)/pytest $(QUIET_TESTS) $(PYTEST_ARGS))

test-fresh: ## the two commands of the README, the lint and the wheels in a minimal Debian (FRESH_RUNS='root user')
	tools/test-fresh $(FRESH_RUNS)

test-peers: install system-peers ## run the tests of tunnels and links against Linux's own, in user-mode Linux (docs/peers.md)
	SIXBENCH_EXPECT_PEERS=1 $(strip $(BIN)/pytest $(PEERS_TESTS) $(PYTEST_ARGS))

test-programs: install system-programs ## run the tests with other people's servers and clients (docs/applications.md)
	SIXBENCH_EXPECT_PROGRAMS=1 $(strip $(BIN)/pytest $(PROGRAMS_TESTS) $(PYTEST_ARGS))

test-guest: install system-guest ## run the tests that boot emulated machines with other kernels (docs/kernels.md)
	SIXBENCH_EXPECT_GUEST=1 $(strip $(BIN)/pytest tests/guest $(addprefix --ignore=,$(JOOL_TESTS) $(STAMPS_TESTS)) $(PYTEST_ARGS))

test-jool: install system-guest ## build Jool for an emulated machine's kernel and run the tests with it (docs/kernels.md)
	SIXBENCH_EXPECT_GUEST=1 $(strip $(BIN)/pytest $(JOOL_TESTS) $(PYTEST_ARGS))

test-stamps: install system-guest ## run frames through an emulated machine with a driver that stamps them (docs/rfc-tests.md)
	SIXBENCH_EXPECT_GUEST=1 $(strip $(BIN)/pytest $(STAMPS_TESTS) $(PYTEST_ARGS))

.PHONY: endurance fuzz
endurance: OUT ?= runs/endurance-$(NOW)
endurance: install system-test ## kill it, fill its disk, step its clock; hours (ENDURANCE_ARGS='--only kills --scale 0.1')
	PYTHONPATH=benches $(strip $(BIN)/python -m endurance --out $(OUT) $(ENDURANCE_ARGS))

fuzz: OUT ?= runs/fuzz-$(NOW)
fuzz: install ## fuzz every parser of what others write, each for FUZZ_SECONDS (60)
	PYTHONPATH=benches FUZZ_SECONDS=$(FUZZ_SECONDS) $(BIN)/python -m endurance --only fuzz --out $(OUT)

.PHONY: lint lint-python lint-rust lint-c lint-audit
lint: lint-python lint-rust lint-c lint-audit ## check style, types and layers; `make -k lint` does not stop at the first finding

lint-python: $(STAMPS)/sixbench
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python tools/lint-words

lint-rust: $(STAMPS)/packages | system
	cargo fmt --all --check
	$(BIN)/python tools/lint-modules
	cargo clippy --workspace --all-targets --locked -- -D warnings
	cargo metadata --locked --manifest-path fuzz/Cargo.toml --format-version 1 >/dev/null # its lock file is its own

lint-c: $(STAMPS)/packages
	$(if $(C_SOURCES),$(BIN)/clang-format --dry-run -Werror $(C_SOURCES),@:)

lint-audit: $(STAMPS)/packages
	$(BIN)/python tools/audit

.PHONY: format
format: $(STAMPS)/packages ## put all sources into the form that lint asks for
	$(BIN)/ruff check --fix-only --quiet
	$(BIN)/ruff format
	cargo fmt --all
	$(if $(C_SOURCES),$(BIN)/clang-format -i $(C_SOURCES),@:)

.PHONY: bench
bench: install system-bench ## measure what sixbench costs, in ten minutes (BENCH_ARGS='--only tunnels')
	$(strip $(BIN)/python benches/run.py $(BENCH_ARGS))

.PHONY: bench-peers
bench-peers: OUT ?= runs/bench-peers-$(NOW)
bench-peers: install system-bench-peers ## compare the traffic engine with iperf3 and others, in ten minutes (OUT=DIR PEERS_ARGS='--minutes 30')
	$(strip $(BIN)/python benches/peers.py --out $(OUT) $(PEERS_ARGS))

.PHONY: bench-precision
bench-precision: OUT ?= runs/bench-precision-$(NOW)
bench-precision: install system-bench ## measure how precise answers are by the minutes spent, beside iperf3 and sockperf (docs/precision.md)
	PYTHONPATH=benches $(strip $(BIN)/python -m precision --out $(OUT) $(PRECISION_ARGS))

# --- maintain -----------------------------------------------------------------------------------------------------

.PHONY: lock
lock: $(UV_STAMP) ## resolve requirements.lock anew, to the newest versions that pyproject.toml allows (UV_VERSION=X for uv)
	$(BIN)/uv pip compile --quiet --upgrade --universal --generate-hashes --no-annotate \
		--no-emit-index-url --no-emit-find-links --custom-compile-command 'make lock' \
		--group dev --output-file requirements.lock pyproject.toml
	echo uv==$(UV_VERSION) | $(BIN)/uv pip compile --quiet --universal --generate-hashes --no-annotate \
		--no-emit-index-url --no-emit-find-links --custom-compile-command 'make lock' --output-file $(UV_LOCK) -
	@! grep -n '://' requirements.lock $(UV_LOCK)

.PHONY: wheels
wheels: DIST ?= dist
wheels: install ## build the wheels of both distributions into dist (DIST=DIR)
	$(BIN)/uv build --quiet --wheel --no-build-isolation --python $(BIN)/python --out-dir $(DIST) .
	$(BIN)/maturin build --quiet --release --locked --manifest-path crates/agent/Cargo.toml --out $(DIST)
	tools/check-agent-wheel $(DIST)/sixbench_agent-*.whl

# The checks come first, since the wheels take minutes. Nothing is tagged and nothing leaves the machine.
.PHONY: release
release: VERSION = $(shell sed -n 's/^version = "\(.*\)"/\1/p' pyproject.toml)
release: ## check a release, build its wheels and source archive, write checksums and the tag's text into dist/VERSION
	$(PYTHON) tools/release check
	rm -rf dist/$(VERSION)
	$(MAKE) wheels DIST=dist/$(VERSION)
	$(BIN)/python tools/release pack dist/$(VERSION)

.PHONY: clean
clean: ## remove what make made; results in runs stay
	rm -rf $(VENV) target dist .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache
	find src tests benches tools -name __pycache__ -type d -prune -exec rm -rf {} + 2>/dev/null || true
