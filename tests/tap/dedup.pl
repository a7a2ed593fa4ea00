# The trigger simhash_dedup under eight clients that write variations of the same texts, one by one
# and by COPY, at every isolation level. No two kept rows are near-duplicates, every text that was
# offered has a kept row near it, and with one writer at a time there are no deadlocks. The same
# within scopes. Also bulk loads with the smallest lock table, in opposite orders and ended midway,
# and logical replication.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use IPC::Run;
use SimhashTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $clients = 8;
my $scripts = 0;
my $texts = soak() ? 10_000 : 300;
my $bulk = soak() ? 1_000_000 : 50_000;
my @levels = ('READ COMMITTED', 'REPEATABLE READ', 'SERIALIZABLE');

# The smallest lock table that PostgreSQL allows: one lock for each row, or for each block of a
# fingerprint, would overflow it. PostgreSQL keeps predicate locks of finished transactions while an
# older one runs: at thousands of transactions a second, a stall of one second needs room for many.
# With ten for each session it overflowed while compilers ran beside the test.
my $predicate_locks = soak() ? 2000 : 100;
my $node = new_node('main', <<"CONF", allows_streaming => 'logical');
max_pred_locks_per_transaction = $predicate_locks
shared_buffers = 64MB
deadlock_timeout = 100ms
max_wal_size = 4GB
shared_preload_libraries = 'pg_simhash'
CONF
# (Only now: from 19 on this is too small for the locks of CREATE EXTENSION.)
$node->append_conf('postgresql.conf', 'max_locks_per_transaction = 10');
$node->restart;
# 'one' for one writer at a time, otherwise concurrent writers.
my $writers;
seed();
my $salt = roll(1_000_000);
$node->safe_psql('postgres', <<"SQL");
-- A text of 120 words, of which most clients change one.
CREATE FUNCTION test.body(base bigint, client bigint) RETURNS text LANGUAGE sql IMMUTABLE AS \$\$
  SELECT string_agg(CASE WHEN i = (base * 31 + client * 17) % 160
    THEN test.word('changed' || client) ELSE test.word(base || ' $salt ' || i) END, ' ' ORDER BY i)
  FROM generate_series(1, 120) i \$\$;
CREATE TABLE offered (base bigint, client bigint, body text, fp fingerprint64);
INSERT INTO offered SELECT b, c, t, simhash(t)
  FROM generate_series(1, $texts) b, generate_series(0, $clients - 1) c, test.body(b, c) t;
CREATE INDEX ON offered (client, base);
CREATE TABLE kept (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, body text, fp fingerprint64);
CREATE INDEX kept_fp ON kept USING simhash (fp);
VACUUM ANALYZE offered;
SQL

# One test each: no near-duplicates remain, no text is lost, every original is kept, near-duplicates
# were skipped, the index is sound, and the log has neither overflows nor, with one writer at a
# time, deadlocks.
sub trigger_held
{
	my ($name) = @_;
	my $plain = soak() ? '' : by_force();
	# Autovacuum may have analysed the table when it had only a row or two.
	$node->safe_psql('postgres', 'VACUUM ANALYZE kept');
	answer_is($node, <<"SQL", '0', "$name: no near-duplicate pair");
$plain SELECT count(*) FROM kept a JOIN kept b ON hamming(a.fp, b.fp) <= 3 WHERE a.id < b.id
SQL
	answer_is($node, <<"SQL", '0', "$name: every text has a kept row near it");
$plain SELECT count(*) FROM offered o
  WHERE NOT EXISTS (SELECT FROM kept k WHERE hamming(o.fp, k.fp) <= 3)
SQL
	my $kept = $node->safe_psql('postgres', 'SELECT count(*) FROM kept');
	cmp_ok($kept, '>=', $texts,
		"$name: every original is there ($kept kept of @{[$texts * $clients]})");
	cmp_ok($kept, '<', $texts * $clients / 2, "$name: near-duplicates were skipped");
	index_is_clean($node, 'kept_fp', "$name: the structure is sound");
	my $wrong = $writers eq 'one' ? qr/deadlock detected|out of shared memory/ : qr/out of shared/;
	unlike(slurp_file($node->logfile), $wrong, "$name: no lock table overflow, and no deadlock");
}

