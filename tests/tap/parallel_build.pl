# Index builds with parallel workers make the same index as serial builds, in every form of CREATE
# INDEX and REINDEX: the same rows in each table, on about as many pages. Also crashes after a
# build, errors, cancellation, workers that end, and builds without workers.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use SimhashTest;
use PostgreSQL::Test::Utils;
use Test::More;

our $rows = soak() ? 1_000_000 : 100_000;
my $node = new_node('main', <<'CONF');
shared_buffers = 64MB
autovacuum = off
max_worker_processes = 8
max_parallel_workers = 8
max_parallel_maintenance_workers = 4
CONF
# The table's option parallel_workers determines the workers, however small the table is.
$node->safe_psql('postgres', <<"SQL");
CREATE EXTENSION pageinspect;
CREATE UNLOGGED TABLE t (id integer, body text, fp64 fingerprint64, fp128 fingerprint128);
INSERT INTO t
  SELECT i, 'text number ' || i / 3 || ' about the cat on mat ' || i / 7,
    CASE WHEN i % 9 > 0 THEN n END, test.wide(n, i)
  FROM (SELECT i, test.made(i / 2) AS n FROM generate_series(1, $rows) i) r;
CREATE UNLOGGED TABLE long AS
  SELECT i AS id,
    (SELECT string_agg(md5((i * j)::text), ' ') FROM generate_series(1, 300) j) AS body
  FROM generate_series(1, 400) i;
VACUUM ANALYZE t, long;
CREATE FUNCTION in_worker() RETURNS boolean LANGUAGE sql PARALLEL SAFE AS \$\$
  SELECT backend_type = 'parallel worker' FROM pg_stat_activity WHERE pid = pg_backend_pid() \$\$;
-- Takes some seconds, if wanted only in workers, and if wanted raises an error in workers or in the
-- leader. From PostgreSQL 17 on an index is built with a search_path of pg_catalog alone.
CREATE FUNCTION slow(fp fingerprint64, seconds float8, failing text DEFAULT '')
  RETURNS fingerprint64 LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS \$\$
BEGIN
  IF failing <> 'only worker' OR public.in_worker() THEN PERFORM pg_sleep(seconds); END IF;
  IF failing = (CASE WHEN public.in_worker() THEN 'worker' ELSE 'leader' END) THEN
    RAISE division_by_zero;
  END IF;
  RETURN fp;
END \$\$;
CREATE FUNCTION unsafe(fp fingerprint64)
  RETURNS fingerprint64 LANGUAGE plpgsql IMMUTABLE AS \$\$ BEGIN RETURN fp; END \$\$;
CREATE UNLOGGED TABLE few AS SELECT * FROM t LIMIT 4000;
SQL

sub value { my ($sql) = @_; return $node->safe_psql('postgres', $sql) }

# The messages of a statement that runs with this number of workers in the option of the tables.
sub run_with
{
	my ($workers, $statement) = @_;
	value("ALTER TABLE $_ SET (parallel_workers = $workers)") for qw(t few long);
	my ($status, $output, $error) = $node->psql('postgres',
		"\\set VERBOSITY verbose\nSET client_min_messages = debug1; $statement");
	return $error;
}

# The pages of an index as sessions see them (a checkpoint does not write unlogged ones), without
# the 10 bytes that depend on when they were written: LSN and checksum.
sub pages
{
	return value(<<"SQL");
SELECT count(*) || ' pages '
    || md5(string_agg(substr(get_raw_page('$_[0]', n::integer), 11), '' ORDER BY n))
  FROM generate_series(0, pg_relation_size('$_[0]') / current_setting('block_size')::integer - 1) n
SQL
}

# How many pages an index has, and how many rows and tables.
sub size_of
{
	return split /\|/, value("SELECT pages, rows, tables FROM simhash_index_info('$_[0]')");
}

