# oomreport. `make` builds build/oomreport; `make help` lists the goals.
#
# Yours to set:  CC CFLAGS LDFLAGS CPPFLAGS BUILD prefix DESTDIR FONT WERROR=1
# Nothing here asks pkg-config or looks for a library before `deps` has run.

VERSION := 0.1.0
LAYERS  := base model read normalise analyse draw report cli

BUILD  ?= build
CFLAGS ?= -O2 -g
FONT   ?= /usr/share/fonts/truetype/dejavu/DejaVuSans.ttf
PYTHON ?= /usr/bin/python3
prefix ?= /usr/local
bindir ?= $(prefix)/bin
mandir ?= $(prefix)/share/man
datadir ?= $(prefix)/share
FUZZ_TIME ?= 600
SEED   ?= 20261129
COUNT  ?= 1010
NUM    ?= 10000000

PKGS := libcjson cairo cairo-ft libpng freetype2 libpcre2-8 zlib
WARN := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wwrite-strings -Wvla
ifeq ($(WERROR),1)
WARN += -Werror
endif
ALL_CPPFLAGS = -Isrc -I$(BUILD) -D_POSIX_C_SOURCE=200809L -DOOMREPORT_VERSION='"$(VERSION)"' $(CPPFLAGS)
ALL_CFLAGS = -std=c11 $(WARN) -pthread -MMD -MP -ffile-prefix-map=$(abspath $(BUILD))=build \
             -ffile-prefix-map=$(CURDIR)=. @$(BUILD)/pkg.cflags $(CFLAGS)
ALL_LIBS = @$(BUILD)/pkg.libs -lcsv -lm
COMPILE  = $(CC) $(ALL_CPPFLAGS) $(ALL_CFLAGS)
LINK     = $(CC) -pthread $(CFLAGS) $(LDFLAGS)

ifneq ($(V),1) # V=1 shows whole commands
SHOW = @echo "  $@";
endif

