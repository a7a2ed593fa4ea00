# Texts of any length. A text repeated many times has the features of the text, so with uniform
# weights it has the same fingerprint. With `soak` in PG_TEST_EXTRA, texts are up to the longest
# that PostgreSQL can hold.
use strict;
use warnings;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $soak = ($ENV{PG_TEST_EXTRA} // '') =~ /\bsoak\b/;
my $node = PostgreSQL::Test::Cluster->new('main');
$node->init(extra => [ '--encoding=UTF8', '--locale=C' ]);
$node->append_conf('postgresql.conf', "shared_preload_libraries = 'pg_simhash'");
$node->start;
$node->safe_psql('postgres', 'CREATE EXTENSION pg_simhash');

my %once = (
	English => 'The quick brown fox jumps over the lazy dog. ',
	# A run of Han characters is segmented in stretches. The Latin word ends the run.
	Chinese => '我们在北京大学的图书馆里学习数据库系统。Linux ',
	mixed => 'PostgreSQL 是一个开源数据库, ok? 👍🏽 ');
for my $megabytes ($soak ? (20, 200, 1023) : 20)
{
	for my $name (sort keys %once)
	{
		for my $call ('simhash(%s, \'{"weight": "uniform"}\')',
			'simhash128(%s, \'{"weight": "uniform", "tokenizer": "char"}\')')
		{
			my $single = sprintf($call, "'$once{$name}'");
			my $repeated = sprintf($call, sprintf(q{repeat('%s', %d)},
				$once{$name}, $megabytes * 1048576 / length($once{$name}) - 8));
			is($node->safe_psql('postgres', "SELECT $single = $repeated"),
				't', "$name, $megabytes MB: " . sprintf($call, 'body'));
		}
	}
}

# A result too long for any value: NFKC turns these 3 bytes into 33.
if ($soak)
{
	my ($status, $output, $error) = $node->psql('postgres', <<'SQL');
\set VERBOSITY sqlstate
SELECT simhash_normalize(repeat(U&'\FDFA', 36000000), '{"normalize": ["nfkc"]}')
SQL
	like($error, qr/54000/, 'a result of more than 1 GB is an error that says so');
}

# A run without white space is cut after 4 MiB.
my $length = $soak ? 4_194_304 : 1_000_000;
is($node->safe_psql('postgres', <<"SQL"),
SELECT cardinality(t), length(t[1])
  FROM simhash_tokens(repeat('a', $length), '{"tokenizer": "word"}') t
SQL
	"1|$length", "a word of $length characters is one token");
is($node->safe_psql('postgres',
	"SELECT simhash(repeat('a', $length)) = simhash(repeat('a', $length + 1))"),
	'f', 'its last character counts');
is($node->safe_psql('postgres', <<"SQL"),
SELECT simhash(repeat('a', $length)) = simhash_from(ARRAY[repeat('a', $length)])
SQL
	't', 'it is the same feature as when it is given');
$length = 100_000_000 if $soak;
is($node->safe_psql('postgres', <<"SQL"),
SELECT cardinality(t), length(t[1]), length(t[24])
  FROM simhash_tokens(repeat('a', $length), '{"tokenizer": "word"}') t
SQL
	'24|4194304|3531008', 'a longer word is cut') if $soak;
is($node->safe_psql('postgres', "SELECT simhash(repeat(' .,', $length)) IS NULL"),
	't', 'a long text without features has no fingerprint');
is($node->safe_psql('postgres', "SELECT length(simhash_normalize(repeat('a ', $length)))"),
	2 * $length - 1, 'normalising keeps its words');

$node->stop;
done_testing();
