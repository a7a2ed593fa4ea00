# Every statement that creates, rebuilds or alters an index: plain, concurrent, partial, expression,
# partitioned, temporary, unlogged. Also its options, its progress and its memory.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use SimhashTest;
use Test::More;

my $rows = soak() ? 300_000 : 30_000;
my $node = new_node('main', "shared_buffers = 64MB\nautovacuum = off");
$node->safe_psql('postgres', <<"SQL");
CREATE TABLE t (id integer PRIMARY KEY, even boolean, body text, fp64 fingerprint64,
  fp128 fingerprint128);
INSERT INTO t
  SELECT i, i % 2 = 0, 'text number ' || i / 3 || ' about the cat on mat ' || i / 7,
    n, test.wide(n, i)
  FROM (SELECT i, test.made(i) AS n FROM generate_series(1, $rows) i) r;
VACUUM ANALYZE t;
SQL

# Two tests: the index is sound and its scans agree.
sub serves
{
	my ($index, $name, %options) = @_;
	index_is_clean($node, $index, "$name: the structure is sound");
	answers_agree($node, $options{table} // 't', $options{column} // 'fp64', $index,
		"$name: all scans agree", points => 2, distances => '0,3,12,64', %options);
}

sub value { my ($sql) = @_; return $node->safe_psql('postgres', $sql) }

sub concurrently
{
	$node->safe_psql('postgres', 'CREATE INDEX CONCURRENTLY i ON t USING simhash (fp64)');
	serves('i', 'CREATE INDEX CONCURRENTLY');
	my $before = value(q{SELECT pg_relation_filenode('i')});
	$node->safe_psql('postgres', 'REINDEX INDEX i');
	isnt(value(q{SELECT pg_relation_filenode('i')}), $before, 'REINDEX writes a new file');
	serves('i', 'REINDEX');
	$node->safe_psql('postgres', 'REINDEX INDEX CONCURRENTLY i');
	serves('i', 'REINDEX CONCURRENTLY');
	$node->safe_psql('postgres', 'CLUSTER t USING t_pkey; VACUUM FULL t; VACUUM t');
	serves('i', 'VACUUM FULL');
	# A session that has the index open notices the rebuild.
	my $session = $node->background_psql('postgres');
	my $count = <<'SQL';
SET enable_seqscan = off;
SELECT count(*) FROM t WHERE fp64 <@ hamming_ball((SELECT fp64 FROM t WHERE id = 5), 12);
SQL
	my $first = $session->query_safe($count);
	$node->safe_psql('postgres', <<'SQL');
REINDEX INDEX i;
INSERT INTO t (id, fp64) SELECT -i, fp64 FROM t, generate_series(1, 900) i WHERE id = 5
SQL
	is($session->query_safe($count) + 0, $first + 900, 'a session goes on after a rebuild');
	$session->quit;
	$node->safe_psql('postgres', 'DELETE FROM t WHERE id < 0; VACUUM t; DROP INDEX i');
}

sub partial_and_expression
{
	$node->safe_psql('postgres', <<'SQL');
CREATE INDEX i ON t USING simhash (fp64) WHERE even;
CREATE VIEW evens AS SELECT id, fp64 FROM t WHERE even
SQL
	is(value(q{SELECT rows FROM simhash_index_info('i')}), int($rows / 2),
		'a partial index holds its rows only');
	index_is_clean($node, 'i', 'partial: the structure is sound');
	my $digest = <<'SQL';
SELECT count(*) || ' ' || md5(string_agg(id::text, ',' ORDER BY id)) FROM t WHERE even AND
SQL
	answer_is($node, <<"SQL",
SELECT test.by('index', 'i', \$q\$$digest fp64 <@ hamming_ball('0000000000000000', 26)\$q\$)
  = test.by('sequential', 'i', \$q\$$digest hamming(fp64, '0000000000000000') <= 26\$q\$)
SQL
		't', 'partial: index and table agree');
	$node->safe_psql('postgres', 'UPDATE t SET even = NOT even WHERE id % 5 = 0');
	answer_is($node, <<"SQL",
SELECT test.by('index', 'i', \$q\$$digest fp64 <@ hamming_ball('0000000000000000', 26)\$q\$)
  = test.by('sequential', 'i', \$q\$$digest hamming(fp64, '0000000000000000') <= 26\$q\$)
SQL
		't', 'partial: rows that come and go');
	$node->safe_psql('postgres',
		'DROP INDEX i; CREATE INDEX i ON t USING simhash (simhash(body)); ANALYZE t');
	index_is_clean($node, 'i', 'expression: the structure is sound');
	my $text = q{simhash('text number 700 about the cat on mat 300')};
	$digest = q{SELECT count(*) || ' ' || md5(string_agg(id::text, ',' ORDER BY id)) FROM t WHERE };
	for my $k (0, 3, 8)
	{
		answer_is($node, <<"SQL",
SELECT test.by('index', 'i', \$q\$$digest simhash(body) <@ hamming_ball($text, $k)\$q\$)
  = test.by('sequential', 'i', \$q\$$digest hamming(simhash(body), $text) <= $k\$q\$)
SQL
			't', "expression: index and table agree within $k");
	}
	cmp_ok(value(<<"SQL"), '>=', 1, 'expression: there are rows');
SET enable_seqscan = off;
SELECT count(*) FROM t WHERE hamming(simhash(body), $text) <= 3
SQL
	$node->safe_psql('postgres', 'DROP INDEX i');
}

