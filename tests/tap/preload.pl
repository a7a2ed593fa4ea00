# The Chinese dictionary: answers do not depend on whether the postmaster or a backend loads it. If
# it is preloaded, a new backend has it at once. A text without Han characters does not load it.
use strict;
use warnings;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init(extra => [ '--encoding=UTF8', '--locale=C' ]);
$node->start;
$node->safe_psql('postgres', 'CREATE EXTENSION pg_simhash');

# The least of several times, in milliseconds, that a new backend takes for an expression.
sub first_call
{
	my ($expression) = @_;
	my $least;
	for (1 .. 5)
	{
		# The library itself is loaded before the clock starts.
		my $output = $node->safe_psql('postgres', <<"SQL");
SELECT hamming(1::bigint, 2::bigint);
DO \$\$
DECLARE started timestamptz := clock_timestamp();
BEGIN
  PERFORM $expression;
  PERFORM set_config('my.milliseconds',
    (extract(epoch FROM clock_timestamp() - started) * 1000)::text, false);
END \$\$;
SELECT current_setting('my.milliseconds');
SQL
		my $milliseconds = (split /\n/, $output)[-1];
		$least = $milliseconds if !defined $least || $milliseconds < $least;
	}
	return $least;
}

my $chinese = q{simhash('我们在北京大学的图书馆里学习数据库系统')};
my $english = q{simhash('the cat sat on the mat')};
my $tokens = q{SELECT simhash_tokens('我们在北京大学的图书馆里学习数据库系统'),
  simhash128('南京市长江大桥欢迎您')};

my $answer = $node->safe_psql('postgres', $tokens);
like($answer, qr/,图书馆,/, 'the dictionary segments');
my $cold = first_call($chinese);
my $cold_english = first_call($english);
note "not preloaded: Chinese $cold ms, English $cold_english ms";
cmp_ok($cold_english, '<', $cold / 3, 'English text does not load the dictionary');

$node->append_conf('postgresql.conf', "shared_preload_libraries = 'pg_simhash'");
$node->restart;
is($node->safe_psql('postgres', $tokens),
	$answer, 'the same tokens and fingerprints when preloaded');
my $warm = first_call($chinese);
note "preloaded: Chinese $warm ms";
cmp_ok($warm, '<', $cold / 3, 'a preloaded dictionary is there in a fresh backend');
is($node->safe_psql('postgres', q{SHOW shared_preload_libraries}),
	'pg_simhash', 'it was preloaded');
SKIP:
{
	skip 'PostgreSQL 14 reserves no prefix', 1 if `postgres --version` =~ /\) 14/;
	my (undef, undef, $error) = $node->psql('postgres', "SET simhash.workmem = '1GB'");
	like($error, qr/invalid configuration parameter name "simhash.workmem"/,
		'a misspelt setting is refused');
}

$node->stop;
done_testing();
