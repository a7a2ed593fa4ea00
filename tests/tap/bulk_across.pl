# simhash_pairs and simhash_clusters over several indexes, against brute force: over the partitions
# of a table, and over two tables, each of which may be partitioned. For data of every kind, within
# tenants, after partitions are attached and detached, and with concurrent writers.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use SimhashTest;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_node('main', "shared_buffers = 128MB\nautovacuum = off\n" . parallel_joins());

# The rows of a query that have a fingerprint, each identified by its table's OID and its ctid.
sub rows_with
{
	my ($table, $column, @scope) = @_;
	return 'SELECT ' . join(', ', 'tableoid AS t', 'ctid AS c', "$column AS f", @scope)
		. " FROM $table WHERE $column IS NOT NULL";
}

# Pairs by brute force, as "16390(0,1) 16395(0,2) 3" lines: of one table with itself, each pair
# once, or of two tables. MATERIALIZED keeps the planner from using an index.
sub brute
{
	my ($table, $other, $column, $distance, @scope) = @_;
	my $first = $other ? '' : ' AND (x.t, x.c) < (y.t, y.c)';
	my $equal = join '', map { " AND x.$_ = y.$_" } @scope;
	return <<"SQL";
WITH x AS MATERIALIZED (@{[ rows_with($table, $column, @scope) ]}),
  y AS MATERIALIZED (@{[ rows_with($other || $table, $column, @scope) ]})
SELECT x.t || x.c::text || ' ' || y.t || y.c || ' ' || hamming(x.f, y.f)
FROM x, y WHERE hamming(x.f, y.f) <= $distance$first$equal
SQL
}

# The lines of a query, sorted, duplicates included.
sub lines_of
{
	return join("\n", sort grep { $_ ne '' } split /\n/, $node->safe_psql('postgres',
		"SET enable_mergejoin = off; SET enable_hashjoin = off; $_[0]"));
}

# The clusters that pairs form, by a union-find of this test's own: lines "member representative
# size". Rows are ordered by their tables' OIDs, then by their ctids.
sub components
{
	my (@pairs) = @_;
	my %parent;
	my $root = sub { my $x = shift; $x = $parent{$x} while $parent{$x} ne $x; return $x };
	for (@pairs)
	{
		my ($a, $b) = split ' ';
		$parent{$_} //= $_ for ($a, $b);
		my ($x, $y) = ($root->($a), $root->($b));
		$parent{$x} = $y if $x ne $y;
	}
	my (%cluster, @lines);
	push @{ $cluster{ $root->($_) } }, $_ for keys %parent;
	my $order = sub { return sprintf '%010d%010d%05d', shift =~ /^(\d+)\((\d+),(\d+)\)$/ };
	for my $members (values %cluster)
	{
		my ($first) = sort { $order->($a) cmp $order->($b) } @$members;
		push @lines, "$_ $first " . @$members for @$members;
	}
	return join("\n", sort @lines);
}

