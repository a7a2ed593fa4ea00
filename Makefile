# Every target sets up what it needs and says one line a step; the work is in scripts/.
# PG_CONFIG picks the PostgreSQL to build for, DESTDIR prefixes what `make install` writes.

.PHONY: build help install uninstall deb debs deb-test deb-repeat rpm rpm-test demo demo-stop \
	test clients wheel release matrix citus fuzz soak bench evaluate lint clean

build:
	@scripts/setup.sh build
	@scripts/build.sh

help:
	@echo 'make            compile the extension for the PostgreSQL that PG_CONFIG (or PATH) names'
	@echo '                (the same as make build)'
	@echo 'make install    put it into that PostgreSQL (honours DESTDIR); make uninstall takes it out'
	@echo 'make deb        Debian packages in target/packages, for each PostgreSQL that is installed'
	@echo '                (or for that of PG_CONFIG); make rpm: the same as RPMs'
	@echo 'make debs       for every supported version, each compiled in a system of its own, as root'
	@echo '                (VERSIONS="14 17": only these)'
	@echo 'make deb-test   what is in those packages; apt installs, upgrades and removes them in'
	@echo '                clean systems, as root; make rpm-test: rpm, below a directory'
	@echo 'make deb-repeat makes them a second time elsewhere and compares the bytes'
	@echo 'make demo       near-duplicates in real texts, in a server of its own'
	@echo '                (make demo-stop ends it)'
	@echo 'make test       unit, property, doc, simulation, regression, isolation and cluster tests'
	@echo 'make clients    the examples of the pages for clients, and the tests of clients/python'
	@echo 'make wheel      wheels of clients/python for x86-64 and arm64 in target/wheels, tested'
	@echo 'make release    everything that a release of the checked out tag consists of, in'
	@echo '                target/release-N: made twice, compared, installed and removed, as root'
	@echo '                (VERSIONS="15 19", FORMS="wheels crate pgxn image packages": only these)'
	@echo 'make matrix     the tests on every supported version of PostgreSQL, each in a system of its'
	@echo '                own, as root: docs/versions.md (VERSIONS="14 17": only these)'
	@echo 'make citus      docs/citus.md on three servers with Citus (CITUS=DIR: its source tree)'
	@echo 'make fuzz       libFuzzer on the parsers and on damaged pages of an index, a minute each'
	@echo '                (FUZZ="pages text": only these; FUZZ_SECONDS=600: longer)'
	@echo 'make soak       those at full length, on a server with assertions, and strangers'\'' tools'
	@echo '                (two hours)'
	@echo 'make bench      speed beside every rival: docs/benchmarks.md, and the README'\''s table'
	@echo '                (BIG=1: also 50 million rows)'
	@echo 'make evaluate   which settings find what: docs/evaluation.md'
	@echo '                (CORPORA=DIR: also the corpora there; ONLY=verified: that experiment;'
	@echo '                ONLY=large: on a million texts of Debian, which it draws)'
	@echo 'make lint       formatting, clippy, licences and advisories of crates, shellcheck, long'
	@echo '                lines, circles of imports, links, and whether pages of figures are what the'
	@echo '                results give'
	@echo 'make clean      remove everything that was built, and the demo server'

install:
	@scripts/install.sh

uninstall:
	@scripts/install.sh uninstall

deb:
	@scripts/setup.sh deb
	@scripts/deb.sh

debs:
	@scripts/debs.sh

deb-test:
	@scripts/setup.sh deb-test
	@tests/deb.sh

deb-repeat:
	@scripts/setup.sh deb
	@tests/same_bytes.sh

rpm:
	@scripts/setup.sh rpm
	@scripts/rpm.sh

rpm-test:
	@scripts/setup.sh rpm-test
	@tests/rpm.sh

demo:
	@scripts/setup.sh build
	@scripts/demo.sh

demo-stop:
	@scripts/demo.sh stop

test:
	@scripts/setup.sh test
	@scripts/test.sh

clients:
	@scripts/setup.sh test
	@scripts/test.sh clients

wheel:
	@scripts/setup.sh test
	@scripts/wheel.sh

release:
	@scripts/setup.sh deb-test
	@scripts/setup.sh rpm-test
	@scripts/release.sh

matrix:
	@scripts/matrix.sh

citus:
	@scripts/setup.sh test
	@scripts/citus.sh

fuzz:
	@scripts/setup.sh fuzz
	@scripts/fuzz.sh

soak:
	@scripts/setup.sh soak
	@scripts/soak.sh

bench:
	@scripts/setup.sh bench
	@scripts/bench.sh

evaluate:
	@scripts/setup.sh evaluate
	@scripts/evaluate.sh

lint:
	@scripts/setup.sh lint
	@scripts/lint.sh

clean:
	@scripts/demo.sh stop
	@scripts/clean.sh
