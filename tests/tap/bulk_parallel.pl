# simhash_pairs and simhash_clusters with parallel workers find what one process and brute force
# find, over data of every kind. Also when workers are launched, that they end with the call, and
# how a call fails whose worker ends.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use SimhashTest;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time);

my $node = new_node('main', <<'CONF');
shared_buffers = 64MB
autovacuum = off
max_worker_processes = 8
max_parallel_workers = 8
max_parallel_workers_per_gather = 2
CONF

# Workers take part from the first step on, whatever the size of the join.
my $forced = 'SET min_parallel_index_scan_size = 0; SET parallel_setup_cost = 0;';
my %modes = (
	'two workers' => $forced,
	'workers alone' => "$forced SET parallel_leader_participation = off;",
	'one process' => 'SET max_parallel_workers_per_gather = 0;');

sub value { my ($sql) = @_; return $node->safe_psql('postgres', $sql) }

# What a statement returns, and its messages, which include those about launched workers.
sub run_with
{
	my ($settings, $statement) = @_;
	my ($status, $output, $messages) = $node->psql('postgres',
		"\\set VERBOSITY verbose\n$settings SET client_min_messages = debug1; $statement");
	return ($output, $messages);
}

# For each launch, how many of the requested workers were launched, as "1 of 2".
sub launches
{
	my ($messages) = @_;
	return $messages =~ /simhash: (\d+ of \d+) parallel workers launched/g;
}

# In each mode a call returns the rows of a query.
sub agrees
{
	my ($name, $call, $brute) = @_;
	my $expected = value($brute);
	cmp_ok((split /\|/, $expected)[0], '>', 0, "$name: brute force finds some") if $brute;
	for my $mode (sort keys %modes)
	{
		my ($output, $messages) = run_with($modes{$mode}, $call);
		is($output, $expected, "$name: $mode") or diag($messages);
		my @launches = launches($messages);
		if ($mode eq 'one process') { is(@launches, 0, "$name: no workers are launched") }
		else { like("@launches", qr/^(2 of 2 ?)+$/, "$name: two are launched") }
	}
}

# The number of rows and a sum over them, which does not depend on their order.
sub sum_of
{
	my ($columns, $from) = @_;
	return "SELECT count(*), sum(hashtextextended(concat_ws(' ', $columns), 0)) FROM $from";
}

