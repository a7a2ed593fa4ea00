# kill -9 of the postmaster and its children at random moments, during builds, inserts and vacuum.
# Recovery succeeds, the indexes are sound, and no committed row is missing from them.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use IPC::Run;
use SimhashTest;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(usleep);

# Buffers are few and checkpoints frequent, so that pages reach the disk at every stage and recovery
# reads old and new ones.
my $settings = <<'CONF';
shared_buffers = 2MB
maintenance_work_mem = 1MB
autovacuum_naptime = 1
autovacuum_vacuum_threshold = 50
autovacuum_vacuum_scale_factor = 0
autovacuum_vacuum_cost_delay = 0
log_checkpoints = off
bgwriter_delay = 10ms
CONF
my $node = new_node('main', $settings, allows_streaming => 1);

my @columns = ('h', 'fp64', 'fp128');
my $rows = <<'SQL';
SELECT n, n, test.wide(n, i) FROM (SELECT i, test.made(i) AS n FROM generate_series(%s, %s) i) r
SQL
$node->safe_psql('postgres', <<"SQL" . sprintf("INSERT INTO t (h, fp64, fp128) $rows", 1, 8000));
CREATE TABLE t (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, h bigint,
  fp64 fingerprint64, fp128 fingerprint128);
CREATE INDEX t_h ON t USING simhash (h hamming_int8_ops) WITH (blocks = 6);
CREATE INDEX t_fp64 ON t USING simhash (fp64);
CREATE INDEX t_fp128 ON t USING simhash (fp128);
CREATE TABLE log (client integer, number bigint);
SQL

my %loads = (
	insert => {
		'insert@5' => "\\set a random(1, 1000000000)\nINSERT INTO t (h, fp64, fp128) "
			. sprintf($rows, ':a', ':a + 9') . ";\n",
		'equal@1' => <<'SQL' },
INSERT INTO t (h, fp64, fp128) SELECT 42, 42::bigint, test.wide(4, 2) FROM generate_series(1, 20);
SQL
	vacuum => {
		'insert@3' => "\\set a random(1, 1000000000)\nINSERT INTO t (h, fp64, fp128) "
			. sprintf($rows, ':a', ':a + 20') . ";\n",
		'delete@2' => <<"SQL",
\\set a random(1, 10)
DELETE FROM t
  WHERE id IN (SELECT id FROM t WHERE id % 10 = :a ORDER BY id LIMIT 60 FOR UPDATE SKIP LOCKED);
SQL
		'vacuum@1' => "VACUUM t;\n",
		'checkpoint@1' => "CHECKPOINT;\n" },
	build => {
		'insert@2' => "\\set a random(1, 1000000000)\nINSERT INTO t (h, fp64, fp128) "
			. sprintf($rows, ':a', ':a + 9') . ";\n",
		'reindex@1' => "REINDEX INDEX t_fp64;\n",
		'create@1' => "BEGIN;\nCREATE INDEX ON t USING simhash (fp128) WITH (blocks = 4);\nROLLBACK;\n",
		'whole@1' => <<'SQL' },
BEGIN;
TRUNCATE log;
CREATE TEMP TABLE x ON COMMIT DROP AS SELECT fp64 FROM t;
CREATE INDEX ON x USING simhash (fp64);
COMMIT;
SQL
	# Only one session may build concurrently at a time; the others write meanwhile.
	concurrently => {
		'insert@9' => "\\set a random(1, 1000000000)\nINSERT INTO t (h, fp64, fp128) "
			. sprintf($rows, ':a', ':a + 9') . ";\n",
		'reindex@1' => <<"SQL" });
SELECT pg_try_advisory_lock(1) AS mine \\gset
\\if :mine
REINDEX INDEX CONCURRENTLY t_h;
SELECT pg_advisory_unlock(1);
\\endif
SQL

# Runs a load and kills the server after some time.
sub crash_under
{
	my ($load, $microseconds) = @_;
	my @files;
	for my $name (sort keys %{ $loads{$load} })
	{
		my ($base, $weight) = split /@/, $name;
		my $file = PostgreSQL::Test::Utils::tempdir . "/${load}_$base";
		append_to_file($file, $loads{$load}{$name});
		push @files, '-f', "$file\@$weight";
	}
	my $output = '';
	my $bench = IPC::Run::start(
		[ 'pgbench', '-n', '-c', 8, '-j', 2, '-T', 60, @files, $node->connstr('postgres') ],
		'>&', \$output);
	usleep($microseconds);
	kill_all_processes($node);
	$bench->finish;
	my $expected = join('|',
		'unexpected postmaster exit', 'postmaster exited during a parallel transaction',
		'server closed the connection', 'connection to server', 'terminated abnormally',
		'deadlock detected', 'Run was aborted', 'aborted in command \d+ .* of script',
		'failed: ', 'while processing');
	is(session_errors($output, qr/$expected/), '', 'no error before the crash');
	return $output;
}

