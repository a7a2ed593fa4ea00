# Indexes of passages against sequential scans and brute force: under load, on a streaming standby
# whose replayed pages are compared with the primary's, after kill -9, and after promotion.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use SimhashTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $seconds = soak() ? 60 : 6;
my $primary = new_node('primary', replay_settings(), allows_streaming => 1);
my $base = seed();
# A text has words of its own and a passage of 4 to 33 words of one of 400 sources. There are few
# different words, so that shorter runs are shared by chance. Half of the sources are Chinese.
$primary->safe_psql('postgres', <<"SQL");
CREATE FUNCTION test.word(a bigint, b bigint) RETURNS text LANGUAGE sql IMMUTABLE AS \$\$
  SELECT CASE WHEN a % 2 = 0 THEN 'w' || repeat('x', h % 60) || ' ' ELSE chr(19968 + h % 60) END
  FROM abs(hashint8(a * 100003 + b + $base)) h
\$\$;
CREATE FUNCTION test.run(a bigint, first bigint, count bigint) RETURNS text LANGUAGE sql IMMUTABLE
AS
  'SELECT coalesce(string_agg(test.word(a, w), '''' ORDER BY w), '''')
   FROM generate_series(first, first + count - 1) w';
CREATE FUNCTION test.quoting(i bigint) RETURNS text LANGUAGE sql IMMUTABLE AS \$\$
  SELECT test.run(1000 + i, 1, 5 + h % 40) || ' '
    || test.run(h % 400, h % 50, 4 + h / 7 % 30) || ' ' || test.run(100000 + i, 1, 5 + h / 3 % 30)
  FROM abs(hashint8(i + $base)::bigint) h
\$\$;
CREATE TABLE t (id bigint GENERATED ALWAYS AS IDENTITY, tenant integer, body text);
INSERT INTO t (tenant, body) SELECT i % 3, test.quoting(i) FROM generate_series(1, 800) i;

-- What an index answers of some texts and numbers of words, that a sequential scan does not, or the
-- other way round.
CREATE FUNCTION test.passages_differ(index text, questions integer, fewest integer, place bigint)
RETURNS bigint LANGUAGE plpgsql AS \$\$
DECLARE differing bigint := 0; q record; by_index text; by_scan text; command text;
BEGIN
  FOR q IN SELECT test.quoting(place + i) || ' ' || test.run((place + i) % 400, 1, 60) AS body,
      fewest + (i * 7) % 39 AS words FROM generate_series(1, questions) i
  LOOP
    command := format('SELECT string_agg(id::text, '' '' ORDER BY id) FROM t
      WHERE %s shares_passage(body, %L, %s)', CASE WHEN index = 't_scope'
        THEN 'tenant = 1 AND' ELSE '' END, q.body, q.words);
    SET LOCAL enable_seqscan = off;
    SET LOCAL enable_indexscan = on;
    SET LOCAL enable_bitmapscan = on;
    EXECUTE command INTO by_index;
    SET LOCAL enable_seqscan = on;
    SET LOCAL enable_indexscan = off;
    SET LOCAL enable_bitmapscan = off;
    EXECUTE command INTO by_scan;
    differing := differing + (by_index IS DISTINCT FROM by_scan)::integer;
  END LOOP;
  RETURN differing;
END \$\$;
SQL
my $standby = new_standby($primary);
# These builds are replayed while the standby runs.
$primary->safe_psql('postgres', <<'SQL');
CREATE INDEX t_p ON t USING simhash (body text_passage_ops) WITH (words = 12, recent = 16);
CREATE INDEX t_scope ON t USING simhash (tenant, body text_passage_ops) WITH (words = 5);
SQL
$primary->wait_for_catchup($standby);

my %writes = (
	'insert@6' => <<'SQL',
\set a random(1, 1000000000)
INSERT INTO t (tenant, body) SELECT i % 3, test.quoting(:a + i) FROM generate_series(1, 10) i;
SQL
	'update@3' => <<'SQL',
\set a random(1, 40)
UPDATE t SET body = body || test.run(:a, 1, 20)
WHERE id IN (SELECT id FROM t WHERE id % 40 = :a % 40 LIMIT 10 FOR UPDATE SKIP LOCKED);
SQL
	'delete@4' => <<'SQL');
\set a random(1, 50)
DELETE FROM t WHERE id IN (SELECT id FROM t WHERE id % 50 = :a LIMIT 30 FOR UPDATE SKIP LOCKED);
SQL
my $asks = <<'SQL';
\set a random(1, 1000000000)
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT 1 / (1 - test.passages_differ('t_p', 3, 12, :a));
SELECT 1 / (1 - test.passages_differ('t_scope', 3, 5, :a));
COMMIT;
SQL

# The index finds the rows of a scan, and whole-table calls find every pair of a join without an
# index.
sub is_sound
{
	my ($node, $name) = @_;
	my $recovering = $node->safe_psql('postgres', 'SELECT pg_is_in_recovery()') eq 't';
	for my $index ('t_p', 't_scope')
	{
		index_is_clean($node, $index, "$name: $index is sound") unless $recovering;
		my $least = $index eq 't_p' ? 12 : 5;
		answer_is($node, "SELECT test.passages_differ('$index', 12, $least, 17)", '0',
			"$name: $index: all scans agree");
	}
	for my $words (12, 20)
	{
		answer_is($node, <<"SQL", 't|0|0', "$name: whole table, $words words");
SET simhash.enable_rewrite = off;
SET enable_indexscan = off;
SET enable_bitmapscan = off;
WITH got AS MATERIALIZED (
  SELECT a, b, round(share_a::numeric, 9) AS share_a, round(share_b::numeric, 9) AS share_b
  FROM simhash_passages('t_p', $words, NULL)),
part AS MATERIALIZED (SELECT ctid AS place, body FROM t WHERE id % 4 = 0),
expected AS MATERIALIZED (
  SELECT a.place AS a, b.ctid AS b, round(passage_share(a.body, b.body, $words)::numeric, 9),
    round(passage_share(b.body, a.body, $words)::numeric, 9)
  FROM part a JOIN t b ON a.place < b.ctid AND shares_passage(a.body || '', b.body || '', $words))
SELECT (SELECT count(*) > 20 FROM expected),
  (SELECT count(*) FROM (TABLE expected EXCEPT ALL TABLE got) s),
  (SELECT count(*) FROM (SELECT * FROM got WHERE a IN (SELECT place FROM part) EXCEPT ALL
    TABLE expected) s)
SQL
	}
}

under_load($primary, $seconds, \%writes, sub {
	$standby->pgbench("-n -c 2 -T $seconds", 0, [qr/processed: [1-9]/],
		[qr/^(?!.*(?:ERROR|aborted|FATAL))/s],
		'the standby answers during replay', { ask => $asks });
});
$primary->wait_for_catchup($standby);
is_sound($standby, 'standby');
is_sound($primary, 'primary');
$primary->safe_psql('postgres', <<'SQL');
DELETE FROM t WHERE id % 5 = 0;
VACUUM t;
INSERT INTO t (tenant, body) SELECT i % 3, test.quoting(i) FROM generate_series(5000, 5300) i;
SQL
kill_all_processes($primary);
ok(start_again($primary), 'recovery after kill -9');
is_sound($primary, 'after a crash');
$primary->wait_for_catchup($standby);
$primary->stop;
$standby->promote;
is_sound($standby, 'promoted');
for my $node ($primary, $standby)
{
	unlike(slurp_file($node->logfile),
		qr/inconsistent page|PANIC|panicked/, $node->name . ': replay was consistent');
}
$standby->stop;
done_testing();