# Clusters of texts that differ in a few bits, random ones, copies and rows without a fingerprint.
# Some rows are deleted, and some have later versions.
value(<<'SQL');
CREATE TABLE doc (id integer, tenant integer, fp fingerprint64, wide fingerprint128, body text);
INSERT INTO doc
  SELECT i, i % 3, CASE WHEN i % 50 > 0 THEN h::fingerprint64 END,
    test.wide(h, h # test.flips('w' || i, i % 4)), 'text about ' || test.word((i % 99)::text)
  FROM (SELECT i, CASE i % 4
      WHEN 0 THEN test.number('r' || i) WHEN 1 THEN test.number('k' || i) & ~65535::bigint
      WHEN 2 THEN test.number('c' || i % 40)
      ELSE test.number('f' || i % 90) # test.flips('x' || i, i % 9) END AS h
    FROM generate_series(1, 3000) i) s;
DELETE FROM doc WHERE id % 17 = 3;
UPDATE doc SET body = body || ' and more' WHERE id % 23 = 4;
CREATE INDEX doc_fp ON doc USING simhash (fp);
CREATE INDEX doc_wide ON doc USING simhash (wide);
CREATE INDEX doc_tenant ON doc USING simhash (tenant, fp);
CREATE INDEX doc_bits ON doc USING simhash ((wide::bit(128)::bit(100)) bit_hamming_ops);
CREATE TABLE parts (id integer, fp fingerprint64) PARTITION BY HASH (id);
CREATE TABLE part_0 PARTITION OF parts FOR VALUES WITH (MODULUS 2, REMAINDER 0);
CREATE TABLE part_1 PARTITION OF parts FOR VALUES WITH (MODULUS 2, REMAINDER 1);
INSERT INTO parts SELECT id, fp FROM doc WHERE id <= 2000;
CREATE INDEX parts_fp ON parts USING simhash (fp);
VACUUM ANALYZE;
SQL
my @columns = qw(a b distance a_table b_table);
my $columns = join ', ', map { /table/ ? "$_\::oid" : $_ } @columns;

# All pairs of one table by brute force.
sub brute
{
	my ($table, $expression, $distance, $also) = @_;
	$also //= 'true';
	return sum_of(
		'a.ctid, b.ctid, hamming(a.f, b.f), a.tableoid::oid, b.tableoid::oid', <<"SQL");
(SELECT *, ctid, tableoid, $expression AS f FROM $table) a,
(SELECT *, ctid, tableoid, $expression AS f FROM $table) b
WHERE (a.tableoid, a.ctid) < (b.tableoid, b.ctid) AND hamming(a.f, b.f) <= $distance AND $also
SQL
}

for my $case ([ 'doc_fp', 'fp', 0 ], [ 'doc_fp', 'fp', 3 ], [ 'doc_fp', 'fp', 6 ],
	[ 'doc_fp', 'fp', 20 ], [ 'doc_wide', 'wide', 10 ],
	[ 'doc_bits', 'wide::bit(128)::bit(100)', 7 ],
	[ 'doc_tenant', 'fp', 6, 'a.tenant = b.tenant' ])
{
	my ($index, $expression, $distance, $also) = @$case;
	agrees("$index, distance $distance", sum_of($columns, "simhash_pairs('$index', $distance)"),
		brute('doc', $expression, $distance, $also));
}
agrees('partitions', sum_of($columns, "simhash_pairs('parts_fp', 6)"), brute('parts', 'fp', 6));
agrees('two tables', sum_of($columns, "simhash_pairs('doc_fp', 'parts_fp', 6)"),
	sum_of('a.ctid, b.ctid, hamming(a.fp, b.fp), a.tableoid::oid, b.tableoid::oid',
		'doc a, parts b WHERE hamming(a.fp, b.fp) <= 6'));
agrees('texts', sum_of('a, b, distance, similarity',
		"simhash_pairs('doc_fp', 12, 'body', 0.5, 1)"),
	sum_of('a.ctid, b.ctid, hamming(a.fp, b.fp), similarity::real', <<'SQL'));
doc a, doc b, shingle_similarity(a.body, b.body, 1) similarity
WHERE a.ctid < b.ctid AND hamming(a.fp, b.fp) <= 12 AND similarity >= 0.5
SQL

# Clusters by brute force: the least row that a chain of pairs reaches.
sub clusters_of
{
	my ($condition) = @_;
	# From 19 on a recursive query allocates memory for the estimated number of rows.
	return <<"SQL";
CREATE TEMP TABLE pair AS
  SELECT a.ctid AS x, b.ctid AS y FROM doc a, doc b WHERE a.ctid <> b.ctid AND $condition;
ANALYZE pair;
WITH RECURSIVE chain AS (
  SELECT x, y FROM pair UNION SELECT chain.x, pair.y FROM chain JOIN pair ON pair.x = chain.y),
least AS (
  SELECT x AS member, (array_agg(y ORDER BY y))[1] AS representative FROM chain GROUP BY x)
@{[ sum_of('member, representative, size', <<'FROM') ]}
(SELECT *, count(*) OVER (PARTITION BY representative) AS size FROM least) s
FROM
SQL
}
agrees('clusters', sum_of('member, representative, size', "simhash_clusters('doc_fp', 4)"),
	clusters_of('hamming(a.fp, b.fp) <= 4'));
agrees('clusters of texts',
	sum_of('member, representative, size', "simhash_clusters('doc_fp', 12, 'body', 0.5, 1)"),
	clusters_of('hamming(a.fp, b.fp) <= 12 AND shingle_similarity(a.body, b.body, 1) >= 0.5'));

# More rows than memory holds, joined in chunks, with clusters that exceed memory.
my $rows = soak() ? 1_000_000 : 400_000;
value(<<"SQL");
CREATE UNLOGGED TABLE large AS
  SELECT i AS id,
    (hashint8extended(i / 2, 7) # (i % 2) # CASE WHEN i % 100 < 3 THEN i % 7 << 9 ELSE 0 END)
      ::fingerprint64 AS fp
  FROM generate_series(1, $rows) i;
CREATE INDEX large_fp ON large USING simhash (fp);
VACUUM ANALYZE large;
SQL
for my $memory ('16MB', '64MB', '1GB')
{
	my $settings = "SET simhash.work_mem = '$memory';";
	for my $call (sum_of('a, b, distance', "simhash_pairs('large_fp', 6)"),
		sum_of('member, representative, size', "simhash_clusters('large_fp', 6)"))
	{
		my ($function) = $call =~ /(simhash_\w+)/;
		my ($serial) = run_with("$settings $modes{'one process'}", $call);
		cmp_ok((split /\|/, $serial)[0], '>', $rows / 3, "$function, $memory: there are many");
		for my $mode ('two workers', 'workers alone')
		{
			my ($output, $messages) = run_with("$settings $modes{$mode}", $call);
			is($output, $serial, "$function, $memory: $mode") or diag($messages);
			like(join(' ', launches($messages)), qr/2 of 2/, "$function, $memory: launched");
		}
	}
}

# Tables that are read in ranges: only rows with neighbours are joined. Row 10 i + 1 is row 10 i
# with i % 6 bits flipped, each in another stretch of 11 bits. All others are random, so no further
# pairs are expected.
my $few = 60_000;
value(<<"SQL");
CREATE UNLOGGED TABLE few AS
  SELECT i AS id, (i / 10 % 3) AS tenant, f::fingerprint64 AS fp, test.wide(f, f) AS wide
  FROM (SELECT i, hashint8extended(i - (i % 10 = 1)::integer, 5)
      # CASE WHEN i % 10 = 1 THEN
          (1::bigint << (i % 11)) * (i / 10 % 6 > 0)::integer
          # (1::bigint << (11 + i % 11)) * (i / 10 % 6 > 1)::integer
          # (1::bigint << (22 + i % 11)) * (i / 10 % 6 > 2)::integer
          # (1::bigint << (33 + i % 11)) * (i / 10 % 6 > 3)::integer
          # (1::bigint << (44 + i % 11)) * (i / 10 % 6 > 4)::integer
        ELSE 0 END AS f
    FROM generate_series(1, $few) i) s;
CREATE INDEX few_fp ON few USING simhash (fp);
CREATE INDEX few_wide ON few USING simhash (wide);
CREATE INDEX few_tenant ON few USING simhash (tenant, fp);
CREATE TABLE halves (LIKE few) PARTITION BY HASH (id);
CREATE TABLE half_0 PARTITION OF halves FOR VALUES WITH (MODULUS 2, REMAINDER 0);
CREATE TABLE half_1 PARTITION OF halves FOR VALUES WITH (MODULUS 2, REMAINDER 1);
INSERT INTO halves SELECT * FROM few;
CREATE INDEX halves_fp ON halves USING simhash (fp);
CREATE UNLOGGED TABLE even AS SELECT * FROM few WHERE id % 10 = 1;
CREATE INDEX even_fp ON even USING simhash (fp);
VACUUM ANALYZE few, halves, even;
SQL

# How often a call reports each of two decisions: to read ranges, or to give up.
sub ranges_said
{
	my ($messages) = @_;
	my $read = () = $messages =~ /rows of \d+ ranges have neighbours/g;
	my $given_up = () = $messages =~ /block tables are read as a whole/g;
	return "$read read, $given_up given up";
}

# A call finds the planted pairs within the distance, with workers and without. With workers it
# reads $tables block tables in ranges.
sub planted_are_found
{
	my ($call, $distance, $tables) = @_;
	my $expected = value("SELECT count(*) FROM generate_series(1, $few / 10) i
		WHERE i % 6 * @{[ $call =~ /wide/ ? 2 : 1 ]} <= $distance AND i * 10 + 1 <= $few");
	for my $mode (sort keys %modes)
	{
		my ($output, $messages) = run_with($modes{$mode}, "SELECT count(*) FROM $call");
		is($output, $expected, "$call: $mode");
		my $ranges = $mode eq 'one process' ? 0 : $tables;
		is(ranges_said($messages), "$ranges read, 0 given up", "$call, $mode: ranges");
	}
}
planted_are_found("simhash_pairs('few_fp', $_)", $_, $_ + 1) for 0 .. 3;
planted_are_found("simhash_pairs('few_wide', 7)", 7, 8);
planted_are_found("simhash_pairs('few_tenant', 3)", 3, 4);
planted_are_found("simhash_pairs('halves_fp', 3)", 3, 4);
# One of the four block tables has a radius of 0.
planted_are_found("simhash_pairs('few_fp', 5)", 5, 2);
for my $mode (sort keys %modes)
{
	my ($output, $messages) = run_with($modes{$mode}, <<'SQL');
SELECT count(*), count(*) FILTER (WHERE a.id = b.id), sum(distance)
  FROM simhash_pairs('few_fp', 'even_fp', 3) p
  JOIN few a ON p.a = a.ctid JOIN even b ON p.b = b.ctid
SQL
	is($output, value(<<"SQL"), "two tables in ranges: $mode");
SELECT count(*) + (count(*) FILTER (WHERE i > 0 AND i % 6 <= 3)), count(*),
    sum(i % 6) FILTER (WHERE i % 6 <= 3)
  FROM generate_series(0, $few / 10) i WHERE i * 10 + 1 <= $few
SQL
	like(ranges_said($messages), qr/^4 read/, 'two tables: in ranges') if $mode ne 'one process';
}
# Most rows have neighbours, or a range does not fit in memory.
my $outcome = sub {
	my ($name, $index, $memory, $said) = @_;
	my $call = sum_of('a, b, distance', "simhash_pairs('$index', 3)");
	my ($output, $messages) = run_with("$forced SET simhash.work_mem = '$memory';", $call);
	is($output, (run_with($modes{'one process'}, $call))[0], "$name: the same pairs");
	like(ranges_said($messages), $said, "$name: $said");
};
$outcome->('most have neighbours', 'large_fp', '1GB', qr/^0 read, 1 given up/);
value(<<'SQL');
CREATE UNLOGGED TABLE skewed AS
  SELECT ((hashint8extended(i, 3) >> 16) & ((1::bigint << 48) - 1))::fingerprint64 AS fp
  FROM generate_series(1, 60000) i
  UNION ALL SELECT n::bigint::fingerprint64 FROM unnest('{5, 7}'::integer[]) n;
CREATE INDEX skewed_fp ON skewed USING simhash (fp);
VACUUM ANALYZE skewed;
SQL
$outcome->('a block that all share', 'skewed_fp', '16MB', qr/^0 read, 1 given up/);
$outcome->('a block that all share, in memory', 'skewed_fp', '1GB', qr/^4 read, 0 given up/);

# When workers are launched. Each line: the settings, and how many of how many workers are launched,
# if any are requested.
sub launched_are
{
	my ($name, $settings, $expected, $index) = @_;
	$index //= 'large_fp';
	my ($output, $messages) =
		run_with($settings, "SELECT count(*) > 0 FROM simhash_pairs('$index', 12)");
	is($output, 't', "$name: an answer");
	my ($first) = (launches($messages), 'none');
	is($first, $expected, "$name: $expected");
}
launched_are('by the size', 'SET parallel_setup_cost = 0;', '2 of 2');
launched_are('a join that is short beside it', 'SET parallel_setup_cost = 1e9;', 'none');
launched_are('a small table', 'SET parallel_setup_cost = 0;', 'none', 'doc_fp');
launched_are('none allowed', "$forced SET max_parallel_workers_per_gather = 0;", 'none');
launched_are('none available', "$forced SET max_parallel_workers = 0;", '0 of 2');
launched_are('one available', "$forced SET max_parallel_workers = 1;", '1 of 2');
value('ALTER TABLE large SET (parallel_workers = 1)');
launched_are('the option of the table', 'SET parallel_setup_cost = 0;', '1 of 1');
value('ALTER TABLE large SET (parallel_workers = 0)');
launched_are('the option of the table', $forced, 'none');
value('ALTER TABLE large RESET (parallel_workers)');
launched_are('under SERIALIZABLE',
	"$forced SET default_transaction_isolation = serializable;", '2 of 2');
launched_are('a temporary table',
	"$forced CREATE TEMPORARY TABLE own AS SELECT fp FROM doc;
	 CREATE INDEX own_fp ON own USING simhash (fp);", '2 of 2', 'own_fp');

# Where the functions may be called. Workers never outlive a batch, so the statement may write
# between batches.
sub calls_give
{
	my ($name, $statement, $expected) = @_;
	my ($output, $messages) = run_with($forced, $statement);
	is($output, $expected, $name) or diag($messages);
	like(join(' ', launches($messages)), qr/2 of 2/, "$name: with workers");
	unlike($messages, qr/ERROR|WARNING/, "$name: no message");
}
my $pairs = value("SELECT count(*) FROM simhash_pairs('large_fp', 6)");
calls_give('LIMIT', <<'SQL', '1');
CREATE TABLE sparse AS
  SELECT (hashint8extended(i, 9) # i % 2)::fingerprint64 AS fp FROM generate_series(1, 20000) i
  UNION ALL SELECT hashint8extended(i, 9)::fingerprint64 FROM generate_series(1, 30) i;
CREATE INDEX sparse_fp ON sparse USING simhash (fp);
SELECT count(*) FROM (SELECT simhash_pairs('sparse_fp', 3) LIMIT 1) s
SQL
calls_give('INSERT ... SELECT', <<'SQL', $pairs);
CREATE TABLE kept (a tid, b tid, distance integer, a_table oid, b_table oid);
INSERT INTO kept SELECT (simhash_pairs('large_fp', 6)).*;
SELECT count(*) FROM kept
SQL
calls_give('CREATE TABLE AS',
	"CREATE TABLE made AS SELECT * FROM simhash_pairs('large_fp', 6);
	SELECT count(*) FROM made", $pairs);
calls_give('DELETE', <<'SQL', '0');
BEGIN;
DELETE FROM large WHERE ctid IN (
  SELECT member FROM simhash_clusters('large_fp', 1) WHERE member <> representative);
SELECT count(*) FROM simhash_pairs('large_fp', 1);
ROLLBACK
SQL
calls_give('a cursor', <<'SQL', "$pairs\n2");
BEGIN;
DECLARE c CURSOR FOR SELECT simhash_pairs('large_fp', 6);
MOVE 100000 IN c;
INSERT INTO kept (distance) VALUES (-1);
SAVEPOINT s;
INSERT INTO kept (distance) VALUES (-1);
ROLLBACK TO s;
MOVE 20000 IN c;
INSERT INTO kept (distance) VALUES (-1);
CLOSE c;
SELECT count(*) FROM simhash_pairs('large_fp', 6);
SELECT count(*) FROM kept WHERE distance < 0;
COMMIT
SQL
calls_give('a function with a handler of errors', <<'SQL', "caught\n$pairs");
CREATE FUNCTION counted(divisor integer) RETURNS text LANGUAGE plpgsql AS $$
DECLARE pair record; n integer := 0;
BEGIN
  FOR pair IN SELECT * FROM simhash_pairs('large_fp', 6) LOOP n := n + 1 / divisor; END LOOP;
  RETURN n;
EXCEPTION WHEN division_by_zero THEN RETURN 'caught';
END $$;
SELECT counted(0);
SELECT counted(1);
SQL
my $gather = 'SET parallel_tuple_cost = 0; SET enable_nestloop = off;';
my $joined = "SELECT count(*) FROM simhash_clusters('large_fp', 6) JOIN large ON ctid = member";
my ($plan) = run_with("$forced $gather", "EXPLAIN (COSTS OFF) $joined");
like($plan, qr/Gather/, 'beside a parallel scan: that is the plan');
calls_give('beside a parallel scan', "$gather $joined",
	value("SELECT count(*) FROM simhash_clusters('large_fp', 6)"));
# A call inside a worker, from a function wrongly declared PARALLEL SAFE.
my ($in_worker, $messages) = run_with($forced, <<'SQL');
CREATE FUNCTION wrong(id integer) RETURNS bigint LANGUAGE sql PARALLEL SAFE AS
  $$ SELECT count(*) FROM simhash_pairs('doc_fp', 6) $$;
SET parallel_tuple_cost = 0; SET min_parallel_table_scan_size = 0;
SET parallel_leader_participation = off;
SELECT count(*) FROM doc WHERE id < 5 AND wrong(id) > 0
SQL
is($in_worker, '3', 'in a worker');
unlike($messages, qr/workers launched/, 'in a worker: no workers of its own');

# Progress as other sessions see it, and calls that end early.
value('CREATE INDEX large_one ON large USING simhash (fp) WITH (blocks = 1)');
my $long = "SELECT count(*) FROM simhash_pairs('large_one', 8)";

# Runs the long call in another session and calls $during while two workers run. Returns the
# session's output and errors.
sub while_it_runs
{
	my ($during) = @_;
	my ($out, $err) = ('', '');
	my $session = IPC::Run::start(
		[ 'psql', '-XAtq', '-d', $node->connstr('postgres'), '-c', $forced, '-c', $long ],
		'<', '/dev/null', '>', \$out, '2>', \$err);
	ok($node->poll_query_until('postgres', <<"SQL"), 'two workers show the statement');
SELECT count(*) = 2 FROM pg_stat_activity
  WHERE backend_type = 'parallel worker' AND query LIKE '%simhash_pairs(''large_one'', 8)%'
SQL
	$during->();
	$session->finish;
	return $out . $err;
}

sub no_worker_is_left
{
	my ($name) = @_;
	ok($node->poll_query_until('postgres', <<'SQL'), "$name: no worker is left");
SELECT count(*) = 0 FROM pg_stat_activity WHERE backend_type = 'parallel worker'
SQL
}
like(while_it_runs(sub {
	ok($node->poll_query_until('postgres', <<'SQL'), 'progress is reported once, by the leader');
SELECT count(*) = 1 AND min(compared) > 0 AND max(compared) <= 100
  AND min(phase) = 'comparing rows' AND min(rows_read) > 0 FROM simhash_progress
SQL
	my $before = value('SELECT compared FROM simhash_progress');
	ok($node->poll_query_until('postgres',
		"SELECT compared > $before FROM simhash_progress"), 'it goes on');
	value('SELECT pg_cancel_backend(pid) FROM simhash_progress');
}), qr/canceling statement/, 'a call is cancelled');
no_worker_is_left('cancelled');
# Workers of a batch that is just ending end by themselves. Those of the next one are terminated.
like(while_it_runs(sub { $node->poll_query_until('postgres', <<'SQL') }),
SELECT (SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
    WHERE backend_type = 'parallel worker') >= 0
  AND NOT EXISTS (SELECT FROM simhash_progress)
SQL
	qr/ERROR:  terminating .*worker.* due to administrator command/, 'a worker is terminated');
no_worker_is_left('terminated');
while_it_runs(sub { value('SELECT pg_terminate_backend(pid) FROM simhash_progress') });
no_worker_is_left('its leader is terminated');
for my $mode ('two workers', 'workers alone')
{
	my $started = time;
	error_like($node, "$modes{$mode} SET statement_timeout = '500ms'; $long",
		qr/57014/, "$mode: a statement runs out of its time");
	cmp_ok(time - $started, '<', 10, sprintf('after %.2f s', time - $started));
	no_worker_is_left($mode);
}
is(value("SELECT count(*) FROM simhash_pairs('large_fp', 6)"), $pairs, 'the server goes on');
is(value('SELECT count(*) FROM simhash_progress'), '0', 'no progress is left');

$node->stop;
done_testing();
