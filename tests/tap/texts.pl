# Indexes of texts and constraints on them under eight clients, at every isolation level, with
# concurrent vacuum and continual settling of postings. No two near rows remain in a constraint's
# table, and every row that was offered has a kept row near it. After kill -9 nothing is lost.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use IPC::Run;
use SimhashTest;
use TextsTest;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(usleep);

my $transactions = soak() ? 1500 : 80;
my $node = new_text_node('main', <<'CONF', allows_streaming => 1);
shared_buffers = 16MB
maintenance_work_mem = 1MB
deadlock_timeout = 50ms
autovacuum_naptime = 1
autovacuum_vacuum_threshold = 50
autovacuum_vacuum_scale_factor = 0
autovacuum_vacuum_cost_delay = 0
bgwriter_delay = 10ms
CONF
seed();

# By name: the excluded elements, options, the similarity, the config, and the text of a base and a
# variant. Long texts are stored out of line: a row that is removed after a conflict loses its TOAST
# chunks at once.
my $short = 'test.text(%s, 40, %s, (%2$s %% 3)::integer)';
my $long = 'test.text(%s, 400, %s, (%2$s %% 16)::integer)';
my %constraints = (
	plain => [ 'near_text(body, 0.8) WITH ~=', 'WITH (recent = 16)', 0.8, '{}', $short ],
	tenants => [ 'tenant WITH =, near_text(body, 0.7) WITH ~=', 'WITH (recent = 8)', 0.7, '{}',
		$short ],
	pairs => [ q{near_text(body, 0.5, '{"shingle": 2}') WITH ~=}, '', 0.5, '{"shingle": 2}', $short ],
	long => [ 'near_text(body, 0.8) WITH ~=', 'WITH (recent = 16)', 0.8, '{}', $long ],
	deferred =>
	  [ 'near_text(body, 0.8) WITH ~=', 'DEFERRABLE INITIALLY DEFERRED', 0.8, '{}', $short ]);
my @levels = ('READ COMMITTED', 'REPEATABLE READ', 'SERIALIZABLE');

sub create_table
{
	my ($kind) = @_;
	my ($excluded, $options) = @{ $constraints{$kind} };
	$node->safe_psql('postgres', <<"SQL");
DROP TABLE IF EXISTS kept, offered;
CREATE TABLE kept (id bigint GENERATED ALWAYS AS IDENTITY, tenant bigint, body text,
  CONSTRAINT no_near EXCLUDE USING simhash ($excluded) $options);
CREATE INDEX kept_b ON kept USING simhash (body)
  WITH (recent = 16, config = '$constraints{$kind}[3]');
ALTER TABLE kept ALTER body SET STORAGE EXTERNAL;
CREATE TABLE offered (tenant bigint, body text);
SQL
}

# Tests that no two kept rows are near, that every offered row is near a kept one, that there were
# conflicts and rows to keep, and that the indexes are sound.
sub constraint_held
{
	my ($kind, $name) = @_;
	my (undef, undef, $similarity, $config) = @{ $constraints{$kind} };
	my $plain = by_force();
	my $near = sub {
		my ($a, $b) = @_;
		my $tenants = $kind eq 'tenants' ? "$a.tenant = $b.tenant AND" : '';
		return "$tenants near_duplicate($a.body, $b.body, $similarity, '$config')";
	};
	answer_is($node, <<"SQL", '0', "$name: no pair is left");
$plain SELECT count(*) FROM kept a JOIN kept b ON a.id < b.id AND @{[$near->('a', 'b')]}
SQL
	answer_is($node, <<"SQL", '0', "$name: nothing is lost");
$plain SELECT count(*) FROM (SELECT DISTINCT * FROM offered) o
  WHERE NOT EXISTS (SELECT FROM kept k WHERE @{[$near->('o', 'k')]})
SQL
	my ($kept, $offered) = split /\|/, $node->safe_psql('postgres',
		'SELECT (SELECT count(*) FROM kept), (SELECT count(*) FROM offered)');
	cmp_ok($offered, '>', 1.5 * $kept, "$name: there were conflicts ($kept of $offered kept)");
	cmp_ok($kept, '>', 5, "$name: there were rows to keep");
	index_is_clean($node, $_, "$name: $_ is sound") for 'no_near', 'kept_b';
	text_answers_agree($node, 'kept', 'kept_b', "$name: all scans agree",
		config => $config, questions => 5);
}