# Builds without workers, with one and with three. index_is_clean compares each table with the heap,
# row by row. A table that several processes write has one more leaf for each process beyond the
# first, and may have other inner pages.
sub same_index
{
	my ($definition, $name, $settings) = @_;
	$settings //= '';
	my ($pages, $rows);
	for my $workers (0, 1, 3)
	{
		my $messages = run_with($workers, "$settings CREATE INDEX i ON $definition");
		if ($workers)
		{
			like($messages, qr/index "i": $workers of $workers parallel workers launched/,
				"$name: $workers workers are launched");
		}
		else { unlike($messages, qr/launched/, "$name: no workers are launched") }
		index_is_clean($node, 'i', "$name: the structure is sound with $workers workers");
		my @size = size_of('i');
		if ($workers)
		{
			is($size[1], $rows, "$name: as many rows with $workers workers");
			my $more = ($size[2] + 1) * 2 * $workers;
			cmp_ok(abs($size[0] - $pages), '<=', $more, "$name: about as many pages");
			my ($stretches) = $messages =~ /(\d+) stretches of/;
			cmp_ok($stretches, '>', $size[2], "$name: tables are written in stretches")
				if $rows >= $main::rows / 2;
		}
		($pages, $rows) = @size if !$workers;
		value('DROP INDEX i') if $workers < 3;
	}
}

sub forms
{
	same_index('t USING simhash (fp64)', 'plain, a ninth NULL');
	answers_agree($node, 't', 'fp64', 'i', 'plain: all scans agree',
		points => 2, distances => '0,3,12,64');
	is(value("SET enable_seqscan = off; SELECT count(*) FROM t WHERE fp64 IS NULL"),
		int($rows / 9), 'plain: NULLs are there');
	value('DROP INDEX i');
	same_index('t USING simhash (fp64)', 'little memory', q{SET maintenance_work_mem = '1MB';});
	my @before = size_of('i');
	for my $statement ('REINDEX INDEX i', 'REINDEX INDEX CONCURRENTLY i')
	{
		like(run_with(2, $statement),
			qr/2 of 2 parallel workers launched/, "$statement launches workers");
		index_is_clean($node, 'i', "$statement: sound");
		is((size_of('i'))[1], $before[1], "$statement: as many rows");
	}
	is(value(q{SELECT count(*) FROM pg_ls_tmpdir()}), '0', 'no temporary file is left');
	value('DROP INDEX i');
	for ([ 't USING simhash (fp128) WITH (blocks = 5, fillfactor = 60)', '128 bits' ],
		[ 't USING simhash (simhash(body))', 'expression' ],
		[ 't USING simhash (fp64) WHERE id % 3 = 0', 'partial' ],
		[ 'long USING simhash (simhash(body))', 'texts out of line' ],
		[ 't USING simhash (hamming_ball(fp64, 5))', 'balls' ],
		[ 't USING simhash (body)', 'texts', q{SET maintenance_work_mem = '4MB';} ],
		[ 'few USING simhash ((id % 7), body) INCLUDE (id) WITH (similarity = 0.3, fillfactor = 60)',
			'texts by scope' ],
		[ 'long USING simhash (near_text(body, 0.8)) WHERE id % 5 > 0', 'near_text out of line' ],
		[ 't USING simhash ((ARRAY[fp64, test.made(id)::fingerprint64]))',
			'several fingerprints a row' ])
	{
		same_index(@$_);
		value('DROP INDEX i');
	}
	run_with(0, 'CREATE INDEX i ON few USING simhash (fp64)');
	my $alone = pages('i');
	value('DROP INDEX i');
	run_with(2, 'CREATE INDEX i ON few USING simhash (fp64)');
	is(pages('i'), $alone, 'small tables are not cut: the same pages');
	value('DROP INDEX i');
	run_with(2, 'CREATE INDEX i ON few USING simhash (fp64) WHERE id < 0');
	is(value(q{SELECT rows FROM simhash_index_info('i')}), '0', 'no row at all');
	value('DROP INDEX i');
	value(<<'SQL');
CREATE TABLE p (id integer, fp64 fingerprint64) PARTITION BY RANGE (id);
CREATE TABLE p1 PARTITION OF p FOR VALUES FROM (0) TO (20000) WITH (parallel_workers = 2);
CREATE TABLE p2 PARTITION OF p FOR VALUES FROM (20000) TO (40000) WITH (parallel_workers = 1);
INSERT INTO p SELECT id, fp64 FROM t WHERE id < 40000;
VACUUM ANALYZE p
SQL
	like(run_with(0, 'CREATE INDEX i ON p USING simhash (fp64)'),
		qr/2 of 2 parallel.*1 of 1 parallel/s, 'each partition has the workers of its option');
	index_is_clean($node, "${_}_fp64_idx", "$_: the structure is sound") for qw(p1 p2);
	answers_agree($node, $_, 'fp64', "${_}_fp64_idx", "$_: all scans agree",
		points => 1, distances => '0,12,64') for qw(p1 p2);
	value('DROP TABLE p');
}

