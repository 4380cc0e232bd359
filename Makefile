# SPDX-License-Identifier: MIT
# Thin: meson builds, tools/* do the work.  `make help` lists what there is.
.POSIX:
.PHONY: all help demo test bench torture lint asan tsan install clean

PREFIX ?= /usr/local
DESTDIR ?=

all:          ## build/waybill
	@tools/need build
	@tools/build build -- waybill

help:         ## this list
	@sed -n 's/^\([a-z][a-z]*\):.*## /\1|/p' Makefile | while IFS='|' read -r n t; do \
	    printf '  make %-9s %s\n' "$$n" "$$t"; done

demo:         ## an example with a server, a worker, a failure, a kill -9 and a report
	@tools/need demo
	@tools/build build -- waybill
	@tools/demo

test:         ## every test, in its short form
	@tools/need test
	@tools/run-tests

bench:        ## speed and memory beside beanstalkd, RabbitMQ, plain SQL, xargs and GNU parallel
	@tools/need bench
	@tools/build build -Dbench=enabled -- waybill bench/waybill-load \
	    bench/bench-noop bench/bench-stamp bench/bench-resident bench/bench-postgres
	@bench/run

torture:      ## what takes longer than a test run should: more seeds, kills and power cuts
	@tools/need torture
	@tools/torture

lint:         ## form, static analysis, layers, headers, links
	@tools/need lint
	@tools/lint

asan:         ## the tests under the address, leak and undefined-behaviour sanitizers
	@tools/need asan
	@tools/run-tests --sanitize address

tsan:         ## the tests under the thread sanitizer
	@tools/need tsan
	@tools/run-tests --sanitize thread

install: all  ## into $(DESTDIR)$(PREFIX)
	@tools/build build -Dprefix=$(PREFIX) -- waybill
	@DESTDIR='$(DESTDIR)' meson install -C build --no-rebuild

clean:        ## remove what was built
	rm -rf build build-asan build-tsan build-lint build-against