# --- what there is: sorted wildcards, so that a new file needs no line here ----------
SRC    := $(sort $(foreach l,$(LAYERS),$(wildcard src/$(l)/*.c)))
EMBED  := $(sort $(wildcard formats/*.json) $(wildcard templates/*))
OBJ    := $(SRC:src/%.c=$(BUILD)/obj/%.o) $(BUILD)/embed_table.o
UNIT   := $(patsubst tests/unit/%.c,$(BUILD)/unit/%,$(sort $(wildcard tests/unit/test_*.c)))
REPLAY := $(patsubst tests/fuzz/%.c,$(BUILD)/replay/%,$(sort $(wildcard tests/fuzz/fuzz_*.c)))
FUZZERS:= $(patsubst tests/fuzz/%.c,$(BUILD)/fuzz/%,$(sort $(wildcard tests/fuzz/fuzz_*.c)))
PROG   := $(BUILD)/oomreport
SHELLS := $(BUILD)/oomreport.bash $(BUILD)/oomreport.zsh $(BUILD)/oomreport.fish
LIB    := $(BUILD)/liboomreport.a

# With `deps` among the goals everything else waits for it, also under -j.
ifneq ($(filter deps,$(MAKECMDGOALS)),)
FIRST := deps
endif

.DELETE_ON_ERROR:
.SUFFIXES:
.PHONY: all deps demo check check-corpus unit numbers golden golden-update replay asan fuzz lint coverage \
        bench bench-snapshot score install uninstall dist distcheck format clean help FORCE

all: $(PROG) $(SHELLS) ## build build/oomreport (the default)

deps: ## install what is missing (Debian, Ubuntu); test tools only with a test goal
	@sh tests/tools/deps.sh $(MAKECMDGOALS)

# --- program ---------------------------------------------------------------------------
# Of the objects, not the archive: that would hide a name that two of them define.
$(PROG): $(BUILD)/obj/main.o $(OBJ)
	$(SHOW)$(LINK) -o $@ $^ $(ALL_LIBS)

$(LIB): $(OBJ)
	@rm -f $@
	$(SHOW)$(AR) rcsD $@ $^

$(BUILD)/obj/%.o: src/%.c $(BUILD)/flags
	@mkdir -p $(@D)
	$(SHOW)$(COMPILE) -c -o $@ $<

$(BUILD)/embed_table.c: src/base/embed.sh $(EMBED) $(FONT) $(BUILD)/flags
	$(SHOW)sh src/base/embed.sh font.ttf=$(FONT) $(EMBED) >$@

$(BUILD)/embed_table.o: $(BUILD)/embed_table.c
	$(SHOW)$(COMPILE) -c -o $@ $<

$(FONT): | $(FIRST)
	@test -f $@ || { echo "make: no font at $@: run 'make deps', or name a TrueType file with FONT=" >&2; exit 1; }

# Rewritten only when the compiler, a flag, a library's flags or the list of
# embedded files changed; every object depends on it.
$(BUILD)/flags: FORCE | $(FIRST)
	@mkdir -p $(BUILD)
	@pkg-config --cflags $(PKGS) >$(BUILD)/pkg.cflags && pkg-config --libs $(PKGS) >$(BUILD)/pkg.libs || \
	    { echo "make: libraries are missing: run 'make deps'" >&2; exit 1; }
	@{ printf '%s\n' '$(subst ','\'',$(COMPILE) $(LDFLAGS) $(FONT) $(EMBED))'; cat $(BUILD)/pkg.*; } >$@.new
	@cmp -s $@ $@.new && rm $@.new || mv $@.new $@

# Completions of the shells, from the options table.
$(SHELLS): $(BUILD)/oomreport.%: src/cli/completions.awk src/cli/options.def src/report/glossary.def $(EMBED)
	@mkdir -p $(@D)
	$(SHOW)awk -v shell=$* -v formats="$(basename $(notdir $(filter formats/%,$(EMBED))))" -f $(wordlist 1,3,$^) >$@

# --- tests -----------------------------------------------------------------------------
$(BUILD)/unit/%: tests/unit/%.c $(LIB)
	@mkdir -p $(@D)
	$(SHOW)$(COMPILE) $(LDFLAGS) -MF $@.d -o $@ $< $(LIB) -lcmocka $(ALL_LIBS)

$(BUILD)/replay/%: tests/fuzz/%.c tests/tools/replay_main.c $(LIB)
	@mkdir -p $(@D)
	$(SHOW)$(COMPILE) $(LDFLAGS) -MF $@.d -o $@ $< tests/tools/replay_main.c $(LIB) $(ALL_LIBS)

$(BUILD)/fuzz/%: tests/fuzz/%.c $(LIB)
	@mkdir -p $(@D)
	$(SHOW)$(COMPILE) $(LDFLAGS) -fsanitize=fuzzer -MF $@.d -o $@ $< $(LIB) $(ALL_LIBS)

RUN_TESTS = BUILD=$(BUILD) PYTHON=$(PYTHON) sh tests/tools/check.sh

check: all $(UNIT) $(REPLAY) ## all tests; the last line is "N passed, N failed"
	@$(RUN_TESTS) unit golden replay formats made fixtures verdicts snapshots mutations schema redact cli logger merge outputs browser
unit: $(UNIT) ## unit tests
	@$(RUN_TESTS) unit
golden: $(PROG) ## golden tests
	@$(RUN_TESTS) golden
numbers: $(BUILD)/unit/test_num ## NUM=10000000: so many random numbers against strtod
	OOMREPORT_NUMBERS=$(NUM) $<
replay: $(REPLAY) ## every fuzz target over its seeds and past crashes
	@$(RUN_TESTS) replay
golden-update: $(PROG) ## accept what the program prints now
	@BUILD=$(BUILD) bash tests/golden/run.sh --update
check-corpus: $(PROG) ## CORPUS=DIR: real logs, or labelled cases, or both in corpus/ and cases/
	@test -n "$(CORPUS)" || { echo "make: say where: make check-corpus CORPUS=DIR" >&2; exit 2; }
	@bad=0; for d in $(if $(wildcard $(CORPUS)/cases),$(CORPUS)/corpus $(CORPUS)/cases,$(CORPUS)); do \
	    $(PYTHON) tests/tools/check_corpus.py --program $(PROG) $$d || bad=1; done; \
	for d in $(wildcard $(CORPUS)/snapshots) $(wildcard $(CORPUS)/corpus); do \
	    $(PYTHON) tests/tools/check_snapshots.py --program $(PROG) $$d || bad=1; done; exit $$bad
score: $(PROG) ## SEED=N COUNT=N: confusion matrix over generated, labelled runs
	@rm -rf $(BUILD)/score
	@$(PYTHON) tests/score/generate.py --seed $(SEED) --count $(COUNT) $(BUILD)/score
	@$(PYTHON) tests/score/score.py $(BUILD)/score $(PROG) $(SCORE)
bench: $(PROG) $(LIB) ## speed against wc, json.loads and pandas (BENCH="--steps N --rounds N")
	$(PYTHON) tests/bench/bench.py --program $(PROG) --work $(BUILD)/bench $(BENCH)
bench-snapshot: $(PROG) ## memory snapshots against pickle.load (BENCH="--sizes 100,300,1000 --rounds N")
	$(PYTHON) tests/bench/bench_snapshot.py --program $(PROG) --work $(BUILD)/bench $(BENCH)

SAN := -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer
asan: | $(FIRST) ## `check` under the address and undefined-behaviour sanitizers
	@$(MAKE) BUILD=$(BUILD)-asan CFLAGS="-O1 -g $(SAN)" check
fuzz: | $(FIRST) ## FUZZ_TIME=600: libFuzzer (clang), seconds for each target
	@$(MAKE) BUILD=$(BUILD)-fuzz CC=clang CFLAGS="-O1 -g -fsanitize=fuzzer-no-link $(SAN)" fuzz-run
fuzz-run: $(FUZZERS)
	@BUILD=$(BUILD) FUZZ_TIME=$(FUZZ_TIME) bash tests/tools/fuzz.sh $(FUZZERS)
coverage: | $(FIRST) ## line coverage of `check`, by file
	@$(MAKE) BUILD=$(BUILD)-cov CFLAGS="-O0 -g --coverage" check
	@sh tests/tools/coverage.sh $(BUILD)-cov
lint: $(BUILD)/flags ## layers, headers, layout, manuals, README
	@LAYERS="$(LAYERS)" BUILD=$(BUILD) PYTHON=$(PYTHON) bash tests/tools/lint.sh
format: | $(FIRST) ## clang-format in place
	clang-format -i $(sort $(wildcard src/*.c src/*/*.[ch] tests/*/*.[ch]))

# --- use -------------------------------------------------------------------------------
demo: $(PROG) ## a report of the logs in fixtures/demo
	@$(PROG) -o oomreport-report --force --label demo $(sort $(wildcard fixtures/demo/*.jsonl fixtures/demo/*.csv))
	@cp oomreport-report/plots/timeline.png fixtures/demo/timeline.png
	@echo "open $(CURDIR)/oomreport-report/index.html"
SHELL_DIRS := bash-completion/completions zsh/site-functions fish/vendor_completions.d
install: all ## prefix=/usr/local DESTDIR=
	install -d $(DESTDIR)$(bindir) $(DESTDIR)$(mandir)/man1 $(DESTDIR)$(mandir)/man5
	install -m 755 $(PROG) $(DESTDIR)$(bindir)/oomreport
	install -m 644 src/oomreport.1 $(DESTDIR)$(mandir)/man1/oomreport.1
	install -m 644 src/oomreport-formats.5 $(DESTDIR)$(mandir)/man5/oomreport-formats.5
	install -d $(foreach d,$(SHELL_DIRS),$(DESTDIR)$(datadir)/$(d))
	install -m 644 $(BUILD)/oomreport.bash $(DESTDIR)$(datadir)/bash-completion/completions/oomreport
	install -m 644 $(BUILD)/oomreport.zsh $(DESTDIR)$(datadir)/zsh/site-functions/_oomreport
	install -m 644 $(BUILD)/oomreport.fish $(DESTDIR)$(datadir)/fish/vendor_completions.d/oomreport.fish
uninstall: ## remove what `install` put there
	rm -f $(DESTDIR)$(bindir)/oomreport $(DESTDIR)$(mandir)/man1/oomreport.1 \
	      $(DESTDIR)$(mandir)/man5/oomreport-formats.5
	rm -f $(DESTDIR)$(datadir)/bash-completion/completions/oomreport \
	      $(DESTDIR)$(datadir)/zsh/site-functions/_oomreport \
	      $(DESTDIR)$(datadir)/fish/vendor_completions.d/oomreport.fish
dist: ## source archive, the same bytes from the same commit
	@mkdir -p $(BUILD)
	@sh tests/tools/dist.sh oomreport-$(VERSION) $(BUILD)
distcheck: dist ## unpack the archive; build, check, install and uninstall there
	@sh tests/tools/distcheck.sh oomreport-$(VERSION) $(BUILD)
clean: ## remove the build folders
	rm -rf $(BUILD) $(BUILD)-clang $(BUILD)-asan $(BUILD)-fuzz $(BUILD)-cov
help: ## this list
	@awk -F ":.*## " '/^[a-z-]+:.*## / { printf "  %-14s %s\n", $$1, $$2 }' Makefile

.PHONY: fuzz-run
.SECONDARY:
-include $(OBJ:.o=.d) $(BUILD)/obj/main.d $(UNIT:=.d) $(REPLAY:=.d) $(FUZZERS:=.d)
