# Tables, indexes, constraints, triggers and models made under version 0.1.0, and what becomes of
# them by ALTER EXTENSION pg_simhash UPDATE. The catalogue is then that of a fresh installation.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use SimhashTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my ($from, $to) = ('0.1.0', '0.2.0');
my $node = PostgreSQL::Test::Cluster->new('main');
$node->init(extra => [ '--encoding=UTF8', '--locale=C' ]);
$node->start;

sub version
{
	return $node->safe_psql(shift,
		q{SELECT extversion FROM pg_extension WHERE extname = 'pg_simhash'});
}

# What test.catalogue says of a database after a change that is undone. Toast tables are called
# after OIDs, and some minor versions give relations a number by which they are told apart.
sub catalogue
{
	my ($database, $change) = (@_, '');
	my $lines = $node->safe_psql($database, "BEGIN; $change; SELECT test.catalogue(); ROLLBACK");
	$lines =~ s/(pg_toast_|pg_attver=)\d+/$1/g;
	return split /\n/, $lines;
}

# The lines that only one of two lists has, marked as in a diff.
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

# Ways to install: as a superuser, and as the ordinary owner of a database, who is no superuser and
# keeps the extension in a schema of its own.
$node->safe_psql('postgres', 'CREATE ROLE someone LOGIN');
# What is not only added to: the support function of one function, the comment of another, and the
# columns of the results of two.
my @altered = ('function %s.hamming(bit,bit), pg_proc',
	'function %s.simhash_blocks(pg_catalog.text), pg_description',
	map { my $name = $_; map { "function %s.simhash_$name(pg_catalog.regclass,integer), $_" }
		  'in SQL', 'pg_description', 'pg_proc' } 'clusters', 'pairs');
my %ways = (
	superuser => { owner => 'postgres', schema => 'public' },
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
	is(join("\n", map { /^- (.*?): / } @gone), join("\n", map { sprintf $_, $schema } @altered),
		"$way: by additions only, but for what is listed");
	is(difference(\@updated, [ catalogue($fresh) ]),
		'', "$way: to that of a fresh installation");
}

# The comparison sees whatever a script could do differently, and nothing else.
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

# Everything that a database can have of 0.1.0.
$node->safe_psql('postgres', "CREATE EXTENSION pg_simhash VERSION '$from'");
$node->safe_psql('postgres', slurp_file("$FindBin::Bin/$_")) for 'compare.sql', 'arguments.sql';
$node->safe_psql('postgres', <<'SQL');
DROP TABLE invalid;
CREATE TABLE excluded (id serial PRIMARY KEY, fp fingerprint64, wide fingerprint128, number bigint,
  radius integer DEFAULT 5,
  CONSTRAINT by_fp EXCLUDE USING simhash (fp WITH ~=),
  CONSTRAINT by_wide EXCLUDE USING simhash (wide WITH ~=),
  CONSTRAINT by_number EXCLUDE USING simhash (number hamming_int8_ops WITH ~=),
  CONSTRAINT by_ball EXCLUDE USING simhash (hamming_ball(fp, radius) WITH ~=),
  CONSTRAINT by_wide_ball EXCLUDE USING simhash (hamming_ball(wide, radius) WITH ~=)
    DEFERRABLE INITIALLY DEFERRED);
INSERT INTO excluded (fp, wide, number) SELECT test.number(i::text)::fingerprint64,
  test.wide(test.number(i::text), i), test.number('n' || i) FROM generate_series(1, 100) i;
CREATE TABLE guarded (id serial PRIMARY KEY, body text,
  fp fingerprint64 GENERATED ALWAYS AS (simhash(body)) STORED,
  weighted fingerprint64,
  signature minhash_signature GENERATED ALWAYS AS (minhash(body, 16)) STORED);
CREATE INDEX guarded_fp ON guarded USING simhash (fp);
CREATE INDEX guarded_weighted ON guarded USING simhash (weighted)
  WITH (blocks = 5, fillfactor = 70);
