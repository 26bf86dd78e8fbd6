# make             everything, into build/bin
# make demo        the main job, on a real log of this machine
# make check       all tests; the last line is "N passed, N failed"
# make install     into $(DESTDIR)$(PREFIX)
#
# Further: tests, check-unit, check-bats, check-deep (under sanitizers), bench,
# fuzz, lint, format, clean. DEV=1 turns on every warning and makes each an
# error; SAN=1 builds with sanitizers, into build/san. CC, CFLAGS, LDFLAGS and
# DESTDIR as usual. t/run runs single tests: see there.
#
# Sources are found by folder: add a file, and it is built.
#   lib/LAYER/*.c  lib/LAYER/*.proto    the library, and messages it generates
#   PROGRAM/*.c                         a program
#   t/unit t/helper t/bench t/fuzz      one test program a file
#   t/lib/*.c t/sim/*.c                 what several of those share

VERSION = 0.1.0

PROGRAMS = bk-add bk-read bk-ledger bk-bookied hub-pub hub-sub hub-relay
DAEMONS = bk-bookied hub-relay

PREFIX ?= /usr/local
BINDIR = $(PREFIX)/bin
SBINDIR = $(PREFIX)/sbin
MANDIR = $(PREFIX)/share/man
UNITDIR = $(PREFIX)/lib/systemd/system
COMPDIR = $(PREFIX)/share/bash-completion/completions
INSTALL = install
PKG_CONFIG = pkg-config

BUILD = build
ifdef SAN
BUILD = build/san
CFLAGS ?= -O1 -g -fno-omit-frame-pointer
sanitize = -fsanitize=address,undefined -fno-sanitize-recover=all
endif
CFLAGS ?= -O2 -g
ifdef DEV
warnings = -Wall -Wextra -Wpedantic -Wshadow -Wconversion \
	-Wstrict-prototypes -Wmissing-prototypes -Wwrite-strings \
	-Wformat=2 -Wvla -Werror
endif

packages = libevent_core libevent_extra libprotobuf-c libsodium libbsd libmd \
	libisal jansson lmdb
LIBS = $(shell $(PKG_CONFIG) --libs $(packages)) -lzookeeper_st -pthread

gen = $(BUILD)/gen
compile = $(CC) -std=c11 -D_GNU_SOURCE -Ilib -I$(gen) -I. -MMD -MP \
	$(sanitize) $(CPPFLAGS) $(CFLAGS) -pthread
link = $(CC) $(sanitize) $(CFLAGS) $(LDFLAGS) -pthread

# What there is, and what becomes of it.

object = $(patsubst %.c,$(BUILD)/obj/%.o,$(1))
protos = $(wildcard lib/*/*.proto)
messages = $(protos:lib/%.proto=$(gen)/%.pb-c.c)
programs = $(foreach p,$(PROGRAMS),$(if $(wildcard $p/main.c),$p))
units = $(patsubst t/unit/%.c,$(BUILD)/t/%,$(wildcard t/unit/*.c))
helpers = $(patsubst %.c,$(BUILD)/%,$(wildcard t/helper/*.c))
benches = $(patsubst %.c,$(BUILD)/%,$(wildcard t/bench/*.c))
fuzzers = $(patsubst t/fuzz/%.c,$(BUILD)/%,$(wildcard t/fuzz/*.c))

libbk = $(BUILD)/libbk.a
libbk_objects = $(call object,$(wildcard lib/*/*.c)) $(messages:.c=.o)

