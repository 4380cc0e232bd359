# SPDX-License-Identifier: MIT
# Thin: meson builds, tools/* do the work.  `make help` lists what there is.
.POSIX:
.PHONY: all help demo test bench torture lint asan tsan install clean

PREFIX ?= /usr/local
DESTDIR ?=

all:          ## build build/waybill
	@tools/need build
	@tools/build build -- waybill

help:         ## show this list
	@sed -n 's/^\([a-z][a-z]*\):.*## /\1|/p' Makefile | while IFS='|' read -r n t; do \
	    printf '  make %-9s %s\n' "$$n" "$$t"; done

demo:         ## run an example with progress, a kill -9 and a report
	@tools/need demo
	@tools/build build -- waybill
	@tools/demo

test:         ## run every test in its short form
	@tools/need test
	@tools/run-tests

bench:        ## compare speed and memory with beanstalkd, RabbitMQ, plain SQL, xargs
	@tools/need bench
	@tools/build build -Dbench=enabled -- waybill bench/waybill-load \
	    bench/bench-noop bench/bench-stamp bench/bench-resident bench/bench-postgres
	@bench/run

torture:      ## run the long tests: more seeds, kills and power cuts
	@tools/need torture
	@tools/torture

lint:         ## check format, layers, headers and links; run static analysis
	@tools/need lint
	@tools/lint

asan:         ## run the tests with the address, leak and undefined-behaviour sanitizers
	@tools/need asan
	@tools/run-tests --sanitize address

tsan:         ## run the tests with the thread sanitizer
	@tools/need tsan
	@tools/run-tests --sanitize thread

install: all  ## install into $(DESTDIR)$(PREFIX)
	@tools/build build -Dprefix=$(PREFIX) -- waybill
	@DESTDIR='$(DESTDIR)' meson install -C build --no-rebuild

clean:        ## remove all build output
	rm -rf build build-asan build-tsan build-lint build-against
