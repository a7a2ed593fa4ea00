# simhash_duplicates and simhash_clusters of texts with parallel workers find what one process
# finds. Also when workers are launched, that they end with the call, and how a call fails whose
# worker ends.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use SimhashTest;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(sleep);

my $node = new_node('main', <<'CONF');
autovacuum = off
max_worker_processes = 8
max_parallel_workers = 8
max_parallel_workers_per_gather = 2
CONF
seed();
my $salt = roll(1_000_000);

# Workers are requested for tables of any size.
my $forced = 'SET min_parallel_index_scan_size = 0;';
my $alone = 'SET max_parallel_workers_per_gather = 0;';

sub value { my ($sql) = @_; return $node->safe_psql('postgres', $sql) }

sub run_with
{
	my ($settings, $statement) = @_;
	my ($status, $output, $messages) = $node->psql('postgres',
		"\\set VERBOSITY verbose\n$settings SET client_min_messages = debug1; $statement");
	return ($output, $messages);
}

sub launches
{
	my ($messages) = @_;
	return $messages =~ /simhash: (\d+ of \d+) parallel workers launched/g;
}

sub sum_of
{
	my ($columns, $from) = @_;
	return "SELECT count(*), sum(hashtextextended(concat_ws(' ', $columns), 0)) FROM $from";
}

# With workers and without, a call gives the same rows.
sub agrees
{
	my ($name, $call, $least, $expected) = @_;
	my ($serial, $none) = run_with($alone, $call);
	cmp_ok((split /\|/, $serial)[0], '>', $least, "$name: there are many");
	is_deeply([ launches($none) ], [], "$name: no workers are launched");
	for my $memory ('16MB', '1GB')
	{
		my ($output, $messages) = run_with("$forced SET simhash.work_mem = '$memory';", $call);
		is($output, $serial, "$name, $memory: with workers") or diag($messages);
		like(join(' ', launches($messages)), qr/^(2 of 2 ?)+$/, "$name, $memory: two are launched");
	}
}

# Families of texts in two languages, some texts long, copies, rows without a text or a token. Some
# rows are deleted, and some have later versions.
value(<<"SQL");
CREATE TABLE doc (id integer, tenant integer, body text);
CREATE FUNCTION test.han(seed text) RETURNS text LANGUAGE sql AS \$\$
  SELECT string_agg(chr(19968 + abs(hashtext(seed || n)) % 3000), '')
  FROM generate_series(1, 9) n \$\$;
CREATE FUNCTION test.body(i integer) RETURNS text LANGUAGE sql AS \$\$
  SELECT string_agg(CASE WHEN n = 3 + i % 5 THEN 'own' || i % 6
      ELSE test.word('$salt' || i / 6 || ' ' || n) END, ' ' ORDER BY n)
    || CASE WHEN i / 6 % 4 = 0 THEN ' ' || test.han('$salt' || i / 6) ELSE '' END
  FROM generate_series(1, CASE WHEN i / 6 % 400 = 0 THEN 6000 ELSE 16 END) n \$\$;
INSERT INTO doc
  SELECT i, i % 3, CASE WHEN i % 97 = 0 THEN NULL WHEN i % 89 = 0 THEN '...' ELSE test.body(i) END
  FROM generate_series(1, 12000) i ORDER BY hashtext(i::text);
DELETE FROM doc WHERE id % 17 = 3;
UPDATE doc SET tenant = tenant + 0 WHERE id % 23 = 4;
UPDATE doc SET body = body || ' and more' WHERE id % 31 = 4;
CREATE INDEX doc_body ON doc USING simhash (body);
CREATE INDEX doc_upper ON doc USING simhash (upper(body));
CREATE INDEX doc_tenant ON doc USING simhash (tenant, body);
CREATE TABLE parts (id integer, body text) PARTITION BY HASH (id);
CREATE TABLE part_0 PARTITION OF parts FOR VALUES WITH (MODULUS 2, REMAINDER 0);
CREATE TABLE part_1 PARTITION OF parts FOR VALUES WITH (MODULUS 2, REMAINDER 1);
INSERT INTO parts SELECT id, body || ' as well' FROM doc WHERE id <= 6000;
CREATE INDEX parts_body ON parts USING simhash (body);
VACUUM ANALYZE;
UPDATE doc SET tenant = tenant + 0 WHERE id % 29 = 4;
SQL

my $rows = 'duplicate, kept, similarity, duplicate_table::oid, kept_table::oid';
my $members = 'member, representative, size, similarity, least_similarity';
for my $index ('doc_body', 'doc_upper', 'doc_tenant')
{
	agrees("$index, duplicates",
		sum_of($rows, "simhash_duplicates('$index', 0.6, keep => 'length(body), id')"),
		$index eq 'doc_tenant' ? 500 : 2000);
}
agrees('partitions', sum_of($rows, "simhash_duplicates('parts_body', 0.6)"), 1000);
agrees('two tables', sum_of($rows, "simhash_duplicates('doc_body', 'parts_body', 0.6)"),
	1000);
agrees('chains', sum_of($members, "simhash_clusters('doc_body', 0.6)"), 2000);
agrees('stars', sum_of($members, "simhash_clusters('doc_body', 0.6, 'star')"), 2000);

# When workers are launched.
my $call = "SELECT count(*) > 0 FROM simhash_duplicates('doc_body', 0.6)";

