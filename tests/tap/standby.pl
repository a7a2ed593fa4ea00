# A streaming standby under load. Every replayed page is compared with the primary's
# (wal_consistency_checking), answers during page splits and vacuum are those of a sequential scan
# under the same snapshot, and the indexes of a promoted standby are sound.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use SimhashTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $seconds = soak() ? 60 : 8;
my $primary = new_node('primary', replay_settings(), allows_streaming => 1);
$primary->safe_psql('postgres', <<'SQL');
CREATE TABLE t (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, h bigint,
  fp64 fingerprint64, fp128 fingerprint128);
INSERT INTO t (h, fp64, fp128) SELECT n, n, test.wide(n, id)
  FROM (SELECT id, test.made(id) AS n FROM generate_series(1, 3000) id) r;
SQL
my $standby = new_standby($primary);
# These builds are replayed while the standby runs.
$primary->safe_psql('postgres', <<'SQL');
CREATE INDEX t_h ON t USING simhash (h hamming_int8_ops) WITH (blocks = 2);
CREATE INDEX t_fp64 ON t USING simhash (fp64);
CREATE INDEX t_fp128 ON t USING simhash (fp128);
SQL
$primary->wait_for_catchup($standby);

my %writes = (
	'insert@6' => <<"SQL",
\\set a random(1, 1000000000)
INSERT INTO t (h, fp64, fp128) SELECT n, n, test.wide(n, :a + i)
  FROM (SELECT i, test.made(:a + i) AS n FROM generate_series(1, 10) i) r;
SQL
	'equal@2' => <<'SQL',
INSERT INTO t (h, fp64, fp128) SELECT 42, 42::bigint, test.wide(4, 2) FROM generate_series(1, 10);
SQL
	'delete@4' => <<"SQL");
\\set a random(1, 50)
DELETE FROM t WHERE id IN (SELECT id FROM t WHERE id % 50 = :a LIMIT 30 FOR UPDATE SKIP LOCKED);
SQL
my $asks = <<'SQL';
\set a random(1, 1000000000)
\set k random(0, 20)
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT test.agree('t', 'fp64', test.made(:a)::fingerprint64::text, :k);
SELECT test.agree('t', 'fp128', test.wide(test.made(:a), :a)::text, :k * 2);
SELECT test.agree('t', 'h', '000000000000002a', 1);
SELECT test.agree('t', 'h', test.made(:a)::fingerprint64::text, 64);
SELECT test.agree('t', 'fp64', test.made(:a)::fingerprint64::text, :k);
COMMIT;
SQL

# The primary is written to while the standby answers queries.
sub load
{
	under_load($primary, $seconds, \%writes, sub {
		$standby->pgbench("-n -c 4 -T $seconds", 0, [qr/processed: [1-9]/],
			[qr/^(?!.*(?:ERROR|aborted|FATAL))/s],
			'the standby answers during replay', { ask => $asks });
	});
}

sub is_sound
{
	my ($node, $name) = @_;
	my $recovering = $node->safe_psql('postgres', 'SELECT pg_is_in_recovery()') eq 't';
	for my $col ('h', 'fp64', 'fp128')
	{
		# simhash_index_check needs a snapshot that is not available in recovery.
		index_is_clean($node, "t_$col", "$name: t_$col: the structure is sound") unless $recovering;
		answers_agree($node, 't', $col, "t_$col", "$name: $col: all scans agree",
			wide => $col eq 'fp128' ? 128 : 64, points => 2);
	}
	answer_is($node, <<'SQL',
SELECT (SELECT count(*) FROM simhash_clusters('t_fp64', 0)) = (SELECT sum(n) FROM (
    SELECT count(*) AS n FROM t WHERE fp64 IS NOT NULL GROUP BY fp64 HAVING count(*) > 1) g)
SQL
		't', "$name: rows with equal fingerprints are the clusters within 0");
}

# Whether the standby replays up to an LSN within five seconds. It may have to wait for a reader
# that needs rows which a record removes.
sub replayed
{
	my ($until) = @_;
	for (1 .. 50)
	{
		return 1 if $standby->safe_psql('postgres', "SELECT pg_last_wal_replay_lsn() >= '$until'") eq 't';
		select(undef, undef, undef, 0.1);
	}
	return 0;
}