# One test: two sorted lists of lines are the same.
sub same_lines
{
	my ($got, $expected, $name) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	my $count = () = $expected =~ /^./mg;
	return if ok($got eq $expected, "$name: $count lines");
	my (%got, %expected);
	$got{$_}++ for split /\n/, $got;
	$expected{$_}++ for split /\n/, $expected;
	my @extra = grep { $got{$_} > ($expected{$_} // 0) } sort keys %got;
	my @missing = grep { $expected{$_} > ($got{$_} // 0) } sort keys %expected;
	diag('too many: ' . join('; ', splice @extra, 0, 5)
		. '; missing: ' . join('; ', splice @missing, 0, 5));
}

sub pairs_of
{
	my ($arguments) = @_;
	return lines_of("SELECT a_table::oid || a::text || ' ' || b_table::oid || b || ' ' || distance
		FROM simhash_pairs($arguments)");
}

# Two tests: the pairs and the clusters of an index are those of brute force.
sub one_agrees
{
	my ($name, $table, $index, $column, $distance, @scope) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	my $expected = lines_of(brute($table, undef, $column, $distance, @scope));
	same_lines(pairs_of("'$index', $distance"), $expected, "$name, distance $distance: pairs");
	my $clusters = lines_of(<<"SQL");
SELECT member_table::oid || member::text || ' ' || representative_table::oid || representative
  || ' ' || size FROM simhash_clusters('$index', $distance)
SQL
	same_lines($clusters, components(split /\n/, $expected),
		"$name, distance $distance: clusters");
}

# One test: the pairs of two indexes are those of brute force.
sub two_agree
{
	my ($name, $tables, $indexes, $column, $distance, @scope) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	same_lines(pairs_of("'$indexes->[0]', '$indexes->[1]', $distance"),
		lines_of(brute(@$tables, $column, $distance, @scope)),
		"$name, @$indexes, distance $distance");
}

# A partitioned table p_NAME and a table o_NAME with indexes of every kind. The partitions are on
# two levels and lay out their columns differently; one has no rows. Some rows are deleted, have
# later versions or have moved to another partition.
my %indexes = (
	fp => ['fp'],
	wide => ['wide'],
	tenant => [ 'fp', 'tenant' ],
	both => [ 'wide', 'name', 'tenant' ]);

sub make_tables
{
	my ($name, $rows, $number) = @_;
	my $columns = 'id integer, part integer, tenant integer, name text, note integer, '
		. 'fp fingerprint64, wide fingerprint128';
	my $create = join '', map {
		my ($column, @scope) = @{ $indexes{$_} };
		my $keys = join ', ', @scope, $column;
		map { "CREATE INDEX ${_} ON @{[ s/_[a-z]+$//r ]} USING simhash ($keys);\n" }
			"p_${name}_$_", "o_${name}_$_"
	} sort keys %indexes;
	my $select = <<"SQL";
SELECT i, CASE WHEN i % 5 < 2 THEN 0 ELSE i % 4 END, CASE WHEN i % 7 > 0 THEN i % 3 END,
  CASE WHEN i % 11 > 0 THEN 'Zoë ' || i % 2 END, 0,
  h::fingerprint64, test.wide(h, h # test.flips('w' || i, i % 4))
SQL
	my ($seed, $two) = (seed(), 2 * $rows);
	$node->safe_psql('postgres', <<"SQL");
CREATE TABLE p_$name ($columns) PARTITION BY LIST (part);
CREATE TABLE p_${name}_0 PARTITION OF p_$name FOR VALUES IN (0) WITH (fillfactor = 50);
CREATE TABLE p_${name}_1 (gone text, wide fingerprint128, fp fingerprint64, note integer, name text,
  tenant integer, part integer, id integer);
ALTER TABLE p_${name}_1 DROP COLUMN gone;
ALTER TABLE p_$name ATTACH PARTITION p_${name}_1 FOR VALUES IN (1);
CREATE TABLE p_${name}_2 PARTITION OF p_$name FOR VALUES IN (2, 5) PARTITION BY RANGE (id);
CREATE TABLE p_${name}_2a PARTITION OF p_${name}_2 FOR VALUES FROM (0) TO (${rows});
CREATE TABLE p_${name}_2b PARTITION OF p_${name}_2 DEFAULT;
CREATE TABLE p_${name}_4 PARTITION OF p_$name FOR VALUES IN (4);
CREATE TABLE p_${name}_rest PARTITION OF p_$name DEFAULT;
CREATE TABLE o_$name ($columns);
INSERT INTO p_$name $select FROM (SELECT i, $number AS h FROM generate_series(1, $rows) i) s;
UPDATE p_$name SET id = id + $rows WHERE id % 13 = 0;
INSERT INTO o_$name $select
  FROM (SELECT i, $number AS h FROM generate_series(1, $two, 3) i) s;
$create
DELETE FROM p_$name WHERE id % 17 = 3;
DELETE FROM o_$name WHERE id % 9 = 5;
UPDATE p_$name SET note = 1 WHERE id % 3 = 0;
UPDATE p_$name SET part = (part + 1) % 4 WHERE id % 10 = 7;
UPDATE p_$name SET tenant = 1 WHERE id % 19 = 2;
UPDATE o_$name SET fp = (id * 3)::bigint::fingerprint64 WHERE id % 23 = 1
SQL
}

# Data of many kinds, all of which depend on the seed.
my $seed = seed();
my %data = (
	random => "test.number('r$seed' || i)",
	clustered => "test.number('c$seed' || i % 15) # test.flips('f$seed' || i, i % 13)",
	zipf => "test.number('z$seed' || (300 / i)) # test.flips('f$seed' || i, i % 5)",
	equal => '42::bigint',
	constant => "test.number('k$seed' || i) & ~65535::bigint | 4660",
	numbers => 'i::bigint',
	nulls => "CASE WHEN i % 3 > 0 THEN test.number('n$seed' || i % 40) # test.flips('g' || i, 2) END");
for my $kind (sort keys %data)
{
	make_tables($kind, $kind eq 'equal' ? 90 : 300, $data{$kind});
	for my $on (sort keys %indexes)
	{
		my ($column, @scope) = @{ $indexes{$on} };
		my @distances = $column eq 'fp' ? (0, 1, 3, 6, 10, 20) : (0, 3, 10, 24);
		@distances = @distances[ 0, 1 + roll($#distances) ] unless soak();
		for my $distance (@distances)
		{
			my ($p, $o, $name) = ("p_$kind", "o_$kind", "$kind by $on");
			one_agrees($name, $p, "${p}_$on", $column, $distance, @scope);
			for my $two ([ $p, $o ], [ $o, $p ], [ $p, $p ], [ $o, $o ])
			{
				two_agree($name, $two, [ map { "${_}_$on" } @$two ], $column, $distance, @scope);
			}
		}
	}
}
my $own = $node->safe_psql('postgres', <<'SQL');
SELECT i.indexrelid::regclass FROM pg_index i JOIN pg_inherits h ON h.inhrelid = i.indexrelid
WHERE i.indrelid = 'p_zipf_1'::regclass AND h.inhparent = 'p_zipf_fp'::regclass
SQL
two_agree('a table and one of its partitions', [ 'p_zipf', 'p_zipf_1' ], [ 'p_zipf_fp', $own ],
	'fp', 3);
one_agrees('the whole width', 'p_equal', 'p_equal_fp', 'fp', 64);
two_agree('the whole width', [ 'p_equal', 'o_equal' ], [ 'p_equal_wide', 'o_equal_wide' ],
	'wide', 128);

# Tables of several leaves, one of whose indexes is far larger than the others.
make_tables('large', 2400, "test.number('l$seed' || i % 700) # test.flips('f$seed' || i, i % 5)");
one_agrees('several leaves', 'p_large', 'p_large_fp', 'fp', 3);
one_agrees('several leaves', 'p_large', 'p_large_tenant', 'fp', 6, 'tenant');
two_agree('several leaves', [ 'p_large', 'o_large' ], [ 'p_large_fp', 'o_large_fp' ], 'fp', 3);
two_agree('several leaves', [ 'o_large', 'p_large' ], [ 'o_large_both', 'p_large_both' ],
	'wide', 10, qw(name tenant));

# Partitions that are detached and attached.
$node->safe_psql('postgres', 'VACUUM p_nulls, o_nulls; REINDEX TABLE p_nulls_1');
one_agrees('after VACUUM and REINDEX', 'p_nulls', 'p_nulls_fp', 'fp', 3);
$node->safe_psql('postgres', 'ALTER TABLE p_nulls DETACH PARTITION p_nulls_0');
one_agrees('a partition is detached', 'p_nulls', 'p_nulls_fp', 'fp', 3);
two_agree('a partition is detached', [ 'p_nulls', 'p_nulls_0' ],
	[ 'p_nulls_fp', 'p_nulls_0_fp_idx' ], 'fp', 3);
$node->safe_psql('postgres', <<'SQL');
DROP TABLE p_nulls_2;
ALTER TABLE p_nulls ATTACH PARTITION p_nulls_0 FOR VALUES IN (0);
CREATE TABLE p_nulls_9 (LIKE p_nulls);
INSERT INTO p_nulls_9 SELECT id, 9, tenant, name, note, fp, wide FROM p_nulls_0;
ALTER TABLE p_nulls ATTACH PARTITION p_nulls_9 FOR VALUES IN (9)
SQL
one_agrees('one is dropped, two are attached', 'p_nulls', 'p_nulls_fp', 'fp', 3);
two_agree('one is dropped, two are attached', [ 'p_nulls', 'o_nulls' ],
	[ 'p_nulls_tenant', 'o_nulls_tenant' ], 'fp', 3, 'tenant');

# LIMIT and cursors. The relations stay locked as long as there may be more pairs.
answer_is($node, <<'SQL', '5', 'LIMIT ends it early');
SET statement_timeout = '60s';
SELECT count(*) FROM (SELECT simhash_pairs('p_large_fp', 'o_large_fp', 64) LIMIT 5) s
SQL
answer_is($node, <<"SQL", 't|t', 'a cursor over it, a savepoint, and a partition that others drop');
BEGIN;
DECLARE c CURSOR FOR SELECT simhash_pairs('p_large_fp', 'o_large_fp', 20);
MOVE 1500 IN c;
SAVEPOINT s;
DROP TABLE IF EXISTS none;
ROLLBACK TO s;
\\setenv PGOPTIONS '-c lock_timeout=100ms'
\\set refused `psql -XAtq -d '@{[ $node->connstr('postgres') ]}' -c 'DROP TABLE p_large_2a' 2>&1`
MOVE 1500 IN c;
CLOSE c;
COMMIT;
SELECT :'refused' LIKE '%lock timeout%', count(*) > 0 FROM p_large_2a
SQL

# Indexes on different enums are refused: labels of two enums are never equal.
$node->safe_psql('postgres', <<'SQL');
CREATE TYPE mood AS ENUM ('good', 'bad');
CREATE TYPE taste AS ENUM ('good', 'bad');
CREATE TABLE moods AS SELECT 'good'::mood AS kind, 5::bigint::fingerprint64 AS fp;
CREATE TABLE more_moods AS SELECT k AS kind, fp FROM moods, unnest('{good,bad}'::mood[]) k;
CREATE TABLE tastes AS SELECT 'good'::taste AS kind, 5::bigint::fingerprint64 AS fp;
CREATE INDEX moods_fp ON moods USING simhash (kind, fp);
CREATE INDEX more_moods_fp ON more_moods USING simhash (kind, fp);
CREATE INDEX tastes_fp ON tastes USING simhash (kind, fp)
SQL
two_agree('one enum', [qw(moods more_moods)], [qw(moods_fp more_moods_fp)], 'fp', 0, 'kind');
error_like($node, "SELECT * FROM simhash_pairs('moods_fp', 'tastes_fp', 0)",
	qr/42809: .*"tastes_fp" has enums of other types than "moods_fp".*HINT/s, 'two enums');

# Rows of one fingerprint. Pairs within one of the two tables are not even examined.
$node->safe_psql('postgres', <<'SQL');
CREATE TABLE many AS SELECT 5::bigint::fingerprint64 AS fp FROM generate_series(1, 100000);
CREATE TABLE one AS SELECT 5::bigint::fingerprint64 AS fp;
CREATE INDEX many_fp ON many USING simhash (fp);
CREATE INDEX one_fp ON one USING simhash (fp)
SQL
answer_is($node, <<'SQL', '100000|100000|1', 'one row and many equal ones');
SET statement_timeout = '60s';
SELECT count(*), count(DISTINCT b), count(DISTINCT a) FROM simhash_pairs('one_fp', 'many_fp', 3)
SQL

# With concurrent inserts, deletes, updates, moves between partitions and vacuum: under one snapshot
# the pairs are those of a sequential scan, and the clusters are the components of these pairs.
$node->safe_psql('postgres', <<'SQL');
CREATE TABLE busy (id bigint GENERATED ALWAYS AS IDENTITY, part integer, fp fingerprint64,
  note integer) PARTITION BY LIST (part);
CREATE TABLE busy_0 PARTITION OF busy FOR VALUES IN (0) WITH (fillfactor = 70);
CREATE TABLE busy_1 PARTITION OF busy FOR VALUES IN (1) WITH (fillfactor = 70);
CREATE TABLE busy_2 PARTITION OF busy DEFAULT WITH (fillfactor = 70);
CREATE TABLE other (id bigint GENERATED ALWAYS AS IDENTITY, part integer, fp fingerprint64,
  note integer);
CREATE FUNCTION near(i bigint) RETURNS fingerprint64 LANGUAGE sql AS $$
  SELECT (test.number('busy' || i % 300) # test.flips('busy' || i, i % 4))::fingerprint64 $$;
INSERT INTO busy (part, fp) SELECT i % 3, near(i) FROM generate_series(1, 700) i;
INSERT INTO other (part, fp) SELECT 0, near(i) FROM generate_series(1, 400) i;
CREATE INDEX busy_fp ON busy USING simhash (fp);
CREATE INDEX other_fp ON other USING simhash (fp);
CREATE FUNCTION check_pairs(tab text, other_tab text, arguments text, k integer) RETURNS void
LANGUAGE plpgsql AS $f$
DECLARE expected text; got text;
BEGIN
  EXECUTE format($q$
    WITH x AS MATERIALIZED (SELECT tableoid AS t, ctid AS c, fp FROM %I),
      y AS MATERIALIZED (SELECT tableoid AS t, ctid AS c, fp FROM %I)
    SELECT count(*) || coalesce(md5(string_agg(
        concat_ws(' ', x.t, x.c, y.t, y.c, hamming(x.fp, y.fp)), ','
        ORDER BY x.t, x.c, y.t, y.c)), '')
      FROM x, y WHERE hamming(x.fp, y.fp) <= %s AND (%L OR (x.t, x.c) < (y.t, y.c)) $q$,
    tab, other_tab, k, tab <> other_tab) INTO expected;
  EXECUTE format($q$
    SELECT count(*) || coalesce(md5(string_agg(
        concat_ws(' ', a_table::oid, a, b_table::oid, b, distance), ','
        ORDER BY a_table::oid, a, b_table::oid, b)), '') FROM simhash_pairs(%s, %s) $q$,
    arguments, k) INTO got;
  IF got IS DISTINCT FROM expected THEN
    RAISE 'pairs of % within %: %, should be %', arguments, k, got, expected;
  END IF;
END $f$;
CREATE FUNCTION check_all(k integer) RETURNS void LANGUAGE plpgsql AS $f$
DECLARE torn bigint;
BEGIN
  PERFORM check_pairs('busy', 'busy', $$'busy_fp'$$, k);
  PERFORM check_pairs('busy', 'other', $$'busy_fp', 'other_fp'$$, k);
  PERFORM check_pairs('other', 'busy', $$'other_fp', 'busy_fp'$$, k);
  WITH p AS MATERIALIZED (SELECT * FROM simhash_pairs('busy_fp', k)),
    c AS MATERIALIZED (SELECT * FROM simhash_clusters('busy_fp', k))
  SELECT (SELECT count(*) FROM p
      LEFT JOIN c x ON (x.member_table, x.member) = (a_table, a)
      LEFT JOIN c y ON (y.member_table, y.member) = (b_table, b)
      WHERE x.member IS NULL OR y.member IS NULL
        OR (x.representative_table, x.representative) <> (y.representative_table, y.representative))
    + abs((SELECT count(*) FROM c)
      - (SELECT count(*) FROM (SELECT a_table, a FROM p UNION SELECT b_table, b FROM p) m))
    + (SELECT count(*) FROM c LEFT JOIN busy ON ctid = member AND tableoid = member_table
      WHERE id IS NULL) INTO torn;
  IF torn > 0 THEN RAISE 'clusters within %: % faults', k, torn; END IF;
END $f$;
SQL
my $some = 'IN (SELECT id FROM busy WHERE id % 200 = :a LIMIT 5 FOR UPDATE SKIP LOCKED)';
my %busy = (
	'insert@6' => <<'SQL',
\set a random(1, 1000000)
INSERT INTO busy (part, fp) SELECT i % 3, near(:a + i) FROM generate_series(1, 4) i;
SQL
	'other@2' => <<'SQL',
\set a random(1, 1000000)
INSERT INTO other (part, fp) SELECT 0, near(:a + i) FROM generate_series(1, 4) i;
DELETE FROM other
  WHERE id IN (SELECT id FROM other WHERE id % 100 = :a % 100 LIMIT 4 FOR UPDATE SKIP LOCKED);
SQL
	'delete@5' => "\\set a random(0, 199)\nDELETE FROM busy WHERE id $some;\n",
	'hot@4' => "\\set a random(0, 199)\nUPDATE busy SET note = :a WHERE id $some;\n",
	'change@3' => "\\set a random(0, 199)\nUPDATE busy SET fp = near(:a) WHERE id $some;\n",
	'move@3' => <<"SQL",
\\set a random(0, 199)
WITH moved AS (DELETE FROM busy WHERE id $some RETURNING part, fp)
INSERT INTO busy (part, fp) SELECT (part + 1) % 3, fp FROM moved;
SQL
	'vacuum@1' => "VACUUM busy, other;\n",
	'check@2' => <<'SQL');
\set k random(0, 8)
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT check_all(:k);
COMMIT;
SQL
$node->pgbench('-n -c 6 -T ' . (soak() ? 60 : 6), 0, [qr/processed: [1-9]/],
	[qr/^(?!.*(?:ERROR|aborted|FATAL))/s], 'it holds while others write and vacuum', \%busy);
answer_is($node, 'SELECT check_all(k) FROM unnest(ARRAY[0, 3, 6]) k', "\n\n",
	'and when they have done');

$node->stop;
done_testing();