CREATE INDEX guarded_hash ON guarded USING hash (fp);
CREATE TRIGGER dedup BEFORE INSERT OR UPDATE ON guarded FOR EACH ROW
  EXECUTE FUNCTION simhash_dedup('body=body', 'fp=fp', 'distance=3', 'action=skip');
INSERT INTO guarded (body, weighted)
  SELECT body, simhash(body, '{"weight": "idf", "model": "m"}') FROM texts;
CREATE VIEW near AS SELECT a.id AS a, b.id AS b, a.fp <~> b.fp AS apart FROM rows a
  JOIN rows b ON a.id < b.id AND hamming(a.fp, b.fp) <= 6;
CREATE FUNCTION nearest(fingerprint64) RETURNS SETOF integer LANGUAGE sql STABLE AS
  'SELECT id FROM rows ORDER BY fp <~> $1, id LIMIT 5';
CREATE ROLE reader;
GRANT INSERT ON simhash_model TO reader;
REVOKE EXECUTE ON FUNCTION simhash_clusters(regclass, integer) FROM PUBLIC;
VACUUM ANALYZE;
SQL

# Questions with one answer each, whatever the version and whatever the KIND of scan.
my %fingerprints = (
	fp => q{(SELECT fp FROM rows WHERE id = 7)},
	wide => q{(SELECT wide FROM rows WHERE id = 7)},
	number => q{(SELECT number FROM rows WHERE id = 7)});
my %questions = (
	(map {
		("$_ within a distance" => rows_of("rows_$_", "hamming($_, $fingerprints{$_}) <= 20"),
			"$_ near" => rows_of("rows_$_", "$_ ~= $fingerprints{$_}"))
	} sort keys %fingerprints),
	'equal' => rows_of('rows_number', "number = $fingerprints{number}"),
	'NULL' => rows_of('rows_wide', 'wide IS NULL'),
	'balls' => rows_of('rows_ball', 'ball ~= (SELECT ball FROM rows WHERE id = 9)'),
	'wide balls' =>
		rows_of('rows_wide_ball', 'wide_ball ~= (SELECT wide_ball FROM rows WHERE id = 9)'),
	'arrays' => rows_of('rows_many', 'hamming(many, (SELECT many FROM rows WHERE id = 9)) <= 5'),
	'an expression' =>
		rows_of('rows_expression', q{hamming(simhash(body), simhash('the body 77')) <= 9}),
	'GIN' => q{SELECT count(*) FROM rows WHERE signature && minhash('text 8 of words', 16)},
	'partitions' => q{SELECT string_agg(id || ' ' || fp, ',' ORDER BY id, fp) FROM parts
		WHERE hamming(fp, test.number('17')::fingerprint64) <= 22},
	'nearest' => q{SELECT string_agg(nearest::text, ',' ORDER BY nearest) FROM rows r, nearest(r.fp)
		WHERE r.id % 50 = 1},
	'a view' => 'SELECT count(*) || md5(string_agg(n::text, E\'\n\' ORDER BY n::text)) FROM near n',
	'pairs' => q{SELECT count(*) || ' ' || sum(distance) FROM simhash_pairs('rows_fp', 8)},
	'clusters' => q{SELECT count(*) || ' ' || sum(size) FROM simhash_clusters('rows_number', 8)},
	'data' => q{SELECT md5(string_agg(r::text, E'\n' ORDER BY r::text)) FROM (
		SELECT r::text FROM rows r UNION ALL SELECT e::text FROM excluded e
		UNION ALL SELECT g::text FROM guarded g UNION ALL SELECT p::text FROM pairs p) r},
	'a model' => q{SELECT esimhash('the quick brown fox', 'm') || ' ' || count(*)
		FROM simhash_model_term('m', 'fox')},
	'stored models' => 'SELECT md5(string_agg(m::text, \'\')) FROM simhash_model m',
	'the trigger' => q{SELECT count(*) FROM guarded},
	'definitions' => q{SELECT string_agg(pg_get_indexdef(indexrelid), E'\n' ORDER BY 1)
		|| (SELECT string_agg(pg_get_constraintdef(oid), E'\n' ORDER BY 1) FROM pg_constraint
			WHERE conrelid = 'excluded'::regclass)
		FROM pg_index WHERE indrelid IN ('rows'::regclass, 'guarded'::regclass)},
	'rights' => q{SELECT concat(relacl) || (SELECT concat(proacl) FROM pg_proc
		WHERE oid = 'simhash_clusters(regclass, integer)'::regprocedure)
		FROM pg_class WHERE relname = 'simhash_model'});

