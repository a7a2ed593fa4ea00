# Tables, indexes, constraints, triggers and models made under version 0.1.0 survive ALTER EXTENSION
# pg_simhash UPDATE. Afterwards the catalogue is that of a fresh installation.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Everything;
use SimhashTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init(extra => [ '--encoding=UTF8', '--locale=C' ]);
$node->start;
# $to is the version that CREATE EXTENSION installs, $from the one before it.
my $to = $node->safe_psql('postgres',
	q{SELECT default_version FROM pg_available_extensions WHERE name = 'pg_simhash'});
my $from = $node->safe_psql('postgres', qq{SELECT source
	FROM pg_extension_update_paths('pg_simhash')
	WHERE target = '$to' AND path = source || '--' || target});

sub version
{
	return $node->safe_psql(shift,
		q{SELECT extversion FROM pg_extension WHERE extname = 'pg_simhash'});
}

# The output of test.catalogue after a change, which is rolled back. Names of TOAST tables contain
# OIDs, and some minor versions give each relation a distinguishing number.
sub catalogue
{
	my ($database, $change) = (@_, '');
	my $lines = $node->safe_psql($database, "BEGIN; $change; SELECT test.catalogue(); ROLLBACK");
	$lines =~ s/(pg_toast_|pg_attver=)\d+/$1/g;
	return split /\n/, $lines;
}

