# docs/memories.md and docs/memories-loading.md with many concurrent workers. Of several near texts
# one is stored, and every call returns its id, even if the row that conflicts was committed only a
# moment ago. Deleted rows make room for near texts.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use DocumentedSql;
use SimhashTest;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_node('main', '');
seed();
my @blocks = map { blocks(slurp_file("$FindBin::Bin/../../docs/$_.md")) }
	'memories', 'memories-loading';
$node->safe_psql('postgres', 'CREATE DATABASE page');
$node->safe_psql('page', 'CREATE EXTENSION pg_simhash');
runs($node, 'page', $_, 'the page') for @blocks;
$node->safe_psql('page', 'TRUNCATE memory');

# A writer waits for an uncommitted one, and then gets the id that its own snapshot did not show.
my $first = $node->background_psql('page', on_error_stop => 0);
my $second = $node->background_psql('page');

sub second_waits
{
	my ($said) = @_;
	$second->query_until(qr/waits/, "\\echo waits\nSELECT * FROM remember(1, '$said');\n");
	ok($node->poll_query_until('page', q{SELECT count(*) = 1 FROM pg_stat_activity
	  WHERE wait_event_type = 'Lock' AND query ~ 'remember'}), "the second waits: $said");
}

$first->query_safe('BEGIN');
my $stored = $first->query_safe(q{SELECT * FROM remember(1, 'one two three four five six seven')});
like($stored, qr/^\d+\|t$/, 'the first stores it');
second_waits('One two three four five six seven!');
$first->query_safe('COMMIT');
my $answer = $second->query_safe('SELECT 1');
like($answer, qr/^\Q${\ ($stored =~ s{t$}{f}r)}\E$/m, 'and gets the id of the first');

# After a rollback nothing is stored.
$first->query_safe('BEGIN');
$first->query_safe(q{SELECT * FROM remember(1, 'eight nine ten eleven twelve thirteen fourteen')});
second_waits('eight nine ten eleven, twelve thirteen fourteen');
$first->query_safe('ROLLBACK');
like($second->query_safe('SELECT 1'), qr/^\d+\|t$/m, 'and stores it himself');

# A transaction whose snapshot cannot change gets an error.
$first->query_safe('BEGIN ISOLATION LEVEL REPEATABLE READ');
$first->query_safe('SELECT count(*) FROM memory');
$second->query_safe(q{SELECT remember(1, 'red orange yellow green blue indigo violet')});
$first->query(q{SELECT * FROM remember(1, 'red orange yellow green blue indigo violet')});
$first->quit;
$second->quit;
is($node->safe_psql('page', q{SELECT count(*) FROM memory WHERE body ~ 'indigo'}), 1,
	'nothing is stored twice');
like(slurp_file($node->logfile), qr/could not serialize access/, 'a repeatable reader is told');

# Eight workers with texts of twenty kinds, twenty words each, one of which may differ. Some delete.
$node->safe_psql('page', <<'SQL');
TRUNCATE memory;
CREATE TABLE got (id bigint, is_new boolean, kind int, at timestamptz DEFAULT clock_timestamp());
CREATE TABLE gone (id bigint);
CREATE FUNCTION kind(k int, variant int) RETURNS text LANGUAGE sql AS $$
  SELECT string_agg(CASE WHEN i = variant THEN 'other' ELSE translate(md5(k || ' ' || i),
    '0123456789', 'ghijklmnop') END, ' ' ORDER BY i) FROM generate_series(1, 20) i $$;
SQL
my $turns = soak() ? 2000 : 150;
my $script = "$PostgreSQL::Test::Utils::tmp_check/memories.sql";
append_to_file($script, <<'SQL');
\set k random(1, 20)
\set variant random(0, 20)
\set dice random(1, 20)
INSERT INTO got SELECT r.*, :k FROM remember(:k % 3, kind(:k, :variant)) r;
\if :dice = 1
WITH d AS (DELETE FROM memory WHERE id = (SELECT max(id) FROM memory) RETURNING id)
  INSERT INTO gone SELECT id FROM d;
\endif
SQL
$node->command_ok([ 'pgbench', '-n', '-c', 8, '-j', 2, '-t', $turns, '-f', $script, 'page' ],
	'eight workers');
is($node->safe_psql('page', 'SELECT count(*), count(id) FROM got'),
	join('|', (8 * $turns) x 2), 'everybody got an id');
is($node->safe_psql('page', <<'SQL'), 't|t|0|0', 'of rows that are there, or were, one at a time');
SELECT (SELECT count(*) > 20 FROM gone), (SELECT count(*) <= 20 FROM memory),
  (SELECT count(*) FROM got g WHERE NOT EXISTS (SELECT FROM memory m WHERE m.id = g.id)
    AND NOT EXISTS (SELECT FROM gone WHERE gone.id = g.id)),
  (SELECT count(*) FROM memory a JOIN memory b ON a.id < b.id AND a.agent = b.agent
    AND text_similarity(a.body, b.body) >= 0.6);
SQL
is($node->safe_psql('page', <<'SQL'), '0|0', 'an id is new once, and of one kind');
SELECT (SELECT count(*) FROM (SELECT id FROM got WHERE is_new GROUP BY id HAVING count(*) > 1) x),
  (SELECT count(*) FROM (SELECT id FROM got GROUP BY id HAVING count(DISTINCT kind) > 1) x);
SQL

# Loaders that first take a lock store several texts in a transaction, in any order, while others
# store one at a time. There are no deadlocks.
$node->safe_psql('page', 'TRUNCATE memory');
my $batch = "$PostgreSQL::Test::Utils::tmp_check/batch.sql";
append_to_file($batch, <<'SQL');
\set k random(1, 20)
\set variant random(0, 20)
BEGIN;
SELECT pg_advisory_xact_lock('memory'::regclass::bigint);
INSERT INTO memory (agent, body)
  SELECT 1, kind((:k * i) % 20 + 1, :variant) FROM generate_series(1, 10) i
  ON CONFLICT ON CONSTRAINT memory_once DO NOTHING;
DELETE FROM memory WHERE id IN (SELECT id FROM memory ORDER BY id LIMIT 5);
COMMIT;
SQL
my $single = "$PostgreSQL::Test::Utils::tmp_check/single.sql";
append_to_file($single, <<'SQL');
\set k random(1, 20)
\set variant random(0, 20)
SELECT * FROM remember(1, kind(:k, :variant));
SQL
$node->command_ok([ 'pgbench', '-n', '-c', 8, '-j', 2, '-t', $turns, '-f', "$batch\@1",
	'-f', "$single\@3", 'page' ], 'loaders with a lock, and workers');

is(session_errors(slurp_file($node->logfile), qr/could not serialize access/), '',
	'no error in the log');
$node->stop;
done_testing();