# The rows of a condition, by an index or one by one.
sub rows_of
{
	my ($index, $condition) = @_;
	return <<"QUESTION";
SELECT test.by('KIND', '$index', \$q\$
  SELECT count(*) || ' ' || coalesce(md5(string_agg(id::text, ',' ORDER BY id)), '') FROM rows
  WHERE $condition\$q\$)
QUESTION
}

sub answers
{
	my ($kind) = @_;
	return { map { $_ => $node->safe_psql('postgres', $questions{$_} =~ s/KIND/$kind/r) }
			keys %questions };
}

# Statements that are refused or skipped, each alone and undone.
sub constraints_hold
{
	my ($when) = @_;
	my %column = (by_fp => 'fp', by_wide => 'wide', by_number => 'number', by_ball => 'fp',
		by_wide_ball => 'wide');
	for my $constraint (sort keys %column)
	{
		my $others = join ' ', map { "ALTER TABLE excluded DROP CONSTRAINT $_;" }
			grep { $_ ne $constraint } keys %column;
		error_like($node, <<"SQL", qr/ERROR:  23P01.*"$constraint"/, "$when: $constraint refuses");
BEGIN; $others
INSERT INTO excluded ($column{$constraint}) SELECT $column{$constraint} FROM excluded WHERE id = 50;
COMMIT;
SQL
	}
	answer_is($node, <<'SQL', '', "$when: the trigger skips a near-duplicate");
BEGIN; INSERT INTO guarded (body) SELECT body FROM guarded WHERE id = 1 RETURNING id; ROLLBACK
SQL
	answer_is($node, <<'SQL', 't', "$when: and takes another text");
BEGIN;
INSERT INTO guarded (body) VALUES ('nothing here resembles any of those texts in words or length')
  RETURNING id > 0;
ROLLBACK
SQL
}

my %expected = %{ answers('sequential') };
is_deeply(answers('index'), \%expected, "under $from the indexes answer as sequential scans do");
constraints_hold($from);

my $indexes = q{SELECT string_agg(relname || ' ' || relfilenode, ',' ORDER BY relname) FROM pg_class
	WHERE relkind = 'i' AND relam = (SELECT oid FROM pg_am WHERE amname = 'simhash')};
my $files = $node->safe_psql('postgres', $indexes);
# A session that has used the extension before goes on after.
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
	is_deeply(answers($kind), \%expected, "after the update: answers by $kind scans");
}
constraints_hold('after the update');
is($node->safe_psql('postgres', <<'SQL'), '', 'every index is sound and holds every row');
SELECT string_agg(simhash_index_check(c.oid::regclass)::text, '') FROM pg_class c
  WHERE relkind = 'i' AND relam = (SELECT oid FROM pg_am WHERE amname = 'simhash')
SQL
learns('postgres');
my @mine = grep { !/simhash_clusters|simhash_model/ } catalogue('postgres');
is(difference(\@mine, [ grep { !/simhash_clusters|simhash_model/ } @fresh ]),
	'', 'the catalogue is that of a fresh installation, but for rights that were changed');

# What 0.2.0 makes goes on from there: a dump restores, and nothing is left behind.
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
