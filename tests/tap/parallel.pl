# simhash runs in parallel workers, with the answers of the serial plan.
use strict;
use warnings;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init(extra => [ '--encoding=UTF8', '--locale=C' ]);
$node->append_conf('postgresql.conf',
	"max_parallel_workers_per_gather = 2\nmax_worker_processes = 8");
$node->start;
$node->safe_psql('postgres', <<'SQL');
CREATE EXTENSION pg_simhash;
CREATE TABLE doc (id integer, body text);
INSERT INTO doc
  SELECT i, (SELECT string_agg(md5((i * j)::text), ' ') FROM generate_series(1, 20) j)
    || ' 第' || i || '号文件：数据库系统'
  FROM generate_series(1, 20000) i;
ANALYZE doc;
SQL

my %queries = (
	'simhash over a table' => 'SELECT sum(simhash(body)::bigint) FROM doc',
	'simhash128 with a configuration' => <<'SQL',
SELECT md5(string_agg(fp, '' ORDER BY fp))
  FROM (SELECT simhash128(body, '{"shingle": 2}')::text AS fp FROM doc OFFSET 0) x
SQL
	'a filter on a distance' => <<'SQL',
SELECT count(*), sum(id) FROM doc
  WHERE hamming(simhash(body), simhash('the cat sat on the mat')) <= 28
SQL
	'tokens' => 'SELECT sum(cardinality(simhash_tokens(body))) FROM doc',
	'min and max' => 'SELECT min(simhash(body)), max(simhash(body)) FROM doc');
for my $name (sort keys %queries)
{
	my $query = $queries{$name};
	# The planner chooses workers itself, because of the functions' costs.
	my $plan = $node->safe_psql('postgres', "EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF) $query");
	like($plan, qr/Workers Launched: [1-9]/, "$name: workers are launched") or diag($plan);
	my $parallel = $node->safe_psql('postgres', $query);
	my $serial = $node->safe_psql('postgres', "SET max_parallel_workers_per_gather = 0; $query");
	isnt($serial, '', "$name: there is an answer");
	is($parallel, $serial, "$name: as the serial plan");
}

$node->stop;
done_testing();