my $games = 0;

# ON CONFLICT DO NOTHING by pgbench, which retries after serialization failures and deadlocks.
sub with_do_nothing
{
	my ($kind, $level) = @_;
	my $name = "$kind, DO NOTHING, \L$level";
	return unless pgbench_tries_again($name);
	create_table($kind);
	my $text = sprintf($constraints{$kind}[4], ':base + ' . roll(1_000_000), ':variant');
	my $bases = int($transactions / 3);
	$games++;
	$node->pgbench("-n -c 8 -j 2 -t $transactions --max-tries=1000", 0, [qr/processed: [1-9]/],
		[qr/^(?!.*(?:ERROR|aborted|FATAL))/s], "$name: eight clients",
		{
			"insert$games\@9" => <<"SQL", "vacuum$games\@1" => "VACUUM kept;\n" });
\\set base random(1, $bases)
\\set variant random(1, 1000)
\\set tenant random(1, 2)
BEGIN ISOLATION LEVEL $level;
INSERT INTO offered SELECT :tenant, $text;
INSERT INTO kept (tenant, body) SELECT :tenant, $text ON CONFLICT DO NOTHING;
COMMIT;
SQL
	constraint_held($kind, $name);
}

# Plain inserts and updates by psql, several in each transaction, some of them in savepoints. A
# violation ends the transaction, at the statement or, if the constraint is deferred, at the commit.
# Deadlocks and serialization failures are possible too.
sub with_errors
{
	my ($kind, $level) = @_;
	my $name = "$kind, errors, \L$level";
	create_table($kind);
	my $salt = roll(1_000_000);
	my (@clients);
	for my $client (1 .. 8)
	{
		my $script = "SET default_transaction_isolation = '$level';\n";
		for my $round (1 .. $transactions / 2)
		{
			my @texts = map {
				sprintf($constraints{$kind}[4], $salt + roll($transactions / 3), roll(1000))
			} 1 .. 3;
			my $tenant = roll(2);
			my @statements =
				map { "INSERT INTO kept (tenant, body) VALUES ($tenant, $_);\n" } @texts[ 0 .. 1 ];
			push @statements, "SAVEPOINT s;\nDELETE FROM kept WHERE id % 10 = @{[roll(10)]};\n",
				"INSERT INTO kept (tenant, body) VALUES ($tenant, $texts[2]);\nROLLBACK TO s;\n"
				if $round % 4 == 0;
			push @statements,
				"UPDATE kept SET body = $texts[2] WHERE id % 50 = @{[roll(50)]} AND tenant = $tenant;\n"
				if $round % 3 == 0;
			$script .= "BEGIN;\n" . join('', @statements) . "COMMIT;\n";
		}
		# A file, because IPC::Run feeds a process only while it waits for it.
		my $file = $node->basedir . "/client$client.sql";
		unlink $file;
		append_to_file($file, $script);
		my $out = '';
		my @psql = ('psql', '-XAtq', '-d', $node->connstr('postgres'), '-f', $file);
		push @clients, [ IPC::Run::start(\@psql, '>', \$out, '2>', "$file.errors"), "$file.errors" ];
	}
	my $ended = grep { $_->[0]->finish } @clients;
	my $all = join("\n", map { slurp_file($_->[1]) } @clients);
	is($ended, 8, "$name: eight clients");
	my $expected = join('|', 'conflicting key value violates exclusion constraint "no_near"',
		'deadlock detected', 'could not serialize access', 'current transaction is aborted',
		'savepoint "s" does not exist');
	is(session_errors($all, qr/$expected/), '', "$name: only expected errors");
	like($all, qr/conflicting key value/, "$name: there were violations");
	$node->safe_psql('postgres',
		'INSERT INTO offered SELECT tenant, body FROM kept WHERE body IS NOT NULL');
	$node->safe_psql('postgres', 'INSERT INTO offered SELECT * FROM offered');
	constraint_held($kind, $name);
}

