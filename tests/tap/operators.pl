# Uses of an index beyond one distance: =, ~=, several conditions at once, NULLs, BitmapAnd, nested
# loops, cursors, prepared statements and the operator classes of balls. All are compared with
# sequential scans.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use SimhashTest;
use Test::More;

my $rows = soak() ? 100_000 : 20_000;
my $node = new_node('main', "shared_buffers = 64MB\nautovacuum = off\nfrom_collapse_limit = 1");
my $seed = seed();

$node->safe_psql('postgres', <<"SQL");
CREATE TABLE t (id integer PRIMARY KEY, grp integer, h bigint, fp64 fingerprint64,
  fp128 fingerprint128, radius integer);
INSERT INTO t
  SELECT i, i % 100, CASE WHEN i % 37 > 0 THEN high END, CASE WHEN i % 37 > 0 THEN high END,
    CASE WHEN i % 41 > 0 THEN test.wide(high, low) END, i % 9
  FROM (
    SELECT i, test.number('$seed ' || i / 10) # test.flips('$seed ' || i, i % 6) AS high,
      test.number('$seed low' || i / 10) # test.flips('low' || i, i % 5) AS low
    FROM generate_series(1, $rows) i) r;
CREATE INDEX t_grp ON t (grp);
CREATE INDEX t_fp64 ON t USING simhash (fp64);
CREATE INDEX t_fp128 ON t USING simhash (fp128);
CREATE INDEX t_h ON t USING simhash (h hamming_int8_ops);
CREATE INDEX t_ball64 ON t USING simhash (hamming_ball(fp64, 5));
CREATE INDEX t_ball128 ON t USING simhash (hamming_ball(fp128, 12));
CREATE INDEX t_radius ON t USING simhash (hamming_ball(fp64, radius));
VACUUM ANALYZE t;
-- The value of a row's column as a literal of its type.
CREATE FUNCTION test.of(col text, row_id integer) RETURNS text LANGUAGE plpgsql AS \$\$
DECLARE hex text;
BEGIN
  EXECUTE format('SELECT test.hex(%I) FROM t WHERE id = \$1', col) INTO hex USING row_id;
  RETURN test.literal(test.type_of('t', col), hex);
END \$\$;
SQL

