# Every recipe of docs/recipes.md runs as it stands, on texts whose groups are found by force, and
# leaves what it should.
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
my $salt = roll(1_000_000);

# A query's rows, as arrays.
sub rows
{
	my ($database, $query) = @_;
	return map { [ split /\|/, $_, -1 ] } split /\n/, $node->safe_psql($database, $query);
}

# One test: a query gives just these rows, in any order.
sub rows_are
{
	my ($database, $query, $expected, $name) = @_;
	my @got = sort map { join '|', @$_ } rows($database, $query);
	is(join(' ', @got), join(' ', sort @$expected), $name);
}

# The connected components of a table's rows under a distance, found by comparing each with each:
# lists of keys, sorted.
sub groups
{
	my ($database, $table, $key, $column, $distance) = @_;
	my @keys = rows($database, "SELECT $key FROM $table WHERE $column IS NOT NULL");
	my %group = map { $_->[0] => [ $_->[0] ] } @keys;
	my @pairs = rows($database, <<"SQL");
WITH t AS MATERIALIZED (SELECT $key AS k, $column FROM $table)
SELECT x.k, y.k FROM t x, t y
WHERE x.k < y.k AND hamming(x.$column, y.$column) + 0 <= $distance
SQL
	for (@pairs)
	{
		my ($a, $b) = map { $group{$_} } @$_;
		next if $a == $b;
		push @$a, @$b;
		$group{$_} = $a for @$b;
	}
	my %seen;
	return map { [ sort { $a <=> $b } @$_ ] } grep { !$seen{$_}++ } values %group;
}

# Texts of which two of three have variations: words changed, words added at the end. The order in
# the file is not that of the ids, and some rows were updated since.
sub prepare
{
	my ($setup) = @_;
	my $helpers = slurp_file("$FindBin::Bin/compare.sql");
	$node->safe_psql('postgres', 'CREATE DATABASE prepared');
	$node->safe_psql('prepared', "CREATE EXTENSION pg_simhash; $helpers");
	$node->safe_psql('prepared', <<"SQL");
CREATE FUNCTION test.body(base bigint, variant bigint) RETURNS text LANGUAGE sql IMMUTABLE AS \$\$
  SELECT string_agg(
    CASE WHEN i <= variant % 3 THEN test.word('changed' || variant)
      ELSE test.word(base || ' $salt ' || i) END, ' ' ORDER BY i)
  FROM generate_series(1, 150 + variant % 4) i \$\$;
$setup->{sql}
INSERT INTO doc (id, body)
  SELECT row_number() OVER (ORDER BY md5('$salt ' || b || ' ' || v)), test.body(b, v)
  FROM generate_series(1, 250) b, generate_series(0, b % 3 * 2) v ORDER BY md5(v || ' ' || b);
UPDATE doc SET body = body || '!' WHERE id % 5 = 0;
DELETE FROM doc WHERE id % 41 = 0;
INSERT INTO doc (id, body) VALUES (100001, ''), (100002, '...');
ANALYZE doc;
SQL
}

# Keeps what the checks share.
my @groups;
my %length;

my @corpora = 0 .. 9;

# The ids that are left of the texts.
sub left_are
{
	my ($database, $ids, $name) = @_;
	rows_are($database, 'SELECT id FROM doc WHERE fp IS NOT NULL', $ids, $name);
}

sub first_of_each_stays
{
	left_are($_[0], [ map { $_->[0] } @groups ], 'the first of each group stays');
}

sub longest_stays
{
	my @longest = map { (sort { $length{$b} <=> $length{$a} || $a <=> $b } @$_)[0] } @groups;
	left_are($_[0], \@longest, 'the longest of each group stays');
}

sub others_are_aside
{
	my @others;
	for (@groups)
	{
		my ($first, @rest) = @$_;
		push @others, map { "$_|$first|$length{$_}" } @rest;
	}
	first_of_each_stays(@_);
	rows_are($_[0], 'SELECT id, duplicate_of, length(body) FROM doc_duplicate', \@others,
		'the others are in the side table');
}

sub each_row_has_its_group
{
	my @clusters = ('100001|100001', '100002|100002');
	for my $group (@groups)
	{
		push @clusters, map { "$_|$group->[0]" } @$group;
	}
	rows_are($_[0], 'SELECT id, cluster FROM doc', \@clusters, 'each row has its group');
}

# The ids are there, and follow when all first rows of groups go.
sub groups_live
{
	my ($database) = @_;
	my @large = grep { @$_ > 1 } @groups;
	rows_are($database, 'SELECT id, story FROM doc WHERE story IS NOT NULL',
		[ map { my $group = $_; map { "$_|$group->[0]" } @$group } @large ],
		'each row of a group has the id of its first row');
	my $first = join(', ', map { $_->[0] } @large);
	$node->safe_psql($database, "DELETE FROM doc WHERE id IN ($first)");
	my @left = map { @$_ > 1 ? join(' ', @$_) : () } groups($database, 'doc', 'id', 'fp', 3);
	is(join("\n", sort @left), join("\n", sort map { $_->[0] } rows($database, <<'SQL')),
SELECT string_agg(id::text, ' ' ORDER BY id) FROM doc WHERE story IS NOT NULL GROUP BY story
SQL
		'and when the first rows go, the others are grouped as before');
}

sub view_has_the_groups
{
	my ($database) = @_;
	my @large = grep { @$_ > 1 } @groups;
	my $gone = $large[0][0];
	my @expected = map { "$_->[0]|" . @$_ . '|{' . join(',', @$_) . '}' } @large;
	rows_are($database, 'SELECT * FROM doc_group', \@expected, 'the groups are there');
	$node->safe_psql($database, <<"SQL");
DELETE FROM doc WHERE id = $gone;
REFRESH MATERIALIZED VIEW CONCURRENTLY doc_group;
SQL
	is($node->safe_psql($database, "SELECT count(*) FROM doc_group WHERE first = $gone"),
		'0', 'a refresh follows the table');
}