# Writers of a table without a constraint, and concurrent readers that compare the index with the
# table.
sub without_constraint
{
	$node->safe_psql('postgres', <<'SQL');
CREATE TABLE t (id bigint GENERATED ALWAYS AS IDENTITY, tenant integer, body text,
  same text GENERATED ALWAYS AS (body) STORED);
CREATE INDEX t_b ON t USING simhash (body) WITH (recent = 16);
CREATE INDEX t_ts ON t USING simhash (tenant, same) INCLUDE (id)
  WITH (recent = 8, similarity = 0.7, fillfactor = 60);
INSERT INTO t (tenant, body) SELECT i % 3, test.any_text('t' || i) FROM generate_series(1, 1500) i;
SQL
	my $seconds = soak() ? 120 : 6;
	$node->pgbench("-n -c 8 -j 2 -T $seconds", 0, [qr/processed: [1-9]/],
		[qr/^(?!.*(?:ERROR|aborted|FATAL))/s], 'eight clients without a constraint', our_load());
	table_is_sound('after the load');
}

my %load = (
	'insert@6' => <<'SQL',
\set a random(1, 1000000000)
INSERT INTO t (tenant, body) SELECT i % 3, test.any_text('a' || :a + i)
  FROM generate_series(1, 20) i;
SQL
	'equal@1' => <<'SQL',
INSERT INTO t (tenant, body) SELECT 1, 'the very same text, again and again'
  FROM generate_series(1, 20);
SQL
	'delete@2' => <<'SQL',
\set a random(1, 20)
DELETE FROM t
  WHERE id IN (SELECT id FROM t WHERE id % 20 = :a ORDER BY id LIMIT 60 FOR UPDATE SKIP LOCKED);
SQL
	'update@2' => <<'SQL',
\set a random(1, 100)
UPDATE t SET body = body || ' more', tenant = tenant + 1 WHERE id IN (
  SELECT id FROM t WHERE id % 100 = :a ORDER BY id LIMIT 30 FOR UPDATE SKIP LOCKED);
SQL
	'rollback@1' => <<'SQL',
\set a random(1, 1000000000)
BEGIN;
INSERT INTO t (tenant, body) SELECT i % 3, test.any_text('r' || :a + i)
  FROM generate_series(1, 30) i;
ROLLBACK;
SQL
	'vacuum@1' => "VACUUM t;\n");

sub our_load
{
	my %readers = ('agree@4' => <<'SQL');
\set a random(1, 1000000000)
\set s random(30, 100)
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT test.agree_on_text('t', coalesce(test.any_text('q' || :a), ''), :s / 100.0);
SELECT test.agree_on_text('t', 'again the very same text', :s / 100.0);
COMMIT;
SQL
	return { %load, %readers };
}

sub table_is_sound
{
	my ($name) = @_;
	index_is_clean($node, $_, "$name: $_ is sound") for 't_b', 't_ts';
	answer_is($node, <<'SQL', 't', "$name: no row is missing");
SET enable_seqscan = off;
SELECT rows >= (SELECT count(*) FROM t) FROM simhash_index_info('t_b')
SQL
	text_answers_agree($node, 't', 't_b', "$name: all scans agree", questions => 5);
	text_answers_agree($node, 't', 't_ts', "$name: all scans of scopes agree", questions => 5,
		indexed => 'tenant IN (0, 1, 7) AND same');
}

