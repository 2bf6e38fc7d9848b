# Makefile - the front door: every verb sets up what it needs and leaves the rest to meson and scripts/
#
#   make VERB [ARGS='...'] [BUILD=folder] [MESON_ARGS='...'] [CC=clang]

BUILD ?= build
MESON_ARGS ?=
TESTS = enabled
ARGS ?=
PREFIX ?= /usr/local
DESTDIR ?=

# Sanitizers need their shadow memory where the kernel's address randomisation may put something else.
FIXED_ADDRESSES = $(shell setarch -R true 2>/dev/null && echo setarch -R)

# Runs a command; what it says is shown if it fails, without ninja's steps, else only warnings. On a terminal ninja itself
# shows how far it is, in one line.
QUIETLY = quietly() { \
	if [ "$$1" = ninja ] && [ -t 2 ]; then "$$@" >&2 || exit 1; \
	elif said=$$("$$@" 2>&1); then printf '%s\n' "$$said" | grep 'warning:' || :; \
	else printf '%s\n' "$$said" | grep -v '^\[[0-9]*/[0-9]*\]'; exit 1; fi; \
}; quietly

.PHONY: help setup setup-all setup-check configure build demo check quick test some-tests test-devices nightly models attack bench fuzz lint
.PHONY: wheel dist deb format install clean crash-replace gpus heat heat-soak mpi mpi4py soak torture-channel torture-calls
.PHONY: sanitize-address sanitize-thread docs docs-links docs-screenshots
.NOTPARALLEL:
.DEFAULT_GOAL := help

help: ## this list
	@echo 'Warpway: memory that processes share, on GPUs and without. make VERB, where VERB is'
	@echo
	@sed -n 's/^\([a-z-]*\):[^#]*## \(.*\)/  \1|\2/p' Makefile | \
		while IFS='|' read -r verb text; do printf '  %-18s %s\n' "$$verb" "$$text"; done
	@echo
	@echo 'Start with make demo, then make check.'

setup: ## install what building needs, if anything is missing
	@scripts/setup

setup-all: ## install also what optional parts need: MPI, Fortran, Java, warpway metrics, warpway top
	@scripts/setup --all
	@rm -f build*/sources # what was missing when they were configured may be found now

setup-check: # also what the tests of the Python package need
	@scripts/setup --check

# Meson looks for source files and for Python's modules when it configures, so it does that again when there are others.
configure:
	@command -v meson >/dev/null || { echo 'meson is missing: run make setup, which installs what building needs'; exit 1; }
	@if [ ! -f $(BUILD)/build.ninja ]; then \
		echo "configuring $(BUILD)"; \
		$(QUIETLY) meson setup $(BUILD) -Dtests=$(TESTS) $(MESON_ARGS); \
	elif ! $(SOURCES) | cmp -s - $(BUILD)/sources; then \
		echo "configuring $(BUILD) anew: there are other source files, another Python or other packages"; \
		$(QUIETLY) meson setup --reconfigure $(BUILD); \
	fi
	@$(SOURCES) >$(BUILD)/sources
SOURCES = { find src tests tools bindings/python/src bindings/python/warpway bindings/java examples/heat \( -name '*.c' -o -name '*.py' -o -name '*.pyi' -o -name '*.java' -o -name '*.p[xy][xid]' \) \
	| LC_ALL=C sort; scripts/find-python; scripts/find-cython; }

build: configure ## build the library, the tool and the tests, in build/
	@echo "building $(BUILD)"
	@$(QUIETLY) ninja -C $(BUILD)
	@$(call LEFT_OUT,build)

# Optional parts that $(BUILD) lacks, and how they are added, for which `make $(1)` must run again.
LEFT_OUT = sed 's/$$/ $(1)/' $(BUILD)/left-out

demo: setup configure ## build the library, the broker and the tool, then show what they do; ARGS='--device host' and so on
	@echo "building $(BUILD)"
	@$(QUIETLY) ninja -C $(BUILD) demo
	@$(BUILD)/tools/warpway demo $(ARGS)
	@$(call LEFT_OUT,build)

check: TEST_ARGS = --no-suite nightly
check: setup-check build test ## build, then run the tests, which need no GPU; the last line is the totals