# Rows are inserted and deleted while the index is built.
sub concurrently
{
	value(<<'SQL');
CREATE TABLE busy (id integer PRIMARY KEY, fp64 fingerprint64) WITH (parallel_workers = 2);
INSERT INTO busy SELECT id, fp64 FROM t WHERE id <= 20000;
VACUUM ANALYZE busy
SQL
	my $session = $node->background_psql('postgres');
	$session->query_until(qr/start/, <<'SQL');
\echo start
DO $$
BEGIN
  FOR i IN 1..300 LOOP
    INSERT INTO busy
      SELECT 100000 + i * 10 + j, test.made(i * 10 + j) FROM generate_series(1, 10) j;
    UPDATE busy SET fp64 = test.made(-i) WHERE id = i * 7;
    DELETE FROM busy WHERE id = i * 11;
    COMMIT;
    PERFORM pg_sleep(0.005);
  END LOOP;
END $$;
SQL
	for my $i (1 .. 3)
	{
		like(run_with(2, "CREATE INDEX CONCURRENTLY c$i ON busy USING simhash (fp64)"),
			qr/2 of 2 parallel workers launched/, "CREATE INDEX CONCURRENTLY $i launches workers");
	}
	$session->quit;
	for my $i (1 .. 3)
	{
		index_is_clean($node, "c$i", "CREATE INDEX CONCURRENTLY $i: sound, no row is missing");
		answers_agree($node, 'busy', 'fp64', "c$i", "CREATE INDEX CONCURRENTLY $i: all scans agree",
			points => 1, distances => '0,12,64') if $i == 3;
		value("DROP INDEX c$i");
	}
}

