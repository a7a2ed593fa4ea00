# Every kind of index scan returns the rows of a sequential scan: for random, clustered and
# degenerate tables of each type, built and grown, with several numbers of blocks and fill factors,
# at every distance.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use SimhashTest;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_node('main', "shared_buffers = 64MB\nautovacuum = off");

# The high and the low 64 bits of row i. A 64-bit fingerprint has only the high ones.
my %kinds = (
	random => [ q{test.number(s || i)}, q{test.number(s || 'low' || i)} ],
	clusters => [ q{test.number(s || i % 20) # test.flips(s || i, i % 9)},
		q{test.number(s || 'low' || i % 20) # test.flips(s || 'low' || i, i % 7)} ],
	'two clusters' => [ q{test.number(s || i % 2) # test.flips(s || i, i % 3)},
		q{test.number(s || i % 2)} ],
	'all equal' => [ q{test.number(s)}, q{test.number(s || 'low')} ],
	'constant first block' => [ q{test.number(s || i) & 281474976710655 | (4660::bigint << 48)},
		q{test.number(s || 'low' || i)} ],
	'constant last block' => [ q{test.number(s || i) | 65535},
		q{test.number(s || 'low' || i) | 65535} ],
	ascending => [ q{i::bigint}, q{i::bigint} ],
	descending => [ q{-i::bigint * 1000003}, q{-i::bigint} ],
	extremes => [ q{CASE i % 3 WHEN 0 THEN 0 WHEN 1 THEN -1 ELSE test.flips(s || i, 1) END},
		q{CASE i % 2 WHEN 0 THEN 0 ELSE -1 END} ],
	'one among random' => [ q{CASE i % 2 WHEN 0 THEN test.number(s || i) ELSE test.number(s) END},
		q{CASE i % 2 WHEN 0 THEN test.number(s || i) ELSE 1 END} ]);
# Column, its width, how it is indexed.
my @columns = (
	[ 'fp64', 64, 'fp64' ],
	[ 'fp128', 128, 'fp128' ],
	[ 'h', 64, 'h hamming_int8_ops' ]);

sub insert_rows
{
	my ($kind, $first, $last, $seed) = @_;
	my ($high, $low) = @{ $kinds{$kind} };
	return <<"SQL";
INSERT INTO t
  SELECT i, i % 10, CASE WHEN i % 37 > 0 THEN high END, CASE WHEN i % 37 > 0 THEN high END,
    CASE WHEN i % 41 > 0 THEN test.wide(high, low) END
  FROM (
    SELECT i, $high AS high, $low AS low
    FROM generate_series($first, $last) i, (VALUES ('$seed')) v (s)) r;
SQL
}

sub create_indexes
{
	my ($blocks, $fill) = @_;
	my $options = join(', ', $blocks ? "blocks = $blocks" : (), $fill ? "fillfactor = $fill" : ());
	$options = " WITH ($options)" if $options;
	return join('',
		map { "CREATE INDEX t_$_->[0] ON t USING simhash ($_->[2])$options;\n" } @columns);
}

# The ways to create a table with a number of rows.
my %ways = (
	built => sub {
		my ($kind, $rows, $seed, @options) = @_;
		return insert_rows($kind, 1, $rows, $seed) . create_indexes(@options);
	},
	grown => sub {
		my ($kind, $rows, $seed, @options) = @_;
		return create_indexes(@options) . insert_rows($kind, 1, $rows, $seed);
	},
	# Built with half of the rows, then grown, thinned out, vacuumed and grown again, so that freed
	# pages are reused.
	mixed => sub {
		my ($kind, $rows, $seed, @options) = @_;
		my $half = int($rows / 2);
		return insert_rows($kind, 1, $half, $seed)
			. create_indexes(@options)
			. insert_rows($kind, $half + 1, 2 * $rows, $seed)
			. "DELETE FROM t WHERE id > $rows OR id % 3 = 0; VACUUM t;"
			. insert_rows($kind, $rows + 1, $rows + $half, $seed);
	});

# Some distances, or all. Both ends and the published thresholds are always included.
sub distances
{
	my ($width, $count) = @_;
	return join(',', 0 .. $width) if $count > $width;
	my %chosen = map { $_ => 1 } 0, 1, $width == 64 ? 3 : 10, $width;
	$chosen{ roll($width) } = 1 while keys %chosen < $count;
	return join(',', sort { $a <=> $b } keys %chosen);
}

sub check_table
{
	my ($name, $points, $count, @limits) = @_;
	for my $column (@columns)
	{
		my ($col, $width) = @$column;
		my $seed = roll(1_000_000);
		my $distances = distances($width, $count);
		my $limits = join(',', @limits);
		my ($status, $output, $error) = $node->psql('postgres', <<"SQL");
SELECT comparisons, matches, failures FROM test.compare('t', '$col', 't_$col',
  test.points('t', '$col', $points, '$seed'), '{$distances}', '{$limits}')
SQL
		my ($comparisons, $matches, $failures) = split /\|/, $output, 3;
		is($status == 0 ? $failures : $error, '', "$name: $col: all scans agree")
			or diag("distances $distances, points by seed $seed");
		my $asked = () = $distances =~ /\d+/g;
		cmp_ok($comparisons // 0, '>=', $points * $asked * 3, "$name: $col: comparisons were made");
		index_is_clean($node, "t_$col", "$name: $col: the structure is sound");
	}
}

sub check
{
	my ($kind, $way, $rows, $blocks, $fill, $points, $count, @limits) = @_;
	my $name = join(', ', $kind, $way, "$rows rows",
		$blocks ? "$blocks blocks" : (), $fill ? "fillfactor $fill" : ());
	my $seed = roll(1_000_000);
	my $make = $ways{$way}->($kind, $rows, $seed, $blocks, $fill);
	my ($status, undef, $error) = $node->psql('postgres', <<"SQL", on_error_stop => 1);
DROP TABLE IF EXISTS t;
CREATE TABLE t (id integer PRIMARY KEY, grp integer, h bigint, fp64 fingerprint64,
  fp128 fingerprint128);
$make
VACUUM ANALYZE t;
SQL
	is($status, 0, "$name: made") or return diag($error);
	check_table("$name, seed $seed", $points, $count, @limits);
}

seed();
# Empty and tiny tables, and tables of about one full leaf (582 entries of 64 bits, 370 of 128).
check('random', $_->[0], $_->[1], 0, 0, 2, 9, 1, 1000)
	for [ built => 0 ], [ grown => 0 ], [ grown => 1 ],
	[ built => 3 ], [ grown => 600 ], [ built => 583 ];
# Every kind of data, with ways, numbers of blocks and fill factors in turn.
my @blocks = (0, 2, 3, 5, 8, 1, 16, 0, 4);
my @fills = (0, 100, 50, 70);
my $turn = 0;
for my $kind (sort keys %kinds)
{
	my @ways = soak() ? sort keys %ways : ((sort keys %ways)[ $turn % 3 ]);
	for my $way (@ways)
	{
		check($kind, $way, soak() ? 4000 : 2500,
			$blocks[ $turn % @blocks ], $fills[ $turn % @fills ],
			soak() ? 3 : 2, soak() ? 1000 : 9, 1, 10, soak() ? 20_000 : 5000);
		$turn++;
	}
}
# Trees of several levels.
for my $kind (soak() ? sort keys %kinds : ('clusters'))
{
	check($kind, 'mixed', soak() ? 100_000 : 30_000, 0, 0, 2, soak() ? 20 : 6, 10);
}
# A million copies of one fingerprint beside as many random ones: LIMIT 1 must not read them all.
sub million_copies
{
	$node->safe_psql('postgres', <<'SQL');
CREATE TABLE m (id integer, fp64 fingerprint64);
CREATE INDEX m_fp64 ON m USING simhash (fp64);
INSERT INTO m SELECT i, CASE i % 2 WHEN 0 THEN 42 ELSE test.number(i::text) END
  FROM generate_series(1, 2000000) i;
VACUUM ANALYZE m;
SQL
	index_is_clean($node, 'm_fp64', 'a million copies: the structure is sound');
	answers_agree($node, 'm', 'fp64', 'm_fp64', 'a million copies: all scans agree',
		points => 2, distances => '0,3,12');
	for my $query (q{SELECT id FROM m WHERE fp64 ~= '000000000000002a' LIMIT 1},
		q{SELECT id FROM m ORDER BY fp64 <~> '000000000000002a' LIMIT 1})
	{
		my $plan = $node->safe_psql('postgres', <<"SQL");
SET enable_seqscan = off;
SET enable_bitmapscan = off;
$query;
EXPLAIN (ANALYZE, BUFFERS, COSTS OFF) $query
SQL
		my ($buffers) = $plan =~ /Buffers: shared (?:hit=(\d+))?/;
		cmp_ok($buffers, '<', 60, 'LIMIT 1 reads few pages') or diag($plan);
	}
}
million_copies() if soak();

$node->stop;
done_testing();
