# The documentation's SQL, run as it stands: every recipe of docs/recipes.md on texts whose groups are found by force, with
# what it must leave; every example of docs/methods and
# of the README, compared with the output where the page shows one.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use SimhashTest;
use PostgreSQL::Test::Utils;
use Test::More;

my $docs = "$FindBin::Bin/../../docs";
my $node = new_node('main', '');
seed();
my $salt = roll(1_000_000);

# The SQL blocks of a text, each with the output block that follows it, if any.
sub blocks
{
	my ($text) = @_;
	my @blocks;
	push @blocks, { sql => $1, output => $2 } while $text =~ /^```sql\n(.*?)^```\n(?:```\n(.*?)^```\n)?/msg;
	return @blocks;
}

# A database of its own, as the template left it.
sub fresh
{
	my ($name) = @_;
	$node->safe_psql('postgres', "CREATE DATABASE \"$name\" TEMPLATE prepared");
	return $name;
}

# One test: a block runs, and gives the output that the page shows.
sub runs
{
	my ($database, $block, $name) = @_;
	my @format = defined $block->{output} ? (extra_params => [ '--no-tuples-only' ]) : ();
	my $sql = defined $block->{output} ? "\\pset format aligned\n\\pset tuples_only off\n\\pset footer off\n$block->{sql}" : $block->{sql};
	my ($status, $output, $error) = $node->psql($database, $sql, on_error_stop => 1);
	is($status, 0, "$name: runs") or diag $error;
	return unless defined $block->{output};
	my ($got, $shown) = map { s/^(?:Output format|Tuples only|Default footer).*\n//mgr =~ s/[ \t]+$//mgr =~ s/\(\d+ rows?\)\s*\z//r =~ s/\s+\z//r } $output, $block->{output};
	is($got, $shown, "$name: gives what the page shows");
}

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

# The connected components of a table's rows under a distance, found by comparing each with each: lists of keys, sorted.
sub groups
{
	my ($database, $table, $key, $column, $distance) = @_;
	my %group = map { $_->[0] => [ $_->[0] ] } rows($database, "SELECT $key FROM $table WHERE $column IS NOT NULL");
	my $far = "hamming(x.$column, y.$column) + 0 <= $distance";
	for (rows($database, "WITH t AS MATERIALIZED (SELECT $key AS k, $column FROM $table) SELECT x.k, y.k FROM t x, t y WHERE x.k < y.k AND $far"))
	{
		my ($a, $b) = map { $group{$_} } @$_;
		next if $a == $b;
		push @$a, @$b;
		$group{$_} = $a for @$b;
	}
	my %seen;
	return map { [ sort { $a <=> $b } @$_ ] } grep { !$seen{$_}++ } values %group;
}

# Texts of which two of three have variations: words changed, words added at the end; the order in the file is not that of
# the ids, and some rows were updated since.
sub prepare
{
	my ($setup) = @_;
	$node->safe_psql('postgres', 'CREATE DATABASE prepared');
	$node->safe_psql('prepared', 'CREATE EXTENSION pg_simhash;' . slurp_file("$FindBin::Bin/compare.sql"));
	$node->safe_psql('prepared', <<"SQL");
CREATE FUNCTION test.body(base bigint, variant bigint) RETURNS text LANGUAGE sql IMMUTABLE AS \$\$
  SELECT string_agg(CASE WHEN i <= variant % 3 THEN test.word('changed' || variant) ELSE test.word(base || ' $salt ' || i) END, ' ' ORDER BY i)
  FROM generate_series(1, 150 + variant % 4) i \$\$;
$setup->{sql}
INSERT INTO doc (id, body) SELECT row_number() OVER (ORDER BY md5('$salt ' || b || ' ' || v)), test.body(b, v)
  FROM generate_series(1, 250) b, generate_series(0, b % 3 * 2) v ORDER BY md5(v || ' ' || b);
UPDATE doc SET body = body || '!' WHERE id % 5 = 0;
DELETE FROM doc WHERE id % 41 = 0;
INSERT INTO doc (id, body) VALUES (100001, ''), (100002, '...');
ANALYZE doc;
SQL
}

# Keeps what the recipes' checks share.
my @groups;
my %length;

# For each recipe what must be there before it, and what must be there after it.
my %recipes = (
	'Delete all but the first of each group' => { after => sub {
		rows_are($_[0], 'SELECT id FROM doc WHERE fp IS NOT NULL', [ map { $_->[0] } @groups ], 'the first of each group stays');
	} },
	'Keep the longest' => { after => sub {
		my @longest = map { (sort { $length{$b} <=> $length{$a} || $a <=> $b } @$_)[0] } @groups;
		rows_are($_[0], 'SELECT id FROM doc WHERE fp IS NOT NULL', \@longest, 'the longest of each group stays');
	} },
	'Move to a side table' => { after => sub {
		rows_are($_[0], 'SELECT id FROM doc WHERE fp IS NOT NULL', [ map { $_->[0] } @groups ], 'the first of each group stays');
		rows_are($_[0], 'SELECT id, duplicate_of, length(body) FROM doc_duplicate',
			[ map { my ($first, @others) = @$_; map { "$_|$first|$length{$_}" } @others } @groups ], 'the others are in the side table');
	} },
	'Add a cluster id' => { after => sub {
		rows_are($_[0], 'SELECT id, cluster FROM doc', [ '100001|100001', '100002|100002', map { my $first = $_->[0]; map { "$_|$first" } @$_ } @groups ], 'each row has its group');
	} },
	'A materialised view of groups, refreshed nightly' => { after => sub {
		my ($database) = @_;
		my @large = grep { @$_ > 1 } @groups;
		rows_are($database, 'SELECT * FROM doc_group', [ map { "$_->[0]|" . @$_ . '|{' . join(',', @$_) . '}' } @large ], 'the groups are there');
		$node->safe_psql($database, "DELETE FROM doc WHERE id = $large[0][0]; REFRESH MATERIALIZED VIEW CONCURRENTLY doc_group");
		answer_is_in($database, "SELECT count(*) FROM doc_group WHERE first = $large[0][0]", '0', 'a refresh follows the table');
	} },
	'Dedupe against another table' => {
		before => "INSERT INTO incoming SELECT b, test.body(b, 7) FROM generate_series(200, 300) b; INSERT INTO incoming VALUES (0, '')",
		expect => sub {
			my %nearest;
			for (rows($_[0], 'SELECT i.id, min(hamming(i.fp, d.fp) + 0) FROM incoming i LEFT JOIN doc d ON true GROUP BY i.id')) { $nearest{ $_->[0] } = $_->[1]; }
			return \%nearest;
		},
		after => sub {
			my ($database, $nearest) = @_;
			my @near = grep { length $nearest->{$_} && $nearest->{$_} <= 3 } keys %$nearest;
			cmp_ok(scalar @near, '>', 20, 'there were near-duplicates');
			my %near = map { $_ => 1 } @near;
			rows_are($database, 'SELECT id FROM incoming', [ grep { !$near{$_} } keys %$nearest ], 'what is new stays');
			rows_are($database, 'SELECT id, distance FROM incoming_match', [ map { "$_|$nearest->{$_}" } @near ], 'the nearest rows are named');
		} },
	'Deduplicate training data across ten tables' => {
		first => join('', map { "CREATE TABLE corpus$_ (id bigint PRIMARY KEY, body text); INSERT INTO corpus$_ SELECT b, test.body(b, $_) FROM generate_series($_ * 20 + 1, $_ * 20 + 60) b;\n" } 0 .. 9),
		expect => sub {
			my ($database) = @_;
			$node->safe_psql($database, 'CREATE TABLE test.everything AS ' . join(' UNION ALL ', map { "SELECT $_ * 1000000 + id AS place, simhash128(body) AS fp FROM corpus$_" } 0 .. 9));
			return [ groups($database, 'test.everything', 'place', 'fp', 10) ];
		},
		after => sub {
			my ($database, $groups) = @_;
			cmp_ok(scalar @$groups, '<', 400, 'there were near-duplicates');
			rows_are($database, join(' UNION ALL ', map { "SELECT $_ * 1000000 + id FROM corpus$_" } 0 .. 9), [ map { $_->[0] } @$groups ], 'the first of each group stays, by table');
		} },
	'Image hashes that are a bigint column already' => {
		before => "INSERT INTO image SELECT i, test.number('$salt image ' || i / 4) # test.flips(i::text, i % 4), i * 7919 % 1000 FROM generate_series(1, 1200) i;
			INSERT INTO image VALUES (9001, 1234567890123456789, 1), (9002, 1234567890123456789 # 15, 2), (9003, NULL, 3)",
		expect => sub {
			my ($database) = @_;
			my %pixels = map { $_->[0] => $_->[1] } rows($database, 'SELECT id, pixels FROM image');
			return [ map { (sort { $pixels{$b} <=> $pixels{$a} || $a <=> $b } @$_)[0] } groups($database, 'image', 'id', 'phash', 4) ];
		},
		after => sub {
			my ($database, $kept) = @_;
			rows_are($database, 'SELECT id FROM image', [ @$kept, 9003 ], 'the largest picture of each group stays');
		} },);

sub answer_is_in
{
	my ($database, $query, $expected, $name) = @_;
	return is($node->safe_psql($database, $query), $expected, $name);
}

# Recipes: the page's first block makes the tables, then one section after the other. In a recipe of two blocks the first makes
# its tables.
my ($introduction, %sections) = split /^## (.*)\n/m, slurp_file("$docs/recipes.md");
prepare((blocks($introduction))[0]);
@groups = groups('prepared', 'doc', 'id', 'fp', 3);
%length = map { $_->[0] => $_->[1] } rows('prepared', 'SELECT id, length(body) FROM doc');
cmp_ok(scalar(grep { @$_ > 1 } @groups), '>', 100, 'there are groups');
is(join('; ', sort keys %sections), join('; ', sort keys %recipes), 'every recipe has a check');
for my $title (sort keys %sections)
{
	my $recipe = $recipes{$title} or next;
	my $database = fresh($title =~ s/\W+/_/gr =~ s/^(.{40}).*/$1/r);
	my @blocks = blocks($sections{$title});
	$node->safe_psql($database, $recipe->{first}) if $recipe->{first};
	runs($database, shift @blocks, "$title, tables") if @blocks > 1;
	$node->safe_psql($database, $recipe->{before}) if $recipe->{before};
	my $expected = $recipe->{expect} ? $recipe->{expect}->($database) : undef;
	runs($database, $_, $title) for @blocks;
	$recipe->{after}->($database, $expected);
}

# Methods: examples may use a table doc with texts in it.
for my $page (sort glob "$docs/methods/*.md")
{
	my @blocks = blocks(slurp_file($page));
	my $name = $page =~ s/.*\///r;
	ok(@blocks > 0, "$name has an example") unless $name eq 'README.md';
	my $database = fresh("page_$name");
	runs($database, $_, $name) for @blocks;
}

# The README, from its first block to its last in one database, with the tables that it takes for granted.
$node->safe_psql('postgres', 'CREATE DATABASE readme TEMPLATE template0');
my @readme = blocks(slurp_file("$docs/../README.md"));
cmp_ok(scalar @readme, '>', 12, 'the README has examples');
for my $i (0 .. $#readme)
{
	my $block = $readme[$i];
	# What is shown beside it is a plan.
	delete $block->{output} if $block->{sql} =~ /ORDER BY fp <~> \$1/;
	$block->{sql} =~ s/\$1/simhash('the quick brown fox')/g;
	runs('readme', $block, 'README, block ' . ($i + 1));
	next unless $block->{sql} =~ /^CREATE TABLE doc /m;
	$node->safe_psql('readme', <<'SQL');
ALTER TABLE doc ADD title text;
CREATE TABLE image (phash bigint, phash_a bigint, phash_b bigint);
CREATE TABLE labelled (a_fp fingerprint64, b_fp fingerprint64, duplicate boolean);
SQL
}
is($node->safe_psql('readme', 'SELECT body FROM note'), 'Remember the milk', 'README: a near-duplicate is kept out');

$node->stop;
done_testing();
