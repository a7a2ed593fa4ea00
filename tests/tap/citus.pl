# Runs the statements of docs/citus.md as they stand: a table over three servers. Shards use their
# indexes, and answers and pairs are those of brute force over a local copy.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use SimhashTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

plan skip_all => 'Citus is not there: scripts/run citus CITUS=DIR' if !$ENV{SIMHASH_CITUS};

my $rows = soak() ? 100_000 : 12_000;
seed();
my $salt = roll(1_000_000);
my %nodes = map { $_ => new_cluster($_) } 'coordinator', 'worker1', 'worker2';
my $coordinator = $nodes{coordinator};

sub new_cluster
{
	my ($name) = @_;
	my $node = PostgreSQL::Test::Cluster->new($name);
	$node->init(extra => [ '--encoding=UTF8', '--locale=C' ]);
	$node->append_conf('postgresql.conf', <<'CONF');
listen_addresses = '127.0.0.1'
shared_preload_libraries = 'citus, pg_simhash'
citus.node_conninfo = 'sslmode=prefer'
citus.shard_count = 4
max_prepared_transactions = 50
max_connections = 60
wal_level = logical
CONF
	$node->start;
	return $node;
}

# The page's statements for one kind of node, block by block.
sub blocks
{
	my ($where) = @_;
	my $page = slurp_file("$FindBin::Bin/../../docs/citus.md");
	return $page =~ /^```sql\n-- on $where\n(.*?)^```\n/msg;
}

