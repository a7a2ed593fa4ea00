# The extension can be dropped and created again, in another schema, and moved.
use strict;
use warnings;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
$node->start;

$node->safe_psql('postgres', 'CREATE EXTENSION pg_simhash');
$node->safe_psql('postgres', 'DROP EXTENSION pg_simhash');
$node->safe_psql('postgres', 'CREATE SCHEMA elsewhere; CREATE EXTENSION pg_simhash SCHEMA elsewhere');
is($node->safe_psql('postgres', q{SELECT nspname FROM pg_extension JOIN pg_namespace n ON n.oid = extnamespace WHERE extname = 'pg_simhash'}),
	'elsewhere', 'created in the schema that was named');

$node->stop;
done_testing();
