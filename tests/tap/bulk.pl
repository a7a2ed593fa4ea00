# simhash_pairs and simhash_clusters against brute force, for distances and data of every kind and
# for rows that only some snapshots see. Also privileges, cancellation, and what other sessions see
# of a call.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use SimhashTest;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time usleep);

my $node = new_node('main',
	"shared_buffers = 128MB\nautovacuum = off\nmax_prepared_transactions = 5\n" . parallel_joins());

# Pairs by brute force, as "(0,1) (0,2) 3" lines. The condition selects the rows that the index
# covers. Both rows of a pair have equal values in the scope's columns.
sub brute
{
	my ($table, $expression, $distance, $condition, @scope) = @_;
	$condition //= 'true';
	my $equal = join '', map { " AND (a.r).$_ = (b.r).$_" } @scope;
	return <<"SQL";
WITH r AS MATERIALIZED (
  SELECT ctid AS c, $expression AS f, r FROM $table r
  WHERE ($condition) AND ($expression) IS NOT NULL)
SELECT a.c || ' ' || b.c || ' ' || hamming(a.f, b.f)
  FROM r a JOIN r b ON a.c < b.c AND hamming(a.f, b.f) <= $distance$equal
SQL
}

sub rows_of
{
	my ($query, $session) = @_;
	my $text = $session // $node->safe_psql('postgres',
		"SET enable_mergejoin = off; SET enable_hashjoin = off; $query");
	return join("\n", sort grep { $_ ne '' } split /\n/, $text);
}

# The clusters that pairs form, by a union-find of this test's own: lines "member representative
# size".
sub components
{
	my (@pairs) = @_;
	my %parent;
	my $root;
	$root = sub { my $x = shift; $x = $parent{$x} while $parent{$x} ne $x; return $x };
	for (@pairs)
	{
		my ($a, $b) = split ' ';
		$parent{$_} //= $_ for ($a, $b);
		my ($x, $y) = ($root->($a), $root->($b));
		$parent{$x} = $y if $x ne $y;
	}
	my %cluster;
	push @{ $cluster{ $root->($_) } }, $_ for keys %parent;
	my $order = sub { my ($b, $o) = shift =~ /(\d+),(\d+)/; return $b * 65536 + $o };
	my @lines;
	for my $members (values %cluster)
	{
		my @sorted = sort { $order->($a) <=> $order->($b) } @$members;
		push @lines, "$_ $sorted[0] " . scalar(@sorted) for @sorted;
	}
	return join("\n", sort @lines);
}

# Two tests: the pairs and the clusters of an index are those of brute force.
sub bulk_agrees
{
	my ($name, $index, $table, $expression, $distance, %options) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	my $settings = $options{settings} // '';
	my $scope = $options{scope} // [];
	my $expected = rows_of(brute($table, $expression, $distance, $options{condition}, @$scope));
	my $pairs = rows_of(<<"SQL");
$settings SELECT a || ' ' || b || ' ' || distance FROM simhash_pairs('$index', $distance)
SQL
	my $count = () = $expected =~ /^./mg;
	ok($pairs eq $expected, "$name, distance $distance: $count pairs")
		or diag_difference($pairs, $expected);
	my $clusters = rows_of(<<"SQL");
$settings SELECT member || ' ' || representative || ' ' || size
  FROM simhash_clusters('$index', $distance)
SQL
	my $components = components(split /\n/, $expected);
	ok($clusters eq $components, "$name, distance $distance: clusters")
		or diag_difference($clusters, $components);
}

