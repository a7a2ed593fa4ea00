# Long calls can be stopped: statement_timeout and pg_cancel_backend end simhash on a very long text at once.
use strict;
use warnings;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time);

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init(extra => [ '--encoding=UTF8', '--locale=C' ]);
$node->append_conf('postgresql.conf', "shared_preload_libraries = 'pg_simhash'");
$node->start;
$node->safe_psql('postgres', 'CREATE EXTENSION pg_simhash');

# Text of 200 MB: made once, stored as it is, so that the clock sees little but the call.
$node->safe_psql('postgres', <<'SQL');
CREATE TABLE long (kind text, body text);
ALTER TABLE long ALTER body SET STORAGE EXTERNAL;
INSERT INTO long SELECT 'english words', repeat('the quick brown fox jumps over the lazy dog, number after number. ', 3076923);
INSERT INTO long SELECT 'chinese words', repeat('我们在北京大学的图书馆里学习数据库系统。', 3333333);
INSERT INTO long SELECT 'one word', repeat('a', 200000000);
INSERT INTO long SELECT 'markup', repeat('<p>one</p> &amp; ', 11764705);
SQL

my $bound = 3;    # seconds; the time-out is a quarter of one, the machine may be busy
for my $kind ('english words', 'chinese words', 'one word', 'markup')
{
	for my $call (
		'simhash(body)',
		q{simhash128(body, '{"shingle": 3, "weight": "tf"}')},
		q{simhash(body, '{"tokenizer": "char", "shingle": 4, "normalize": ["html", "nfkc", "lower", "simplified", "punctuation", "space"]}')},
		'simhash_normalize(body)',
		'cardinality(simhash_tokens(body))')
	{
		my $started = time;
		my ($status, $output, $error) =
		  $node->psql('postgres', "SET statement_timeout = '250ms'; SELECT $call IS NULL FROM long WHERE kind = '$kind'");
		my $elapsed = time - $started;
		# A call that is done within the time-out is as good as one that was stopped.
		ok( $status == 0 || $error =~ /canceling statement due to statement timeout/, "$kind: $call ends or is stopped")
		  or diag($error);
		cmp_ok($elapsed, '<', $bound, sprintf('%s: %s is over after %.2f s', $kind, $call, $elapsed));
	}
}
is($node->safe_psql('postgres', q{SELECT simhash('the cat sat on the mat') IS NOT NULL}), 't', 'the server goes on');

$node->stop;
done_testing();