sub partitioned
{
	$node->safe_psql('postgres', <<'SQL');
CREATE TABLE p (id integer, fp64 fingerprint64) PARTITION BY RANGE (id);
CREATE TABLE p1 PARTITION OF p FOR VALUES FROM (0) TO (10000);
CREATE INDEX p_fp64 ON p USING simhash (fp64) WITH (blocks = 5);
CREATE TABLE p2 PARTITION OF p FOR VALUES FROM (10000) TO (20000);
CREATE TABLE p3 (fp64 fingerprint64, id integer);
INSERT INTO p3 SELECT test.made(i), i FROM generate_series(20000, 24000) i;
ALTER TABLE p ATTACH PARTITION p3 FOR VALUES FROM (20000) TO (30000);
INSERT INTO p SELECT id, fp64 FROM t WHERE id < 20000;
VACUUM ANALYZE p;
SQL
	is(value(q{SELECT count(*) FROM pg_inherits WHERE inhparent = 'p_fp64'::regclass}),
		'3', 'partitions have the index');
	serves("${_}_fp64_idx", "partition $_", table => $_) for qw(p1 p2 p3);
	answer_is($node, <<'SQL', 't', 'the partitioned table agrees');
SELECT test.agree('p', 'fp64', '0123456789abcdef', k) >= 0
  FROM generate_series(0, 64, 16) k GROUP BY 1
SQL
	answer_is($node, <<'SQL', 't', 'the nearest over all partitions');
SET enable_seqscan = off;
SELECT array_agg(d) = (
    SELECT array_agg(d) FROM (
      SELECT hamming(fp64, '0123456789abcdef') d FROM p ORDER BY 1 LIMIT 20) x)
  FROM (
    SELECT fp64 <~> '0123456789abcdef' d FROM p
    ORDER BY fp64 <~> '0123456789abcdef' LIMIT 20) y
SQL
	$node->safe_psql('postgres', 'ALTER TABLE p DETACH PARTITION p1; DROP TABLE p, p1');
}

sub temporary_and_unlogged
{
	for my $kind ('TEMP', 'UNLOGGED')
	{
		answer_is($node, <<"SQL", "4000\n\n6000\n", "$kind: all scans agree");
SET temp_buffers = '1MB';
CREATE $kind TABLE x (id integer, fp64 fingerprint64);
INSERT INTO x SELECT i, test.made(i) FROM generate_series(1, 2000) i;
CREATE INDEX x_fp64 ON x USING simhash (fp64);
INSERT INTO x SELECT i, test.made(i) FROM generate_series(2001, 4000) i;
VACUUM ANALYZE x;
SELECT simhash_index_check('x_fp64') IS NULL \\g /dev/null
SELECT count(*) FROM x;
SELECT failures FROM test.compare('x', 'fp64', 'x_fp64',
  test.points('x', 'fp64', 2, 's'), '{0,3,12,64}', '{1,10}');
DELETE FROM x WHERE id % 2 = 0;
VACUUM x;
INSERT INTO x SELECT i, test.made(i) FROM generate_series(5001, 9000) i;
SELECT count(*) FROM x;
SELECT failures FROM test.compare('x', 'fp64', 'x_fp64',
  test.points('x', 'fp64', 2, 's'), '{0,3,12,64}', '{1,10}');
SQL
	}
	$node->safe_psql('postgres', 'ALTER TABLE x SET LOGGED');
	serves('x_fp64', 'SET LOGGED', table => 'x');
	$node->safe_psql('postgres', <<'SQL');
ALTER TABLE x SET UNLOGGED;
TRUNCATE x;
INSERT INTO x SELECT i, test.made(i) FROM generate_series(1, 100) i
SQL
	serves('x_fp64', 'TRUNCATE', table => 'x');
	answer_is($node, <<'SQL', '100', 'a TRUNCATE that is undone');
BEGIN;
TRUNCATE x;
INSERT INTO x SELECT i, test.made(i) FROM generate_series(1, 900) i;
ROLLBACK;
SELECT test.agree('x', 'fp64', '0000000000000000', 64)
SQL
}