sub run_block
{
	my ($node, $sql) = @_;
	$sql =~ s/'(coordinator|worker\d)', 5432/"'127.0.0.1', " . $nodes{$1}->port/ge;
	my ($status, $output, $error) = $node->psql('postgres', $sql, on_error_stop => 1);
	is($status, 0, $node->name . ': ' . substr($sql, 0, 60) =~ s/\n.*//sr) or diag $error;
	return;
}

run_block($_, blocks('every Citus node')) for map { $nodes{$_} } sort keys %nodes;
my ($setup, $parts, $whole, $blocks, $model) = blocks('the Citus coordinator');
run_block($coordinator, $setup);

# Groups of three whose members are up to four bits apart.
$coordinator->safe_psql('postgres', <<"SQL");
INSERT INTO doc SELECT i, 'text ' || i,
  (('x' || substr(md5((i / 3 + $salt)::text), 1, 16))::bit(64)::bigint
    # ((1::bigint << (i % 61)) | (1::bigint << (i % 7))))::fingerprint64
  FROM generate_series(1, $rows) i;
CREATE TABLE copy AS TABLE doc;
ANALYZE doc;
SQL
for my $distance (0, 3, 10)
{
	my $query = <<"SQL";
SELECT count(*) || ' ' || coalesce(md5(string_agg(id::text, ',' ORDER BY id)), '') FROM %s
  WHERE hamming(fp, (SELECT fp FROM copy WHERE id = 77)) <= $distance
SQL
	is($coordinator->safe_psql('postgres', sprintf $query, 'doc'),
		$coordinator->safe_psql('postgres', by_force() . sprintf $query, 'copy'),
		"rows within $distance bits");
}
my $fp = $coordinator->safe_psql('postgres', 'SELECT fp FROM copy WHERE id = 99');
my $nearest = "SELECT string_agg(d::text, ',') FROM (SELECT fp <~> '$fp' AS d FROM %s
	ORDER BY fp <~> '$fp' LIMIT 10) n";
is($coordinator->safe_psql('postgres', sprintf $nearest, 'doc'),
	$coordinator->safe_psql('postgres', by_force() . sprintf $nearest, 'copy'), 'the nearest');
for my $query ("SELECT id FROM doc WHERE hamming(fp, '$fp') <= 3",
	"SELECT id FROM doc ORDER BY fp <~> '$fp' LIMIT 10")
{
	my $plan = $coordinator->safe_psql('postgres', <<"SQL");
SET citus.explain_all_tasks = on;
EXPLAIN (COSTS OFF) $query
SQL
	my $shards = () = $plan =~ /Task$/mg;
	my $scans = () = $plan =~ /Index Scan (?:using|on) doc_fp_\d+/g;
	ok($shards > 1 && $scans == $shards, "every shard uses its index: $query") or diag $plan;
}

my $by_force = $coordinator->safe_psql('postgres', by_force() . <<'SQL') unless soak();
SELECT count(*) || ' ' || md5(string_agg(x.id || ' ' || y.id, ',' ORDER BY x.id, y.id))
  FROM copy x JOIN copy y ON x.id < y.id AND hamming(x.fp, y.fp) <= 3
SQL
run_block($coordinator, $blocks);
is($coordinator->safe_psql('postgres', <<'SQL'), $by_force, 'the pairs are those of brute force')
SELECT count(*) || ' ' || md5(string_agg(a || ' ' || b, ',' ORDER BY a, b)) FROM pair
SQL
	unless soak();
unlike($by_force // '1 ', qr/^0 /, 'there are pairs');

run_block($coordinator, $model);
$coordinator->safe_psql('postgres',
	q{UPDATE doc SET fp = simhash(body, '{"weight": "idf", "model": "news"}')});
is($coordinator->safe_psql('postgres', <<'SQL'), 't', 'the model gives the same on every node');
SELECT count(*) = sum((d.fp = simhash(c.body, '{"weight": "idf", "model": "news"}'))::integer)
  FROM copy c JOIN doc d USING (id)
SQL
# Whole tables: real texts, changed copies of some, and exact copies. A table on one server has the
# same rows.
my $texts = "$FindBin::Bin/../../evaluate/corpora";
my $count = soak() ? 30_000 : 4_000;
$coordinator->safe_psql('postgres', <<"SQL");
TRUNCATE doc, copy;
CREATE TABLE line (line text);
COPY line FROM PROGRAM 'xz -dc "$texts/en_descriptions.jsonl.xz"'
  WITH (FORMAT csv, QUOTE E'\\x01', DELIMITER E'\\x02');
CREATE TABLE real (id bigserial, body text);
INSERT INTO real (body) SELECT line::json ->> 'text' FROM (SELECT line FROM line LIMIT $count) l;
INSERT INTO real (body)
  SELECT regexp_replace(body, '(\\w+) (\\w+)', '\\2 $salt') FROM real WHERE id % 3 = 0;
INSERT INTO real (body) SELECT body FROM real WHERE id % 7 = 0;
INSERT INTO copy SELECT id, body, simhash(body) FROM real;
INSERT INTO doc TABLE copy;
CREATE INDEX copy_body ON copy USING simhash (body);
CREATE INDEX copy_passages ON copy USING simhash (body text_passage_ops);
CREATE INDEX copy_fp ON copy USING simhash (fp);
CREATE INDEX doc_passages ON doc USING simhash (body text_passage_ops);
SQL
my ($named, $of_pairs, @rest) = ($parts, split /^(?=DELETE)/m, $whole);
run_block($coordinator, $named);
is($coordinator->safe_psql('postgres', 'SELECT count(*) FROM doc_parts'),
	$coordinator->safe_psql('postgres', 'SELECT count(*) FROM doc'), 'all shards are parts');
is($coordinator->safe_psql('postgres', <<'SQL'), 't', 'and the bounds are those of the shards');
SET enable_partition_pruning = on;
SELECT bool_and((SELECT count(*) FROM doc_parts p
  WHERE hashint8(p.id) = hashint8(c.id) AND p.id = c.id) = 1) FROM copy c WHERE id % 100 = 0
SQL
run_block($coordinator, $of_pairs);

# A function finds the same among the parts and in the copy, compared by ids. Passages are compared
# by texts, because the first of several equal ones stands for the others.
sub same
{
	my ($function, $arguments, $index, @columns) = @_;
	my $query = sub {
		my ($table, $relation) = @_;
		my ($a, $b) = $function eq 'duplicates' ? qw(duplicate kept) : qw(a b);
		my $columns = join ', ', map { "$columns[$_] AS c$_" } 0 .. $#columns;
		return <<"SQL";
SELECT $columns FROM simhash_$function('$relation', $arguments) s
  JOIN $table a ON a.ctid = s.$a AND a.tableoid = s.${a}_table
  JOIN $table b ON b.ctid = s.$b AND b.tableoid = s.${b}_table
SQL
	};
	my ($over, $here) = ($query->('doc_parts', 'doc_parts'), $query->('copy', $index));
	is($coordinator->safe_psql('postgres', <<"SQL"), 't|0|0', "$function $arguments: as of one table");
SET enable_nestloop = off; SET client_min_messages = warning;
CREATE TEMP TABLE over AS $over;
CREATE TEMP TABLE here AS $here;
SELECT (SELECT count(*) FROM here) > 100,
  (SELECT count(*) FROM (TABLE over EXCEPT ALL TABLE here) x),
  (SELECT count(*) FROM (TABLE here EXCEPT ALL TABLE over) x);
SQL
	return;
}
my @ids = ('least(a.id, b.id)', 'greatest(a.id, b.id)');
same('pairs', "similarity => $_", 'copy_body', @ids, 's.similarity') for 0.5, 0.7, 0.9;
same('pairs', "distance => $_", 'copy_fp', @ids, 's.distance') for 3, 12, 20;
my @kept = ('a.id', 'b.id');
same('duplicates', "similarity => $_, keep => 'id'", 'copy_body', @kept, 's.similarity')
	for 0.5, 0.7, 0.9;
same('duplicates', "distance => $_, keep => 'id'", 'copy_fp', @kept, 's.distance') for 3, 12, 20;
same('passages', 'most => NULL', 'copy_passages', 'least(md5(a.body), md5(b.body))',
	'greatest(md5(a.body), md5(b.body))', 'least(share_a, share_b)', 'greatest(share_a, share_b)');
run_block($coordinator, $_) for @rest;
$coordinator->safe_psql('postgres', <<'SQL');
DELETE FROM copy d USING simhash_duplicates('copy_body', similarity => 0.7, keep => 'id') s
WHERE d.ctid = s.duplicate
SQL
is($coordinator->safe_psql('postgres', 'SELECT id FROM doc ORDER BY id'),
	$coordinator->safe_psql('postgres', 'SELECT id FROM copy ORDER BY id'),
	'Citus sees what is left');

my ($status, undef, $error) =
	$coordinator->psql('postgres', q{SELECT count(*) FROM simhash_pairs('doc_fp', 3)});
like($error, qr/WARNING|ERROR/, 'simhash_pairs does not say nothing');
done_testing();