sub launched_are
{
	my ($name, $settings, $expected, $statement) = @_;
	my ($output, $messages) = run_with($settings, $statement // $call);
	is($output, 't', "$name: an answer") or diag($messages);
	my ($first) = (launches($messages), 'none');
	is($first, $expected, "$name: $expected");
}
launched_are('none available', "$forced SET max_parallel_workers = 0;", '0 of 2');
launched_are('one available', "$forced SET max_parallel_workers = 1;", '1 of 2');
value('CREATE TABLE few AS SELECT * FROM doc WHERE id <= 500');
value('CREATE INDEX few_body ON few USING simhash (body)');
launched_are('little work', $forced, 'none',
	"SELECT count(*) > 0 FROM simhash_duplicates('few_body', 0.6)");
value('ALTER TABLE doc SET (parallel_workers = 1)');
launched_are('the option of the table', '', '1 of 1');
value('ALTER TABLE doc RESET (parallel_workers)');
launched_are('under SERIALIZABLE',
	"$forced SET default_transaction_isolation = serializable;", '2 of 2');
launched_are('a temporary table', "$forced CREATE TEMPORARY TABLE own AS SELECT body FROM doc;
	CREATE INDEX own_body ON own USING simhash (body);", '2 of 2',
	"SELECT count(*) > 0 FROM simhash_duplicates('own_body', 0.6)");
value(<<'SQL');
SELECT simhash_dictionary('own', ARRAY['own1 and']);
CREATE TABLE worded AS SELECT * FROM doc;
CREATE INDEX worded_body ON worded USING simhash (body) WITH (config = '{"dictionary": "own"}');
SQL
launched_are('words of a list', $forced, 'none',
	"SELECT count(*) > 0 FROM simhash_duplicates('worded_body', 0.6)");

value(<<'SQL');
CREATE FUNCTION cleaned(body text) RETURNS text IMMUTABLE LANGUAGE plpgsql AS $$
BEGIN
  RETURN replace(body, ';', ' ');
EXCEPTION WHEN program_limit_exceeded THEN RETURN '';
END $$;
CREATE INDEX doc_cleaned ON doc USING simhash (cleaned(body));
SQL
my $cleaned = "SELECT count(*) > 0 FROM simhash_duplicates('doc_cleaned', 0.6)";
launched_are('an expression that is not PARALLEL SAFE', $forced, 'none', $cleaned);
value('DROP INDEX doc_cleaned; CREATE OR REPLACE FUNCTION cleaned(body text) RETURNS text
	IMMUTABLE PARALLEL SAFE LANGUAGE sql AS $$ SELECT replace(body, \';\', \' \') $$;
	CREATE INDEX doc_cleaned ON doc USING simhash (cleaned(body))');
launched_are('an expression that is', $forced, '2 of 2', $cleaned);

# Nothing remains of parallel mode: the statement and its transaction may write.
my ($written, $messages) = run_with($forced, <<'SQL');
BEGIN;
CREATE TABLE gone AS SELECT duplicate FROM simhash_duplicates('doc_body', 0.6);
DELETE FROM doc WHERE ctid IN (SELECT duplicate FROM simhash_duplicates('doc_body', 0.6));
SELECT count(*) = 0 FROM simhash_duplicates('doc_body', 0.6);
ROLLBACK
SQL
is($written, 't', 'within a transaction that writes') or diag($messages);

# Calls that end early. Their texts are long.
value(<<"SQL");
CREATE TABLE long AS
  SELECT i AS id, (SELECT string_agg(test.word('$salt' || i / 3 || ' ' || n % 400), ' ')
    FROM generate_series(1, 500) n) || ' ' || i AS body FROM generate_series(1, 12000) i;
CREATE INDEX long_body ON long USING simhash (body);
SQL

sub no_worker_is_left
{
	my ($name) = @_;
	ok($node->poll_query_until('postgres', <<'SQL'), "$name: no worker is left");
SELECT count(*) = 0 FROM pg_stat_activity WHERE backend_type = 'parallel worker'
SQL
}

# Repeats a call in another session, and calls $during once a worker runs. Returns the session's
# output and errors.
sub while_it_runs
{
	my ($during) = @_;
	my ($out, $err) = ('', '');
	my $session = IPC::Run::start(
		[ 'psql', '-XAtq', '-d', $node->connstr('postgres'), '-c', $forced,
			map { ('-c', "SELECT count(*) FROM simhash_duplicates('long_body', 0.6)") } 1 .. 12 ],
		'<', '/dev/null', '>', \$out, '2>', \$err);
	ok($node->poll_query_until('postgres', <<'SQL'), 'workers show the statement');
SELECT count(*) > 0 FROM pg_stat_activity
  WHERE backend_type = 'parallel worker' AND query LIKE '%long_body%'
SQL
	$during->();
	$session->finish;
	return $out . $err;
}
like(while_it_runs(sub { value(<<'SQL') }), qr/canceling statement/, 'a call is cancelled');
SELECT pg_cancel_backend(pid) FROM pg_stat_activity
  WHERE backend_type = 'client backend' AND query LIKE '%long_body%' AND pid <> pg_backend_pid()
SQL
no_worker_is_left('cancelled');
like(while_it_runs(sub { $node->poll_query_until('postgres', <<'SQL') }),
SELECT (SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
    WHERE backend_type = 'parallel worker') >= 0
  AND NOT EXISTS (SELECT FROM pg_stat_activity
    WHERE backend_type = 'client backend' AND query LIKE '%long_body%' AND pid <> pg_backend_pid())
SQL
	qr/terminating (background|parallel) worker|terminating connection|ended early/,
	'a worker is terminated');
no_worker_is_left('terminated');
like(value("$forced $call"), qr/t/, 'and the next call answers');

$node->stop;
done_testing();