# Test programs may use all of a daemon but its main.
daemon_objects = $(filter-out %/main.o,$(call object,$(wildcard $(1)/*.c)))
test_archives = $(BUILD)/t/lib.a $(BUILD)/t/sim.a $(DAEMONS:%=$(BUILD)/%.a) \
	$(libbk)

.PHONY: all tests benches demo check check-unit check-bats check-deep bench \
	fuzz fuzzers lint format install clean FORCE
.SUFFIXES:
.SECONDARY:
.DELETE_ON_ERROR:

all: $(libbk) $(programs:%=$(BUILD)/bin/%)

tests: all $(units) $(helpers)

benches: all $(benches)

# Objects. They follow their sources, the headers those include, and the
# command that compiles them.

$(BUILD)/obj/%.o: %.c $(BUILD)/command | $(messages) $(gen)/version.h
	@mkdir -p $(@D)
	$(compile) $(warnings) -c -o $@ $<

$(gen)/%.pb-c.o: $(gen)/%.pb-c.c $(BUILD)/command
	$(compile) -c -o $@ $<

$(gen)/%.pb-c.c $(gen)/%.pb-c.h: lib/%.proto
	@mkdir -p $(gen)
	protoc-c -Ilib --c_out=$(gen) $<

# Written anew only when the text differs.
update = @mkdir -p $(@D); echo '$(1)' | cmp -s - $@ || echo '$(1)' >$@
hash = \#

$(BUILD)/command: FORCE
	$(call update,$(compile) $(warnings))

$(gen)/version.h: FORCE
	$(call update,$(hash)define BK_VERSION "$(VERSION)")

-include $(shell find $(BUILD)/obj $(gen) -name '*.d' 2>/dev/null)

# Archives and programs. They follow their parts, and the list of sources: one
# that is gone must not stay in an archive.

$(BUILD)/sources: FORCE
	$(call update,$(sort $(wildcard */*.c */*/*.c)))

parts = $(filter %.o %.a,$^)

define archive
@mkdir -p $(@D); rm -f $@
$(AR) rcs $@ $(parts)
endef

define link_program
@mkdir -p $(@D)
$(link) $(1) -o $@ $(parts) -Wl,--as-needed $(LIBS)
endef

$(libbk): $(libbk_objects) $(BUILD)/sources
	$(archive)

$(BUILD)/t/lib.a: $(call object,$(wildcard t/lib/*.c)) $(BUILD)/sources
	$(archive)

$(BUILD)/t/sim.a: $(call object,$(wildcard t/sim/*.c)) $(BUILD)/sources
	$(archive)

define daemon_archive
$(BUILD)/$(1).a: $(call daemon_objects,$(1)) $(BUILD)/sources
	$$(archive)
endef
$(foreach d,$(DAEMONS),$(eval $(call daemon_archive,$d)))

define program
$(BUILD)/bin/$(1): $(call object,$(wildcard $(1)/*.c)) $(libbk) $(BUILD)/sources
	$$(link_program)
endef
$(foreach p,$(programs),$(eval $(call program,$p)))

$(units): $(BUILD)/t/%: $(BUILD)/obj/t/unit/%.o $(test_archives)
	$(link_program)

$(helpers): $(BUILD)/%: $(BUILD)/obj/%.o $(test_archives)
	$(link_program)

$(benches): $(BUILD)/%: $(BUILD)/obj/%.o $(test_archives)
	$(link_program)

# Fuzz targets live in a tree of their own, built by clang.

fuzz:
	$(MAKE) fuzzers BUILD=build/fuzz CC=clang \
	    CFLAGS='-O1 -g -fno-omit-frame-pointer' \
	    sanitize='-fsanitize=fuzzer-no-link,address,undefined \
	    -fno-sanitize-recover=all'

fuzzers: $(fuzzers)

$(fuzzers): $(BUILD)/%: $(BUILD)/obj/t/fuzz/%.o $(test_archives)
	$(call link_program,-fsanitize=fuzzer)

# Tests. Each of these scripts says at its top what it does. They build with
# as many jobs as there are processors, unless told otherwise.

parallel = $(MAKE) $(if $(filter -j%,$(MAKEFLAGS)),,-j$(shell nproc))

demo:
	.ci/install build
	$(parallel) all
	.ci/demo

check:
	.ci/install build test
	$(parallel) tests
	$(parallel) fuzz
	BUILD=$(BUILD) t/run unit bats zk fuzz

check-unit:
	$(parallel) tests
	BUILD=$(BUILD) t/run unit

check-bats:
	$(parallel) tests
	BUILD=$(BUILD) t/run bats

check-deep:
	.ci/install build test
	$(parallel) tests SAN=1
	BUILD=build/san LIMIT_SCALE=4 t/run unit bats zk

bench:
	.ci/install build bench
	$(parallel) benches
	t/bench/run -w

lint:
	.ci/lint

format:
	clang-format -i $$(git ls-files '*.[ch]')

# Installing and cleaning.

install: all
	$(INSTALL) -d $(DESTDIR)$(BINDIR) $(DESTDIR)$(SBINDIR) \
	    $(DESTDIR)$(UNITDIR)
	for p in $(programs); do \
	    case ' $(DAEMONS) ' in \
	    *" $$p "*) dir=$(DESTDIR)$(SBINDIR) ;; \
	    *) dir=$(DESTDIR)$(BINDIR) ;; \
	    esac; \
	    $(INSTALL) $(BUILD)/bin/$$p $$dir || exit; \
	done
	for p in $(programs); do \
	    $(INSTALL) -D -m 644 lib/tool/completion.bash \
	        $(DESTDIR)$(COMPDIR)/$$p || exit; \
	done
	for page in $(wildcard man/*.[1-8]); do \
	    $(INSTALL) -D -m 644 -t $(DESTDIR)$(MANDIR)/man$${page##*.} \
	        $$page || exit; \
	done
	for unit in $(wildcard $(DAEMONS:%=%/*.service) \
	    $(DAEMONS:%=%/*.socket)); do \
	    $(INSTALL) -m 644 $$unit $(DESTDIR)$(UNITDIR) || exit; \
	done

clean:
	rm -rf build
