# Makefile - the front door: every verb sets up what it needs and leaves the rest to meson and scripts/
#
#   make VERB [ARGS='...'] [BUILD=folder] [MESON_ARGS='...'] [CC=clang]

BUILD ?= build
MESON_ARGS ?=
ARGS ?=
PREFIX ?= /usr/local
DESTDIR ?=

# Sanitizers need their shadow memory where the kernel's address randomisation may put something else.
FIXED_ADDRESSES = $(shell setarch -R true 2>/dev/null && echo setarch -R)

# Runs a command; what it says is shown if it fails, without ninja's steps, else only warnings.
QUIETLY = quietly() { \
	if said=$$("$$@" 2>&1); then printf '%s\n' "$$said" | grep 'warning:' || :; \
	else printf '%s\n' "$$said" | grep -v '^\[[0-9]*/[0-9]*\]'; exit 1; fi; \
}; quietly

.PHONY: help setup configure build demo check test bench lint format install clean
.PHONY: asan ubsan tsan sanitize-address sanitize-thread release
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

configure: setup
	@if [ -f $(BUILD)/build.ninja ]; then :; else \
		echo "configuring $(BUILD)"; \
		$(QUIETLY) meson setup $(BUILD) -Dtests=enabled $(MESON_ARGS); \
	fi

build: configure ## build the library, the tool and the tests, in build/
	@echo "building $(BUILD)"
	@$(QUIETLY) meson compile -C $(BUILD)

demo: build ## build, then show what Warpway does; ARGS='--device host' and so on
	@$(BUILD)/tools/warpway demo $(ARGS)

check: build test ## build, then run every test that needs no GPU; the last line is the totals

# Every test that is built: those that need a GPU skip themselves, with the reason, where there is none.
test:
	@rm -f $(BUILD)/meson-logs/testlog.json
	@failed=; \
	$(TEST_WRAP) meson test -C $(BUILD) --no-rebuild --print-errorlogs $(TEST_ARGS) || failed=1; \
	scripts/check-totals $(BUILD)/meson-logs/testlog.json && [ -z "$$failed" ]

bench: ## measure, ours and the raw driver in one run; ARGS='memory --json' and so on
	@$(MAKE) --no-print-directory build BUILD=build-release MESON_ARGS='$(RELEASE)'
	@build-release/tools/warpway bench $(ARGS)

RELEASE = --buildtype=release -Db_ndebug=true
release: ## as check, built for use: optimised, without debugging aids
	@$(MAKE) --no-print-directory check BUILD=build-release MESON_ARGS='$(RELEASE)'

# Undefined behaviour ends the program: a report alone would pass unseen.
ASAN = -Db_sanitize=address,undefined -Db_lundef=false -Dc_args=-fno-sanitize-recover=all
asan ubsan: sanitize-address
sanitize-address: ## as check, with the address and undefined-behaviour sanitizers
	@$(MAKE) --no-print-directory check BUILD=build-asan TEST_WRAP='WW_TEST_SLOWNESS=4 $(FIXED_ADDRESSES)' \
		MESON_ARGS='$(ASAN)' TEST_ARGS='-t 4'

# It takes up to ten times as long, so what has one thread only, or is no program of ours, is left to the others.
TSAN = -Db_sanitize=thread -Db_lundef=false
TSAN_SUITES = --no-suite fuzz --no-suite torture --no-suite examples --no-suite abi
tsan: sanitize-thread
sanitize-thread: ## as check, with the thread sanitizer
	@$(MAKE) --no-print-directory check BUILD=build-tsan TEST_WRAP='WW_TEST_SLOWNESS=4 WW_TEST_KILLS=20 $(FIXED_ADDRESSES)' \
		MESON_ARGS='$(TSAN)' TEST_ARGS='-t 4 $(TSAN_SUITES)'

lint: ## run every check of scripts/ on the sources and the build
	@scripts/setup --ci
	@$(MAKE) --no-print-directory build
	@failed=; for check in $(LINT); do \
		scripts/check-$$check || failed="$$failed $$check"; \
	done; \
	[ -z "$$failed" ] || { echo "lint: failed:$$failed"; exit 1; }; \
	echo 'lint: ok'
LINT = layers size words format headers "abi $(BUILD)" "install $(BUILD)" "tidy $(BUILD)" checks

format: ## format the C files
	@scripts/check-format --fix

install: ## install an optimised build; PREFIX=/usr/local, DESTDIR= for packages
	@$(MAKE) --no-print-directory configure BUILD=build-install MESON_ARGS='$(RELEASE)'
	@meson configure build-install --prefix='$(PREFIX)'
	@$(MAKE) --no-print-directory build BUILD=build-install
	@DESTDIR='$(DESTDIR)' meson install -C build-install --no-rebuild --quiet
	@echo 'installed in $(DESTDIR)$(PREFIX)'

clean: ## remove every build folder
	rm -rf build build-*
