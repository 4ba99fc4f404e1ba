# The entry point; CMake (CMakePresets.json) and tools/ do the work.
JOBS ?= $(shell nproc)
PREFIX ?= /usr/local
DESTDIR ?=
SECONDS ?= 60

help: ## this list
	@awk -F ':.*## ' '/^[a-z -]+:.*## / { printf "  make %-16s %s\n", $$1, $$2 }' Makefile

demo: setup-build ## set up, build a release of daemon and command, run examples/hello.yaml, show it, clean up
	@cmake --preset release >/dev/null
	@cmake --build --preset release -j $(JOBS) --target plimsoll plimsolld
	@tools/demo.sh

check: setup ## set up, build with warnings as errors (build/check, in units), run all tests
	@tests/vm/kernel.sh >/dev/null
	@cmake --preset check >/dev/null
	@cmake --build --preset check -j $(JOBS)
	@tools/run_tests.sh check

kube-image: release ## the image of plimsoll-kube for the DaemonSet: build/plimsoll-kube.tar, an OCI archive
	@tools/kube_image --archive build/plimsoll-kube.tar build/release/bin/plimsoll-kube
	@echo build/plimsoll-kube.tar

build: setup-build ## the debug build (build/dev)
	@cmake --preset dev >/dev/null
	@cmake --build --preset dev -j $(JOBS)

release: setup-build ## the release build (build/release)
	@cmake --preset release >/dev/null
	@cmake --build --preset release -j $(JOBS)

lint: setup ## format, clang-tidy and rooms, of what changed since LINT_BASE
	@tools/lint.sh changed

lint-all: setup ## the same of everything
	@tools/lint.sh all

figures: setup ## sizes of files, functions and classes, and what is over a limit
	@tools/figures

format: setup ## clang-format everything
	@tools/lint.sh format

bench: release ## measure beside bare crun, and beside another CRI runtime: SOCKET=unix:///...
	@cmake --build --preset release -j $(JOBS) --target bench
	@tools/bench.sh $(if $(SOCKET),--socket $(SOCKET)) $(if $(IMAGE),--image $(IMAGE)) $(BENCH_FLAGS)

KILLS ?= 200
MONITORS ?= 50
SEED ?= 0
kill-test: setup ## kill daemon and monitors at random instants of a busy node (KILLS, MONITORS, SEED)
	@cmake --preset dev >/dev/null
	@cmake --build --preset dev -j $(JOBS) --target kill_test plimsolld
	@build/dev/bin/kill_test --kills $(KILLS) --monitors $(MONITORS) --seed $(SEED)

PODS ?= 2000
soak: setup ## live through many pods with random operations; finds what is lost, left or grows (PODS, SEED, SOAK_FLAGS)
	@cmake --preset dev >/dev/null
	@cmake --build --preset dev -j $(JOBS) --target soak_test plimsolld
	@build/dev/bin/soak_test --pods $(PODS) --seed $(SEED) --rounds 10 --seconds 1800 --max-growth 5 $(SOAK_FLAGS)

vm-kill-test: setup ## the same in a virtual machine with cgroup v2 (KILLS=50, MONITORS, SEED)
	@tests/vm/kernel.sh >/dev/null
	@cmake --preset dev >/dev/null
	@cmake --build --preset dev -j $(JOBS) --target kill_test vm_reboot
	@tests/vm/kills.py --build build/dev --kills $(if $(filter file,$(origin KILLS)),50,$(KILLS)) \
		--monitors $(if $(filter file,$(origin MONITORS)),12,$(MONITORS)) --seed $(SEED)

vm-systemd-test: setup ## plimsolld as a unit of systemd, in a virtual machine
	@tests/vm/kernel.sh >/dev/null
	@cmake --preset dev >/dev/null
	@cmake --build --preset dev -j $(JOBS) --target vm_systemd
	@tests/vm/systemd.py --build build/dev

vm-selinux-test: setup ## labels under an enforcing SELinux, in a virtual machine
	@tests/vm/kernel.sh >/dev/null
	@cmake --preset dev >/dev/null
	@cmake --build --preset dev -j $(JOBS) --target vm_selinux
	@tests/vm/selinux.py --build build/dev

asan tsan clang: setup ## all tests, built so
	@cmake --preset $@ >/dev/null
	@cmake --build --preset $@ -j $(JOBS)
	@tools/run_tests.sh $@

fuzz: setup ## run each fuzzer for SECONDS (60); fails when one finds something
	@cmake --preset fuzz >/dev/null
	@cmake --build --preset fuzz -j $(JOBS)
	@JOBS=$(JOBS) tools/fuzz.sh $(SECONDS) $(FUZZERS)

packages: setup-packages ## Debian packages of HEAD in build/packages (DIST=bookworm or trixie, ARCH=amd64 or arm64, CCACHE=1)
	@tools/packages.sh $(or $(DIST),bookworm) $(ARCH)

tarball: setup-packages ## the same of Debian 12, and a tarball for other distributions (docs/install.md)
	@TARBALL=1 tools/packages.sh bookworm $(ARCH)

repository: setup-packages ## a signed apt repository of these packages in build/repository (KEY=, URL=)
	@URL="$(URL)" tools/repository.sh "$(KEY)"

check-release: setup setup-packages ## before a release: packages, other Debian, arm64, other tools (STEPS: tools/check_release.sh)
	@tools/check_release.sh $(STEPS)

install: setup-build ## install programs, unit file and man pages below DESTDIR and PREFIX
	@cmake --preset release -DCMAKE_INSTALL_PREFIX="$(PREFIX)" >/dev/null
	@cmake --build --preset release -j $(JOBS)
	@DESTDIR="$(DESTDIR)" cmake --install build/release --strip

clean: ## remove all builds
	@rm -rf build

setup: ## install the Debian packages that are missing
	@tools/setup.sh build run check

setup-build:
	@tools/setup.sh build run

setup-packages:
	@tools/setup.sh packages

.PHONY: kube-image help demo check build release lint lint-all figures format bench kill-test soak vm-kill-test vm-systemd-test vm-selinux-test asan tsan clang fuzz install packages tarball repository check-release clean \
	setup setup-build setup-packages