quick: PATTERNS = suite:unit suite:quick
quick: some-tests ## build and run the unit tests and the conformance tests on the host device, check the format: for each edit
	@scripts/check-format

test-devices: PATTERNS = suite:nightly
test-devices: some-tests ## the tests of make check on other devices, by other daemons and with windows

PART ?=
nightly: ## all that takes long: sanitizers, soak, kills, models, packages, fuzzing and more; PART='soak fuzz'
	@scripts/nightly $(PART)

# Every test that is built: those that need a GPU skip themselves, with the reason, where there is none. Its time limit only
# ends a hang. Tests wait for half of their time, so two of them share a core.
JOBS ?= $(shell echo $$((2 * $$(nproc))))
test:
	@rm -f $(BUILD)/meson-logs/testlog.json
	@failed=; \
	$(TEST_WRAP) meson test -C $(BUILD) --no-rebuild --print-errorlogs -t 5 --num-processes $(JOBS) $(TEST_ARGS) || failed=1; \
	scripts/check-totals $(BUILD)/meson-logs/testlog.json && [ -z "$$failed" ]

# Patterns are for list-tests: the shell does not replace them by names of files (set -f).
some-tests: configure ## run tests by their names or suites, and build only what they need; PATTERNS='base_clock suite:broker'
	@set -f; targets=$$(scripts/list-tests --targets $(BUILD) $(PATTERNS)) || exit; \
	echo "building what these tests need, in $(BUILD)"; \
	$(QUIETLY) ninja -C $(BUILD) $$targets
	@$(MAKE) --no-print-directory test TEST_ARGS="$$(set -f; scripts/list-tests $(BUILD) $(PATTERNS) | tr '\n' ' ')"

KILLS ?= 1000
crash-replace: build ## kill the broker and writers while they replace names; KILLS=1000
	@WW_TEST_SLOWNESS=10 WW_TEST_KILLS=$(KILLS) meson test -C $(BUILD) --no-rebuild --print-errorlogs -t 10 \
		crash-broker-host --test-args='--only replaced_names_are_always_there'
	@sed -n 's/^# //p' $(BUILD)/meson-logs/testlog.txt

# Each kill costs the start of a process; random moments are drawn from SEED.
FRAMES ?= 10000000
SEED ?=
DEVICE ?= host
torture-channel: build ## frames while both sides of a channel are killed; FRAMES=10000000 SEED= KILLS=1000 DEVICE=host
	@status=0; for part in block drop latest; do \
		CMOCKA_MESSAGE_OUTPUT=TAP WW_TEST_DEVICE=$(DEVICE) WW_TEST_KILLS=$(KILLS) WW_TEST_FRAMES=$(FRAMES) \
		WW_TEST_SEED=$(SEED) WARPWAYD=$(BUILD)/src/daemon/warpwayd \
		$(BUILD)/tests/crash/crash_channel --only channel_torture_$$part || status=1; \
	done; exit $$status

# Of a thousand kills 200 are of servers and 200 of clients.
CALLS ?= 100000
torture-calls: build ## calls while clients and servers are killed; CALLS=100000 SEED= KILLS=1000 DEVICE=host
	@CMOCKA_MESSAGE_OUTPUT=TAP WW_TEST_DEVICE=$(DEVICE) WW_TEST_KILLS=$(KILLS) WW_TEST_CALLS=$(CALLS) \
		WW_TEST_SEED=$(SEED) WARPWAYD=$(BUILD)/src/daemon/warpwayd \
		$(BUILD)/tests/crash/crash_call --only call_torture

# Random moments are drawn from SEED; what a suite drew and how often it killed stands in its notes.
gpus: build ## what several GPUs do together, on four of the fake driver, each in turn the owner; SEED= KILLS=30
	@rm -f $(BUILD)/meson-logs/testlog-gpus.json
	@failed=; \
	WW_TEST_KILLS=$(KILLS) $(if $(SEED),WW_TEST_SEED=$(SEED)) meson test -C $(BUILD) --no-rebuild --print-errorlogs -t 3 \
		--num-processes $(JOBS) --setup gpus --suite gpus || failed=1; \
	sed -n '/^# .*\(seed\|kill\)/p' $(BUILD)/meson-logs/testlog-gpus.txt; \
	scripts/check-totals $(BUILD)/meson-logs/testlog-gpus.json && [ -z "$$failed" ]
