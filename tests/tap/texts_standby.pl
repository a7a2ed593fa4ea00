# Indexes of texts on a streaming standby under load. Every replayed page is compared with the
# primary's (wal_consistency_checking), answers are those of a sequential scan under the same
# snapshot while postings are settled and vacuum runs, and the indexes of a promoted standby are
# sound.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use SimhashTest;
use TextsTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $seconds = soak() ? 60 : 6;
my $primary = new_text_node('primary', replay_settings(), allows_streaming => 1);
seed();
$primary->safe_psql('postgres', <<'SQL');
CREATE TABLE t (id bigint GENERATED ALWAYS AS IDENTITY, tenant integer, body text,
  same text GENERATED ALWAYS AS (body) STORED);
INSERT INTO t (tenant, body) SELECT i % 3, test.any_text('t' || i) FROM generate_series(1, 1000) i;
SQL
my $standby = new_standby($primary);
# These builds are replayed while the standby runs.
$primary->safe_psql('postgres', <<'SQL');
CREATE INDEX t_b ON t USING simhash (body) WITH (recent = 16);
CREATE INDEX t_ts ON t USING simhash (tenant, same) INCLUDE (id)
  WITH (recent = 64, similarity = 0.7, fillfactor = 60);
CREATE TABLE kept (id bigint GENERATED ALWAYS AS IDENTITY, body text,
  CONSTRAINT no_near EXCLUDE USING simhash (near_text(body, 0.8) WITH ~=) WITH (recent = 8));
SQL
$primary->wait_for_catchup($standby);

my %writes = (
	'insert@6' => <<'SQL',
\set a random(1, 1000000000)
INSERT INTO t (tenant, body) SELECT i % 3, test.any_text('a' || :a + i)
  FROM generate_series(1, 20) i;
SQL
	'equal@2' => <<'SQL',
INSERT INTO t (tenant, body) SELECT 1, 'the very same text, again and again'
  FROM generate_series(1, 20);
SQL
	'kept@3' => <<'SQL',
\set a random(1, 300)
\set b random(1, 1000)
INSERT INTO kept (body) SELECT test.text(:a, 20, :b, 2) ON CONFLICT DO NOTHING;
SQL
	'delete@4' => <<'SQL');
\set a random(1, 50)
DELETE FROM t WHERE id IN (SELECT id FROM t WHERE id % 50 = :a LIMIT 60 FOR UPDATE SKIP LOCKED);
SQL
my $asks = <<'SQL';
\set a random(1, 1000000000)
\set s random(30, 100)
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT test.agree_on_text('t', coalesce(test.any_text('q' || :a), ''), :s / 100.0);
SELECT test.agree_on_text('t', 'again the very same text', :s / 100.0);
SELECT test.agree_on_text('t', coalesce(test.any_text('q' || :a), ''), :s / 100.0);
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
	for my $index ($recovering ? () : ('t_b', 't_ts', 'no_near'))
	{
		index_is_clean($node, $index, "$name: $index is sound");
	}
	text_answers_agree($node, 't', 't_b', "$name: all scans agree", questions => 6);
	text_answers_agree($node, 't', 't_ts', "$name: all scans of a scope agree", questions => 4,
		indexed => 'tenant = 1 AND same');
	text_answers_agree($node, 'kept', 'no_near', "$name: all scans of the constraint agree",
		questions => 4, indexed => 'near_text(body, 0.8)');
	answer_is($node, <<'SQL', 't', "$name: counted without a look at the table");
SET enable_seqscan = off;
SELECT count(*) = (SELECT count(tenant) FROM t) FROM t WHERE tenant IN (0, 1, 2)
SQL
}

load();
$primary->wait_for_catchup($standby);
is_sound($standby, 'standby');
is_sound($primary, 'primary');
for my $table ('t', 'kept')
{
	my $rows = "SELECT md5(string_agg(r::text, ',' ORDER BY id)) FROM $table r";
	is($standby->safe_psql('postgres', $rows), $primary->safe_psql('postgres', $rows),
		"$table: the same rows on both");
}
# Autovacuum may change the index at any time. The numbers count if they are the same on the primary
# before and after the standby's.
my $numbers = q{SELECT i FROM simhash_index_info('t_b') i};
my ($before, $there, $after);
for (1 .. 30)
{
	$before = $primary->safe_psql('postgres', $numbers);
	$primary->wait_for_catchup($standby);
	$there = $standby->safe_psql('postgres', $numbers);
	$after = $primary->safe_psql('postgres', $numbers);
	last if $before eq $after;
}
is("$there\n$after", "$before\n$before", 'the same numbers on both');
$primary->safe_psql('postgres',
	'DELETE FROM t WHERE id % 4 = 0; VACUUM t; REINDEX INDEX CONCURRENTLY t_b');
$primary->wait_for_catchup($standby);
is_sound($standby, 'standby after a rebuild');

$primary->stop;
$standby->promote;
is_sound($standby, 'promoted');
$standby->safe_psql('postgres', <<'SQL');
DELETE FROM t WHERE id % 3 = 0;
VACUUM t;
INSERT INTO t (tenant, body) SELECT i % 3, test.any_text('p' || i) FROM generate_series(1, 500) i;
INSERT INTO kept (body) SELECT test.text(i, 20, 1, 2) FROM generate_series(1, 400) i
  ON CONFLICT DO NOTHING;
SQL
is_sound($standby, 'promoted and written to');
answer_is($standby, by_force() . <<'SQL', '0', 'promoted: the constraint held');
SELECT count(*) FROM kept a JOIN kept b ON a.id < b.id AND near_duplicate(a.body, b.body, 0.8)
SQL
for my $node ($primary, $standby)
{
	unlike(slurp_file($node->logfile),
		qr/inconsistent page|PANIC|terminated by signal/, $node->name . ': replay was consistent');
}
$standby->stop;
done_testing();
