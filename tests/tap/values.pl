# An index whose keys were made by other rules, another dictionary or other tables than the library
# has would find too few rows: using it is an error, and REINDEX repairs it.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use SimhashTest;
use TextsTest;
use PostgreSQL::Test::Utils;
use Test::More;

my @checksums = `postgres --version` =~ /PostgreSQL\) (?:1[89]|[2-9]\d)/
	? ('--no-data-checksums')
	: ();
my $node = new_text_node('main', 'autovacuum = off', options => \@checksums);
$node->safe_psql('postgres', <<'SQL');
CREATE TABLE near (id integer, body text);
INSERT INTO near SELECT i, test.text(i / 8, 12, i, i % 4) FROM generate_series(1, 700) i;
CREATE INDEX near_body ON near USING simhash (body);
CREATE TABLE apart (id integer, body text,
  CONSTRAINT apart_body EXCLUDE USING simhash (near_text(body, 0.8) WITH ~=));
INSERT INTO apart VALUES (1, 'one two three four five six seven');
CREATE TABLE quoted (id integer, body text);
INSERT INTO quoted SELECT * FROM near;
CREATE INDEX quoted_body ON quoted USING simhash (body text_passage_ops) WITH (words = 8);
CREATE TABLE second (id integer, body text);
INSERT INTO second SELECT * FROM near;
CREATE INDEX second_body ON second USING simhash (body);
CREATE INDEX second_quoted ON second USING simhash (body text_passage_ops) WITH (words = 8);
VACUUM ANALYZE near, apart, quoted, second;
SQL

my $near = q{SELECT count(*) FROM near a JOIN near b ON near_duplicate(a.body, b.body, 0.6)
  WHERE a.id < b.id};
my $passages = q{SELECT count(*) FROM quoted
  WHERE shares_passage(body, (SELECT body FROM quoted WHERE id = 400), 12)};
my @before = map { $node->safe_psql('postgres', $_) } $near, $passages;
cmp_ok($before[0], '>', 100, 'there are near rows');

my @indexes = qw(near_body apart_body quoted_body second_body second_quoted);
my $values = $node->safe_psql('postgres', 'SELECT simhash_values()');
like($values, qr/^1-[0-9a-f]{16}$/, 'what values are made by');
my %files = map { $_ => $node->data_dir
		. '/' . $node->safe_psql('postgres', "SELECT pg_relation_filepath('$_')") } @indexes;
$node->stop;
for my $index (@indexes)
{
	my $bytes = slurp_file($files{$index});
	is($bytes =~ s/\Q$values\E/1-0123456789abcdef/, 1, "$index says what its keys were made by");
	open my $file, '>:raw', $files{$index} or die $!;
	print $file $bytes;
	close $file;
}
$node->start;

my %uses = (
	near_body => [
		$near,
		"INSERT INTO near VALUES (0, 'one two three')",
		q{SELECT * FROM simhash_pairs('near_body', similarity => 0.7)},
		q{SELECT * FROM simhash_duplicates('near_body', similarity => 0.7)},
	],
	apart_body => ["INSERT INTO apart VALUES (2, 'one two three four five six eight')"],
	quoted_body => [
		$passages,
		"INSERT INTO quoted VALUES (0, 'one two three four five six seven eight nine ten')",
		q{SELECT * FROM simhash_passages('quoted_body')},
	]);
for my $index (sort keys %uses)
{
	for my $use ($uses{$index}->@*)
	{
		error_like($node, "SET enable_seqscan = off;\n$use",
			qr/55000: +keys of index "$index" were made by "1-0123456789abcdef".*REINDEX/s,
			"$index: $use");
	}
}

# Statements that need no keys work, and so does the repair.
$node->safe_psql('postgres', $_)
	for 'DELETE FROM near WHERE id > 650', 'VACUUM near',
	q{SELECT * FROM simhash_index_info('near_body')};
$node->safe_psql('postgres', "REINDEX INDEX $_") for keys %uses;
# Each of several indexes is checked, not only the first.
my %both = (
	second_body => q{simhash_pairs('near_body', similarity => 0.7, other => 'second_body')},
	second_quoted => q{simhash_passages('quoted_body', other => 'second_quoted')});
for my $index (sort keys %both)
{
	error_like($node, "SELECT count(*) FROM $both{$index}",
		qr/55000: +keys of index "$index" were made by/, $both{$index});
	$node->safe_psql('postgres', "REINDEX INDEX $index");
	cmp_ok($node->safe_psql('postgres', "SELECT count(*) FROM $both{$index}"), '>', 100,
		"$both{$index} after REINDEX");
}
$node->safe_psql('postgres',
	'INSERT INTO near SELECT i, test.text(i / 8, 12, i, i % 4) FROM generate_series(651, 700) i');
my @after = map { $node->safe_psql('postgres', "SET enable_seqscan = off; $_") } $near, $passages;
is_deeply(\@after, \@before, 'after REINDEX the rows are found again');
done_testing;