# The lines that only one of two lists contains, marked as in a diff.
sub difference
{
	my ($old, $new) = @_;
	my (%old, %new);
	$old{$_}++ for @$old;
	$new{$_}++ for @$new;
	my @gone = grep { ($old{$_} // 0) > ($new{$_} // 0) } keys %old;
	my @added = grep { ($new{$_} // 0) > ($old{$_} // 0) } keys %new;
	return join "\n", sort((map { "- $_" } @gone), (map { "+ $_" } @added));
}

sub learns
{
	my ($database) = @_;
	$node->safe_psql($database, 'CREATE SCHEMA IF NOT EXISTS test;'
		. slurp_file("$FindBin::Bin/catalogue.sql"));
}

# Ways to install: as a superuser, and as the ordinary owner of a database, with the extension in
# its own schema.
$node->safe_psql('postgres', 'CREATE ROLE someone LOGIN');
# The changes that are not additions: a cast that became implicit, the support function of one
# function, the comment of another, and the result columns of three.
my @altered = ('cast (pg_catalog.jsonb AS %s.simhash_config), pg_cast',
	'function %s.hamming(bit,bit), pg_proc',
	'function %s.simhash_blocks(pg_catalog.text), pg_description',
	map { my $name = $_; map { "function %s.simhash_$name(pg_catalog.regclass,integer), $_" }
		  'in SQL', 'pg_description', 'pg_proc' } 'clusters', 'pairs');
push @altered, map { "function %s.simhash_index_info(pg_catalog.regclass), $_" }
  'in SQL', 'pg_proc';
push @altered, map { "function %s.simhash_suggest(pg_catalog.regclass), $_" }
  'in SQL', 'pg_description', 'pg_proc';
@altered = sort @altered;
my %ways = (
	superuser => {
		owner => $node->safe_psql('postgres', 'SELECT current_user'),
		schema => 'public' },
	owner => { owner => 'someone', schema => 'elsewhere' });
for my $way (sort keys %ways)
{
	my ($owner, $schema) = @{ $ways{$way} }{qw(owner schema)};
	my @as = (extra_params => [ '-U', $owner ]);
	my ($old, $fresh) = ("old_$way", "fresh_$way");
	for my $database ($old, $fresh)
	{
		$node->safe_psql('postgres', "CREATE DATABASE $database OWNER $owner");
		my $version = $database eq $old ? "VERSION '$from'" : '';
		$node->safe_psql($database, <<"SQL", @as);
CREATE SCHEMA IF NOT EXISTS $schema;
CREATE EXTENSION pg_simhash SCHEMA $schema $version
SQL
		learns($database);
	}
	is(version($old), $from, "$way: $from can be installed");
	is(version($fresh), $to, "$way: $to is what is installed");
	my @before = catalogue($old);
	cmp_ok(scalar @before, '>', 1000, "$way: there is something to compare");
	$node->safe_psql($old, 'ALTER EXTENSION pg_simhash UPDATE', @as);
	is(version($old), $to, "$way: ALTER EXTENSION leads to $to");
	my @updated = catalogue($old);
	isnt(difference(\@before, \@updated), '', "$way: which changes the catalogue");
	my @gone = grep { /^- (?!extension pg_simhash,)/ } split /\n/, difference(\@before, \@updated);
	# Counts the comments that changed only by a mark at their beginning.
	my %updated = map { ("- $_" => 1) } @updated;
	my $marked = sub { $updated{ $_[0] =~ s/"description": "(?!internal: )/$&internal: /r } };
	is(scalar(grep { $marked->($_) } @gone), 159, "$way: comments of what is not for a person");
	@gone = grep { !$marked->($_) } @gone;
	is(join("\n", map { /^- (.*?): / } @gone), join("\n", map { sprintf $_, $schema } @altered),
		"$way: by additions only, but for what is listed");
	is(difference(\@updated, [ catalogue($fresh) ]),
		'', "$way: to that of a fresh installation");
}

# The comparison detects every kind of difference that a script could make.
my @fresh = catalogue('fresh_superuser');
my %changes = (
	'a cost' => 'ALTER FUNCTION hamming(bigint, bigint) COST 77',
	'volatility' => 'ALTER FUNCTION simhash_kind_64(internal) STABLE',
	'leakproof' => 'ALTER FUNCTION fingerprint64_eq(fingerprint64, fingerprint64) NOT LEAKPROOF',
	'a right' => 'REVOKE EXECUTE ON FUNCTION simhash_pairs(regclass, integer) FROM PUBLIC',
	'a default' => q{CREATE OR REPLACE FUNCTION minhash(body text, permutations integer DEFAULT 64,
		config simhash_config DEFAULT '{}') RETURNS minhash_signature AS '$libdir/pg_simhash',
		'minhash_wrapper' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 3000},
	'a symbol' => q{CREATE OR REPLACE FUNCTION simhash_scope_text(internal) RETURNS integer AS
		'$libdir/pg_simhash', 'simhash_scope_bytea_wrapper' LANGUAGE C IMMUTABLE PARALLEL SAFE},
	'an option' => 'ALTER VIEW simhash_progress SET (security_barrier)',
	'an estimator' => 'ALTER OPERATOR ~= (bigint, bigint) SET (RESTRICT = NONE)',
	'a comment' => q{COMMENT ON OPERATOR ~= (bigint, bigint) IS 'near'},
	'a member of an operator family' =>
		'ALTER OPERATOR FAMILY integer_ops USING simhash DROP OPERATOR 1 (smallint, bigint)',
	'a class' => 'ALTER EXTENSION pg_simhash DROP OPERATOR CLASS varchar_ops USING simhash',
	'a cast' => 'ALTER EXTENSION pg_simhash DROP CAST (fingerprint64 AS bigint)',
	'a column' => 'ALTER TABLE simhash_model ALTER config DROP NOT NULL',
	'a check' =>
		'ALTER TABLE simhash_word_list DROP CONSTRAINT simhash_word_list_kind_check',
	'a storage' => 'ALTER TABLE simhash_model ALTER model SET STORAGE EXTENDED',
	'a view' => 'CREATE OR REPLACE VIEW simhash_progress AS SELECT p.pid, p.datid, d.datname,
		p.relid, p.index_relid, p.command, p.phase, p.tables_total, p.tables_done, p.rows_total,
		p.rows_read, p.compared, p.pairs FROM simhash_get_progress() p
		JOIN pg_catalog.pg_database d ON d.oid = p.datid',
	'a trigger' => 'ALTER TABLE simhash_model DISABLE TRIGGER unchangeable');
is(difference(\@fresh, [ catalogue('fresh_superuser') ]),
	'', 'the comparison sees no difference where there is none');
for my $what (sort keys %changes)
{
	my @changed = catalogue('fresh_superuser', $changes{$what});
	isnt(difference(\@fresh, \@changed), '', "the comparison sees $what");
}

# All kinds of objects that a database can have under 0.1.0.
$node->safe_psql('postgres', "CREATE EXTENSION pg_simhash VERSION '$from'");
make_everything($node);
my %expected = %{ answers($node, 'sequential') };
is_deeply(answers($node, 'index'), \%expected,
	"under $from the indexes answer as sequential scans do");
constraints_hold($node, $from);

my $indexes = q{SELECT string_agg(relname || ' ' || relfilenode, ',' ORDER BY relname) FROM pg_class
	WHERE relkind = 'i' AND relam = (SELECT oid FROM pg_am WHERE amname = 'simhash')};
my $files = $node->safe_psql('postgres', $indexes);
# A session that used the extension before the update goes on afterwards.
my $session = <<'SQL';
PREPARE near AS SELECT count(*) FROM rows
  WHERE hamming(fp, (SELECT fp FROM rows WHERE id = 7)) <= 20;
EXECUTE near;
ALTER EXTENSION pg_simhash UPDATE;
EXECUTE near;
SQL
my ($first, $second) = split /\n/, $node->safe_psql('postgres', $session);
cmp_ok($first, '>', 0, 'a prepared statement has an answer');
is($second, $first, 'and the same one after the update in the same session');
is(version('postgres'), $to, 'updated with data');
is($node->safe_psql('postgres', $indexes), $files, 'no index is written anew');
for my $kind ('sequential', 'index', 'bitmap')
{
	is_deeply(answers($node, $kind), \%expected, "after the update: answers by $kind scans");
}
constraints_hold($node, 'after the update');
every_index_is_sound($node, 'after the update');
learns('postgres');
my @mine = grep { !/simhash_clusters|simhash_model/ } catalogue('postgres');
is(difference(\@mine, [ grep { !/simhash_clusters|simhash_model/ } @fresh ]),
	'', 'the catalogue is that of a fresh installation, but for rights that were changed');

# The updated database can be dumped and restored, and DROP EXTENSION leaves nothing behind.
my $dump = PostgreSQL::Test::Utils::tempdir . '/dump';
$node->command_ok([ 'pg_dump', '--format=custom', '-f', $dump, 'postgres' ], 'dumps');
$node->safe_psql('postgres', 'CREATE DATABASE restored');
$node->command_ok([ 'pg_restore', '--exit-on-error', '-d', 'restored', $dump ], 'restores');
is(version('restored'), $to, "into $to");
is($node->safe_psql('restored', $questions{'data'}), $expected{'data'}, 'with its data');
$node->safe_psql('postgres', 'DROP EXTENSION pg_simhash CASCADE');
is($node->safe_psql('postgres', <<'SQL'), '0', 'dropped without a trace');
SELECT (SELECT count(*) FROM pg_opclass WHERE oid >= 16384)
  + (SELECT count(*) FROM pg_opfamily WHERE oid >= 16384)
  + (SELECT count(*) FROM pg_amop WHERE oid >= 16384)
  + (SELECT count(*) FROM pg_proc WHERE probin = '$libdir/pg_simhash')
SQL

$node->stop;
done_testing();
