# Objects as a user may have them, and questions about them with one answer each, which an upgrade
# must not change.
package Everything;
use strict;
use warnings;
use FindBin;
use SimhashTest;
use PostgreSQL::Test::Utils;
use Exporter 'import';

our @EXPORT =
  qw(make_everything %questions rows_of answers constraints_hold every_index_is_sound);

# Makes the objects in a database that has the extension in version 0.1.0 or later.
sub make_everything
{
	my ($node) = @_;
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
	return;
}

# Questions whose answer depends neither on the version nor on the KIND of scan.
my %fingerprints = (
	fp => q{(SELECT fp FROM rows WHERE id = 7)},
	wide => q{(SELECT wide FROM rows WHERE id = 7)},
	number => q{(SELECT number FROM rows WHERE id = 7)});
our %questions = (
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
	'definitions' => q{SELECT string_agg(pg_get_indexdef(indexrelid), E'\n'
			ORDER BY pg_get_indexdef(indexrelid))
		|| (SELECT string_agg(pg_get_constraintdef(oid), E'\n'
				ORDER BY pg_get_constraintdef(oid)) FROM pg_constraint
			WHERE conrelid = 'excluded'::regclass AND contype <> 'n')  -- new in 18
		FROM pg_index WHERE indrelid IN ('rows'::regclass, 'guarded'::regclass)},
	'rights' => q{SELECT concat(relacl) || (SELECT concat(proacl) FROM pg_proc
		WHERE oid = 'simhash_clusters(regclass, integer)'::regprocedure)
		FROM pg_class WHERE relname = 'simhash_model'});

# The rows of a condition, found through an index or one by one.
sub rows_of
{
	my ($index, $condition, $table) = (@_, 'rows');
	return <<"QUESTION";
SELECT test.by('KIND', '$index', \$q\$
  SELECT count(*) || ' ' || coalesce(md5(string_agg(id::text, ',' ORDER BY id)), '') FROM $table
  WHERE $condition\$q\$)
QUESTION
}

sub answers
{
	my ($node, $kind) = @_;
	return { map { $_ => $node->safe_psql('postgres', $questions{$_} =~ s/KIND/$kind/r) }
			keys %questions };
}

# Statements that the constraints and triggers refuse or skip, each run alone and rolled back.
sub constraints_hold
{
	my ($node, $when) = @_;
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

sub every_index_is_sound
{
	my ($node, $when) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	return answer_is($node, <<'SQL', '', "$when: every index is sound and holds every row");
SELECT string_agg(simhash_index_check(c.oid::regclass)::text, '') FROM pg_class c
  WHERE relkind = 'i' AND relam = (SELECT oid FROM pg_am WHERE amname = 'simhash')
SQL
}

1;
