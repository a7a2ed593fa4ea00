# With old_snapshot_threshold (up to PostgreSQL 16) vacuum may remove rows that an old snapshot
# sees. A scan with that snapshot then fails, as in PostgreSQL's own access methods, and never
# silently returns fewer rows.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use SimhashTest;
use Test::More;

plan skip_all => 'PostgreSQL has no old_snapshot_threshold from 17 on'
	if `postgres --version` =~ /\) (?:1[7-9]|[2-9]\d)/;
plan skip_all => 'takes three minutes, the least age of an old snapshot: scripts/run soak'
	if !soak();
my $node = new_node('main', "old_snapshot_threshold = 1min\nautovacuum = off");
$node->safe_psql('postgres', <<'SQL');
CREATE EXTENSION dblink;
CREATE TABLE t (id bigint, fp fingerprint64, wide fingerprint128);
INSERT INTO t SELECT i, test.made(i), test.wide(test.made(i), i) FROM generate_series(1, 3000) i;
CREATE INDEX t_id ON t (id);
CREATE INDEX t_fp ON t USING simhash (fp);
CREATE INDEX t_wide ON t USING simhash (wide);
SQL

# The statements of another session between taking the old snapshot and using it. PostgreSQL records
# the minutes in which snapshots are taken, so the session takes some in the meantime.
(my $other = $node->connstr('postgres')) =~ s/'/''/g;
my $meanwhile = <<"SQL";
SELECT dblink_exec('$other', 'DELETE FROM t WHERE id % 2 = 0');
SELECT dblink_exec('$other', 'DO ''BEGIN PERFORM pg_sleep(5), txid_current(); END''')
  FROM generate_series(1, 34);
SELECT dblink_exec('$other', 'VACUUM t')
SQL
my %queries = (
	'of a B-tree, to compare' => 'SELECT count(id) FROM t WHERE id BETWEEN 1 AND 3000',
	'of a range' => q{SELECT count(*) FROM t WHERE hamming(fp, '0123456789abcdef') <= 40},
	'of a range of 128 bits' => <<'SQL',
SELECT count(*) FROM t WHERE hamming(wide, '0123456789abcdef0123456789abcdef') <= 80
SQL
	'of the nearest' => <<'SQL',
SELECT count(*) FROM (SELECT id FROM t ORDER BY fp <~> '0123456789abcdef' LIMIT 3000) n
SQL
	'of all pairs' => q{SELECT count(*) FROM simhash_pairs('t_fp', 20)},
	'of clusters' => q{SELECT count(*) FROM simhash_clusters('t_fp', 12)});
my $sql = <<"SQL";
CREATE FUNCTION pg_temp.outcome(query text) RETURNS text LANGUAGE plpgsql AS \$\$
DECLARE n bigint;
BEGIN
  EXECUTE query INTO n;
  RETURN n || ' rows';
EXCEPTION WHEN snapshot_too_old THEN
  RETURN SQLERRM;
END \$\$;
SET enable_seqscan = off;
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT 'before: ' || count(*) FROM t;
$meanwhile;
SQL
my @kinds = sort keys %queries;
my @expected;
for my $kind (@kinds)
{
	for my $bitmap ('on', 'off')
	{
		(my $quoted = $queries{$kind}) =~ s/'/''/g;
		$sql .= <<"SQL";
SET enable_bitmapscan = $bitmap;
SELECT '$kind, bitmap scans $bitmap: ' || pg_temp.outcome('$quoted');
SQL
		push @expected, "$kind, bitmap scans $bitmap: snapshot too old";
	}
}
my ($status, $output, $error) = $node->psql('postgres', "SET client_min_messages = error;\n$sql");
like($output, qr/^before: 3000$/m, 'the snapshot sees all rows') or diag $error;
is(join("\n", grep { /bitmap scans/ } split /\n/, $output),
	join("\n", @expected), 'nobody reads on');
answer_is($node, q{SELECT count(*) FROM t WHERE hamming(fp, '0123456789abcdef') <= 64},
	'1500', 'a new snapshot reads what is left');
$node->stop;
done_testing();
