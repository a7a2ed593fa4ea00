# The extension in other schemas, installed by other roles, dropped and created again.
use strict;
use warnings;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init(extra => [ '--encoding=UTF8', '--locale=C' ]);
$node->start;

my $fingerprint = q{simhash('the cat sat on the mat')};
$node->safe_psql('postgres', 'CREATE EXTENSION pg_simhash');
my $expected = $node->safe_psql('postgres', "SELECT $fingerprint");
like($expected, qr/^[0-9a-f]{16}$/, 'created in public');
my $members = <<'SQL';
SELECT count(*) FROM pg_depend WHERE refclassid = 'pg_extension'::regclass AND deptype = 'e'
  AND refobjid = (SELECT oid FROM pg_extension WHERE extname = 'pg_simhash')
SQL
my $number = $node->safe_psql('postgres', $members);

$node->safe_psql('postgres', 'DROP EXTENSION pg_simhash');
is($node->safe_psql('postgres', <<'SQL'),
SELECT count(*) FROM pg_type WHERE typname ~ '^_?(fingerprint|hamming_ball|simhash)'
SQL
	'0', 'dropped without a trace');

$node->safe_psql('postgres',
	'CREATE SCHEMA elsewhere; CREATE EXTENSION pg_simhash SCHEMA elsewhere');
is($node->safe_psql('postgres', "SELECT elsewhere.$fingerprint"),
	$expected, 'created in another schema, outside the search path');
is($node->safe_psql('postgres', $members), $number, 'with all its members');
# Casts, operators and default configurations must not depend on the search path.
is($node->safe_psql('postgres', <<"SQL"),
SELECT (elsewhere.$fingerprint)::bigint OPERATOR(elsewhere.<~>) (elsewhere.$fingerprint)::bigint
SQL
	'0', 'its operators serve by their full name');
is($node->safe_psql('postgres', <<'SQL'),
CREATE TABLE t (body text,
  fp elsewhere.fingerprint64 GENERATED ALWAYS AS (elsewhere.simhash(body)) STORED);
CREATE INDEX ON t (fp);
INSERT INTO t VALUES ('the cat sat on the mat');
SELECT fp FROM t
SQL
	$expected, 'a generated column and an index on it');

my $relocatable = $node->safe_psql('postgres',
	q{SELECT extrelocatable FROM pg_extension WHERE extname = 'pg_simhash'});
SKIP:
{
	skip 'not relocatable', 1 unless $relocatable eq 't';
	is($node->safe_psql('postgres', <<"SQL"),
CREATE SCHEMA third;
ALTER EXTENSION pg_simhash SET SCHEMA third;
SELECT third.$fingerprint
SQL
		$expected, 'moved to a third schema');
}

# The extension is trusted: a role that may create objects in the database may install it.
$node->safe_psql('postgres', 'CREATE ROLE someone LOGIN; CREATE DATABASE theirs OWNER someone');
is($node->safe_psql('theirs', "CREATE EXTENSION pg_simhash; SELECT $fingerprint",
	extra_params => [ '-U', 'someone' ]),
	$expected, 'an ordinary owner of a database installs it');

$node->stop;
done_testing();