sub options
{
	my $create = 'CREATE INDEX i ON t USING simhash (fp64)';
	error_like($node, "$create WITH ($_->[0])", $_->[1], "refused: $_->[0]") for
		[ 'blocks = 17', qr/ERROR:  22023.*17/ ],
		[ 'blocks = -1', qr/ERROR:  22023/ ],
		[ q{blocks = 'four'}, qr/ERROR:  22023.*four/ ],
		[ 'fillfactor = 9', qr/ERROR:  22023.*9/ ],
		[ 'fillfactor = 101', qr/ERROR:  22023/ ],
		[ 'buckets = 4', qr/ERROR:  22023.*buckets/ ];
	error_like($node, 'CREATE INDEX i ON t USING simhash (fp64, fp128)',
		qr/ERROR:  0A000.*column 1 of index "i" cannot be compared/, 'refused: two columns');
	error_like($node, 'CREATE UNIQUE INDEX i ON t USING simhash (fp64)',
		qr/ERROR:  0A000.*unique/, 'refused: unique');
	error_like($node, q{CREATE INDEX i ON t USING simhash ((length(body)))},
		qr/ERROR:  42P17.*"i" cannot be searched for near-duplicates/,
		'refused: a scope alone');
	error_like($node, 'CREATE INDEX i ON t USING simhash ((body::jsonb))',
		qr/ERROR:  42704.*no default operator class/, 'refused: jsonb');
	error_like($node, 'CREATE INDEX i ON t USING simhash (fp64 DESC)',
		qr/ERROR:  0A000.*ASC\/DESC/, 'refused: DESC');
	$node->safe_psql('postgres', "$create WITH (fillfactor = 100)");
	my $full = value(q{SELECT pg_relation_size('i')});
	$node->safe_psql('postgres', 'ALTER INDEX i SET (fillfactor = 50)');
	is(value(q{SELECT pg_relation_size('i')}), $full, 'a new fillfactor waits for the next build');
	$node->safe_psql('postgres', 'REINDEX INDEX i');
	cmp_ok(value(q{SELECT pg_relation_size('i')}), '>', 1.7 * $full, 'and holds in it');
	serves('i', 'fillfactor 50');
	# The index keeps the number of blocks that its file was built with, whatever its options say
	# now.
	$node->safe_psql('postgres', 'ALTER INDEX i SET (blocks = 7)');
	serves('i', 'blocks altered');
	$node->safe_psql('postgres', <<'SQL');
REINDEX INDEX i;
INSERT INTO t (id, fp64) SELECT -i, test.made(i) FROM generate_series(1, 500) i
SQL
	serves('i', 'blocks altered and rebuilt');
	$node->safe_psql('postgres', 'DELETE FROM t WHERE id < 0; DROP INDEX i');
}

# With little memory the sort spills to disk and the index is the same. No temporary files remain.
sub memory_and_progress
{
	for my $width (64, 128)
	{
		answer_is($node, <<"SQL",
SET maintenance_work_mem = '1MB';
CREATE INDEX i ON t USING simhash (fp$width);
SET maintenance_work_mem = '256MB';
CREATE INDEX j ON t USING simhash (fp$width);
SELECT pg_relation_size('i') = pg_relation_size('j');
DROP INDEX j
SQL
			't', "fp$width: as large with little memory");
		serves('i', "fp$width: built with little memory",
			column => "fp$width", wide => $width, distances => '0,3,12,64');
		$node->safe_psql('postgres', 'DROP INDEX i');
	}
	is(value(q{SELECT count(*) FROM pg_ls_tmpdir()}), '0', 'no temporary file is left');
	# Another session sees the phases of a build that lasts long enough to observe.
	$node->safe_psql('postgres', <<"SQL");
CREATE TABLE big AS SELECT test.number(i::text)::fingerprint64 AS fp
  FROM generate_series(1, @{[soak() ? 2_000_000 : 300_000]}) i
SQL
	my %phases;
	my $session = $node->background_psql('postgres');
	$session->query_until(qr/start/, <<'SQL');
\echo start
SET maintenance_work_mem = '2MB';
CREATE INDEX big_fp ON big USING simhash (fp);
SELECT pg_advisory_lock(1);
SQL
	for (1 .. 3000)
	{
		my $seen = value(<<'SQL');
SELECT phase FROM pg_stat_progress_create_index
  UNION ALL SELECT 'done' FROM pg_locks WHERE locktype = 'advisory'
SQL
		last if $seen eq 'done';
		$phases{$seen} = 1 if $seen ne '';
	}
	$session->quit;
	note join(', ', sort keys %phases);
	ok((grep { /^building index: \w/ } keys %phases), 'pg_stat_progress_create_index names phases')
		or diag(join(', ', sort keys %phases));
	# An interrupted build leaves nothing behind.
	error_like($node, <<'SQL', qr/57014/, 'a build can be cancelled');
SET maintenance_work_mem = '2MB';
SET statement_timeout = '60ms';
CREATE INDEX cut ON big USING simhash (fp)
SQL
	is(value(q{SELECT count(*) FROM pg_class WHERE relname = 'cut'})
		. value(q{SELECT count(*) FROM pg_ls_tmpdir()}), '00', 'and leaves nothing behind');
}

concurrently();
partial_and_expression();
partitioned();
temporary_and_unlogged();
options();
memory_and_progress();
is($node->safe_psql('postgres', <<'SQL'),
SELECT string_agg(amvalidate(oid)::text || opcname, ' ') FROM pg_opclass
  WHERE opcmethod = (SELECT oid FROM pg_am WHERE amname = 'simhash') AND NOT amvalidate(oid)
SQL
	'', 'all operator classes are valid');
$node->stop;
done_testing();