# Drops what is left of indexes whose concurrent build was cut short.
sub drop_invalid_indexes
{
	my $invalid = $node->safe_psql('postgres', <<'SQL');
SELECT string_agg(format('DROP INDEX %s;', indexrelid::regclass), ' ')
  FROM pg_index WHERE NOT indisvalid
SQL
	$node->safe_psql('postgres', $invalid) if $invalid ne '';
}

sub table_is_sound
{
	my ($name) = @_;
	my $live = $node->safe_psql('postgres', 'SELECT count(*) FROM t');
	for my $col (@columns)
	{
		index_is_clean($node, "t_$col", "$name: t_$col: the structure is sound");
		# A ball that holds everything finds every committed row.
		answer_is($node, <<"SQL",
SET enable_seqscan = off;
SET enable_indexonlyscan = off;
SELECT count(*) = $live FROM t
  WHERE $col <@ hamming_ball((SELECT min($col) FROM t), @{[$col eq 'fp128' ? 128 : 64]})
SQL
			't', "$name: $col: no row is missing");
		answers_agree($node, 't', $col, "t_$col", "$name: $col: all scans agree",
			wide => $col eq 'fp128' ? 128 : 64, points => 2, distances => '0,3,12');
	}
}

my $crashes = soak() ? 24 : 4;
my @order = ('insert', 'vacuum', 'build', 'concurrently');
for my $number (1 .. $crashes)
{
	my $load = $order[ ($number - 1) % @order ];
	# A killed process leaves no torn page, so recovery must also work without full-page images,
	# from the changes alone.
	my $images = int(($number - 1) / 2) % 2 ? 'on' : 'off';
	$node->append_conf('postgresql.conf', "full_page_writes = $images");
	$node->reload;
	my $time = 300_000 + roll(soak() ? 4_000_000 : 1_500_000);
	my $name = "crash $number, $load, full_page_writes $images";
	note sprintf('%s: after %.3f s', $name, $time / 1e6);
	crash_under($load, $time);
	ok(start_again($node), "$name: recovery") or last;
	drop_invalid_indexes();
	table_is_sound($name);
	$node->safe_psql('postgres', 'DELETE FROM t WHERE id % 3 > 0')
		if $node->safe_psql('postgres', 'SELECT count(*) > 60000 FROM t') eq 't';
}
$node->safe_psql('postgres', 'VACUUM t');
table_is_sound('after a last vacuum');
like(slurp_file($node->logfile), qr/redo done at/, 'there was something to recover');
unlike(slurp_file($node->logfile), qr/PANIC|terminated by signal (?!9)/, 'no crash but ours');
$node->stop;

# wal_level = minimal: an index created in the same transaction as its table is not logged but
# synced at commit.
$node->append_conf('postgresql.conf',
	"wal_level = minimal\nmax_wal_senders = 0\nfull_page_writes = on");
$node->start;
$node->safe_psql('postgres', <<'SQL');
CHECKPOINT;
BEGIN;
CREATE TABLE w (id bigint, fp64 fingerprint64);
INSERT INTO w SELECT i, test.made(i) FROM generate_series(1, 5000) i;
CREATE INDEX w_fp64 ON w USING simhash (fp64);
INSERT INTO w SELECT i, test.made(i) FROM generate_series(5001, 9000) i;
COMMIT;
INSERT INTO w SELECT i, test.made(i) FROM generate_series(9001, 9500) i;
SQL
$node->kill9;
ok(start_again($node), 'wal_level minimal: recovery');
index_is_clean($node, 'w_fp64', 'wal_level minimal: the structure is sound');
answers_agree($node, 'w', 'fp64', 'w_fp64', 'wal_level minimal: all scans agree');
answer_is($node, 'SELECT count(*) FROM w', '9500', 'wal_level minimal: all rows are there');

# An unlogged index is empty after a crash, and usable.
$node->safe_psql('postgres', <<'SQL');
CREATE UNLOGGED TABLE u (id bigint, fp64 fingerprint64, fp128 fingerprint128);
CREATE INDEX u_fp64 ON u USING simhash (fp64) WITH (blocks = 5);
CREATE INDEX u_fp128 ON u USING simhash (fp128);
INSERT INTO u SELECT i, test.made(i), test.wide(i, i) FROM generate_series(1, 5000) i;
SQL
$node->kill9;
ok(start_again($node), 'unlogged: recovery');
for my $round ('empty', 'filled again')
{
	for my $col ('fp64', 'fp128')
	{
		index_is_clean($node, "u_$col", "unlogged, $round: $col: the structure is sound");
		answers_agree($node, 'u', $col, "u_$col", "unlogged, $round: $col: all scans agree",
			wide => $col eq 'fp128' ? 128 : 64, points => 2);
	}
	answer_is($node, 'SELECT count(*) FROM u', $round eq 'empty' ? '0' : '3000', "unlogged, $round");
	$node->safe_psql('postgres', <<'SQL') if $round eq 'empty';
INSERT INTO u SELECT i, test.made(i), test.wide(i, i) FROM generate_series(1, 3000) i
SQL
}
$node->stop;
done_testing();
