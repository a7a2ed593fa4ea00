# Eight clients insert, delete, update and query while autovacuum runs all the time. There is no
# unexpected error, every answer is that of a sequential scan under the same snapshot, and
# afterwards the index is sound. Also: its size stays bounded, and a paused index-only scan holds
# vacuum back.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use SimhashTest;
use Test::More;

my $seconds = soak() ? 60 : 8;
my $node = new_node('main', <<'CONF');
shared_buffers = 32MB
autovacuum_naptime = 1
autovacuum_vacuum_threshold = 50
autovacuum_vacuum_scale_factor = 0
autovacuum_vacuum_insert_threshold = 200
autovacuum_vacuum_insert_scale_factor = 0
autovacuum_vacuum_cost_delay = 0
deadlock_timeout = 100ms
CONF

# Rows in clusters, some without a fingerprint. Every column is indexed.
$node->safe_psql('postgres', <<'SQL');
CREATE TABLE t (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, h bigint,
  fp64 fingerprint64, fp128 fingerprint128);
CREATE INDEX t_h ON t USING simhash (h hamming_int8_ops) WITH (blocks = 3);
CREATE INDEX t_fp64 ON t USING simhash (fp64);
CREATE INDEX t_fp128 ON t USING simhash (fp128) WITH (fillfactor = 100);
INSERT INTO t (h, fp64, fp128) SELECT id, n, test.wide(n, id)
  FROM (SELECT id, test.made(id) AS n FROM generate_series(1, 5000) id) r;
SQL

my %scripts = (
	'insert@6' => <<'SQL',
\set a random(1, 1000000000)
INSERT INTO t (h, fp64, fp128) SELECT n, n, test.wide(n, :a + i)
  FROM (SELECT i, test.made(:a + i) AS n FROM generate_series(1, 5) i) r;
SQL
	# Values in insertion order: growing numbers, and one value repeated.
	'ascend@2' => <<'SQL',
INSERT INTO t (h, fp64, fp128) SELECT currval, 42::bigint, test.wide(7, currval)
  FROM (SELECT nextval('ascending') AS currval FROM generate_series(1, 5)) r;
SQL
	'delete@5' => q{
\set a random(1, 100)
DELETE FROM t WHERE id IN (SELECT id FROM t WHERE id % 100 = :a LIMIT 8 FOR UPDATE SKIP LOCKED);
},
	'update@4' => <<'SQL',
\set a random(1, 1000)
\set b random(1, 1000000000)
UPDATE t SET fp64 = test.made(:b), h = CASE WHEN :b % 7 > 0 THEN :b END
  WHERE id IN (SELECT id FROM t WHERE id % 1000 = :a LIMIT 3 FOR UPDATE SKIP LOCKED);
SQL
	'rollback@1' => <<'SQL',
\set a random(1, 1000000000)
BEGIN;
INSERT INTO t (h, fp64, fp128) SELECT n, n, test.wide(n, :a + i)
  FROM (SELECT i, test.made(:a + i) AS n FROM generate_series(1, 30) i) r;
ROLLBACK;
SQL
	'ask@4' => q{
\set a random(1, 1000000000)
\set k random(0, 24)
SELECT test.agree('t', 'fp64', test.made(:a)::fingerprint64::text, :k);
SELECT test.agree('t', 'fp128', test.wide(test.made(:a), :a)::text, :k * 2);
SELECT test.agree('t', 'h', test.made(:a)::fingerprint64::text, :k);
},
	'repeatable@1' => q{
\set a random(1, 1000000000)
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT test.agree('t', 'fp64', test.made(:a)::fingerprint64::text, 3);
SELECT pg_sleep(0.05);
SELECT test.agree('t', 'fp64', '000000000000002a', 1);
SELECT test.agree('t', 'h', test.made(:a)::fingerprint64::text, 64);
COMMIT;
});
$node->safe_psql('postgres', 'CREATE SEQUENCE ascending CACHE 20');

sub table_is_sound
{
	for my $col ('h', 'fp64', 'fp128')
	{
		index_is_clean($node, "t_$col", "t_$col: the structure is sound");
		answers_agree($node, 't', $col, "t_$col", "$col: all scans agree",
			wide => $col eq 'fp128' ? 128 : 64);
	}
}

$node->pgbench("-n -c 8 -j 2 -T $seconds",
	0, [qr/processed: [1-9]/], [qr/^(?!.*(?:ERROR|aborted|FATAL))/s], 'eight clients', \%scripts);
table_is_sound();
my $vacuums = $node->safe_psql('postgres',
	q{SELECT autovacuum_count FROM pg_stat_user_tables WHERE relname = 't'});
cmp_ok($vacuums, '>=', 2, 'autovacuum was busy');
is(session_errors(PostgreSQL::Test::Utils::slurp_file($node->logfile),
	qr/canceling autovacuum task/), '', 'no error in the log');

