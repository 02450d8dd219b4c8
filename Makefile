# Two commands do everything: `make demo` (set up, build, run the main job) and `make test`.
# Both install what is missing, build what is not built, and download nothing the second time.
BUILD := build/default
JOBS  ?= $(shell nproc)

.PHONY: all setup configure programs build demo docs install test bench sanitize clean
all: build

setup:
	@scripts/setup

configure: setup
	@[ -f $(BUILD)/build.ninja ] || cmake --preset default

# The programs alone; what the demo needs.
programs: configure
	@cmake --build --preset default -j $(JOBS) --target programs

build: configure
	@cmake --build --preset default -j $(JOBS)

demo: programs
	@$(BUILD)/bin/hitproof demo --out out/demo

# The documents that the program writes by itself: commit what changes.
docs: programs
	@$(BUILD)/bin/hitproof help --markdown > docs/commands.md
	@$(BUILD)/bin/hitproof help --man > docs/hitproof.1

# Programs, libraries, manual page and completions: make install PREFIX=/opt/hitproof
install: configure
	@cmake --build --preset default -j $(JOBS) --target installable
	@cmake --install $(BUILD) $(if $(PREFIX),--prefix $(PREFIX))

test: build
	@cd $(BUILD) && ctest --output-on-failure --timeout 900

bench: build
	@scripts/bench $(BUILD)

# Studies on preset micro under the probe, in builds with address, undefined and thread sanitizers.
sanitize: setup
	@scripts/sanitize asan
	@scripts/sanitize tsan

clean:
	rm -rf build out