gpus: KILLS = 30

# A hundredth of a day's use, unless it is told otherwise: 60 frames a second, 2,000 user interfaces, 200 kills.
heat-soak: FRAMES = 52000
heat-soak: KILLS = 2
heat-soak: UIS ?= 20
heat-soak: build ## the heat sample in use, in short; FRAMES=52000 UIS=20 KILLS=2 SEED= (a day: 5200000 2000 200)
	@for name in heatd heatd-c; do \
		[ ! -x $(BUILD)/examples/heat/$$name ] || HEATD=$(BUILD)/examples/heat/$$name $(HEAT) \
			examples/heat/tests/heat_soak.py --frames $(FRAMES) --uis $(UIS) --kills $(KILLS) $(if $(SEED),--seed $(SEED)) || exit 1; \
	done
# The client in Java, if it was built.
HEAT_JARS = $(BUILD)/examples/heat/java/heat-client.jar:$(BUILD)/bindings/java/warpway.jar
heat-soak: export HEAT_JAVA = $(if $(wildcard $(BUILD)/examples/heat/java/heat-client.jar),java -Xms64m -Xmx64m \
	-XX:+AlwaysPreTouch -cp $(HEAT_JARS) heat.client.HeatClient)
HEAT = HEAT_WATCH=$(BUILD)/examples/heat/heat_watch WARPWAY=$(BUILD)/tools/warpway WARPWAYD=$(BUILD)/src/daemon/warpwayd

heat: build ## the heat sample: a broker, a daemon, and a window or heat-top; Ctrl-C ends all; ARGS='--set rows=512' and so on
	@examples/heat/heat $(BUILD) $(ARGS)

mpi: build ## random MPI programs with device memory, beside the bare MPI; SEEDS=1000 FIRST=9 RANKS=2
	@for abi in openmpi mpich; do \
		[ ! -x $(BUILD)/tests/mpi/mpi_random_$$abi ] || tests/mpi/random_test.py $$abi \
			$(abspath $(BUILD))/src/mpi/libwarpway_mpi_$$abi.so $(abspath $(BUILD))/tests/fakecuda \
			$(abspath $(BUILD))/src/daemon/warpwayd $(BUILD)/tests/mpi/mpi_random_$$abi --seeds $(SEEDS) --first $(FIRST) --ranks $(RANKS) || exit 1; \
	done
mpi: SEEDS ?= 1000
mpi: FIRST ?= 9
mpi: RANKS ?= 2

mpi4py: build ## mpi4py's own test suite with the library, and with device memory; PARTS=host,device, fetches its sources by pip
	@for abi in openmpi mpich; do \
		[ ! -e $(BUILD)/src/mpi/libwarpway_mpi_$$abi.so ] || tests/mpi/mpi4py_test.py $$abi \
			$(abspath $(BUILD))/src/mpi/libwarpway_mpi_$$abi.so $(abspath $(BUILD))/tests/fakecuda \
			$(abspath $(BUILD))/src/daemon/warpwayd --parts $(PARTS) || exit 1; \
	done
mpi4py: PARTS ?= host,device

models: ## look at every state of the models of the shared pages, and of wrong variants of them; needs spin
	@scripts/check-model

attack: build ## measure how much attackers delay other users; needs root and two cores; ARGS='--only list'
	@WARPWAYD=$(BUILD)/src/daemon/warpwayd $(BUILD)/tests/attack/attack $(ARGS)

# Two minutes, unless it is told otherwise. Sanitizers keep what was freed, and slow all down: SOAK_ARGS=--sanitizer.
soak: build ## random use of all kinds of objects, kills and hostile peers; SECONDS=120 HOURS= SEED= ROUND= DEVICE='host fakecuda'
	@tests/soak/soak.py --build $(BUILD) $(if $(HOURS),--hours $(HOURS),--seconds $(SECONDS)) $(if $(SEED),--seed $(SEED)) \
		$(addprefix --round ,$(ROUND)) $(addprefix --device ,$(DEVICE)) $(SOAK_ARGS)
soak: SECONDS ?= 120
soak: DEVICE = host fakecuda

bench: setup ## measure, ours and the raw driver in one run; ARGS='memory --json' and so on
	@$(MAKE) --no-print-directory build BUILD=build-release MESON_ARGS='$(RELEASE)'
	@build-release/tools/warpway bench $(ARGS)

