# Every target sets up its requirements and prints one line a step. The work is in scripts/.
# PG_CONFIG picks the PostgreSQL to build for, DESTDIR prefixes what `make install` writes.
# `scripts/run` lists the tasks that maintainers run occasionally.

.PHONY: build help install uninstall demo test bench lint release clean

build:
	@scripts/setup.sh build
	@scripts/build.sh

help:
	@echo 'make            compile the extension for the PostgreSQL that PG_CONFIG (or PATH) names'
	@echo 'make install    put it into that PostgreSQL (honours DESTDIR); make uninstall takes it out'
	@echo 'make demo       near-duplicates in real texts, in a server of its own'
	@echo 'make test       every test, from nothing in about 50 minutes on two cores'
	@echo 'make lint       formatting, clippy, licences, links, figures of pages'
	@echo 'make bench      speed beside every rival: docs/benchmarks.md; hours (BIG=1: also 50'
	@echo '                million rows)'
	@echo 'make release    every artefact of the checked out tag, made twice, compared, installed and'
	@echo '                removed, as root; hours (VERSIONS="15 19", FORMS="wheels crate pgxn image'
	@echo '                packages")'
	@echo 'make clean      remove everything that was built, and the demo server'
	@echo 'scripts/run     lists the rest: packages, longer tests, evaluation'

install:
	@scripts/install.sh

uninstall:
	@scripts/install.sh uninstall

demo:
	@scripts/setup.sh build
	@scripts/demo.sh

test:
	@scripts/setup.sh test
	@scripts/test.sh

bench:
	@scripts/setup.sh bench
	@scripts/bench.sh

lint:
	@scripts/setup.sh lint
	@scripts/lint.sh

release:
	@scripts/setup.sh deb-test
	@scripts/setup.sh rpm-test
	@scripts/release.sh

clean:
	@scripts/demo.sh stop
	@scripts/clean.sh
