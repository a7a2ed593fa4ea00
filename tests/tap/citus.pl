# The section on Citus of docs/scale-out.md as it stands: a table over three servers. Shards use
# their indexes, and answers and pairs are those of brute force over a local copy.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use SimhashTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

plan skip_all => 'Citus is not there: make citus CITUS=DIR' if !$ENV{SIMHASH_CITUS};

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

# The section's statements for one kind of node, block by block.
sub blocks
{
	my ($where) = @_;
	my $page = slurp_file("$FindBin::Bin/../../docs/scale-out.md");
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
my ($setup, $pairs, $blocks, $model) = blocks('the Citus coordinator');
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
for my $sql ($pairs, $blocks)
{
	run_block($coordinator, $sql);
	next if soak();
	is($coordinator->safe_psql('postgres', <<'SQL'), $by_force, 'the pairs are those of brute force');
SELECT count(*) || ' ' || md5(string_agg(a || ' ' || b, ',' ORDER BY a, b)) FROM pair
SQL
}
unlike($by_force // '1 ', qr/^0 /, 'there are pairs');

run_block($coordinator, $model);
$coordinator->safe_psql('postgres',
	q{UPDATE doc SET fp = simhash(body, '{"weight": "idf", "model": "news"}')});
is($coordinator->safe_psql('postgres', <<'SQL'), 't', 'the model gives the same on every node');
SELECT count(*) = sum((d.fp = simhash(c.body, '{"weight": "idf", "model": "news"}'))::integer)
  FROM copy c JOIN doc d USING (id)
SQL
my ($status, undef, $error) =
	$coordinator->psql('postgres', q{SELECT count(*) FROM simhash_pairs('doc_fp', 3)});
like($error, qr/WARNING|ERROR/, 'simhash_pairs does not say nothing');
done_testing();