sub diag_difference
{
	my %got = map { $_ => 1 } split /\n/, shift;
	my %expected = map { $_ => 1 } split /\n/, shift;
	my @extra = grep { !$expected{$_} } sort keys %got;
	my @missing = grep { !$got{$_} } sort keys %expected;
	diag('too many: ' . join('; ', @extra[0 .. ($#extra > 4 ? 4 : $#extra)])
		. '; missing: ' . join('; ', @missing[0 .. ($#missing > 4 ? 4 : $#missing)]));
}

# One table for each kind of data.
my %data = (
	random => "test.number('r' || i)",
	clustered => "test.number('c' || i % 15) # test.flips('f' || i, i % 13)",
	zipf => "test.number('z' || (400 / i)) # test.flips('f' || i, i % 5)",
	equal => '42::bigint',
	constant => "test.number('k' || i) & ~65535::bigint | 4660",
	numbers => 'i::bigint',
	nulls => "CASE WHEN i % 3 > 0 THEN test.number('n' || i % 40) # test.flips('g' || i, 2) END");
for my $kind (sort keys %data)
{
	my $rows = $kind eq 'equal' ? 100 : 400;
	$node->safe_psql('postgres', <<"SQL");
CREATE TABLE $kind (id integer, h bigint, fp fingerprint64, wide fingerprint128, note integer);
INSERT INTO $kind SELECT i, h, h::fingerprint64, test.wide(h, h # test.flips('w' || i, i % 4))
  FROM (SELECT i, $data{$kind} AS h FROM generate_series(1, $rows) i) s;
CREATE INDEX ${kind}_h ON $kind USING simhash (h hamming_int8_ops) WITH (blocks = 3);
CREATE INDEX ${kind}_fp ON $kind USING simhash (fp);
CREATE INDEX ${kind}_wide ON $kind USING simhash (wide);
SQL
	bulk_agrees("$kind, 64 bits", "${kind}_fp", $kind, 'fp', $_) for 0, 1, 3, 6, 10, 20;
	bulk_agrees("$kind, 128 bits", "${kind}_wide", $kind, 'wide', $_) for 0, 10, 24;
	bulk_agrees("$kind, bigint", "${kind}_h", $kind, 'h', $_) for 3, 7;
}
$node->safe_psql('postgres', <<'SQL');
CREATE TABLE few AS SELECT * FROM clustered WHERE id <= 60;
CREATE INDEX few_fp ON few USING simhash (fp);
CREATE INDEX few_wide ON few USING simhash (wide)
SQL
bulk_agrees('the whole width', 'few_fp', 'few', 'fp', 64);
bulk_agrees('the whole width', 'few_wide', 'few', 'wide', 128);
$node->safe_psql('postgres', <<'SQL');
CREATE TABLE nothing (fp fingerprint64);
CREATE INDEX nothing_fp ON nothing USING simhash (fp)
SQL
bulk_agrees('no rows', 'nothing_fp', 'nothing', 'fp', 3);

# Balls by their centres; partial and expression indexes; unlogged and temporary tables.
$node->safe_psql('postgres', <<'SQL');
CREATE INDEX clustered_ball ON clustered USING simhash (hamming_ball(fp, 5));
CREATE INDEX clustered_partial ON clustered USING simhash (fp) WHERE id % 2 = 0;
CREATE INDEX clustered_expression ON clustered USING simhash (((h # 1)::fingerprint64));
CREATE UNLOGGED TABLE unlogged AS SELECT * FROM clustered;
CREATE INDEX unlogged_fp ON unlogged USING simhash (fp);
SQL
bulk_agrees('balls', 'clustered_ball', 'clustered', 'fp', 6);
bulk_agrees('partial index', 'clustered_partial', 'clustered', 'fp', 6, condition => 'id % 2 = 0');
bulk_agrees('expression index', 'clustered_expression', 'clustered', '(h # 1)::fingerprint64', 6);
bulk_agrees('unlogged table', 'unlogged_fp', 'unlogged', 'fp', 6);
answer_is($node, <<'SQL', 't', 'temporary table');
CREATE TEMPORARY TABLE mine AS SELECT * FROM clustered;
CREATE INDEX mine_fp ON mine USING simhash (fp);
SELECT (SELECT count(*) FROM simhash_pairs('mine_fp', 6))
  = (SELECT count(*) FROM simhash_pairs('clustered_fp', 6));
SQL

# Scope columns of every type, with NULLs, several at a time, for fingerprints of every width. One
# tenant has half of the rows, most have three or four, and some rows have no tenant.
$node->safe_psql('postgres', <<'SQL');
CREATE TYPE lot AS ENUM ('some', 'others');
CREATE TABLE tenants AS
  SELECT id, fp, wide, h, CASE WHEN id % 2 > 0 THEN 7 WHEN id % 20 > 0 THEN id % 90 END AS tenant,
    CASE WHEN id % 9 > 0 THEN 'Zoë ' || id % 3 END AS name, (i % 2)::smallint AS small,
    (id % 4 > 0)::boolean AS flag, md5((id % 5)::text)::uuid AS key,
    (ARRAY['some', 'others'])[1 + id % 2]::lot AS lot, id::bigint AS own,
    (wide::bit(128) || ~wide::bit(128))::bit(256)::fingerprint256 AS long,
    substring(wide::bit(128) FOR 100)::bit(100) AS bits
  FROM (
    SELECT 3 * id + n AS id, n AS i, (h # (n::bigint << (id % 60)))::fingerprint64 AS fp,
      test.wide(h, h # test.flips('v' || id, n)) AS wide, h # n AS h
    FROM clustered, generate_series(0, 2) n WHERE id <= 200) s;
SQL
for my $scope ([qw(tenant)], [qw(name)], [qw(tenant name)], [qw(small flag lot)], [qw(key)],
	[qw(own)], [qw(name small tenant)], [qw(name key)])
{
	my $columns = join ', ', @$scope;
	$node->safe_psql('postgres', <<"SQL");
DROP INDEX IF EXISTS tenants_fp, tenants_wide, tenants_long, tenants_bits;
CREATE INDEX tenants_fp ON tenants USING simhash ($columns, fp);
CREATE INDEX tenants_wide ON tenants USING simhash ($columns, wide);
CREATE INDEX tenants_long ON tenants USING simhash ($columns, long);
CREATE INDEX tenants_bits ON tenants USING simhash ($columns, bits bit_hamming_ops);
SQL
	bulk_agrees("$columns, 64 bits", 'tenants_fp', 'tenants', 'fp', $_, scope => $scope) for 0, 3, 20;
	bulk_agrees("$columns, 128 bits", 'tenants_wide', 'tenants', 'wide', 10, scope => $scope);
	bulk_agrees("$columns, 256 bits", 'tenants_long', 'tenants', 'long', 12, scope => $scope);
	bulk_agrees("$columns, 100 bits", 'tenants_bits', 'tenants', 'bits', 12, scope => $scope);
}
$node->safe_psql('postgres', <<'SQL');
CREATE INDEX tenants_returned ON tenants USING simhash (fp) INCLUDE (id);
CREATE INDEX tenants_both ON tenants USING simhash (tenant, fp) INCLUDE (id);
UPDATE tenants SET tenant = 7 WHERE tenant = 8;
DELETE FROM tenants WHERE id % 11 = 0
SQL
bulk_agrees('a column returned', 'tenants_returned', 'tenants', 'fp', 6);
bulk_agrees('a column returned too', 'tenants_both', 'tenants', 'fp', 6, scope => ['tenant']);
$node->safe_psql('postgres', 'VACUUM tenants');
bulk_agrees('tenants after vacuum', 'tenants_both', 'tenants', 'fp', 6, scope => ['tenant']);
$node->safe_psql('postgres', 'CREATE ROLE partly; GRANT SELECT (tenant) ON tenants TO partly');
error_like($node, "SET ROLE partly; SELECT * FROM simhash_pairs('tenants_both', 3)",
	qr/42501.*permission denied for table tenants/s, 'SELECT on the tenant alone does not suffice');
$node->safe_psql('postgres', 'GRANT SELECT (fp) ON tenants TO partly');
answer_is($node, "SET ROLE partly; SELECT count(*) > 0 FROM simhash_pairs('tenants_both', 3)",
	't', 'but SELECT on both columns does');

# Deletes, HOT updates, updates of the fingerprint, vacuum.
$node->safe_psql('postgres', <<'SQL');
CREATE TABLE t (id integer PRIMARY KEY, fp fingerprint64, note integer) WITH (fillfactor = 50);
INSERT INTO t SELECT i, (test.number('t' || i % 30) # test.flips('t' || i, i % 4))::fingerprint64
  FROM generate_series(1, 600) i;
CREATE INDEX t_fp ON t USING simhash (fp);
DELETE FROM t WHERE id % 7 = 0;
UPDATE t SET note = 1 WHERE id % 3 = 0;
UPDATE t SET note = 2 WHERE id % 6 = 0;
UPDATE t SET fp = (test.number('t' || id % 30) # 3)::fingerprint64 WHERE id % 11 = 0;
SQL
ok($node->poll_query_until('postgres',
	q{SELECT n_tup_hot_upd > 100 FROM pg_stat_user_tables WHERE relname = 't'}),
	'there were HOT updates');
bulk_agrees('deletes and updates', 't_fp', 't', 'fp', $_) for 0, 3, 6;
$node->safe_psql('postgres', 'VACUUM t');
bulk_agrees('after vacuum', 't_fp', 't', 'fp', $_) for 3, 6;

# Uncommitted rows of other sessions; snapshots that do not move.
my $other = $node->can('background_psql')
	? $node->background_psql('postgres', on_error_stop => 1)
	: undef;
SKIP:
{
	skip 'this version has no background_psql', 6 unless $other && $other->can('query_safe');
	my $before = rows_of(brute('t', 'fp', 3));
	my $reader = $node->background_psql('postgres', on_error_stop => 1);
	my $pairs = "SELECT a || ' ' || b || ' ' || distance FROM simhash_pairs('t_fp', 3)";
	$reader->query_safe('BEGIN ISOLATION LEVEL REPEATABLE READ');
	is(rows_of('', $reader->query_safe($pairs)), $before, 'a snapshot is taken');
	# Rows that the snapshot does not see must not connect others.
	$other->query_safe(<<'SQL');
BEGIN;
INSERT INTO t SELECT 10000 + i,
  (test.number('t' || i % 30) # test.flips('u' || i, 5))::fingerprint64
  FROM generate_series(1, 200) i;
DELETE FROM t WHERE id % 5 = 0
SQL
	bulk_agrees('others have not committed', 't_fp', 't', 'fp', 3);
	is(rows_of('', $other->query_safe($pairs)),
		rows_of('', $other->query_safe("SET enable_hashjoin = off; " . brute('t', 'fp', 3))),
		'a transaction sees its own rows');
	$other->query_safe('COMMIT');
	is(rows_of('', $reader->query_safe($pairs)), $before, 'the old snapshot sees what it saw');
	$reader->query_safe('COMMIT');
	bulk_agrees('after the commit', 't_fp', 't', 'fp', 3);
	$_->quit for $reader, $other;
}
# Rows and deletions of a prepared transaction, which every version of PostgreSQL can test.
$node->safe_psql('postgres', <<'SQL');
BEGIN;
INSERT INTO t SELECT 20000 + i,
  (test.number('t' || i % 30) # test.flips('v' || i, 5))::fingerprint64
  FROM generate_series(1, 100) i;
DELETE FROM t WHERE id % 4 = 0;
PREPARE TRANSACTION 'p'
SQL
bulk_agrees('a prepared transaction', 't_fp', 't', 'fp', 3);
$node->safe_psql('postgres', "COMMIT PREPARED 'p'");
bulk_agrees('when it has committed', 't_fp', 't', 'fp', 3);
bulk_agrees('serializable', 't_fp', 't', 'fp', 3,
	settings => 'SET default_transaction_isolation = serializable;');

# With concurrent inserts, deletes, updates and vacuum: under one snapshot the pairs are those of a
# sequential scan, and the clusters are the components of these pairs.
$node->safe_psql('postgres', <<'SQL');
CREATE TABLE busy (id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY, fp fingerprint64,
  note integer) WITH (fillfactor = 70);
CREATE FUNCTION near(i bigint) RETURNS fingerprint64 LANGUAGE sql AS $$
  SELECT (test.number('busy' || i % 300) # test.flips('busy' || i, i % 4))::fingerprint64 $$;
INSERT INTO busy (fp) SELECT near(i) FROM generate_series(1, 1200) i;
CREATE INDEX busy_fp ON busy USING simhash (fp);
CREATE FUNCTION check_bulk(k integer) RETURNS void LANGUAGE plpgsql AS $f$
DECLARE expected text; got text; torn bigint;
BEGIN
  SELECT count(*) || coalesce(md5(string_agg(
      a.c || ' ' || b.c || ' ' || hamming(a.fp, b.fp), ',' ORDER BY a.c, b.c)), '') INTO expected
    FROM (SELECT ctid AS c, fp FROM busy OFFSET 0) a
      JOIN (SELECT ctid AS c, fp FROM busy OFFSET 0) b ON a.c < b.c AND hamming(a.fp, b.fp) <= k;
  SELECT count(*) || coalesce(md5(string_agg(
      a || ' ' || b || ' ' || distance, ',' ORDER BY a, b)), '') INTO got
    FROM simhash_pairs('busy_fp', k);
  IF got IS DISTINCT FROM expected THEN
    RAISE 'pairs within %: %, should be %', k, got, expected;
  END IF;
  WITH p AS MATERIALIZED (SELECT * FROM simhash_pairs('busy_fp', k)),
    c AS MATERIALIZED (SELECT * FROM simhash_clusters('busy_fp', k))
  SELECT (SELECT count(*) FROM p LEFT JOIN c x ON x.member = a LEFT JOIN c y ON y.member = b
      WHERE x.representative IS DISTINCT FROM y.representative OR x.member IS NULL)
    + abs((SELECT count(*) FROM c)
      - (SELECT count(*) FROM (SELECT a FROM p UNION SELECT b FROM p) m))
    + (SELECT count(*) FROM c LEFT JOIN busy ON ctid = member WHERE id IS NULL) INTO torn;
  IF torn > 0 THEN RAISE 'clusters within %: % faults', k, torn; END IF;
END $f$;
SQL
my %busy = (
	'insert@6' => <<"SQL",
\\set a random(1, 1000000)
INSERT INTO busy (fp) SELECT near(:a + i) FROM generate_series(1, 5) i;
SQL
	'delete@6' => <<"SQL",
\\set a random(1, 200)
DELETE FROM busy
  WHERE id IN (SELECT id FROM busy WHERE id % 200 = :a LIMIT 5 FOR UPDATE SKIP LOCKED);
SQL
	'hot@4' => <<"SQL",
\\set a random(1, 300)
UPDATE busy SET note = :a
  WHERE id IN (SELECT id FROM busy WHERE id % 300 = :a LIMIT 5 FOR UPDATE SKIP LOCKED);
SQL
	'move@3' => <<"SQL",
\\set a random(1, 300)
UPDATE busy SET fp = near(:a)
  WHERE id IN (SELECT id FROM busy WHERE id % 300 = :a LIMIT 3 FOR UPDATE SKIP LOCKED);
SQL
	'vacuum@1' => "VACUUM busy;\n",
	'check@2' => <<'SQL');
\set k random(0, 8)
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT check_bulk(:k);
SELECT check_bulk(3);
COMMIT;
SQL
$node->pgbench('-n -c 6 -T ' . (soak() ? 60 : 6), 0, [qr/processed: [1-9]/],
	[qr/^(?!.*(?:ERROR|aborted|FATAL))/s], 'it holds while others write and vacuum', \%busy);
bulk_agrees('after the load', 'busy_fp', 'busy', 'fp', 4);

# The usual use of clusters: after deleting all but the representative of each, no near-duplicates
# remain.
$node->safe_psql('postgres', "UPDATE t SET note = 3 WHERE id % 2 = 0");
answer_is($node, <<'SQL',
WITH gone AS (
  DELETE FROM t WHERE ctid IN (
    SELECT member FROM simhash_clusters('t_fp', 3) WHERE member <> representative)
  RETURNING 1)
SELECT count(*) > 100 FROM gone
SQL
	't', 'deleting by member works');
answer_is($node, "SELECT count(*) FROM simhash_clusters('t_fp', 0)", '0', 'no equal rows are left');
index_is_clean($node, 't_fp', 'the index is sound');

# With little memory the work is done in chunks (16 MB hold some 300,000 rows). The result is the
# same.
$node->safe_psql('postgres', <<'SQL');
CREATE TABLE big (fp fingerprint64, wide fingerprint128);
INSERT INTO big SELECT h::fingerprint64, test.wide(h, h)
  FROM (
    SELECT CASE WHEN i % 20 = 0 THEN test.number('b' || i - 1) # test.flips('b' || i, 3)
      ELSE test.number('b' || i) END AS h
    FROM generate_series(1, 400000) i) s;
INSERT INTO big SELECT 7::bigint::fingerprint64, test.wide(7, 7) FROM generate_series(1, 3000);
CREATE INDEX big_fp ON big USING simhash (fp);
CREATE INDEX big_wide ON big USING simhash (wide);
SQL
for my $case ([ 'big_fp', 3 ], [ 'big_fp', 5 ], [ 'big_wide', 6 ])
{
	my ($index, $distance) = @$case;
	answer_is($node, <<"SQL",
CREATE TEMPORARY TABLE much AS SELECT * FROM simhash_clusters('$index', $distance);
SET simhash.work_mem = '16MB';
CREATE TEMPORARY TABLE little AS SELECT * FROM simhash_clusters('$index', $distance);
SELECT count(*) > 40000, NOT EXISTS (SELECT * FROM much EXCEPT SELECT * FROM little)
  AND NOT EXISTS (SELECT * FROM little EXCEPT SELECT * FROM much) FROM little;
SQL
		't|t', "$index, distance $distance: little memory finds what much finds");
}
# The same within tenants: one has a third of the rows, the others ten each, and some rows have no
# tenant. The expected pairs are those of an index without tenants, filtered.
$node->safe_psql('postgres', <<'SQL');
CREATE TABLE lots AS
  SELECT CASE WHEN n / 2 % 3 = 0 THEN 'large' WHEN n % 100 > 1 THEN 'tenant ' || n / 10 END
      AS tenant, n / 2 % 2 AS half, fp
  FROM (
    SELECT 1 + row_number() OVER () AS n, fp FROM big WHERE fp <> 7::bigint::fingerprint64) s;
CREATE INDEX lots_fp ON lots USING simhash (fp);
CREATE INDEX lots_tenant ON lots USING simhash (tenant, fp);
CREATE INDEX lots_half ON lots USING simhash (half, fp);
ANALYZE lots
SQL
for my $case ([ 'tenant', 3 ], [ 'tenant', 5 ], [ 'half', 4 ])
{
	my ($column, $distance) = @$case;
	for my $memory ('16MB', '1GB')
	{
		answer_is($node, <<"SQL",
SET simhash.work_mem = '$memory';
CREATE TEMPORARY TABLE expected AS
  SELECT p.* FROM simhash_pairs('lots_fp', $distance) p JOIN lots x ON x.ctid = a
    JOIN lots y ON y.ctid = b WHERE x.$column = y.$column AND distance > 0;
CREATE TEMPORARY TABLE got AS
  SELECT * FROM simhash_pairs('lots_$column', $distance) WHERE distance > 0;
SELECT count(*) > 3000, count(*) = (SELECT count(*) FROM expected),
  NOT EXISTS (SELECT * FROM got EXCEPT SELECT * FROM expected) FROM got;
SQL
			't|t|t', "within $column, distance $distance, in $memory");
	}
}
# Three partitions have the pairs of the whole table, as do each of them and each two of them.
$node->safe_psql('postgres', <<'SQL');
CREATE TABLE thirds (part integer, fp fingerprint64) PARTITION BY LIST (part);
CREATE TABLE third0 PARTITION OF thirds FOR VALUES IN (0);
CREATE TABLE third1 PARTITION OF thirds FOR VALUES IN (1);
CREATE TABLE third2 PARTITION OF thirds FOR VALUES IN (2);
INSERT INTO thirds
  SELECT row_number() OVER () % 3, fp FROM big WHERE fp <> 7::bigint::fingerprint64;
CREATE INDEX thirds_fp ON thirds USING simhash (fp);
ANALYZE thirds
SQL
for my $distance (2, 4)
{
	my $of = sub { "SELECT count(*), sum(distance) FROM simhash_pairs($_[0], $distance)" };
	my @parts = map { "'third${_}_fp_idx'" } 0 .. 2;
	my $parts = join ' UNION ALL ', map { $of->($_) } @parts,
	  map { my $i = $_; map { "$parts[$i], $parts[$_]" } $i + 1 .. 2 } 0, 1;
	for my $memory ('16MB', '1GB')
	{
		answer_is($node, <<"SQL",
SET simhash.work_mem = '$memory';
CREATE TEMPORARY TABLE whole AS SELECT count(*), sum(distance)
  FROM simhash_pairs('lots_fp', $distance);
CREATE TEMPORARY TABLE together AS @{[ $of->("'thirds_fp'") ]};
CREATE TEMPORARY TABLE apart (count bigint, sum numeric);
INSERT INTO apart $parts;
SELECT w = t, (w.count, w.sum) = (SELECT sum(count), sum(sum) FROM apart)
FROM whole w, together t
SQL
			't|t', "three partitions, distance $distance, in $memory");
	}
}
answer_is($node, <<'SQL',
SET simhash.work_mem = '16MB';
SET work_mem = '64kB';
SELECT count(*), count(DISTINCT (a, b)) FROM simhash_pairs('big_fp', 1) WHERE distance = 0
SQL
	'4498500|4498500', 'all pairs of equal rows, once each');
answer_is($node, "SELECT count(*), min(size), max(size) FROM simhash_clusters('big_fp', 0)",
	'3000|3000|3000', 'equal rows are one cluster');
answer_is($node, "SELECT count(*) FROM (SELECT simhash_pairs('big_fp', 3) LIMIT 5) s",
	'5', 'LIMIT ends it early');
answer_is($node, <<'SQL', '1',
BEGIN;
DECLARE c CURSOR FOR SELECT simhash_pairs('big_fp', 3);
MOVE 1000 IN c;
SAVEPOINT s;
DROP TABLE IF EXISTS none;
ROLLBACK TO s;
MOVE 1000 IN c;
CLOSE c;
COMMIT;
SELECT 1
SQL
	'a cursor over it survives a rollback to a savepoint, and being closed');
$node->safe_psql('postgres', <<'SQL');
CREATE TABLE all_equal AS SELECT 5::bigint::fingerprint64 AS fp FROM generate_series(1, 250000);
CREATE INDEX all_equal_fp ON all_equal USING simhash (fp)
SQL
answer_is($node, <<'SQL',
SET simhash.work_mem = '16MB'; SELECT count(*), min(size) FROM simhash_clusters('all_equal_fp', 3)
SQL
	'250000|250000', 'so many equal rows do not fit in memory');
answer_is($node, "SELECT count(*), min(size) FROM simhash_clusters('all_equal_fp', 3)",
	'250000|250000', 'or do');

# More rows with a near-duplicate than memory holds: pairs that differ in one bit, and one long
# cluster in which neighbours differ in one bit, in a plain and a partitioned table. Some rows are
# deleted, and some texts differ.
for my $kind ('', 'parts')
{
	my $partition = $kind ? 'PARTITION BY HASH (id)' : '';
	$node->safe_psql('postgres',
		"CREATE TABLE many$kind (id integer, c integer, fp fingerprint64, body text) $partition");
	$node->safe_psql('postgres', <<"SQL") for $kind ? (0 .. 2) : ();
CREATE TABLE many_$_ PARTITION OF manyparts FOR VALUES WITH (MODULUS 3, REMAINDER $_)
SQL
	$node->safe_psql('postgres', <<"SQL");
INSERT INTO many$kind
  SELECT i, i / 2, (test.number('m' || i / 2) # (i % 2))::fingerprint64,
    CASE WHEN i % 10 = 2 THEN 'differs from it' ELSE 'words number ' || i / 2 END
  FROM generate_series(0, 299999) i;
INSERT INTO many$kind
  SELECT 300000 + i, -1, ((i # (i >> 1))::bigint << 20)::fingerprint64, 'all one'
  FROM generate_series(1, 60000) i;
CREATE INDEX many${kind}_fp ON many$kind USING simhash (fp);
DELETE FROM many$kind WHERE id % 14 = 5 AND id < 300000
SQL
	for my $case ([ '1', 'true' ], [ "1, 'body', 0.9", 'id % 10 <> 2 OR c < 0' ])
	{
		my ($arguments, $condition) = @$case;
		answer_is($node, <<"SQL",
SET simhash.work_mem = '16MB';
CREATE TEMPORARY TABLE got AS SELECT * FROM simhash_clusters('many${kind}_fp', $arguments);
CREATE TEMPORARY TABLE expected AS SELECT * FROM (
  SELECT ctid AS member, tableoid AS member_table, first_value(ctid) OVER o AS representative,
    first_value(tableoid) OVER o AS representative_table, count(*) OVER (PARTITION BY c) AS size
  FROM many$kind WHERE $condition WINDOW o AS (PARTITION BY c ORDER BY tableoid, ctid)) s
  WHERE size > 1;
SELECT count(*) > 250000, count(*) = (SELECT count(*) FROM expected), max(size),
  NOT EXISTS (SELECT member_table::oid, member, representative_table::oid, representative, size
      FROM got EXCEPT
    SELECT member_table, member, representative_table, representative, size FROM expected)
FROM got
SQL
			't|t|60000|t', "clusters$kind beyond memory: $arguments");
	}
}
my $beyond = "SET simhash.work_mem = '16MB'; SET temp_file_limit = '1MB'; SELECT count(*)";
error_like($node, "$beyond FROM simhash_clusters('many_fp', 1)",
	qr/53400.*temporary file size exceeds/s, 'temp_file_limit holds for them');
my ($code, $said, $warned) = $node->psql('postgres', <<'SQL');
SET simhash.work_mem = '16MB';
SELECT count(*) FROM (SELECT simhash_clusters('many_fp', 1) LIMIT 5) s;
BEGIN;
DECLARE c CURSOR FOR SELECT simhash_clusters('many_fp', 1);
SAVEPOINT s;
MOVE 1000 IN c;
ROLLBACK TO s;
CLOSE c;
DECLARE c CURSOR FOR SELECT simhash_clusters('many_fp', 1);
MOVE 1000 IN c;
SAVEPOINT s;
DROP TABLE IF EXISTS none;
ROLLBACK TO s;
MOVE 1000 IN c;
CLOSE c;
COMMIT;
DO $$
BEGIN
  PERFORM 1 / (row_number() OVER () - 10) FROM (SELECT simhash_clusters('many_fp', 1)) s;
EXCEPTION WHEN division_by_zero THEN NULL;
END $$;
SELECT count(*) FROM pg_ls_tmpdir();
SQL
is($said, "5\n0", 'their files are gone after a LIMIT, an ERROR and a cursor');
unlike($warned, qr/leak|ERROR/, 'and were closed');
$node->safe_psql('postgres', "ALTER TABLE all_equal ADD body text DEFAULT 'one text'");
error_like($node, <<'SQL',
SET simhash.work_mem = '16MB'; SELECT count(*) FROM simhash_clusters('all_equal_fp', 3, 'body', 1)
SQL
	qr/53200.*\d{6} rows with one fingerprint.*HINT.*simhash\.work_mem/s,
	'texts of too many equal rows are not compared');

# A call can be cancelled at once. Only roles with the right to see it see its progress.
$node->safe_psql('postgres', <<'SQL');
CREATE ROLE reader LOGIN;
CREATE ROLE stranger;
CREATE ROLE watcher;
GRANT pg_read_all_stats TO watcher;
GRANT SELECT ON big TO reader
SQL
for my $call ("SELECT count(*) FROM simhash_pairs('big_fp', 30)",
	"SELECT count(*) FROM simhash_clusters('big_fp', 30)",
	"SELECT count(*) FROM simhash_clusters('big_wide', 50)",
	"SELECT count(*) FROM simhash_clusters('lots_half', 30)",
	"SELECT count(*) FROM simhash_pairs('lots_tenant', 64)",
	"SELECT count(*) FROM simhash_pairs('all_equal_fp', 3)")
{
	my $started = time;
	error_like($node, "SET statement_timeout = '300ms'; $call", qr/57014/, "$call is cancelled");
	cmp_ok(time - $started, '<', 5, sprintf('after %.2f s', time - $started));
}
my ($out, $err) = ('', '');
my @psql = ('psql', '-XAtq', '-d', $node->connstr('postgres'));
my $session = IPC::Run::start(
	[ @psql, '-U', 'reader', '-c', "SELECT count(*) FROM simhash_clusters('big_fp', 30)" ],
	'<', '/dev/null', '>', \$out, '2>', \$err);
ok($node->poll_query_until('postgres', <<'SQL'),
SELECT count(*) = 1 FROM simhash_progress
  WHERE phase = 'comparing rows' AND compared > 0 AND rows_total > 400000
    AND rows_read = 403000 AND command = 'simhash_clusters' AND relid = 'big'::regclass
    AND index_relid = 'big_fp'::regclass AND datname = 'postgres' AND tables_total > 0
SQL
	'the view shows it');
my $shown = "SELECT count(*), count(relid), count(phase), count(compared) FROM simhash_progress";
answer_is($node, "SET ROLE reader; $shown", '1|1|1|1', 'to the role that runs it');
answer_is($node, "SET ROLE watcher; $shown", '1|1|1|1', 'to pg_read_all_stats');
answer_is($node, "SET ROLE stranger; $shown", '1|0|0|0', 'to others only that it runs');
answer_is($node, "SELECT pg_cancel_backend(pid) FROM simhash_progress", 't', 'it is cancelled');
$session->finish;
like($err, qr/canceling statement/, 'and says so');
answer_is($node, 'SELECT count(*) FROM simhash_progress', '0', 'then the view is empty');

# Which roles may call these functions, and on which relations.
error_like($node, "SET ROLE stranger; SELECT * FROM simhash_pairs('big_fp', 3) LIMIT 1",
	qr/42501.*permission denied for table big/s, 'SELECT is needed');
$node->safe_psql('postgres', 'GRANT SELECT (fp) ON big TO stranger');
answer_is($node, "SET ROLE stranger; SELECT count(*) > 0 FROM simhash_pairs('big_fp', 3)",
	't', 'SELECT on the column suffices');
error_like($node, "SET ROLE stranger; SELECT * FROM simhash_pairs('big_wide', 3) LIMIT 1",
	qr/42501/, 'on that column');
$node->safe_psql('postgres',
	'ALTER TABLE few ENABLE ROW LEVEL SECURITY; GRANT SELECT ON few TO reader');
error_like($node, "SET ROLE reader; SELECT * FROM simhash_clusters('few_fp', 3)",
	qr/0A000.*row-level security.*HINT/s, 'row-level security is not circumvented');
answer_is($node, "SELECT count(*) > 0 FROM simhash_clusters('few_fp', 64)", 't', 'the owner may');
error_like($node, "SELECT * FROM simhash_pairs('t_pkey', 3)",
	qr/42809.*"t_pkey" is not a simhash index/s, 'a B-tree');
error_like($node, "SELECT * FROM simhash_pairs('t', 3)",
	qr/42809.*"t" is not a simhash index/s, 'a table');
error_like($node, "SELECT * FROM simhash_pairs('t_fp', $_)", qr/22003.*HINT/s, "distance $_")
	for -1, 65;
error_like($node, "SELECT * FROM simhash_clusters('few_wide', 129)",
	qr/22003.*Allowed: 0 to 128/s, 'distance 129');
$node->safe_psql('postgres', <<'SQL');
CREATE TABLE parts (fp fingerprint64) PARTITION BY HASH (fp);
CREATE TABLE part PARTITION OF parts FOR VALUES WITH (MODULUS 1, REMAINDER 0);
CREATE INDEX parts_fp ON parts USING simhash (fp)
SQL
answer_is($node, "SELECT count(*) FROM simhash_pairs('parts_fp', 3)", '0', 'a partitioned index');
error_like($node, "SELECT * FROM simhash_index_info('parts_fp')",
	qr/42809.*partitioned index/s, 'not for simhash_index_info');
answer_is($node, "SELECT count(*) FROM simhash_pairs('part_fp_idx', 3)",
	'0', 'the index of a partition');
$node->safe_psql('postgres',
	"UPDATE pg_index SET indisvalid = false WHERE indexrelid = 't_fp'::regclass");
error_like($node, "SELECT * FROM simhash_pairs('t_fp', 3)",
	qr/55000.*not valid.*HINT/s, 'an index that is not valid');
my ($temp_out, $temp_err) = ('', '');
my $temporary = IPC::Run::start(
	[ @psql, '-c', 'CREATE TEMPORARY TABLE theirs (fp fingerprint64)',
		'-c', 'CREATE INDEX theirs_fp ON theirs USING simhash (fp)', '-c', 'SELECT pg_sleep(100)' ],
	'<', '/dev/null', '>', \$temp_out, '2>', \$temp_err);
$node->poll_query_until('postgres',
	"SELECT count(*) = 1 FROM pg_class WHERE relname = 'theirs_fp'");
error_like($node, <<'SQL',
SELECT * FROM simhash_pairs((SELECT oid FROM pg_class WHERE relname = 'theirs_fp'), 3)
SQL
	qr/0A000.*belongs to another session/s, "another session's temporary index");
$node->safe_psql('postgres', <<'SQL');
SELECT pg_terminate_backend(pid) FROM pg_stat_activity
  WHERE query LIKE '%pg_sleep(100)%' AND pid <> pg_backend_pid()
SQL
$temporary->finish;

$node->stop;
done_testing();