# Rows are replaced steadily. After some rounds the index no longer grows.
sub size_is_bounded
{
	my ($name, $value, $which) = @_;
	my $rounds = soak() ? 60 : 24;
	$node->safe_psql('postgres', <<"SQL");
CREATE TABLE s (id bigint PRIMARY KEY, fp fingerprint64) WITH (autovacuum_enabled = off);
INSERT INTO s SELECT i, $value FROM generate_series(1, 10000) i;
CREATE INDEX s_fp ON s USING simhash (fp)
SQL
	my @sizes;
	for my $round (1 .. $rounds)
	{
		my $first = 10_000 + 2000 * $round;
		push @sizes, $node->safe_psql('postgres', <<"SQL");
DELETE FROM s WHERE id IN (SELECT id FROM s ORDER BY $which LIMIT 2000);
VACUUM s;
INSERT INTO s SELECT i, $value FROM generate_series($first + 1, $first + 2000) i;
SELECT pg_relation_size('s_fp')
SQL
	}
	my $third = int($rounds / 3);
	my ($early) = sort { $b <=> $a } @sizes[ $third .. 2 * $third - 1 ];
	my ($late) = sort { $b <=> $a } @sizes[ 2 * $third .. $rounds - 1 ];
	cmp_ok($late, '<=', $early * 1.1, "$name: the size stays bounded") or diag("sizes: @sizes");
	my $fresh = $node->safe_psql('postgres', "REINDEX INDEX s_fp; SELECT pg_relation_size('s_fp')");
	cmp_ok($late, '<=', $fresh * 3, "$name: within three times that of a fresh index")
		or diag("fresh: $fresh, sizes: @sizes");
	index_is_clean($node, 's_fp', "$name: the structure is sound");
	answers_agree($node, 's', 'fp', 's_fp', "$name: all scans agree");
	$node->safe_psql('postgres', 'DROP TABLE s');
}

# A paused index-only scan holds vacuum back. It has read TIDs of dead rows: until it has moved on,
# these line pointers must not be reused, nor their pages become all-visible. Concurrent inserts may
# move those entries elsewhere in the index.
sub paused_index_only_scan
{
	my ($name, $select, $inserted, $reused) = @_;
	$node->safe_psql('postgres', <<'SQL');
CREATE TABLE p (id integer, fp64 fingerprint64) WITH (autovacuum_enabled = off);
CREATE INDEX p_fp64 ON p USING simhash (fp64);
INSERT INTO p SELECT i, i::bigint::fingerprint64 FROM generate_series(1, 400) i;
SQL
	$node->safe_psql('postgres', 'VACUUM ANALYZE p; DELETE FROM p WHERE id % 2 = 0');
	my $reader = $node->background_psql('postgres');
	$reader->query_safe(<<"SQL");
BEGIN;
SET LOCAL enable_seqscan = off;
SET LOCAL enable_bitmapscan = off;
DECLARE c CURSOR FOR $select;
SQL
	like($reader->query_safe("EXPLAIN (COSTS OFF) $select;"),
		qr/Index Only Scan/, "$name: an index-only scan");
	my $first = $reader->query_safe('FETCH 1 FROM c;');
	$node->safe_psql('postgres', <<"SQL");
INSERT INTO p SELECT 1000 + i, 'ffffffffffffffff' FROM generate_series(1, $inserted) i
SQL
	my $vacuum = $node->background_psql('postgres');
	$vacuum->query_until(qr/start/, <<"SQL");
\\echo start
VACUUM p;
INSERT INTO p SELECT 5000 + i, 'ffffffffffffffff' FROM generate_series(1, $reused) i;
VACUUM p;
SQL
	ok($node->poll_query_until('postgres',
		q{SELECT count(*) > 0 FROM pg_stat_activity WHERE wait_event IN ('BufferPin', 'BufferCleanup')}),
		"$name: vacuum waits") if $name =~ /range/;
	my $rest = $reader->query_safe('FETCH ALL FROM c;');
	is(scalar(grep { /^[0-9a-f]{16}$/ } split /\n/, "$first\n$rest"),
		200, "$name: the paused scan shows the living rows only");
	$reader->quit;
	$vacuum->quit;
	answer_is($node, q{SELECT count(*) FROM p}, 200 + $inserted + $reused, "$name: vacuum went on");
	index_is_clean($node, 'p_fp64', "$name: the structure is sound");
	$node->safe_psql('postgres', 'DROP TABLE p');
}

my $near = q{SELECT fp64 FROM p WHERE fp64 <@ hamming_ball('0000000000000000', 40)};
paused_index_only_scan('range', $near, 0, 200);
paused_index_only_scan('range over a leaf that is split, and was its table\'s root', $near, 700, 0);
paused_index_only_scan('nearest', "$near ORDER BY fp64 <~> '0000000000000000'", 0, 200);
size_is_bounded('random', q{test.number(i::text)}, 'id');
size_is_bounded('ascending', 'i::bigint', 'id');
size_is_bounded('equal', '42::bigint', 'id');
size_is_bounded('clusters, any row goes',
	q{test.number((i % 10)::text) # test.flips(i::text, 3)}, 'md5(id::text)');

$node->stop;
done_testing();