sub nearest_of_incoming
{
	my @nearest = rows($_[0], <<'SQL');
SELECT i.id, min(hamming(i.fp, d.fp) + 0) FROM incoming i LEFT JOIN doc d ON true GROUP BY i.id
SQL
	return { map { $_->[0] => $_->[1] } @nearest };
}

sub new_ones_stay
{
	my ($database, $nearest) = @_;
	my %near = map { $_ => 1 } grep { length $nearest->{$_} && $nearest->{$_} <= 3 } keys %$nearest;
	cmp_ok(scalar keys %near, '>', 20, 'there were near-duplicates');
	rows_are($database, 'SELECT id FROM incoming', [ grep { !$near{$_} } keys %$nearest ],
		'what is new stays');
	rows_are($database, 'SELECT id, distance FROM incoming_match',
		[ map { "$_|$nearest->{$_}" } keys %near ], 'the nearest rows are named');
}

# The rows of all corpora, each table's ids in a million of their own.
sub everything
{
	my ($columns) = @_;
	my $row = "id AS place$columns";
	return join ' UNION ALL ', map { "SELECT $_ * 1000000 + $row FROM corpus$_" } @corpora;
}

sub groups_of_corpora
{
	my ($database) = @_;
	my $all = everything(', simhash128(body) AS fp');
	$node->safe_psql($database, "CREATE TABLE test.everything AS $all");
	return [ groups($database, 'test.everything', 'place', 'fp', 10) ];
}

sub first_by_table_stays
{
	my ($database, $groups) = @_;
	cmp_ok(scalar @$groups, '<', 400, 'there were near-duplicates');
	rows_are($database, everything(''), [ map { $_->[0] } @$groups ],
		'the first of each group stays, by table');
}

sub largest_pictures
{
	my ($database) = @_;
	my %pixels = map { $_->[0] => $_->[1] } rows($database, 'SELECT id, pixels FROM image');
	my @groups = groups($database, 'image', 'id', 'phash', 4);
	return [ map { (sort { $pixels{$b} <=> $pixels{$a} || $a <=> $b } @$_)[0] } @groups ];
}

sub largest_picture_stays
{
	my ($database, $kept) = @_;
	rows_are($database, 'SELECT id FROM image', [ @$kept, 9003 ],
		'the largest picture of each group stays');
}

# For each recipe: what is done first, what comes between its tables and the rest (before), what is
# to be expected, found by force before it runs, and what must hold after it.
my %recipes = (
	'Delete all but the first of each group' => { after => \&first_of_each_stays },
	'Keep the longest' => { after => \&longest_stays },
	'Move to a side table' => { after => \&others_are_aside },
	'Keep a cluster id' => { after => \&groups_live },
	'Add a cluster id once' => { after => \&each_row_has_its_group },
	'A materialised view of groups, refreshed nightly' => { after => \&view_has_the_groups },
	'Dedupe against another table' => {
		before => <<'SQL',
INSERT INTO incoming SELECT b, test.body(b, 7) FROM generate_series(200, 300) b;
INSERT INTO incoming VALUES (0, '');
SQL
		expect => \&nearest_of_incoming,
		after => \&new_ones_stay,
	},
	'Deduplicate training data across ten tables' => {
		first => join('', map { <<"SQL" } @corpora),
CREATE TABLE corpus$_ (id bigint PRIMARY KEY, body text);
INSERT INTO corpus$_
  SELECT b, test.body(b, $_) FROM generate_series($_ * 20 + 1, $_ * 20 + 60) b;
SQL
		expect => \&groups_of_corpora,
		after => \&first_by_table_stays,
	},
	'Image hashes that are a bigint column already' => {
		before => <<"SQL",
INSERT INTO image
  SELECT i, test.number('$salt image ' || i / 4) # test.flips(i::text, i % 4), i * 7919 % 1000
  FROM generate_series(1, 1200) i;
INSERT INTO image VALUES
  (9001, 1234567890123456789, 1), (9002, 1234567890123456789 # 15, 2), (9003, NULL, 3);
SQL
		expect => \&largest_pictures,
		after => \&largest_picture_stays,
	},
);

# The page's first block makes the tables, then come the recipes. In one of two blocks the first
# makes its tables.
my $page = slurp_file("$FindBin::Bin/../../docs/recipes.md");
my ($introduction, %sections) = split /^## (.*)\n/m, $page;
prepare((blocks($introduction))[0]);
@groups = groups('prepared', 'doc', 'id', 'fp', 3);
%length = map { $_->[0] => $_->[1] } rows('prepared', 'SELECT id, length(body) FROM doc');
cmp_ok(scalar(grep { @$_ > 1 } @groups), '>', 100, 'there are groups');
is(join('; ', sort keys %sections), join('; ', sort keys %recipes), 'every recipe has a check');
for my $title (sort keys %sections)
{
	my $recipe = $recipes{$title} or next;
	my $database = substr $title =~ s/\W+/_/gr, 0, 40;
	$node->safe_psql('postgres', "CREATE DATABASE \"$database\" TEMPLATE prepared");
	my @blocks = blocks($sections{$title});
	$node->safe_psql($database, $recipe->{first}) if $recipe->{first};
	runs($node, $database, shift @blocks, "$title, tables") if @blocks > 1;
	$node->safe_psql($database, $recipe->{before}) if $recipe->{before};
	my $expected = $recipe->{expect} ? $recipe->{expect}->($database) : undef;
	runs($node, $database, $_, $title) for @blocks;
	$recipe->{after}->($database, $expected);
}

$node->stop;
done_testing();