RELEASE = --buildtype=release -Db_ndebug=true

# Undefined behaviour ends the program: a report alone would pass unseen. What the host device alone has runs on it, too.
ASAN = -Doptimization=1 -Db_sanitize=address,undefined -Db_lundef=false -Dc_args=-fno-sanitize-recover=all
sanitize-address: PATTERNS = suite:unit suite:broker suite:fuzz conformance-host-? conformance-fakecuda-? integration-*-fakecuda \
	torture-memory-host torture-*-fakecuda
sanitize-address: ## tests with the address and undefined-behaviour sanitizers; PATTERNS='*' for all of them
	@$(MAKE) --no-print-directory some-tests BUILD=build-asan PATTERNS='$(PATTERNS)' \
		TEST_WRAP='WW_TEST_SLOWNESS=4 $(FIXED_ADDRESSES)' MESON_ARGS='$(ASAN)'

# It takes up to ten times as long. These are the tests in which threads share most. Python and a JVM are not built with
# it, and cannot load what is.
TSAN = -Doptimization=1 -Db_sanitize=thread -Db_lundef=false
sanitize-thread: PATTERNS = conformance-host-? integration-sync-host integration-pool-host integration-channel-host
sanitize-thread: ## tests with the thread sanitizer; PATTERNS='NAME...' for others
	@$(MAKE) --no-print-directory some-tests BUILD=build-tsan PATTERNS='$(PATTERNS)' \
		TEST_WRAP='WW_TEST_SLOWNESS=4 WW_TEST_KILLS=20 \
		TSAN_OPTIONS=suppressions=$(CURDIR)/tests/thread-sanitizer.supp $(FIXED_ADDRESSES)' MESON_ARGS='$(TSAN)'

FUZZ_SECONDS ?= 60
fuzz: ## fuzz with libFuzzer, FUZZ_SECONDS=60 for each target; ARGS='wire token', ARGS=--help and so on
	@scripts/setup --ci
	@scripts/fuzz --seconds $(FUZZ_SECONDS) $(ARGS)

lint: ## run every check of scripts/ on the sources and the build
	@scripts/setup --ci
	@$(MAKE) --no-print-directory build
	@failed=; for check in $(LINT); do \
		scripts/check-$$check || failed="$$failed $$check"; \
	done; \
	[ -z "$$failed" ] || { echo "lint: failed:$$failed"; exit 1; }; \
	echo 'lint: ok'
LINT = layers locks shared-words size words format headers docs "abi $(BUILD)" "install $(BUILD)" "tidy $(BUILD)" checks

wheel: ## make the sdist and the wheel of the Python package, of what is committed, in build-wheel/out
	@scripts/setup --ci
	@scripts/make-wheel

dist: ## make the source archive of what is committed, in build-dist
	@scripts/make-dist

deb: ## make the Debian packages of what is committed, in build-deb/out; scripts/check-deb installs, upgrades and purges them
	@scripts/setup --deb
	@scripts/make-deb

docs: ## make the documentation site, in build/docs-site; warnings and dead links are errors
	@scripts/setup --ci
	@$(MAKE) --no-print-directory build
	@scripts/make-docs $(BUILD)

docs-links: docs ## ask also for each page of others that the site names; needs the network
	@scripts/make-docs $(BUILD) links

docs-screenshots: docs ## show three pages of it as a phone and a desktop do, light and dark, in build/docs-screenshots; needs chromium
	@docs/take-screenshots $(BUILD)/docs-site $(BUILD)/docs-screenshots

format: ## format the C files
	@scripts/check-format --fix

install: setup ## install an optimised build; PREFIX=/usr/local, DESTDIR= for packages
	@$(MAKE) --no-print-directory configure BUILD=build-install TESTS=disabled MESON_ARGS='$(RELEASE)'
	@meson configure build-install --prefix='$(PREFIX)'
	@echo 'building build-install'
	@$(QUIETLY) ninja -C build-install
	@DESTDIR='$(DESTDIR)' meson install -C build-install --no-rebuild --quiet
	@echo 'installed in $(DESTDIR)$(PREFIX)'
	@$(call LEFT_OUT,install)
install: BUILD = build-install

clean: ## remove every build folder
	rm -rf build build-*
