# Entries of dead rows leave an index before vacuum runs: leaves that updates fill drop entries of
# older versions, and scans remove entries whose rows the heap reports as dead. No snapshot misses a
# row because of that, on the primary, on a standby with feedback and on one without. Sizes and
# buffers are compared with those before the updates.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use IPC::Run;
use SimhashTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $seconds = soak() ? 60 : 6;
my $primary = new_node('primary', <<'CONF', allows_streaming => 1);
shared_buffers = 64MB
autovacuum = off
max_wal_size = 2GB
wal_keep_size = 64GB
CONF
seed();

# The number that a pattern captures from the EXPLAIN output of a query.
sub explained
{
	my ($statement, $pattern, $setup) = @_;
	my $plan = $primary->safe_psql('postgres', ($setup // '') . <<"SQL");
SET enable_seqscan = off;
SET enable_bitmapscan = off;
EXPLAIN (ANALYZE, BUFFERS, COSTS OFF, TIMING OFF, SUMMARY OFF) $statement;
SQL
	return $plan =~ $pattern ? $1 : diag($plan) && undef;
}

# A table with an index of each kind, and another indexed column that updates change.
sub make
{
	my ($name, $persistence) = @_;
	$primary->safe_psql('postgres', <<"SQL");
CREATE $persistence TABLE $name (id integer PRIMARY KEY, fp fingerprint64, h bigint,
  w fingerprint128, body text, n integer NOT NULL DEFAULT 0);
INSERT INTO $name SELECT i, test.made(i), test.made(i), test.wide(test.made(i), i),
  (SELECT string_agg(md5(i || ' ' || j), ' ') FROM generate_series(1, 20) j)
  FROM generate_series(1, 2000) i;
CREATE INDEX ${name}_fp ON $name USING simhash (fp);
CREATE INDEX ${name}_w ON $name USING simhash (w);
CREATE INDEX ${name}_body ON $name USING simhash (body);
CREATE INDEX ${name}_h ON $name (h);
CREATE INDEX ${name}_n ON $name (n);
SQL
}

# Every index is sound and finds the rows of a sequential scan.
sub is_right
{
	my ($name, $what) = @_;
	for my $column ('fp', 'w', 'body')
	{
		index_is_clean($primary, "${name}_$column", "$what: $column: the structure is sound");
	}
	answers_agree($primary, $name, 'fp', "${name}_fp", "$what: fp: all scans agree", points => 3);
	answers_agree($primary, $name, 'w', "${name}_w", "$what: w: all scans agree",
		wide => 128, points => 2);
	my $near = "SELECT count(*) FROM $name a JOIN $name b ON near_duplicate(a.body, b.body, 0.9)
		WHERE a.id % 10 = 0";
	answer_is($primary, "SET enable_seqscan = off; $near", '200', "$what: each text finds itself");
}

sub size_of
{
	my ($index) = @_;
	return $primary->safe_psql('postgres', "SELECT pg_relation_size('$index')");
}

# 2,000 rows, each updated 40 times, one after the other.
sub sizes
{
	make('t', '');
	my %fresh = map { $_ => size_of("t_$_") } 'fp', 'w', 'body', 'h';
	$primary->safe_psql('postgres', <<'SQL');
DO $$
BEGIN
  FOR r IN 1..40 LOOP
    FOR i IN 1..2000 LOOP
      UPDATE t SET n = n + 1 WHERE id = i;
      IF i % 100 = 0 THEN COMMIT; END IF;
    END LOOP;
  END LOOP;
END $$
SQL
	my %after = map { $_ => size_of("t_$_") } 'fp', 'w', 'body', 'h';
	note join(', ', map { "$_: $fresh{$_} to $after{$_}" } sort keys %after);
	for my $column ('fp', 'w')
	{
		cmp_ok($after{$column}, "<=", 3 * $fresh{$column},
			"$column: 80,000 updates, three times the size");
	}
	is_right('t', 'after 80,000 updates');
}

# Updates a row this many times.
sub update_again
{
	my ($row, $times) = @_;
	$primary->safe_psql('postgres', <<"SQL");
DO \$\$
BEGIN
  FOR i IN 1..$times LOOP
    UPDATE t SET n = n + 1 WHERE id = $row;
    IF i % 50 = 0 THEN COMMIT; END IF;
  END LOOP;
END \$\$
SQL
}

# One row, updated 10,000 times: a search reads hardly more buffers than before.
sub hot_row
{
	my $look = q{SELECT id FROM t WHERE hamming(fp, (SELECT fp FROM t WHERE id = 7)) <= 3};
	my $text = q{SELECT id FROM t WHERE near_duplicate(body, (SELECT body FROM t WHERE id = 7), 0.7)};
	my $exact = q{SELECT id FROM t WHERE h = (SELECT h FROM t WHERE id = 7)};
	my $hit = qr/Buffers: shared hit=(\d+)/;
	my %before = map { $_ => explained($_, $hit) } $look, $text;
	update_again(7, 10000);
	explained($_, $hit) for $look, $text, $exact;
	for my $case ([ $look, 'a fingerprint' ], [ $text, 'a text' ])
	{
		my ($statement, $what) = @$case;
		my $after = explained($statement, $hit);
		cmp_ok($after, '<=', $before{$statement} + 30, "$what that was updated 10,000 times: buffers");
	}
	is_right('t', 'after the hot row');
}

# How many rows an index returns for a query.
sub returned
{
	my ($index, $statement) = @_;
	return (split /\n/, $primary->safe_psql('postgres', <<"SQL"))[-1];
SET enable_seqscan = off;
SET enable_bitmapscan = off;
BEGIN;
$statement;
SELECT pg_stat_get_xact_tuples_returned('$index'::regclass);
COMMIT;
SQL
}

# Rows that are inserted and deleted, all alike: the first scan fetches each, the second nearly
# none.
sub queue
{
	make('u', 'UNLOGGED');
	$primary->safe_psql('postgres', <<'SQL');
INSERT INTO u (id, fp, h, w, body)
  SELECT 10000 + i, '00000000ffffffff', 1, test.wide(1, 1), 'the very same text'
  FROM generate_series(1, 900) i;
DELETE FROM u WHERE id > 10000;
SQL
	for my $case ([ 'fp', q{hamming(fp, '00000000ffffffff') <= 2} ],
		[ 'body', q{near_duplicate(body, 'the very same text', 0.7)} ])
	{
		my ($column, $where) = @$case;
		my ($first, $second) = map { returned("u_$column", "SELECT id FROM u WHERE $where") } 1, 2;
		is($first, 900, "$column: every dead row is looked up");
		cmp_ok($second, '<', 8, "$column: and only once");
	}
	is_right('u', 'after the queue');
}

# A snapshot older than 4,000 updates of a row and its deletion still finds the row through an
# index.
sub old_snapshot
{
	$primary->safe_psql('postgres', 'VACUUM t');
	my $reader = $primary->background_psql('postgres');
	my $ids = q{SELECT string_agg(id || ':' || n, ',') FROM t
		WHERE hamming(fp, (SELECT fp FROM t WHERE id = 8)) <= 0};
	my $texts = q{SELECT string_agg(id || ':' || n, ',') FROM t
		WHERE near_duplicate(body, (SELECT body FROM t WHERE id = 8), 0.9)};
	$reader->query_safe('SET enable_seqscan = off');
	$reader->query_safe('BEGIN ISOLATION LEVEL REPEATABLE READ');
	my ($by_fp, $by_text) = map { $reader->query_safe($_) } $ids, $texts;
	update_again(8, 4000);
	$primary->safe_psql('postgres', <<'SQL');
DELETE FROM t WHERE id = 8;
SET enable_seqscan = off;
SELECT count(*) FROM t WHERE hamming(fp, test.made(8)::fingerprint64) <= 0;
SQL
	is($reader->query_safe($ids), $by_fp, 'an old snapshot sees its version by the fingerprint');
	is($reader->query_safe($texts), $by_text, 'and by the text');
	like($by_fp, qr/^8:/, 'which was there');
	$reader->query_safe('COMMIT');
	$reader->quit;
	$primary->safe_psql('postgres', 'INSERT INTO t SELECT 8, fp, h, w, body FROM t WHERE id = 9');
}

sub standby_of
{
	my ($name, $feedback) = @_;
	my $standby = PostgreSQL::Test::Cluster->new($name);
	$standby->init_from_backup($primary, 'late', has_streaming => 1);
	$standby->append_conf('postgresql.conf', <<"CONF");
hot_standby_feedback = $feedback
max_standby_streaming_delay = 0
wal_receiver_status_interval = 1
CONF
	$standby->start;
	return $standby;
}

# A reader on a standby has a snapshot that sees a row. On the primary its versions die, and their
# entries are removed. With feedback they stay until the reader ends. Without, the reader is
# cancelled, and never gets an answer without the row.
sub on_standbys
{
	$primary->append_conf('postgresql.conf', "wal_consistency_checking = 'generic'");
	$primary->reload;
	$primary->backup('late');
	my ($with, $without) = (standby_of('with', 'on'), standby_of('without', 'off'));
	$primary->wait_for_catchup($_) for $with, $without;
	my $look = q{SELECT count(*) FROM t WHERE hamming(fp, test.made(10)::fingerprint64) <= 0};
	my %reader;
	for my $standby ($with, $without)
	{
		my $reader = $reader{ $standby->name } =
			$standby->background_psql('postgres', on_error_stop => 0);
		$reader->query_safe('SET enable_seqscan = off');
		$reader->query_safe('BEGIN ISOLATION LEVEL REPEATABLE READ');
		is($reader->query_safe($look), 1, $standby->name . ' feedback: the row is there');
	}
	# The primary now knows of the snapshot.
	$primary->poll_query_until('postgres',
		"SELECT count(*) > 0 FROM pg_stat_replication WHERE backend_xmin IS NOT NULL");
	update_again(10, 2000);
	$primary->wait_for_catchup($_) for $with, $without;
	is($reader{with}->query_safe($look), 1, 'with feedback the row is there still');
	my $answer = eval { $reader{without}->query($look) } // '';
	unlike($answer, qr/^0/m, 'without feedback nobody is told that it is not');
	$reader{with}->query_safe('COMMIT');
	eval { $_->quit } for values %reader;
	for my $standby ($with, $without)
	{
		answer_is($standby, "SET enable_seqscan = off; $look", 1,
			$standby->name . ' feedback: a new snapshot sees the row');
	}
	$without->stop;
	return $with;
}

# The WAL records that cancel readers of a standby: each kind of index wrote some.
sub horizons
{
	my $directory = $primary->data_dir . '/pg_wal';
	my $first = (sort grep { /^[0-9A-F]{24}$/ } PostgreSQL::Test::Utils::slurp_dir($directory))[0];
	my $output = '';
	IPC::Run::run([ 'pg_waldump', '-p', $directory, '-r', 'Btree', $first ],
		'>', \$output, '2>', \my $error);
	for my $index ('t_fp', 't_body')
	{
		my $file = $primary->safe_psql('postgres', "SELECT pg_relation_filenode('$index')");
		ok($output =~ m{REUSE_PAGE .*\brel:? \d+/\d+/$file\b} , "$index: readers of standbys are told");
	}
}

# Concurrent updates, deletions and insertions, and readers on both servers that compare every
# answer of an index with a sequential scan's.
sub load
{
	my ($standby) = @_;
	my %writes = (
		'update@8' => <<'SQL',
\set a random(1, 200)
UPDATE t SET n = n + 1 WHERE id IN (SELECT id FROM t WHERE id = :a FOR UPDATE SKIP LOCKED);
SQL
		'hot@4' => <<'SQL',
UPDATE t SET n = n + 1 WHERE id IN (SELECT id FROM t WHERE id = 7 FOR UPDATE SKIP LOCKED);
SQL
		'replace@2' => <<'SQL');
\set a random(200, 400)
WITH gone AS (DELETE FROM t WHERE id IN (SELECT id FROM t WHERE id = :a FOR UPDATE SKIP LOCKED)
  RETURNING *)
INSERT INTO t SELECT * FROM gone ON CONFLICT DO NOTHING;
SQL
	my $asks = <<'SQL';
\set a random(1, 400)
\set k random(0, 12)
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT test.agree('t', 'fp', test.made(:a)::fingerprint64::text, :k);
SELECT test.agree('t', 'w', test.wide(test.made(:a), :a)::text, :k * 2);
SELECT test.agree('t', 'fp', test.made(7)::fingerprint64::text, 0);
COMMIT;
SQL
	under_load($primary, $seconds, \%writes, sub {
		for my $server ($primary, $standby)
		{
			my $half = $seconds / 2;
			$server->pgbench("-n -c 2 -T $half", 0, [qr/processed: [1-9]/],
				[qr/^(?!.*(?:ERROR|aborted|FATAL))/s],
				$server->name . ': every answer is that of a sequential scan',
				{ 'ask_' . $server->name => $asks });
		}
	});
	is_right('t', 'after the load');
}

sizes();
hot_row();
queue();
old_snapshot();
my $standby = on_standbys();
horizons();
load($standby);
$primary->wait_for_catchup($standby);
$standby->stop;
# A crash with an uncheckpointed update of every row.
$primary->safe_psql('postgres', 'UPDATE t SET n = n + 1');
kill_all_processes($primary);
ok(start_again($primary), 'the server starts after a crash');
is_right('t', 'after a crash');
$primary->stop;
done_testing();
