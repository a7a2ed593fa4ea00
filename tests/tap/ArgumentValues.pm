# The values that arguments.pl passes to functions: for each type a list of SQL expressions, an
# ordinary one first.
package ArgumentValues;
use strict;
use warnings;
use SimhashTest;
use Exporter 'import';

our @EXPORT = qw(%values %plain %plain_of value);

# The length of long values.
my $long = soak() ? 1_000_000 : 60_000;
my ($third, $half, $tenth, $many) =
  (int($long / 3), int($long / 2), int($long / 10), int($long / 50));
my @bytes = map {
	my $n = $_;
	"'\\x" . join('', map { sprintf '%02x', ($_ * 37 + $n) % 256 } 1 .. $n) . "'"
} 0 .. 17, 24, 31 .. 33, 64;
my @ids = map { "'$_'::regclass" }
  qw(rows_fp rows_wide rows_number rows_ball rows_wide_ball rows_many rows_btree rows_gin
  rows_expression rows_partial rows_empty rows rows_view parts parts_fp part1_fp_idx rows_id_seq
  rows_foreign invalid_fp rows_type pg_class pg_class_oid_index);
our %values = (
	boolean  => [qw(true false)],
	smallint => [qw(3 0 1 -1 64 32767 -32768)],
	integer  => [
		qw(3 0 1 -1 2 5 16 63 64 65 127 128 129 255 256 257 1000 1001 65535 65536 100000000
		  2147483647 -2147483648)
	],
	bigint => [
		qw(3 0 1 -1 64 65 128 10000 2147483648 -2147483649 4294967296 9223372036854775807
		  -9223372036854775808)
	],
	real => [qw(0.5 0 -0 1 -1 0.999999 1e-45 3.4e38 -3.4e38 'NaN' 'Infinity' '-Infinity')],
	'double precision' => [qw(0.5 0 1 -1 1e-300 1.7e308 'NaN' 'Infinity' '-Infinity')],
	numeric            => [
		qw(3 0 -0.0 -1 1.5 1.000 0.1 18446744073709551615 18446744073709551616 1e38 1e77 1e78 1e131071
		  -1e131071 1e-16383 'NaN')
	],
	oid                => [qw(0 1 16 20 25 2249 4294967295)],
	text               => [
		"'The quick brown fox jumps over the lazy dog, and the dog jumps over the fox'",
		"''",
		"' '",
		"'a'",
		"'-'",
		"'我们在北京大学的图书馆里学习数据库系统'",
		"'0123456789abcdef'",
		"'0123456789abcdef0123456789abcdef'",
		"'" . '0123456789abcdef' x 4 . "'",
		"'0x0123456789abcdef'",
		"'\\x0123456789abcdef'",
		"'0x\\x'",
		"'<0123456789abcdef,3>'",
		"'<0123456789abcdef0123456789abcdef,3>'",
		"'m'",
		"'no model'",
		"'SELECT id, body FROM texts'",
		"'SELECT body FROM texts'",
		"'SELECT a, b, near FROM pairs'",
		"'SELECT NULL::bigint, NULL::text'",
		"'SELECT 1/0, body FROM texts'",
		"'DELETE FROM texts WHERE false RETURNING id, body'",
		"'SELECT 1; SELECT 2'",
		"'none'",
		"'bloom'",
		"'trie'",
		"'hash'",
		"'{}'",
		"'[1,2]'",
		"'rows_fp'",
		"repeat('x', $long)",
		"repeat('word ', $third)",
		"repeat('数据库', $tenth)",
		"repeat(U&'\\0301', $half)",
		"repeat('<b>&amp;', $tenth)",
		"repeat('[', $long)",
		"(SELECT string_agg(md5(i::text), ' ') FROM generate_series(1, $many) i)",
		"U&'\\0001\\FEFF\\200D\\+01F600\\+01F468\\200D\\+01F469'",
		"repeat(U&'\\+01F600\\FE0F', 1000)",
		"'NaN'",
		"'%s%n'",
		"E'\\n\\t\\r'",
		"repeat('\"', 10000)",
		"'<ffffffffffffffff,-1>'",
		"'<ffffffffffffffff,99999999999999999999>'",
		"'m=99999999999,k=1,count=1'",
		"'5:1,2,3,4,5'",
	],
	fingerprint64 => [
		"'0123456789abcdef'", "'0000000000000000'",
		"'ffffffffffffffff'", "'8000000000000000'",
		"(-1)::bigint::fingerprint64"
	],
	fingerprint128 => [
		"'0123456789abcdef0123456789abcdef'", "'" . '0' x 32 . "'",
		"'" . 'f' x 32 . "'",                 "gen_random_uuid()::fingerprint128"
	],
	fingerprint256 => [
		"'" . '0123456789abcdef' x 4 . "'", "'" . '0' x 64 . "'",
		"'" . 'f' x 64 . "'",               "sha256('x')::fingerprint256"
	],
	hamming_ball64 => [
		"'<0123456789abcdef,3>'",  "'<0000000000000000,0>'",
		"'<ffffffffffffffff,64>'", "hamming_ball(0::bigint, 33)"
	],
	hamming_ball128 => [
		"'<0123456789abcdef0123456789abcdef,10>'",
		"'<" . '0' x 32 . ",0>'",
		"'<" . 'f' x 32 . ",128>'"
	],
	hamming_ball256 => [
		"'<" . '0123456789abcdef' x 4 . ",31>'",
		"'<" . '0' x 64 . ",0>'",
		"'<" . 'f' x 64 . ",256>'"
	],
	hamming_ball_bit => [
		"'<" . '01' x 32 . ",3>'",
		"'<" . '1' x 64 . ",64>'",
		"'<,0>'",
		"'<" . '1' x 65 . ",3>'",
		"hamming_ball(repeat('01', $half)::varbit, 33)"
	],
	simhash_config => [
		"'{}'",
		q('{"shingle":1000,"normalize":[]}'),
		q('{"tokenizer":"jieba","weight":"level","hmm":false}'),
		q('{"model":"m","weight":"entropy","position":"paper"}'),
		q('{"model":"no model","weight":"idf"}'),
q('{"normalize":["html","nfkc","lower","simplified","punctuation","space"],)
		  . q("stopwords":"auto","cap":0.01}'),
		q('{"tokenizer":"char","weight":"log","position":"bucket"}'),
		q('{"shingle":3,"cap":3e38,"weight":"tf"}'),
	],
	near_text => [
		"near_text('The quick brown fox jumps over the lazy dog, and the dog jumps', 0.7)",
		"near_text('', 0.5)",
		"near_text('the quick brown fox', 1)",
		q(near_text('a b', 0.3, '{"shingle":1}')),
		"near_text(repeat('word ', $third), 0.5)",
		q(near_text('a b c', 0.9, '{"stopwords":"no list"}')),
	],
	text_passage => [
		"text_passage('The quick brown fox jumps over the lazy dog, and the dog jumps', 5)",
		"text_passage('')",
		"text_passage(repeat('word ', $third), 10000)",
		q(text_passage('a b c d e f', 5, '{"stopwords":"no list"}')),
	],
	# Functions that take this type, and casts to it, always end in an error.
	simhash_incomparable => [ "'x'", "''" ],
	'character varying'  => [ "'ffffffffffffffff'", "''", "repeat('x', $third)" ],
	jsonb                => [ "'{}'", q('{"shingle": 2}'), "'null'", "'[1, 2]'" ],
	simhash_fingerprint => [
		"'0123456789abcdef'", "'" . '0123456789abcdef' x 2 . "'", "'" . 'f' x 64 . "'"
	],
	minhash_signature => [
		"minhash('the quick brown fox jumps over the lazy dog')",
		"minhash('x', 1)",
		"minhash('the quick brown fox', 16)",
		"minhash(repeat('word ', 1000), 4096)",
		q(minhash('a b c d e', 128, '{"shingle":2}')),
	],
	bloom_filter => [
		"(SELECT bloom_agg(i::text) FROM generate_series(1, 100) i)",
		"(SELECT bloom_agg('x', 1, 0.5::real))",
		"(SELECT bloom_agg(i::text, 100000, 1e-6::real) FROM generate_series(1, 100) i)",
	],
	tsvector => [
		"to_tsvector('english', 'the quick brown fox jumps')",
		"''",
		"'a:1A,2B,16383C'",
		"strip('a b c')",
<<"SQL",
(SELECT string_agg(i::text || ':' || i % 16383 + 1, ' ')::tsvector FROM generate_series(1, $many) i)
SQL
	],
	bit => [
		"B'" . '01' x 32 . "'",
		"B''", "B'1'",
		"B'" . '1' x 63 . "'",
		"B'" . '01' x 64 . "'",
		"B'" . '01' x 128 . "'",
		"B'" . '1' x 65 . "'",
		"repeat('01', $half)::varbit::bit($long)"
	],
	bytea => [
		@bytes,
		"fingerprint64_send('0123456789abcdef')",
		"hamming_ball64_send('<0123456789abcdef,3>')",
		"minhash_signature_send(minhash('a b c', 3))",
		"bloom_filter_send((SELECT bloom_agg('x', 10)))",
		"(SELECT model FROM simhash_model WHERE name = 'm')",
		"(SELECT substr(model, 1, length(model) / 2) FROM simhash_model WHERE name = 'm')",
		"(SELECT set_byte(model, length(model) / 3, 255) FROM simhash_model WHERE name = 'm')",
		"(SELECT set_byte(model, 4, 255) FROM simhash_model WHERE name = 'm')",
		"decode(repeat('ff', $long), 'hex')",
		"decode(repeat('00', $tenth), 'hex')",
	],
	uuid => ["'0123456789abcdef0123456789abcdef'", "'" . 'f' x 32 . "'"],
	json => [
		"'{}'",                    "'[]'",
		"'null'",                  "'1e999'",
		q('{"shingle":[]}'),       q('{"shingle":1e400}'),
		q('{"normalize":"x"}'),    q('{"a":{"a":{"a":{}}}}'),
		"repeat('[', 4000)::json", q(('{"model":"' || repeat('m', 100000) || '"}')::json)
	],
	regclass => [@ids,      '0', '4294967295', '1'],
	tid      => ["'(0,1)'", "'(4294967295,65535)'"],
	name     => ["'x'",     "''"],
	'bigint[]' => [
		"'{1,2,3}'", "'{}'", "'{NULL}'", "'{1,NULL,0}'", "'{{1,2},{3,4}}'", "'[5:7]={1,-1,1}'",
		"'{1000000001,9223372036854775807,-9223372036854775808}'"
	],
	'text[]' => [
		"'{the,quick,brown,fox}'",
		"'{}'",
		"'{NULL}'",
		"'{a,NULL,b}'",
		"'{{a,b},{c,d}}'",
		"'{\"\"}'",
		"'[0:1]={a,b}'",
		"'[2147483646:2147483646]={a}'",
		"array_fill('x'::text, '{$tenth}')",
		"ARRAY[repeat('x', $long)]",
		"(SELECT array_agg(md5(i::text)) FROM generate_series(1, $many) i)",
	],
	'real[]' => [
		"'{1,2,3,4}'",          "'{}'",
		"'{NULL}'",             "'{1,NULL,2,3}'",
		"'{{1,2},{3,4}}'",      "'{NaN,1,1,1}'",
		"'{Infinity,1,1,1}'",   "'{-1,1,1,1}'",
		"'{1e-45,3.4e38,1,0}'", "'{0,0,0,0}'",
		"'[-1:2]={1,2,3,4}'",   "array_fill(1::real, '{$tenth}')",
		"'{1}'",                "array_fill(3.4e38::real, '{$many}')",
	],
	'fingerprint64[]' => [
		"'{0123456789abcdef,fedcba9876543210}'",
		"'{}'",
		"'{NULL}'",
		"'{0123456789abcdef,NULL}'",
		"'{{0123456789abcdef},{fedcba9876543210}}'",
		"'[0:0]={ffffffffffffffff}'",
		"'[2147483646:2147483646]={ffffffffffffffff}'",
		"array_fill('0123456789abcdef'::fingerprint64, '{$many}')",
		"'{ffffffffffffffff}'",
	],
	'hamming_ball64[]' => [
		"'{\"<0123456789abcdef,3>\",\"<fedcba9876543210,3>\"}'",
		"'{}'",
		"'{NULL}'",
		"'{{\"<0123456789abcdef,3>\"},{\"<0123456789abcdef,64>\"}}'",
		"'[5:5]={\"<0123456789abcdef,3>\"}'",
		"hamming_ball(array_fill('0123456789abcdef'::fingerprint64, '{$many}'), 3)",
	],
);

# Ordinary values for arguments with these names, in place of the first value of their type.
our %plain = (
	query => "'SELECT id, body FROM texts'",
	pairs => "'SELECT a, b, near FROM pairs'",
	model => "'m'",
	exact => "'hash'",
	name  => "'new'",
	method => "'simhash'",
);
our %plain_of = (
	'hamming text'              => "'0123456789abcdef'",
	'hamming_ball text'         => "'0123456789abcdef'",
	'simhash_blocks text'       => "'0123456789abcdef'",
	'simhash_train query'       => "'SELECT body FROM texts'",
	'simhash_store_model model' => "(SELECT model FROM simhash_model WHERE name = 'm')",
	'bloom_agg expected'        => '100',
	'simhash_explain bits'      => '128',
	'simhash_dictionary words'  => "'{a b,数据库,5G}'",
	'simhash_dictionary frequencies' => "'{1,2,NULL}'",
);

# An input function may be given the text form of any type. For type internal the only values are
# NULL and the results of functions.
$values{cstring} = [map { "($_)::cstring" }
	  map { @{ $values{$_} } } grep { /^(?:text|json|simhash_config)$/ } sort keys %values];
$values{internal}              = ['NULL'];
$values{'minhash_signature[]'} = ["'{}'"];

sub value
{
	my ($type, $text) = @_;
	return $text if $type eq 'internal' || $type eq 'cstring';

	# Without quotes, bit is bit(1).
	$type = '"bit"' if $type eq 'bit';
	return $text eq 'NULL' ? "NULL::$type" : "($text)::$type";
}

1;