# The CREATE TRIGGER statement for a table.
sub trigger_on
{
	my ($table, @arguments) = @_;
	my $arguments = join(', ', map { "'$_'" } @arguments, "writers=$writers");
	return "CREATE TRIGGER dedup BEFORE INSERT OR UPDATE ON $table"
		. " FOR EACH ROW EXECUTE FUNCTION simhash_dedup($arguments);";
}

# Every client offers every text once, in its own order, one row in each transaction. pgbench
# retries after serialization failures.
sub by_single_inserts
{
	my ($level) = @_;
	my $name = "single inserts, \L$level";
	return unless pgbench_tries_again($name);
	$node->safe_psql('postgres', 'TRUNCATE kept');
	$node->pgbench("-n -c $clients -j 2 -t $texts --max-tries=100000 -D i=0",
		0, [qr/actually processed: @{[$texts * $clients]}/], [qr/^(?!.*(?:ERROR|aborted|FATAL))/s],
		"$name: $clients clients",
		{ "single_$writers\_\L$level" =~ s/ /_/gr => qq{
\\set base (:i * 7 + :client_id * 13) % $texts + 1
BEGIN ISOLATION LEVEL $level;
INSERT INTO kept (body) SELECT body FROM offered WHERE client = :client_id AND base = :base;
COMMIT;
-- After the commit, so that a transaction that is tried again starts with the same number.
\\set i :i + 1
} });
	trigger_held($name);
}

# Starts psql on a script and collects its output. The script is a file, because IPC::Run feeds a
# process only while it waits for it: sessions fed from memory would run one after the other.
sub start_psql
{
	my ($script, $output) = @_;
	my $file = $node->basedir . '/script' . ++$scripts . '.sql';
	append_to_file($file, $script);
	$$output = '';
	my @psql = ('psql', '-XAtq', '-v', 'ON_ERROR_STOP=1', '-d', $node->connstr('postgres'));
	return IPC::Run::start([ @psql, '-f', $file ], '>&', $output);
}

# Writes the rows of a query to a file.
sub file_of
{
	my ($name, $query) = @_;
	my $file = $node->basedir . "/$name";
	$node->safe_psql('postgres', "COPY ($query) TO '$file'");
	return $file;
}

# Runs scripts in concurrent sessions, and repeats those that end in a serialization failure or a
# deadlock. Returns the number of runs and any other errors.
sub at_once
{
	my @scripts = @_;
	my ($runs, $errors) = (0, '');
	while (@scripts)
	{
		my (@sessions, @again);
		push @sessions, [ $_, \my $output ] for @scripts;
		$_->[2] = start_psql($_->[0], $_->[1]) for @sessions;
		for my $session (@sessions)
		{
			my ($script, $output, $psql) = @$session;
			$runs++;
			next if $psql->finish;
			if ($$output =~ /could not serialize access|deadlock detected/) { push @again, $script; }
			else { $errors .= $$output; }
		}
		@scripts = @again;
	}
	return ($runs, $errors);
}

sub by_copy
{
	my ($level) = @_;
	my $name = "COPY, \L$level";
	$node->safe_psql('postgres', 'TRUNCATE kept');
	my @scripts = map {
		my $file = file_of("offered$_",
			"SELECT body FROM offered WHERE client = $_ ORDER BY md5('$_ ' || base)");
		"BEGIN ISOLATION LEVEL $level; COPY kept (body) FROM '$file'; COMMIT;"
	} 0 .. $clients - 1;
	my ($runs, $errors) = at_once(@scripts);
	is($errors, '', "$name: $clients clients in $runs runs");
	trigger_held($name);
}