# A build that takes seconds as another session sees it: its workers and its progress. While two
# workers run, a function may be called.
sub seen_from_outside
{
	my ($during) = @_;
	value('ALTER TABLE few SET (parallel_workers = 2)');
	my $session = $node->background_psql('postgres', on_error_stop => 0);
	$session->query_until(qr/start/, <<'SQL');
\echo start
CREATE INDEX s ON few USING simhash (slow(fp64, 0.002));
SELECT pg_advisory_lock(1);
SQL
	my %seen = (workers => 0, blocks => 0, phase => '');
	for (1 .. 300)
	{
		my ($workers, $done) = split /\|/, value(<<'SQL');
SELECT count(*) FILTER (WHERE backend_type = 'parallel worker' AND query LIKE '%CREATE INDEX s%'),
  (SELECT count(*) FROM pg_locks WHERE locktype = 'advisory') FROM pg_stat_activity
SQL
		last if $done;
		$seen{workers} = $workers if $workers > $seen{workers};
		my ($phase, $blocks) = split /\|/, value(<<'SQL');
SELECT phase, blocks_done FROM pg_stat_progress_create_index WHERE blocks_total > 0
SQL
		$seen{blocks} = $blocks if ($blocks // 0) > $seen{blocks};
		$seen{phase} = $phase if ($phase // '') =~ /scan/;
		if ($during && $workers == 2) { $during->(); $during = undef }
	}
	$session->quit;
	return \%seen;
}

sub no_trace
{
	my ($name) = @_;
	ok($node->poll_query_until('postgres', <<'SQL'), "$name: no worker is left");
SELECT count(*) = 0 FROM pg_stat_activity WHERE backend_type = 'parallel worker'
SQL
	is(value(q{SELECT count(*) FROM pg_class WHERE relname = 's'})
		. value(q{SELECT count(*) FROM pg_ls_tmpdir()}), '00', "$name: neither index nor file is left");
}

sub mishaps
{
	my $seen = seen_from_outside();
	is($seen->{workers}, 2, 'two workers show the statement they work for');
	cmp_ok($seen->{blocks}, '>', 0, 'blocks are counted');
	is($seen->{phase}, 'building index: scanning table', 'the phase is named');
	is(value(q{SELECT rows = (SELECT count(*) FROM few) FROM simhash_index_info('s')}),
		't', 'the slow index has all rows');
	value('DROP INDEX s');
	for my $who ('worker', 'leader')
	{
		like(run_with(2, "CREATE INDEX s ON few USING simhash (slow(fp64, 0.001, '$who'))"),
			qr/ERROR:  22012: division_by_zero/, "an error in the $who is the statement's");
		no_trace("an error in the $who");
	}
	like(run_with(2, <<'SQL'), qr/ERROR:  57014/, 'a build can be cancelled');
SET statement_timeout = '500ms';
CREATE INDEX s ON few USING simhash (slow(fp64, 0.01))
SQL
	no_trace('cancelled');
	# The leader finishes long before its workers.
	like(run_with(2, <<'SQL'), qr/ERROR:  57014/, 'a leader that waits can be cancelled');
SET statement_timeout = '1s';
CREATE INDEX s ON few USING simhash (slow(fp64, 0.05, 'only worker'))
SQL
	no_trace('cancelled while it waits');
	my $offset = -s $node->logfile;
	seen_from_outside(sub { value(<<'SQL') });
SELECT pg_terminate_backend(pid) FROM pg_stat_activity
  WHERE backend_type = 'parallel worker' LIMIT 1
SQL
	like(slurp_file($node->logfile, $offset),
		qr/ERROR:  terminating .*worker.* due to administrator command/,
		'a worker that is terminated ends the build');
	no_trace('a worker terminated');
}

sub without_workers
{
	my $none = sub {
		my ($statement, $name) = @_;
		unlike(run_with(2, $statement), qr/launched|ERROR/, "no workers: $name");
	};
	$none->(<<'SQL', 'none allowed');
SET max_parallel_maintenance_workers = 0;
CREATE INDEX i ON few USING simhash (fp64)
SQL
	$none->('CREATE INDEX j ON few USING simhash (unsafe(fp64))',
		'an expression that is not parallel safe');
	$none->('CREATE INDEX k ON few USING simhash (fp64) WHERE unsafe(fp64) IS NOT NULL',
		'a predicate that is not parallel safe');
	$none->(<<'SQL', 'a temporary table');
CREATE TEMP TABLE x WITH (parallel_workers = 2) AS SELECT * FROM few;
CREATE INDEX ON x USING simhash (fp64)
SQL
	$none->(<<'SQL', 'a small table');
ALTER TABLE few RESET (parallel_workers);
CREATE INDEX l ON few USING simhash (fp64)
SQL
	like(run_with(3, 'SET max_parallel_workers = 0; CREATE INDEX m ON few USING simhash (fp64)'),
		qr/0 of 3 parallel workers launched/, 'no workers available');
	index_is_clean($node, $_, "$_: the structure is sound") for qw(i j k l m);
}

# After a crash the index has all that workers wrote: from the WAL, or without it where the table
# was created in the same transaction and needs none.
sub crashes
{
	my $other = new_node('crash', <<'CONF');
wal_level = minimal
max_wal_senders = 0
autovacuum = off
max_parallel_workers = 8
max_parallel_maintenance_workers = 4
CONF
	my $table = "AS SELECT i AS id, test.made(i / 2)::fingerprint64 AS fp64
		FROM generate_series(1, 60000) i";
	my ($status, $output, $error) = $other->psql('postgres', <<"SQL");
SET client_min_messages = debug1;
CREATE TABLE logged WITH (parallel_workers = 3) $table;
CHECKPOINT;
CREATE INDEX logged_i ON logged USING simhash (fp64);
ALTER SYSTEM SET wal_skip_threshold = 0;
SELECT pg_reload_conf();
BEGIN;
CREATE TABLE skipped WITH (parallel_workers = 3) $table;
CREATE INDEX skipped_i ON skipped USING simhash (fp64);
COMMIT;
SQL
	my $launched = () = $error =~ /3 of 3 parallel workers launched/g;
	is($launched, 2, 'both builds have workers');
	$other->stop('immediate');
	$other->start;
	for my $table ('logged', 'skipped')
	{
		index_is_clean($other, "${table}_i", "after a crash, $table: sound, no row is missing");
		answers_agree($other, $table, 'fp64', "${table}_i", "after a crash, $table: scans agree",
			points => 2, distances => '0,3,12');
	}
	$other->stop;
}

forms();
crashes();
concurrently();
mishaps();
without_workers();
$node->stop;
done_testing();
