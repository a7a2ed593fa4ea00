# A database with another encoding than UTF8 gives the same fingerprints as a UTF8 database. The
# text that functions return agrees too, except that characters missing from the encoding are
# written as in E'...' strings.
use strict;
use warnings;
use utf8;
use Encode qw(decode_utf8);
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init(extra => [ '--encoding=UTF8', '--locale=C' ]);
$node->start;

# A text of ordinary words for each server encoding that has Chinese or Japanese characters, and for
# some that have none.
my %text = (
	LATIN1 => 'Café déjà vu: the cat sat on the mat, ¼ or 5 µm',
	WIN1252 => 'Šárka’s œuvre™ costs ƒ 5 … 12 µg',
	KOI8R => 'Ёлка и кошка, √2 ≈ 1,4 ²',
	EUC_CN => '我爱北京天安门 the cat sat ①㈠Ⅻ，三月四日',
	EUC_JP => '東京と大阪の圖書館 the cat sat 電話番號は１２３４、カード「簡體漢字」',
	EUC_JIS_2004 => '東京と大阪の圖書館 the cat sat 電話番號は１２３４、①',
	EUC_KR => '서울 圖書館 電話番號 漢學 ㈜ ① the cat sat',
	EUC_TW => '臺灣大學圖書館，電話號碼一二三四 the cat sat 簡體漢語',
	SQL_ASCII => 'the cat sat on the mat');
my @fingerprints = ('simhash(t)', 'simhash128(t)', 'minhash128(t)', 'minhash(t, 8)',
	'ksentence(t)', q{simhash(t, '{"tokenizer": "char", "shingle": 2}')},
	q{near_duplicate(t, t || ' more', 0.5)}, 'array_length(simhash_tokens(t), 1)');
my @shown = ('simhash_normalize(t)',
	q{simhash_normalize(t, '{"normalize": ["nfkc", "simplified"]}')},
	q{array_to_string(simhash_tokens(t), '|')},
	q{array_to_string(simhash_tokens(t, '{"tokenizer": "char"}'), '|')},
	q{array_to_string(shingles(t, 2), '|')},
	q{array_to_string(simhash_numbers(t || ' 4.3.2024 5,50'), '|')},
	q{(SELECT string_agg(concat(feature, '=', hash), '|') FROM simhash_features(t))},
	q{(SELECT string_agg(feature, '|') FROM simhash128_features(t))},
	q{(SELECT string_agg(feature, '|') FROM simhash256_features(t))},
	q{(SELECT string_agg(concat(feature, side, share), '|') FROM simhash_explain(t, t || ' x'))});

$ENV{PGCLIENTENCODING} = 'UTF8';
$node->safe_psql('postgres', "CREATE DATABASE utf8 TEMPLATE template0 ENCODING 'UTF8' LOCALE 'C'");
$node->safe_psql('utf8', 'CREATE EXTENSION pg_simhash');
# Whether an encoding lacks a character, by PostgreSQL's conversions. The round trip is needed
# because PostgreSQL converts some characters to bytes that are invalid in EUC_TW.
$node->safe_psql('utf8', <<'SQL');
CREATE FUNCTION lacks(encoding text, c text) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
  PERFORM convert_from(convert_to(c, encoding), encoding);
  RETURN false;
EXCEPTION WHEN untranslatable_character OR character_not_in_repertoire THEN
  RETURN true;
END $$
SQL

# A query of a text, in ASCII for psql.
sub query_of
{
	my ($answer, $text) = @_;
	$text =~ s/([^ -~])/sprintf '\\+%06X', ord $1/ge;
	return "SELECT $answer FROM (SELECT U&'" . $text =~ s/'/''/gr . "'::text) x (t)";
}
my %escaped;
for my $encoding (sort keys %text)
{
	$node->safe_psql('postgres', <<"SQL");
CREATE DATABASE x_\L$encoding\E TEMPLATE template0 ENCODING '$encoding' LOCALE 'C'
SQL
	my $database = "x_\L$encoding";
	$node->safe_psql($database, 'CREATE EXTENSION pg_simhash');
	for my $answer (@fingerprints)
	{
		my $query = query_of($answer, $text{$encoding});
		is($node->safe_psql($database, $query), $node->safe_psql('utf8', $query),
			"$encoding: $answer is what UTF8 gives");
	}
	for my $answer (@shown)
	{
		my $query = query_of($answer, $text{$encoding});
		my $expected = decode_utf8($node->safe_psql('utf8', $query));
		my %chars = map { $_ => 1 } grep { !/[ -~]/ } split //, $expected;
		my @lacking = grep { $encoding ne 'SQL_ASCII'
			  && $node->safe_psql('utf8', query_of("lacks('$encoding', t)", $_)) eq 't' }
		  sort keys %chars;
		$expected =~ s/\Q$_\E/sprintf '\\u%04x', ord/ge for @lacking;
		is(decode_utf8($node->safe_psql($database, $query)), $expected, "$encoding: $answer");
		$escaped{$encoding} += @lacking;
	}
}
cmp_ok($escaped{$_}, '>', 0, "$_ lacks something of its text")
  for qw(LATIN1 WIN1252 EUC_JP EUC_JIS_2004 EUC_KR EUC_TW);

# Expected results written by hand: the signs of micrometres and of a fraction, and simplified
# characters that Japanese does not use.
for my $case (
	[ 'LATIN1', '5 µm', '{}', '5 \\u03bcm' ],
	[ 'LATIN1', '¼', '{"normalize": ["nfkc"]}', '1\\u20444' ],
	[ 'EUC_JP', '圖書館', '{}', '\\u56fe\\u4e66\\u9986' ],
	[ 'EUC_JP', '電話は大學へ', '{}', '\\u7535\\u8bddは大学へ' ],
	[ 'EUC_JP', '図書館 the cat', '{"normalize": []}', '図書館 the cat' ])
{
	my ($encoding, $text, $config, $expected) = @$case;
	my $query = query_of("simhash_normalize(t, '$config')", $text);
	my $shown = decode_utf8($node->safe_psql("x_\L$encoding", $query));
	is($shown, $expected, "$encoding: what is lacking is escaped");
	is($node->safe_psql('utf8', "SELECT unistr('" . Encode::encode_utf8($shown) . "')"),
		$node->safe_psql('utf8', $query), "$encoding: unistr reads it");
}
# Long texts are converted in pieces, each of which may begin or end with missing characters.
for my $before (0 .. 3)
{
	my $text = "'" . 'x' x $before . "' || repeat(U&'\\5716', 70000) || 'y'";
	is($node->safe_psql('x_euc_jp', "SELECT md5(simhash_normalize($text))"),
		$node->safe_psql('utf8',
			"SELECT md5(replace(simhash_normalize($text), U&'\\56FE', '\\u56fe'))"),
		'a long text of what is lacking');
	$text =~ s/5716/732B/;
	is($node->safe_psql('x_euc_jp', "SELECT md5(convert_to(simhash_normalize($text), 'UTF8'))"),
		$node->safe_psql('utf8', "SELECT md5(convert_to(simhash_normalize($text), 'UTF8'))"),
		'a long text of what is there');
}
delete $ENV{PGCLIENTENCODING};

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

# SQL_ASCII guarantees nothing about its bytes. Invalid text must neither reach the core nor end the
# backend.
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
