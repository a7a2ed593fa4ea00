# Exclusion constraints under eight clients that insert variants of the same fingerprints and texts.
# At every isolation level no two rows within the distance remain, and every row that was offered
# has a kept row near it.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use IPC::Run;
use SimhashTest;
use PostgreSQL::Test::Utils;
use Test::More;

my $transactions = soak() ? 1500 : 120;
my $node = new_node('main',
	"shared_buffers = 32MB\ndeadlock_timeout = 50ms\nautovacuum_naptime = 1");
seed();

# By name: the excluded elements, the column's type, the distance, the column's value for a number
# n, and whether the constraint is deferrable.
my %constraints = (
	fp64 => [ 'fp WITH ~=', 'fingerprint64', 3, 'n::fingerprint64', '' ],
	fp128 => [ 'fp WITH ~=', 'fingerprint128', 10, 'test.wide(n, 99)', '' ],
	bigint => [ 'fp hamming_int8_ops WITH ~=', 'bigint', 3, 'n', '' ],
	ball64 => [ 'hamming_ball(fp, 5) WITH ~=', 'fingerprint64', 5, 'n::fingerprint64', '' ],
	ball128 => [ 'hamming_ball(fp, 12) WITH ~=', 'fingerprint128', 12, 'test.wide(n, n)', '' ],
	deferred => [ 'fp WITH ~=', 'fingerprint64', 3, 'n::fingerprint64',
		'DEFERRABLE INITIALLY DEFERRED' ],
	'deferred ball' => [ 'hamming_ball(fp, 5) WITH ~=', 'fingerprint64', 5, 'n::fingerprint64',
		'DEFERRABLE INITIALLY DEFERRED' ]);
my @levels = ('READ COMMITTED', 'REPEATABLE READ', 'SERIALIZABLE');

sub create_table
{
	my ($excluded, $type, $deferrable) = @_;
	$node->safe_psql('postgres', <<"SQL");
DROP TABLE IF EXISTS kept, offered;
CREATE TABLE kept (id bigint GENERATED ALWAYS AS IDENTITY, body text, fp $type,
  CONSTRAINT no_near EXCLUDE USING simhash ($excluded) $deferrable);
CREATE TABLE offered (fp $type);
SQL
}

# Five tests: no two kept rows are within the distance, every offered row is within the distance of
# a kept one, there were conflicts and rows to keep, the index is sound.
sub constraint_held
{
	my ($distance, $name) = @_;
	my $plain = by_force();
	answer_is($node, <<"SQL", '0', "$name: no pair is left");
$plain SELECT count(*) FROM kept a JOIN kept b ON a.id < b.id AND hamming(a.fp, b.fp) <= $distance
SQL
	answer_is($node, <<"SQL", '0', "$name: nothing is lost");
$plain SELECT count(*) FROM offered o
  WHERE NOT EXISTS (SELECT FROM kept k WHERE hamming(o.fp, k.fp) <= $distance)
SQL
	my ($kept, $offered) = split /\|/, $node->safe_psql('postgres',
		'SELECT (SELECT count(*) FROM kept), (SELECT count(*) FROM offered)');
	cmp_ok($offered, '>', 1.5 * $kept, "$name: there were conflicts ($kept of $offered kept)");
	cmp_ok($kept, '>', 10, "$name: there were rows to keep");
	index_is_clean($node, 'no_near', "$name: the structure is sound");
}

