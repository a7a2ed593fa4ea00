# For the same text a database in another encoding than UTF8 gives the fingerprint that a UTF8
# database gives, or an error that names the encoding.
use strict;
use warnings;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init(extra => [ '--encoding=UTF8', '--locale=C' ]);
$node->start;

my %text = (
	LATIN1 => q{U&'Caf\00E9 d\00E9j\00E0 vu: the cat sat on the mat'},
	EUC_CN => q{U&'\6211\7231\5317\4EAC\5929\5B89\95E8 the cat sat'},
	EUC_JP => q{U&'\6771\4EAC\3068\5927\962A the cat sat'},
	SQL_ASCII => q{'the cat sat on the mat'});
my @answers = ('simhash(t)', 'simhash128(t)',
	q{simhash(t, '{"tokenizer": "char", "shingle": 2}')}, 'array_length(simhash_tokens(t), 1)');

$node->safe_psql('postgres', "CREATE DATABASE utf8 TEMPLATE template0 ENCODING 'UTF8' LOCALE 'C'");
$node->safe_psql('utf8', 'CREATE EXTENSION pg_simhash');
for my $encoding (sort keys %text)
{
	$node->safe_psql('postgres', <<"SQL");
CREATE DATABASE x_\L$encoding\E TEMPLATE template0 ENCODING '$encoding' LOCALE 'C'
SQL
	my $database = "x_\L$encoding";
	$node->safe_psql($database, 'CREATE EXTENSION pg_simhash');
	for my $answer (@answers)
	{
		my $query = "SELECT $answer FROM (SELECT $text{$encoding}::text) x (t)";
		my ($status, $output, $error) = $node->psql($database, $query);
		if ($status == 0)
		{
			is($output, $node->safe_psql('utf8', $query), "$encoding: $answer is what UTF8 gives");
		}
		else
		{
			like($error, qr/encoding/i, "$encoding: $answer says that the encoding is in the way");
		}
	}
}

# Messages quote names and values in a form that every encoding can send: characters beyond ASCII as
# in E'...' strings.
for my $message (
	[ 'LATIN1', q{SELECT U&'caf\00E9'::fingerprint64}, qr/type fingerprint64: "caf\\u00e9"/ ],
	[ 'LATIN1', q{SELECT U&'{"\00E9": 1}'::simhash_config}, qr/unknown key "\\u00e9"/ ],
	[ 'EUC_CN', q{SELECT U&'\5B66'::fingerprint128}, qr/type fingerprint128: "\\u5b66"/ ],
	[ 'EUC_CN', q{SELECT hamming(U&'\5B66', 'x')}, qr/type fingerprint64: "\\u5b66"/ ],
	[ 'EUC_CN', q{SELECT U&'<\5B66,3>'::hamming_ball64}, qr/type hamming_ball64: "<\\u5b66,3>"/ ],
	[ 'EUC_CN', q{SELECT esimhash('a', U&'\5B66')}, qr/model "\\u5b66" does not exist/ ],
	[ 'EUC_CN', <<'SQL',
CREATE TABLE U&"\5B66" (i integer PRIMARY KEY);
SELECT simhash_index_info((
  SELECT indexrelid::regclass FROM pg_index WHERE indrelid = U&'\5B66'::regclass))
SQL
		qr/"\\u5b66_pkey" is not a simhash index/ ],
	[ 'SQL_ASCII', "SELECT 'caf\xc3\xa9'::fingerprint64", qr/type fingerprint64: "caf\xc3\xa9"/ ])
{
	my ($encoding, $query, $expected) = @$message;
	my ($status, $output, $error) = $node->psql("x_\L$encoding\E", $query);
	like($error, $expected, "$encoding: $query names what is wrong");
}

# SQL_ASCII promises nothing about its bytes. Bytes that are no text must not reach the core, nor
# end the backend.
my ($status, $output, $error) =
	$node->psql('x_sql_ascii', q{SELECT simhash(convert_from('\xe4bd00ff41'::bytea, 'SQL_ASCII'))});
isnt($status, 2, 'bytes that are no text do not end the backend');
($status, $output, $error) = $node->psql('x_sql_ascii', q{SELECT simhash(E'caf\xe9 \xff\xfe cat')});
isnt($status, 2, 'invalid UTF-8 in SQL_ASCII does not end the backend');
like($error, qr/encoding|invalid byte/i, 'invalid UTF-8 in SQL_ASCII is an error that says so')
	if $status != 0;
is($node->safe_psql('x_sql_ascii', 'SELECT 1'), '1', 'the server goes on');

$node->stop;
done_testing();