# Tests that a condition on t selects the same rows as another wording of it in a sequential scan.
sub condition_agrees
{
	my ($index, $condition, $reference, $name, %options) = @_;
	my $digest = <<'SQL';
SELECT count(*) || ' ' || coalesce(md5(string_agg(id::text, ',' ORDER BY id)), '') FROM t WHERE
SQL
	my $expected = $node->safe_psql('postgres',
		"SELECT test.by('sequential', '$index', \$q\$$digest$reference\$q\$)");
	cmp_ok((split / /, $expected)[0], '>=', $options{least} // 1, "$name: there are rows");
	for my $kind (@{ $options{kinds} // [ 'index', 'bitmap' ] })
	{
		answer_is($node, "SELECT test.by('$kind', '$index', \$q\$$digest$condition\$q\$)",
			$expected, "$name: $kind scan");
	}
}

sub value
{
	my ($column, $id) = @_;
	return $node->safe_psql('postgres', "SELECT test.of('$column', $id)");
}

sub types_conditions
{
	my ($col, $near, $width) = @_;
	my ($a, $b) = (value($col, 1236), value($col, 1231));
	my $index = "t_$col";
	# The reference uses IS NOT DISTINCT FROM in place of =, because no index supports it.
	condition_agrees($index, "$col = $a", "$col IS NOT DISTINCT FROM $a", "$col =");
	condition_agrees($index, "$a = $col", "$col IS NOT DISTINCT FROM $a", "$col = mirrored");
	condition_agrees($index, "$col ~= $a", "hamming($col, $a) <= $near", "$col ~=", least => 2);
	condition_agrees($index, "hamming($col, $a) < 9", "hamming($col, $a) <= 8",
		"$col hamming <", least => 2);
	condition_agrees($index, "hamming($col, $a) BETWEEN 1 AND 9",
		"hamming($col, $a) IN (1,2,3,4,5,6,7,8,9)", "$col hamming BETWEEN");
	condition_agrees($index, "$col <@ hamming_ball($a, 6) AND $col <@ hamming_ball($b, 7)",
		"hamming($col, $a) <= 6 AND hamming($col, $b) <= 7", "$col in two balls");
	condition_agrees($index,
		"$col <@ hamming_ball($a, 12) AND $col ~= $b AND $col <@ hamming_ball($b, 40)",
		"hamming($col, $a) <= 12 AND hamming($col, $b) <= $near AND hamming($col, $b) <= 40",
		"$col under three conditions");
	condition_agrees($index, "$col <@ hamming_ball($a, 10) AND $col = $b",
		"$col IS NOT DISTINCT FROM $b AND hamming($col, $a) <= 10",
		"$col in a ball and equal");
	condition_agrees($index, "$col <@ hamming_ball($a, 0) AND $col <@ hamming_ball($b, 0)",
		"id < 0", "$col in two balls that do not meet", least => 0);
	condition_agrees($index, "$col <@ hamming_ball($a, 7) OR $col <@ hamming_ball($b, 8)",
		"hamming($col, $a) <= 7 OR hamming($col, $b) <= 8",
		"$col in one of two balls", kinds => ['bitmap']);
	condition_agrees($index, "$col IS NULL", "($col IS NULL) IS TRUE", "$col IS NULL");
	condition_agrees($index, "$col IS NOT NULL AND $col <@ hamming_ball($a, 20)",
		"hamming($col, $a) <= 20", "$col IS NOT NULL in a ball");
	condition_agrees($index, "$col IS NOT NULL", "($col IS NOT NULL) IS TRUE", "$col IS NOT NULL");
	condition_agrees($index, "$col IS NULL AND $col ~= $a", "id < 0", "$col NULL and near",
		least => 0);
	# An order with a condition: the nearest rows of those in a ball around another point.
	answer_is($node, <<"SQL", 't', "$col: order under a condition");
SELECT test.by('index', '$index', \$q\$
    SELECT array_agg(d)::text FROM (SELECT $col <~> $a AS d FROM t
      WHERE $col <@ hamming_ball($b, 30) ORDER BY $col <~> $a LIMIT 50) s\$q\$)
  = test.by('sequential', '$index', \$q\$
    SELECT array_agg(d)::text FROM (SELECT hamming($col, $a) AS d FROM t
      WHERE hamming($col, $b) <= 30 ORDER BY 1 LIMIT 50) s\$q\$)
SQL
}

sub bitmap_and
{
	my $a = value('fp64', 1236);
	my $query = <<"SQL";
SELECT count(*) FROM t WHERE fp64 <@ hamming_ball($a, 22) AND grp BETWEEN 30 AND 36
SQL
	my $plan = $node->safe_psql('postgres',
		"BEGIN; SELECT test.allow('bitmap'); SELECT test.plan(\$q\$$query\$q\$)");
	like($plan, qr/BitmapAnd.*t_fp64/s, 'a BitmapAnd with a B-tree');
	condition_agrees('t_fp64', "fp64 <@ hamming_ball($a, 22) AND grp BETWEEN 30 AND 36",
		"hamming(fp64, $a) <= 22 AND grp + 0 BETWEEN 30 AND 36", 'BitmapAnd', kinds => ['bitmap']);
}

# Joins search for every outer row by a rescan of the inner index scan.
sub rescans
{
	for my $column ([ 'fp64', 4 ], [ 'fp128', 9 ], [ 'h', 3 ])
	{
		my ($col, $k) = @$column;
		my $join = "FROM t a JOIN t b ON %s WHERE a.id %% 20 = 3 AND a.id < 6000";
		my $digest = <<'SQL';
SELECT count(*) || ' ' || md5(string_agg(a.id || '-' || b.id, ',' ORDER BY a.id, b.id))
SQL
		my $expected = $node->safe_psql('postgres',
			"BEGIN; SET enable_nestloop = on; SELECT test.allow('sequential');"
				. $digest . sprintf($join, "hamming(b.$col, a.$col) <= $k"));
		$expected =~ s/\s+//;
		cmp_ok((split / /, $expected)[0], '>', 300,
			"$col: the join has pairs beside the rows themselves");
		for my $kind ('index', 'bitmap')
		{
			my $query = $digest . sprintf($join, "b.$col <@ hamming_ball(a.$col, $k)");
			my $got = $node->safe_psql('postgres', <<"SQL");
BEGIN;
SET enable_material = off;
SELECT test.by('$kind', 't_$col', \$q\$$query\$q\$)
SQL
			is($got, $expected, "$col: nested loop over $kind scans");
		}
		my $nearest = <<'SQL';
SELECT md5(string_agg(a.id || ':' || n.ds, ',' ORDER BY a.id)) FROM t a
  CROSS JOIN LATERAL (
    SELECT array_agg(d)::text AS ds FROM (SELECT %s AS d FROM t b ORDER BY 1 LIMIT 5) s) n
  WHERE a.id %% 100 = 7 AND a.id < 3000
SQL
		my $by_index = sprintf($nearest, "b.$col <~> a.$col");
		my $by_scan = sprintf($nearest, "hamming(b.$col, a.$col)");
		$expected = $node->safe_psql('postgres',
			"SELECT test.by('sequential', '-', \$q\$$by_scan\$q\$)");
		answer_is($node, "SELECT test.by('index', 't_$col', \$q\$$by_index\$q\$)", $expected,
			"$col: the five nearest of every row in a nested loop");
	}
}

# A cursor that is read in pieces, while its own transaction adds rows that split pages, returns the
# rows that existed when it was opened, once each.
sub cursors
{
	my ($kind, $select, $hold) = @_;
	my $expected = $node->safe_psql('postgres', <<"SQL");
BEGIN;
SELECT test.allow('sequential');
SELECT id FROM t WHERE hamming(fp64, @{[value('fp64', 1236)]}) <= 24
SQL
	$expected =~ s/^\s+//;
	my $fill = <<'SQL';
INSERT INTO t (id, fp64)
  SELECT 1000000 + %d + i, (SELECT fp64 FROM t WHERE id = 1236) FROM generate_series(1, 2000) i;
SQL
	my $declare = "DECLARE c CURSOR $hold FOR $select";
	my $plan = $node->safe_psql('postgres',
		"BEGIN; SELECT test.allow('$kind'); SELECT test.plan(\$q\$$select\$q\$)");
	like($plan, qr/t_fp64/, "$kind cursor: by the index");
	my $output = $node->safe_psql('postgres',
		join("\n", 'BEGIN;', "SELECT test.allow('$kind');", "$declare;", 'FETCH 1 FROM c;',
			sprintf($fill, 0), 'FETCH 7 FROM c;', sprintf($fill, 10_000), 'FETCH 100 FROM c;',
			$hold ? 'COMMIT;' : '', 'FETCH ALL FROM c;', $hold ? '' : 'ROLLBACK;'));
	my @ids = sort grep { $_ ne '' } split /\n/, $output;
	ok(join("\n", @ids) eq join("\n", sort split /\n/, $expected), "$kind cursor $hold in pieces")
		or diag(scalar(() = $output =~ /\n/g) . ' rows against ' . scalar(() = $expected =~ /\n/g));
	$node->safe_psql('postgres', 'DELETE FROM t WHERE id > 1000000; VACUUM t;') if $hold;
}

sub balls
{
	my ($a, $wide) = (value('fp64', 1236), value('fp128', 1236));
	condition_agrees('t_ball64', "hamming_ball(fp64, 5) ~= hamming_ball($a, 5)",
		"hamming(fp64, $a) <= 5", 'balls of one radius', least => 2);
	# Each ball must contain the other's centre, so the smaller radius counts.
	condition_agrees('t_ball64', "hamming_ball(fp64, 5) ~= hamming_ball($a, 9)",
		"hamming(fp64, $a) <= 5", 'balls asked for by a larger one', least => 2);
	condition_agrees('t_ball64', "hamming_ball(fp64, 5) ~= hamming_ball($a, 2)",
		"hamming(fp64, $a) <= 2", 'balls asked for by a smaller one');
	condition_agrees('t_radius', "hamming_ball(fp64, radius) ~= hamming_ball($a, 6)",
		"hamming(fp64, $a) <= least(radius, 6)", 'balls of many radii', least => 2);
	condition_agrees('t_ball128', "hamming_ball(fp128, 12) ~= hamming_ball($wide, 12)",
		"hamming(fp128, $wide) <= 12", 'wide balls', least => 2);
	condition_agrees('t_ball64', "hamming_ball(fp64, 5) IS NULL", "(fp64 IS NULL) IS TRUE",
		'balls that are NULL');
}

# A generic plan accepts any radius and any centre, including NULL.
sub prepared
{
	my $a = value('fp64', 1236);
	my $counts = join('', map { "EXECUTE near ($_);" } "$a, 3", "$a, 0", "$a, 10", 'NULL, 3',
		"$a, NULL", "'0000000000000000', 64", "$a, 3");
	my $prepare = <<'SQL';
SET plan_cache_mode = force_generic_plan;
PREPARE near (fingerprint64, integer) AS SELECT count(*) FROM t WHERE %s;
SQL
	my $plain = join('', map { "SET $_ = off;" } 'enable_indexscan', 'enable_bitmapscan',
		'enable_indexonlyscan', 'simhash.enable_rewrite');
	my $expected = $node->safe_psql('postgres',
		$plain . sprintf($prepare, 'hamming(fp64, $1) <= $2') . $counts);
	for my $condition ('hamming(fp64, $1) <= $2', 'fp64 <@ hamming_ball($1, $2)')
	{
		my $output = $node->safe_psql('postgres',
			'SET enable_seqscan = off;' . sprintf($prepare, $condition)
				. 'EXPLAIN (COSTS OFF) EXECUTE near (NULL, 3);' . $counts);
		like($output, qr/t_fp64/, "$condition: a generic plan with the index");
		$output =~ s/^.*[A-Za-z].*\n//mg;
		is($output, $expected, "$condition: prepared");
	}
}

types_conditions('fp64', 3, 64);
types_conditions('fp128', 10, 128);
types_conditions('h', 3, 64);
bitmap_and();
rescans();
for my $hold ('', 'WITH HOLD')
{
	my $a = value('fp64', 1236);
	cursors('index', "SELECT id FROM t WHERE fp64 <@ hamming_ball($a, 24)", $hold);
	cursors('bitmap', "SELECT id FROM t WHERE fp64 <@ hamming_ball($a, 24)", $hold);
	cursors('index',
		"SELECT id FROM t WHERE fp64 <@ hamming_ball($a, 24) ORDER BY fp64 <~> $a", $hold);
}
balls();
prepared();
answer_is($node, q{SELECT bool_and(NOT EXISTS (SELECT FROM t WHERE fp64 <@ NULL)) FROM t},
	't', 'no row is within NULL');
for my $col ('fp64', 'fp128', 'h')
{
	answers_agree($node, 't', $col, "t_$col", "$col: scans after all this",
		wide => $col eq 'fp128' ? 128 : 64, points => 2);
}
index_is_clean($node, $_, "$_: the structure is sound")
	for map { "t_$_" } qw(fp64 fp128 h ball64 ball128 radius);

$node->stop;
done_testing();