# kill -9 of all processes in the middle of a load, with and without full-page images: a killed
# process leaves no torn page.
sub crashes
{
	$node->safe_psql('postgres', 'ALTER INDEX t_ts SET (recent = 64)');
	for my $number (1 .. (soak() ? 16 : 2))
	{
		my $images = $number % 2 ? 'off' : 'on';
		$node->append_conf('postgresql.conf', "full_page_writes = $images");
		$node->reload;
		my $name = "crash $number, full_page_writes $images";
		my %files = (%load, 'checkpoint@1' => "CHECKPOINT;\n", 'offer@6' => <<'SQL');
\set base random(1, 1000)
\set variant random(1, 1000)
BEGIN;
INSERT INTO offered SELECT 1, test.text(:base, 40, :variant, 2);
INSERT INTO kept (tenant, body) SELECT 1, test.text(:base, 40, :variant, 2) ON CONFLICT DO NOTHING;
COMMIT;
SQL
		$files{'reindex@1'} = "REINDEX INDEX t_b;\n" if $number % 3 == 0;
		my @files;
		for my $script (sort keys %files)
		{
			my ($base, $weight) = split /@/, $script;
			my $file = PostgreSQL::Test::Utils::tempdir . "/crash${number}_$base";
			append_to_file($file, $files{$script});
			push @files, '-f', "$file\@$weight";
		}
		my $output = '';
		my $bench = IPC::Run::start(
			[ 'pgbench', '-n', '-c', 8, '-j', 2, '-T', 60, @files, $node->connstr('postgres') ],
			'>&', \$output);
		usleep(500_000 + roll(soak() ? 5_000_000 : 2_000_000));
		kill_all_processes($node);
		$bench->finish;
		ok(start_again($node), "$name: recovery") or last;
		table_is_sound($name);
		constraint_held('plain', $name);
		$node->safe_psql('postgres', 'DELETE FROM t WHERE id % 3 > 0')
			if $node->safe_psql('postgres', 'SELECT count(*) > 20000 FROM t') eq 't';
	}
	$node->safe_psql('postgres', 'VACUUM t');
	table_is_sound('after a last vacuum');
	like(slurp_file($node->logfile), qr/redo done at/, 'there was something to recover');

	# An unlogged index is empty after a crash and keeps its recipe.
	$node->safe_psql('postgres', <<'SQL');
CREATE UNLOGGED TABLE u (id bigint GENERATED ALWAYS AS IDENTITY, body text);
CREATE INDEX u_b ON u USING simhash (body) WITH (similarity = 0.6, config = '{"shingle": 2}');
INSERT INTO u (body) SELECT test.any_text('u' || i) FROM generate_series(1, 300) i;
CHECKPOINT;
SQL
	$node->kill9;
	ok(start_again($node), 'unlogged: recovery');
	answer_is($node, q{SELECT rows, postings, similarity, config FROM simhash_index_info('u_b')},
		'0|0|0.6|{"shingle": 2}', 'unlogged: empty, with its recipe');
	$node->safe_psql('postgres',
		q{INSERT INTO u (body) SELECT test.any_text('u' || i) FROM generate_series(1, 300) i});
	index_is_clean($node, 'u_b', 'unlogged: sound when it is filled again');
	text_answers_agree($node, 'u', 'u_b', 'unlogged: all scans agree',
		config => '{"shingle": 2}', questions => 5);

	# wal_level = minimal: an index created in the transaction of its table is synced, not logged.
	$node->append_conf('postgresql.conf',
		"wal_level = minimal\nmax_wal_senders = 0\nfull_page_writes = on");
	$node->restart;
	$node->safe_psql('postgres', <<'SQL');
CHECKPOINT;
BEGIN;
CREATE TABLE w (id bigint GENERATED ALWAYS AS IDENTITY, body text);
INSERT INTO w (body) SELECT test.any_text('w' || i) FROM generate_series(1, 1000) i;
CREATE INDEX w_b ON w USING simhash (body) WITH (recent = 8);
INSERT INTO w (body) SELECT test.any_text('w' || i) FROM generate_series(1001, 1500) i;
COMMIT;
INSERT INTO w (body) SELECT test.any_text('w' || i) FROM generate_series(1501, 1600) i;
SQL
	$node->kill9;
	ok(start_again($node), 'wal_level minimal: recovery');
	index_is_clean($node, 'w_b', 'wal_level minimal: sound');
	text_answers_agree($node, 'w', 'w_b', 'wal_level minimal: all scans agree', questions => 5);
}

for my $kind (sort keys %constraints)
{
	# PostgreSQL does not allow ON CONFLICT with a deferrable constraint.
	my @these = soak() || $kind eq 'plain' ? @levels : $levels[ roll(3) ];
	$kind eq 'deferred' ? with_errors($kind, $_) : with_do_nothing($kind, $_) for @these;
}
with_errors('plain', $_) for soak() ? @levels : $levels[0];
with_errors('tenants', $levels[1]);
without_constraint();
# crashes() needs a table whose constraint is on plain texts.
with_do_nothing('plain', $levels[0]);
crashes();
unlike(slurp_file($node->logfile), qr/PANIC|TRAP|missing chunk|terminated by signal (?!9)/,
	'no crash but ours');
$node->stop;
done_testing();
