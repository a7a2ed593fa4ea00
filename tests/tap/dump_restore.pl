# pg_dump and COPY carry fingerprints, generated fingerprint columns and indexes on them through unchanged.
use strict;
use warnings;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init(extra => [ '--encoding=UTF8', '--locale=C' ]);
$node->start;

$node->safe_psql('postgres', 'CREATE DATABASE source');
$node->safe_psql('source', <<'SQL');
CREATE EXTENSION pg_simhash;
CREATE TABLE doc (
  id integer PRIMARY KEY,
  body text,
  fp fingerprint64 GENERATED ALWAYS AS (simhash(body)) STORED,
  fp128 fingerprint128 GENERATED ALWAYS AS (simhash128(body, '{"shingle": 2}')) STORED
);
CREATE INDEX doc_fp ON doc (fp);
CREATE INDEX doc_fp128 ON doc USING hash (fp128);
INSERT INTO doc (id, body)
  SELECT i, 'the cat number ' || i || ' sat on the mat 你妈妈喊你回家吃饭哦' || chr(19968 + i) FROM generate_series(1, 200) i;
INSERT INTO doc VALUES (201, ''), (202, NULL);
CREATE TABLE plain (fp fingerprint64, fp128 fingerprint128, ball hamming_ball64, ball128 hamming_ball128, config simhash_config);
INSERT INTO plain SELECT fp, fp128, hamming_ball(fp, id % 65), hamming_ball(fp128, id % 129), '{"shingle": 3, "weight": "log"}' FROM doc;
INSERT INTO plain VALUES ('ffffffffffffffff', repeat('f', 32)::fingerprint128, '<8000000000000000,64>', NULL, '{}');
SQL

# One line for everything stored, in an order that does not depend on the storage.
my $contents = q{
  SELECT md5(string_agg(d::text, E'\n' ORDER BY id)) FROM doc d
  UNION ALL SELECT md5(string_agg(p::text, E'\n' ORDER BY p::text COLLATE "C")) FROM plain p};
my $before = $node->safe_psql('source', $contents);
like($before, qr/^[0-9a-f]{32}\n[0-9a-f]{32}$/, 'there is something to compare');
is($node->safe_psql('source', 'SELECT count(*) FROM doc WHERE fp IS NULL'), '2', 'no features, no fingerprint');
is($node->safe_psql('source', 'SELECT count(DISTINCT fp) > 100 FROM doc'), 't', 'different texts have different fingerprints');

my $dump = PostgreSQL::Test::Utils::tempdir . '/dump';
my %formats = (
	plain => sub { $node->command_ok([ 'psql', '-X', '-q', '-v', 'ON_ERROR_STOP=1', '-f', $dump, shift ], 'plain dump restores') },
	custom => sub { $node->command_ok([ 'pg_restore', '--exit-on-error', '-d', shift, $dump ], 'custom dump restores') });
for my $format (sort keys %formats)
{
	$node->command_ok([ 'pg_dump', "--format=$format", '-f', $dump, 'source' ], "dumps as $format");
	$node->safe_psql('postgres', "CREATE DATABASE $format");
	$formats{$format}->($format);
	is($node->safe_psql($format, $contents), $before, "the $format dump brings back every value");
	is($node->safe_psql($format, q{SELECT string_agg(indexname, ' ' ORDER BY indexname) FROM pg_indexes WHERE tablename = 'doc'}),
		'doc_fp doc_fp128 doc_pkey', "the $format dump brings back the indexes");
	is( $node->safe_psql($format,
			q{SET enable_seqscan = off; SELECT count(*) FROM doc a WHERE a.id = (SELECT min(b.id) FROM doc b WHERE b.fp = a.fp)}),
		$node->safe_psql('source', 'SELECT count(DISTINCT fp) FROM doc'),
		"the index of the $format dump finds every row");
}

for my $options ('FORMAT text', 'FORMAT csv', q{FORMAT csv, DELIMITER '|', NULL 'none', HEADER}, 'FORMAT binary')
{
	my $file = PostgreSQL::Test::Utils::tempdir . '/copy';
	$node->safe_psql('source', "COPY plain TO '$file' WITH ($options)");
	$node->safe_psql('source', "CREATE TABLE copied (LIKE plain); COPY copied FROM '$file' WITH ($options)");
	is( $node->safe_psql('source', q{SELECT md5(string_agg(p::text, E'\n' ORDER BY p::text COLLATE "C")) FROM copied p}),
		(split /\n/, $before)[1],
		"COPY ($options) round-trips");
	$node->safe_psql('source', 'DROP TABLE copied');
}

$node->stop;
done_testing();
