# Planning over partitions: it waits for no lock on a pruned partition, a timeout takes effect at
# once, and planning time grows only with the remaining partitions.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use SimhashTest;
use PostgreSQL::Test::Utils;
use Time::HiRes qw(time);
use Test::More;

my $node = new_node('planning', '');
$node->safe_psql('postgres', <<'SQL');
CREATE TABLE p (id integer, k integer, fp fingerprint64) PARTITION BY LIST (k);
DO $$
BEGIN
  FOR i IN 1..300 LOOP
    EXECUTE format('CREATE TABLE p%s PARTITION OF p FOR VALUES IN (%s)', i, i);
  END LOOP;
END $$;
INSERT INTO p SELECT i, 1 + i % 300, i::bigint::fingerprint64 FROM generate_series(1, 3000) i;
SQL
my %indexes = (
	'no index' => '',
	'an index on a partition' => 'CREATE INDEX p5_fp ON p5 USING simhash (fp);',
	'an index on a locked partition' => 'CREATE INDEX p7_fp ON p7 USING simhash (fp);',
	'an index on all' => 'CREATE INDEX p_fp ON p USING simhash (fp);');
my $query = <<'SQL';
SELECT count(*) FROM p
  WHERE k = 5 AND (hamming(fp, '0000000000000004') <= 3 OR hamming(fp, 'ffffffffffffffff') = 2)
SQL

# Another session locks a partition that the query does not need.
for my $name (sort keys %indexes)
{
	$node->safe_psql('postgres', $indexes{$name}) if $indexes{$name};
	my $expected = $node->safe_psql('postgres', "SET simhash.enable_rewrite = off; $query");
	cmp_ok($expected, '>', 0, "$name: the question has an answer");
	my $holder = $node->background_psql('postgres');
	$holder->query_safe('BEGIN; LOCK TABLE p7 IN ACCESS EXCLUSIVE MODE;');
	answer_is($node, "SET lock_timeout = '100ms'; $query",
		$expected, "$name: an unrelated partition's lock is not waited for");
	answer_is($node, <<"SQL",
SET lock_timeout = '100ms';
BEGIN;
EXPLAIN (COSTS OFF) $query \\g /dev/null
SELECT string_agg(relname, ' ' ORDER BY relname) FROM pg_locks JOIN pg_class c ON c.oid = relation
  WHERE pid = pg_backend_pid() AND relname ~ '^p\\d*\$'
SQL
		'p p5', "$name: the table and the partition that is asked are locked, and no other");
	$holder->query_safe('COMMIT;');
	$holder->quit;
	$node->safe_psql('postgres', 'DROP INDEX IF EXISTS p_fp, p5_fp, p7_fp');
}

# A query that needs the locked partition waits where PostgreSQL itself waits, and can be cancelled
# there.
{
	my $holder = $node->background_psql('postgres');
	$holder->query_safe('BEGIN; LOCK TABLE p7 IN ACCESS EXCLUSIVE MODE;');
	my $started = time;
	error_like($node, <<'SQL', qr/57014: canceling statement due to statement timeout/,
SET statement_timeout = '500ms';
SELECT count(*) FROM p WHERE hamming(fp, '0000000000000004') <= 3
SQL
		'a statement that waits is cancelled');
	cmp_ok(time - $started, '<', 1.5, 'at once');
	$holder->query_safe('COMMIT;');
	$holder->quit;
}

# The least of several planning times, in microseconds, in a session that has planned the query
# before.
sub planning
{
	my ($condition, $count) = @_;
	my $explain = "EXPLAIN (FORMAT json, SUMMARY) SELECT id FROM p WHERE $condition;\n";
	my $plans = $node->safe_psql('postgres', $explain x ($count + 1));
	my @times = $plans =~ /"Planning Time": ([0-9.]+)/g;
	shift @times;
	return (sort { $a <=> $b } map { 1000 * $_ } @times)[0];
}

# How many times as long planning takes with the rewrite as without: four conditions over 300
# partitions without an index.
my $ors = join ' OR ', map { "hamming(fp, '000000000000000$_') <= 3" } 1 .. 4;
my $with = planning($ors, 4);
$node->append_conf('postgresql.conf', 'simhash.enable_rewrite = off');
$node->reload;
my $without = planning($ors, 4);
$node->append_conf('postgresql.conf', 'simhash.enable_rewrite = on');
$node->reload;
note sprintf 'planning four conditions over 300 partitions: %d us, without the rewriting %d us',
	$with, $without;
cmp_ok($with, '<', 3 * $without + 2000,
	'planning over many partitions takes about as long as without the rewriting');
my $pruned = planning("k = 5 AND ($ors)", 8);
note sprintf 'pruned to one of them: %d us', $pruned;
cmp_ok($pruned, '<', $with / 4 + 500, 'and a pruned query a fraction of that');
$node->stop;
done_testing();