# ON CONFLICT DO NOTHING by pgbench, which retries after serialization failures and deadlocks.
sub with_do_nothing
{
	my ($kind, $level) = @_;
	my ($excluded, $type, $distance, $value, $deferrable) = @{ $constraints{$kind} };
	my $name = "$kind, DO NOTHING, \L$level";
	return unless pgbench_tries_again($name);
	create_table($excluded, $type, $deferrable);
	my $salt = roll(1_000_000);
	$node->pgbench("-n -c 8 -j 2 -t $transactions --max-tries=1000", 0, [qr/processed: [1-9]/],
		[qr/^(?!.*(?:ERROR|aborted|FATAL))/s], "$name: eight clients",
		{ "insert_\L$kind\E_\L$level" =~ s/ /_/gr => <<"SQL" });
\\set base random(1, $transactions)
\\set variant random(1, 1000000000)
BEGIN ISOLATION LEVEL $level;
INSERT INTO offered SELECT $value
  FROM (SELECT test.number('$salt ' || :base) # test.flips(:variant::text, :variant % 4) AS n) r;
INSERT INTO kept (fp) SELECT $value
  FROM (SELECT test.number('$salt ' || :base) # test.flips(:variant::text, :variant % 4) AS n) r
  ON CONFLICT DO NOTHING;
COMMIT;
SQL
	constraint_held($distance, $name);
}

# Plain inserts by psql, several in each transaction. A violation ends the transaction, at the
# statement or, if the constraint is deferred, at the commit. Deadlocks and serialization failures
# are possible too.
sub with_errors
{
	my ($kind, $level) = @_;
	my ($excluded, $type, $distance, $value, $deferrable) = @{ $constraints{$kind} };
	my $name = "$kind, errors, \L$level";
	create_table($excluded, $type, $deferrable);
	my $salt = roll(1_000_000);
	my $rounds = int($transactions / 2);
	my (@clients, @errors);
	for my $client (1 .. 8)
	{
		my $script = "SET default_transaction_isolation = '$level';\n";
		for my $round (1 .. $rounds)
		{
			my @values = map {
				my ($base, $variant) = (roll($transactions) + 1, roll(1_000_000));
				my $flips = $variant % 4;
				<<"SQL"
(SELECT $value
  FROM (SELECT test.number('$salt $base') # test.flips('$variant', $flips) AS n) r)
SQL
			} 1 .. 2;
			# Only when its transaction has ended is a row known to be kept, or to have a kept row
			# near it.
			my @inserts = map { "INSERT INTO kept (fp) VALUES ($_);\n" } @values[ 0 .. $round % 2 ];
			$script .= "BEGIN;\n" . join('', @inserts) . "COMMIT;\n";
		}
		# The script is a file, because IPC::Run feeds a process only while it waits for it: sessions fed
		# from memory would run one after the other.
		my $file = $node->basedir . "/client$client.sql";
		unlink $file;
		append_to_file($file, $script);
		my $out = '';
		$errors[$client] = '';
		my $errors_file = "$file.errors";
		my @psql = ('psql', '-XAtq', '-d', $node->connstr('postgres'), '-f', $file);
		push @clients,
			[ IPC::Run::start(\@psql, '>', \$out, '2>', $errors_file), $client, $errors_file ];
	}
	my $ended = grep { $_->[0]->finish } @clients;
	$errors[ $_->[1] ] = slurp_file($_->[2]) for @clients;
	is($ended, 8, "$name: eight clients");
	my $all = join("\n", grep { defined } @errors);
	my $expected = join('|', 'conflicting key value violates exclusion constraint "no_near"',
		'deadlock detected', 'could not serialize access', 'current transaction is aborted');
	is(session_errors($all, qr/$expected/), '', "$name: only expected errors");
	like($all, qr/conflicting key value/, "$name: there were violations");
	$node->safe_psql('postgres', 'INSERT INTO offered SELECT fp FROM kept, generate_series(1, 2)');
	constraint_held($distance, $name);
}

# Texts that differ in one word, with fingerprints made by the database.
sub with_texts
{
	my $name = 'texts';
	return unless pgbench_tries_again($name);
	$node->safe_psql('postgres', <<'SQL');
DROP TABLE IF EXISTS kept, offered;
CREATE TABLE kept (id bigint GENERATED ALWAYS AS IDENTITY, body text,
  fp fingerprint64 GENERATED ALWAYS AS (simhash(body)) STORED,
  CONSTRAINT no_near EXCLUDE USING simhash (fp WITH ~=));
CREATE TABLE offered (body text, fp fingerprint64 GENERATED ALWAYS AS (simhash(body)) STORED);
CREATE FUNCTION test.body(base bigint, variant bigint) RETURNS text LANGUAGE sql IMMUTABLE AS $$
  SELECT string_agg(
    CASE WHEN i = variant THEN 'changed' ELSE test.word(base || ' ' || i) END, ' ' ORDER BY i)
  FROM generate_series(1, 150) i $$;
CREATE FUNCTION test.offer(body text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO offered (body) VALUES ($1);
  INSERT INTO kept (body) VALUES ($1) ON CONFLICT DO NOTHING;
END $$;
SQL
	my $bases = int($transactions / 3);
	$node->pgbench("-n -c 8 -j 2 -t $transactions --max-tries=1000", 0, [qr/processed: [1-9]/],
		[qr/^(?!.*(?:ERROR|aborted|FATAL))/s], "$name: eight clients", { offer_texts => <<"SQL" });
\\set base random(1, $bases)
\\set variant random(0, 400)
SELECT test.offer(test.body(:base, :variant));
SQL
	constraint_held(3, $name);
}

# A constraint in a single session: names, error codes, updates, deleted rows.
sub in_one_session
{
	create_table('fp WITH ~=', 'fingerprint64', '');
	$node->safe_psql('postgres', <<'SQL');
INSERT INTO kept (fp) VALUES ('0000000000000000'), ('ffffffffffffffff'), (NULL), (NULL)
SQL
	my $detail = qr/Key \(fp\)=\(0{15}7\) conflicts with existing key \(fp\)=\(0{16}\)/;
	error_like($node, q{INSERT INTO kept (fp) VALUES ('0000000000000007')},
		qr/ERROR:  23P01: .*no_near.*$detail/s, 'distance 3 is refused');
	answer_is($node, q{INSERT INTO kept (fp) VALUES ('000000000000000f') RETURNING fp},
		'000000000000000f', 'distance 4 is let in');
	error_like($node, q{INSERT INTO kept (fp) VALUES ('00000000f0000000'), ('00000000f0000001')},
		qr/23P01/, 'two rows of one statement');
	error_like($node, q{UPDATE kept SET fp = '0000000000000001' WHERE fp = 'ffffffffffffffff'},
		qr/23P01/, 'an update is refused');
	answer_is($node, <<'SQL', 'fffffffffffffffe', 'an update near itself is let in');
UPDATE kept SET fp = 'fffffffffffffffe' WHERE fp = 'ffffffffffffffff' RETURNING fp
SQL
	answer_is($node, <<'SQL', '1', 'what is near another row still is not inserted');
WITH d AS (DELETE FROM kept WHERE fp = '0000000000000000' RETURNING 1) SELECT count(*) FROM d;
INSERT INTO kept (fp) VALUES ('0000000000000003') ON CONFLICT DO NOTHING RETURNING fp
SQL
	answer_is($node, <<'SQL', '0000000000000300', 'a deleted row is in nobody\'s way');
INSERT INTO kept (fp) VALUES ('0000000000000300')
  ON CONFLICT ON CONSTRAINT no_near DO NOTHING RETURNING fp
SQL
}

# Constraints that cannot be added, an index on balls, a deferred constraint.
sub refused_and_deferred
{
	$node->safe_psql('postgres', <<'SQL');
CREATE TABLE near AS SELECT i::bigint::fingerprint64 AS fp FROM generate_series(0, 100) i
SQL
	error_like($node, 'ALTER TABLE near ADD EXCLUDE USING simhash (fp WITH ~=)',
		qr/23P01: could not create exclusion constraint/,
		'a table with near-duplicates refuses the constraint');
	error_like($node, 'ALTER TABLE near ADD EXCLUDE USING simhash (fp WITH <@)',
		qr/ERROR/, 'an operator that is not commutative is refused');
	# An index on balls cannot return them, but counting rows needs no column.
	create_table('hamming_ball(fp, 5) WITH ~=', 'fingerprint64', '');
	$node->safe_psql('postgres', <<'SQL');
INSERT INTO kept (fp) SELECT i::bigint::fingerprint64 FROM generate_series(0, 4095) i
  ON CONFLICT DO NOTHING;
VACUUM kept
SQL
	answer_is($node, <<'SQL', 't', 'rows are counted by an index on balls');
SELECT test.by('only', 'no_near', 'SELECT count(*) FROM kept')
  = test.by('sequential', 'no_near', 'SELECT count(*) FROM kept')
SQL
	# A deferred constraint may be violated before the commit, but not at it.
	create_table('hamming_ball(fp, 5) WITH ~=', 'fingerprint64', 'DEFERRABLE INITIALLY IMMEDIATE');
	answer_is($node, <<'SQL', '1', 'deferred and put right');
BEGIN;
SET CONSTRAINTS no_near DEFERRED;
INSERT INTO kept (fp) VALUES ('0000000000000000'), ('0000000000000001');
DELETE FROM kept WHERE fp = '0000000000000001';
COMMIT;
SELECT count(*) FROM kept
SQL
	error_like($node, <<'SQL', qr/23P01/, 'deferred and not put right');
BEGIN;
SET CONSTRAINTS no_near DEFERRED;
INSERT INTO kept (fp) VALUES ('0000000000000001');
SELECT 1;
COMMIT
SQL
	answer_is($node, q{SELECT count(*) FROM kept}, '1', 'the commit did not happen');
}

in_one_session();
refused_and_deferred();
my $turn = 0;
for my $kind (sort keys %constraints)
{
	my @taken = soak() ? @levels : ($levels[ $turn++ % 3 ], $turn < 3 ? $levels[ $turn % 3 ] : ());
	for my $level (@taken)
	{
		# ON CONFLICT does not accept a deferrable constraint.
		with_do_nothing($kind, $level) unless $kind =~ /deferred/;
		with_errors($kind, $level);
	}
}
with_texts();
is(session_errors(slurp_file($node->logfile), qr/ERROR/),
	'', 'nothing worse than an error in the log');

$node->stop;
done_testing();