# An index-only scan that pauses while vacuum's changes are replayed must not return rows that were
# deleted before it began.
sub paused_index_only_scan
{
	# Autovacuum of other tables could delay replay.
	$primary->append_conf('postgresql.conf', 'autovacuum = off');
	$primary->reload;
	$primary->safe_psql('postgres', <<'SQL');
-- The first row fills a page: the paused scan keeps vacuum out of that page only.
CREATE TABLE p (id integer, fp64 fingerprint64, filler text) WITH (autovacuum_enabled = off);
ALTER TABLE p ALTER filler SET STORAGE PLAIN;
CREATE INDEX p_fp64 ON p USING simhash (fp64);
INSERT INTO p SELECT i, i::bigint::fingerprint64, CASE i WHEN 1 THEN repeat('x', 8000) END
  FROM generate_series(1, 400) i;
SQL
	my $deleter = $primary->safe_psql('postgres', <<'SQL');
VACUUM p;
WITH d AS (DELETE FROM p WHERE id % 2 = 0 RETURNING 1) SELECT pg_current_xact_id() FROM d LIMIT 1
SQL
	$primary->wait_for_catchup($standby);
	my $session = $standby->background_psql('postgres');
	$session->query_safe(<<"SQL");
BEGIN;
SET LOCAL enable_seqscan = off;
SET LOCAL enable_bitmapscan = off;
DECLARE c CURSOR FOR SELECT fp64 FROM p WHERE fp64 <@ hamming_ball('0000000000000000', 64);
SQL
	my $first = $session->query_safe('FETCH 1 FROM c;');
	# Vacuum may remove the deleted rows once the standby has reported that it no longer needs them.
	$primary->poll_query_until('postgres',
		"SELECT backend_xmin::text::bigint > $deleter FROM pg_stat_replication")
		or die 'no feedback';
	$primary->safe_psql('postgres', 'VACUUM p; VACUUM p');
	is($primary->safe_psql('postgres',
		q{SELECT relallvisible = relpages FROM pg_class WHERE relname = 'p'}),
		't', 'vacuum took the deleted rows out');
	note 'replay waits for the reader: ' . $standby->safe_psql('postgres',
		q{SELECT wait_event FROM pg_stat_activity WHERE backend_type = 'startup'})
		unless replayed($primary->lsn('flush'));
	my $rest = $session->query('FETCH ALL FROM c;');
	my $rows = scalar(grep { /^[0-9a-f]{16}$/ } split /\n/, "$first\n$rest");
	is($rows, 200, 'a paused index-only scan on the standby shows the living rows only');
	$session->quit;
	$primary->wait_for_catchup($standby);
}

load();
$primary->wait_for_catchup($standby);
is_sound($standby, 'standby');
is_sound($primary, 'primary');
is($standby->safe_psql('postgres', q{SELECT md5(string_agg(t::text, ',' ORDER BY id)) FROM t}),
	$primary->safe_psql('postgres', q{SELECT md5(string_agg(t::text, ',' ORDER BY id)) FROM t}),
	'the same rows on both');
paused_index_only_scan();
$primary->safe_psql('postgres', 'VACUUM t; REINDEX INDEX CONCURRENTLY t_fp64');
$primary->wait_for_catchup($standby);
is_sound($standby, 'standby after a rebuild');

$primary->stop;
$standby->promote;
is_sound($standby, 'promoted');
$standby->safe_psql('postgres', <<'SQL');
DELETE FROM t WHERE id % 3 = 0;
VACUUM t;
INSERT INTO t (h, fp64, fp128) SELECT n, n, test.wide(n, id)
  FROM (SELECT id, test.made(id) AS n FROM generate_series(1, 3000) id) r
SQL
is_sound($standby, 'promoted and written to');
for my $node ($primary, $standby)
{
	unlike(slurp_file($node->logfile),
		qr/inconsistent page|PANIC|terminated by signal/, $node->name . ': replay was consistent');
}
$standby->stop;
done_testing();