# Clients insert in batches, some of which are rolled back. A row must not stay skipped because of
# one that was rolled back.
sub with_rollbacks
{
	my $name = 'rollbacks';
	$node->safe_psql('postgres', 'TRUNCATE kept');
	my @scripts = map {
		my $client = $_;
		my $script = '';
		for (my $i = 0; $i < $texts; $i += 10)
		{
			my $batch = <<"SQL";
INSERT INTO kept (body) SELECT body FROM offered
  WHERE client = $client AND base BETWEEN $i + 1 AND $i + 10;
SQL
			$script .= "BEGIN; $batch ROLLBACK;\n" if $client % 2;
			$script .= "BEGIN; SAVEPOINT s; $batch ROLLBACK TO s; $batch RELEASE s; COMMIT;\n";
		}
		$script
	} 0 .. $clients - 1;
	my ($runs, $errors) = at_once(@scripts);
	is($errors, '', "$name: $clients clients");
	trigger_held($name);
}

# UPDATE brings rows near others.
sub with_updates
{
	my $name = 'updates';
	return unless pgbench_tries_again($name);
	$node->safe_psql('postgres', <<'SQL');
TRUNCATE kept;
INSERT INTO kept (fp) SELECT test.number('update ' || i)::fingerprint64
  FROM generate_series(1, 200) i
SQL
	$node->pgbench("-n -c $clients -j 2 -t 200 --max-tries=1000", 0, [qr/processed: [1-9]/],
		[qr/^(?!.*(?:ERROR|aborted|FATAL))/s], "$name: $clients clients",
		{ "updates_$writers" => <<'SQL' });
\set row random(1, 200)
\set base random(1, 60)
\set variant random(1, 1000000)
UPDATE kept SET fp =
    (test.number('target ' || :base) # test.flips(:variant::text, :variant % 3))::fingerprint64
  WHERE id = (SELECT min(id) FROM kept) + :row - 1;
SQL
	answer_is($node, <<'SQL', '0', "$name: no near-duplicate pair");
SELECT count(*) FROM kept a JOIN kept b ON a.id < b.id AND (a.fp <~> b.fp) + 0 <= 3
SQL
	answer_is($node, 'SELECT count(*) FROM kept', '200', "$name: no row is gone");
}

# Clients of several tenants, and of none, insert the same fingerprints. Then rows move to other
# tenants, some of them with other fingerprints.
sub in_scopes
{
	my ($level) = @_;
	my $name = "scopes, \L$level";
	return unless pgbench_tries_again($name);
	my $turns = soak() ? 4000 : 100;
	my $file = "scopes_$writers\_\L$level" =~ s/ /_/gr;
	my @pgbench = ("-n -c $clients -j 2 -t $turns --max-tries=100000",
		0, [qr/actually processed: @{[$turns * $clients]}/], [qr/^(?!.*(?:ERROR|aborted|FATAL))/s]);
	my $made = '(test.number(:base::text) # test.flips(:variant::text, :variant % 3))';
	my $random = "\\set base random(1, 40)\n\\set variant random(1, 1000000)\n";
	$node->safe_psql('postgres', <<"SQL");
DROP TABLE IF EXISTS scoped, tried;
CREATE TABLE scoped (id serial, tenant text, part int, fp fingerprint64);
CREATE TABLE tried (tenant text, part int, fp fingerprint64);
CREATE INDEX scoped_fp ON scoped USING simhash (tenant, fp);
@{[trigger_on('scoped', 'fp=fp', 'scope=part,tenant')]}
SQL
	my $held = sub {
		my ($name) = @_;
		answer_is($node, <<"SQL", '0', "$name: no near-duplicate pair in one scope");
SELECT count(*) FROM scoped a JOIN scoped b ON (a.tenant, a.part) = (b.tenant, b.part)
  AND a.id < b.id AND (a.fp <~> b.fp) + 0 <= 3
SQL
		index_is_clean($node, 'scoped_fp', "$name: the structure is sound");
	};
	$node->pgbench(@pgbench, "$name: $clients clients", { $file => <<"SQL" });
$random
\\set tenant random(0, 3)
\\set part random(1, 2)
BEGIN ISOLATION LEVEL $level;
INSERT INTO tried (tenant, part, fp) SELECT nullif(:tenant, 0), :part, $made\::fingerprint64;
INSERT INTO scoped (tenant, part, fp) SELECT nullif(:tenant, 0), :part, $made\::fingerprint64;
COMMIT;
SQL
	$held->($name);
	answer_is($node, <<'SQL', '0', "$name: nothing is lost");
SELECT count(*) FROM tried t WHERE NOT EXISTS (SELECT FROM scoped s
  WHERE (s.tenant, s.part) IS NOT DISTINCT FROM (t.tenant, t.part) AND (s.fp <~> t.fp) + 0 <= 3)
SQL
	answer_is($node, <<'SQL', 't', "$name: rows of no tenant are all kept");
SELECT (SELECT count(*) FROM scoped WHERE tenant IS NULL)
  = (SELECT count(*) FROM tried WHERE tenant IS NULL)
SQL
	answer_is($node, <<"SQL", 't', "$name: others were skipped");
SELECT count(*) BETWEEN 40 AND $turns * $clients / 2 FROM scoped WHERE tenant IS NOT NULL
SQL

	$node->safe_psql('postgres', <<'SQL');
TRUNCATE scoped;
INSERT INTO scoped SELECT i, NULL, 1, test.number((i % 40 + 1)::text)::fingerprint64
  FROM generate_series(1, 200) i;
ALTER TABLE scoped ADD PRIMARY KEY (id);
VACUUM ANALYZE scoped
SQL
	$node->pgbench(@pgbench, "$name, updates: $clients clients", { "updates_$file" => <<"SQL" });
$random
\\set tenant random(0, 8)
\\set row random(1, 200)
BEGIN ISOLATION LEVEL $level;
UPDATE scoped SET tenant = nullif(:tenant, 0),
  fp = CASE WHEN :variant % 2 = 0 THEN fp ELSE $made\::fingerprint64 END WHERE id = :row;
COMMIT;
SQL
	$held->("$name, updates");
	answer_is($node, 'SELECT count(*) FROM scoped', '200', "$name, updates: no row is gone");
	answer_is($node, 'SELECT count(tenant) > 20 FROM scoped', 't', "$name, updates: rows are there");
}

sub create_bulk
{
	$node->safe_psql('postgres', <<"SQL");
DROP TABLE IF EXISTS bulk;
CREATE TABLE bulk (n bigint, fp fingerprint64);
CREATE INDEX bulk_fp ON bulk USING simhash (fp);
@{[trigger_on('bulk', 'fp=fp')]}
SQL
}

# Fingerprints, every third of which is the one before it with two bits flipped.
my $numbers = <<"SQL";
SELECT n, (CASE WHEN n % 3 = 0 THEN test.number('$salt ' || (n - 1)) # 96
    ELSE test.number('$salt ' || n) END)::fingerprint64 AS fp
  FROM generate_series(1, $bulk) n
SQL

sub in_bulk
{
	my $forward = file_of('forward', "$numbers ORDER BY n");
	my $backward = file_of('backward', "$numbers ORDER BY n DESC");
	my $originals = $bulk - int($bulk / 3);
	create_bulk();
	my ($runs, $errors) = at_once("COPY bulk FROM '$forward'");
	is($errors, '', "$bulk rows by one COPY");
	answer_is($node, 'SELECT count(*) FROM bulk', $originals, 'originals are kept, copies are not');

	create_bulk();
	($runs, $errors) = at_once("COPY bulk FROM '$forward'", "COPY bulk FROM '$backward'");
	is($errors, '', 'two loads in opposite orders');
	cmp_ok($runs, '<=', $writers eq 'one' ? 2 : 3, "of which at most one deadlocks: $runs runs");
	answer_is($node, 'SELECT count(*) FROM bulk', $originals, 'as many rows as one load leaves');
	answer_is($node, <<'SQL', '0', 'no near-duplicate pair');
SELECT count(*) FROM bulk a JOIN bulk b ON hamming(a.fp, b.fp) <= 3 WHERE a.n < b.n
SQL

	# A COPY that has received half of its rows and waits for more.
	create_bulk();
	my $input = "COPY bulk FROM stdin;\n"
		. join('', (split /^/, slurp_file($forward))[ 0 .. $bulk / 2 ]);
	my $output = '';
	my $loader = IPC::Run::start([ 'psql', '-XAtq', '-d', $node->connstr('postgres'), '-f', '-' ],
		'<', \$input, '>&', \$output);
	$loader->pump while length $input;
	my $load = q{pg_stat_activity WHERE query LIKE 'COPY bulk%' AND state = 'active'};
	ok($node->poll_query_until('postgres',
		qq{SELECT count(*) = 1 FROM $load AND wait_event = 'ClientRead'}), 'a load is under way');
	my $waiter = start_psql("INSERT INTO bulk VALUES (1, test.number('$salt 1')::fingerprint64)",
		\my $waited);
	ok($node->poll_query_until('postgres',
		q{SELECT count(*) = 1 FROM pg_locks WHERE NOT granted}),
		'an insert of one of its rows waits');
	$node->safe_psql('postgres', "SELECT pg_terminate_backend(pid) FROM $load");
	# psql may have ended before its input is closed.
	eval { $loader->finish; 1 } or $loader->kill_kill;
	like(slurp_file($node->logfile),
		qr/terminating connection due to administrator command\n(?:.*DETAIL:.*\n)?.*CONTEXT:  COPY bulk/,
		'the load is ended midway');
	$waiter->finish;
	is($waited, '', 'the insert ends well');
	answer_is($node, 'SELECT n FROM bulk', '1', 'and its row is kept');
	index_is_clean($node, 'bulk_fp', 'the structure is sound');
}

# With concurrent inserts into a partitioned table, its indexes are rebuilt and its partitions are
# attached and detached.
sub with_ddl
{
	my $name = 'DDL meanwhile';
	return unless pgbench_tries_again($name);
	$node->safe_psql('postgres', <<"SQL");
DROP TABLE IF EXISTS parted, parted2;
CREATE TABLE parted (n bigint, part int, fp fingerprint64) PARTITION BY LIST (part);
CREATE TABLE parted0 PARTITION OF parted FOR VALUES IN (0);
CREATE TABLE parted1 PARTITION OF parted FOR VALUES IN (1);
CREATE TABLE parted2 (LIKE parted);
CREATE INDEX ON parted USING simhash (fp);
@{[trigger_on('parted', 'fp=fp')]}
SQL
	my $rounds = soak() ? 60 : 15;
	my $round = <<'SQL';
REINDEX INDEX CONCURRENTLY parted0_fp_idx;
ALTER TABLE parted ATTACH PARTITION parted2 FOR VALUES IN (2);
REINDEX TABLE CONCURRENTLY parted1;
DROP INDEX IF EXISTS extra;
ALTER TABLE parted DETACH PARTITION parted2;
CREATE INDEX CONCURRENTLY extra ON parted0 USING simhash (fp);
SQL
	my $ddl = start_psql("SET deadlock_timeout = '10s';\n" . $round x $rounds, \my $output);
	my $turns = soak() ? 5000 : 400;
	$node->pgbench("-n -c 4 -j 2 -t $turns --max-tries=1000", 0, [qr/processed: [1-9]/],
		[qr/^(?!.*(?:ERROR|aborted|FATAL))/s], "$name: four clients",
		{ "ddl_$writers" => <<"SQL" });
\\set base random(1, $turns)
\\set variant random(1, 1000000)
\\set part random(0, 1)
BEGIN;
INSERT INTO parted SELECT :base, :part,
  (test.number('ddl ' || :base) # test.flips(:variant::text, :variant % 2))::fingerprint64;
INSERT INTO parted SELECT :base, 1 - :part,
  (test.number('ddl ' || :base + 1) # test.flips(:variant::text, :variant % 2))::fingerprint64;
COMMIT;
SQL
	ok($ddl->finish, "$name: the DDL ends well") or diag $output;
	answer_is($node, <<'SQL', '0', "$name: no near-duplicate pair");
SELECT count(*) FROM parted a JOIN parted b
  ON (a.tableoid, a.ctid) < (b.tableoid, b.ctid) AND (a.fp <~> b.fp) + 0 <= 3
SQL
	answer_is($node, 'SELECT count(*) > 100 FROM parted', 't', "$name: rows are there");
	index_is_clean($node, 'parted0_fp_idx', "$name: the structure is sound");
}

# A subscriber's trigger enabled ALWAYS keeps one row of each group. An ordinary trigger does not
# fire for replicated rows.
sub by_logical_replication
{
	my $subscriber = new_node('subscriber', '');
	my $table = <<'SQL';
CREATE TABLE news (id int PRIMARY KEY, body text, fp fingerprint64);
CREATE TABLE log (id int PRIMARY KEY, fp fingerprint64);
SQL
	$node->safe_psql('postgres', "$table CREATE PUBLICATION news FOR TABLE news, log");
	$node->safe_psql('postgres', <<'SQL');
INSERT INTO news SELECT i, 'the same ten words of one text, sent again and again', NULL
  FROM generate_series(1, 3) i
SQL
	$subscriber->safe_psql('postgres', <<"SQL");
$table
CREATE INDEX ON news USING simhash (fp);
CREATE INDEX ON log USING simhash (fp);
CREATE TRIGGER dedup BEFORE INSERT OR UPDATE ON news
  FOR EACH ROW EXECUTE FUNCTION simhash_dedup('body=body', 'fp=fp');
ALTER TABLE news ENABLE ALWAYS TRIGGER dedup;
CREATE TRIGGER dedup BEFORE INSERT OR UPDATE ON log
  FOR EACH ROW EXECUTE FUNCTION simhash_dedup('fp=fp');
CREATE SUBSCRIPTION news CONNECTION \$\$@{[$node->connstr('postgres')]}\$\$ PUBLICATION news;
SQL
	$subscriber->wait_for_subscription_sync($node, 'news');
	answer_is($subscriber, 'SELECT id, fp = simhash(body) FROM news', '1|t',
		'the initial copy is deduplicated');
	$node->safe_psql('postgres', <<'SQL');
INSERT INTO news VALUES (4, 'the same ten words of one text, sent again and AGAIN', NULL),
  (5, 'quite another text: about rivers, bridges and the sea', NULL);
INSERT INTO news VALUES (6, 'Quite another text, about rivers, bridges and the sea!', NULL);
UPDATE news SET body = 'a third text that nobody has sent before today' WHERE id = 4;
UPDATE news SET body = 'the text is different now: tables, indexes and rows' WHERE id = 5;
INSERT INTO log VALUES (1, '0000000000000000'), (2, '0000000000000000');
SQL
	$node->wait_for_catchup('news');
	answer_is($subscriber, 'SELECT id, fp = simhash(body), left(body, 17) FROM news ORDER BY id',
		"1|t|the same ten word\n5|t|the text is diffe", 'what is applied is deduplicated');
	answer_is($subscriber, 'SELECT count(*) FROM log', '2',
		'an ordinary trigger leaves replicated rows alone');
	$subscriber->stop;
}

for (qw(one many))
{
	$writers = $_;
	note "writers=$writers";
	$node->safe_psql('postgres', 'DROP TRIGGER IF EXISTS dedup ON kept;'
		. trigger_on('kept', 'body=body', 'fp=fp', 'distance=3'));
	for my $level (@levels)
	{
		by_single_inserts($level);
		by_copy($level);
		in_scopes($level);
	}
	with_rollbacks();
	with_updates();
	with_ddl();
	in_bulk();
}
by_logical_replication();
my $expected = join('|', 'could not serialize access', 'deadlock detected',
	'terminating connection due to administrator command', 'canceling autovacuum task');
is(session_errors(slurp_file($node->logfile), qr/$expected/), '', 'nothing unexpected in the log');

$node->stop;
done_testing();
