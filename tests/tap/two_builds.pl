# Sessions with two builds of the library, as after an upgrade without a restart: they keep near
# rows out together, and a session's parallel workers do not read memory that another build has laid
# out.
use strict;
use warnings;
use File::Basename qw(dirname);
use FindBin;
use lib $FindBin::Bin;
use Sessions;
use SimhashTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

# A copy of the server, whose library can be replaced while other tests run.
my $programs = server_programs();
my $root = $programs;
$root = dirname($root) while !-f "$root/stamp" && length $root > 1;
my $copy = PostgreSQL::Test::Utils::tempdir . '/server';
system('cp', '-R', $root, $copy) == 0 or die "no copy of $root";
chomp(my $library = `find '$copy' -name pg_simhash.so`);

$ENV{PATH} = $copy . substr($programs, length $root) . ":$ENV{PATH}";
my $node = new_node('main', <<'CONF');
autovacuum = off
min_parallel_table_scan_size = 0
min_parallel_index_scan_size = 0
parallel_setup_cost = 0
CONF
my $has_board = server_version() >= 17;
$node->safe_psql('postgres', <<'SQL');
CREATE TABLE t (id serial PRIMARY KEY, kind text, fp fingerprint64);
CREATE INDEX t_fp ON t USING simhash (fp);
CREATE FUNCTION of(kind text, variant int DEFAULT 0) RETURNS fingerprint64 LANGUAGE sql AS
  $$ SELECT (test.number(kind) # ((1::bigint << variant) - 1))::fingerprint64 $$;
CREATE TABLE doc AS
  SELECT i AS id, of((i / 3)::text, i % 3) AS fp, (SELECT string_agg(
    CASE WHEN n = i % 3 THEN 'own' ELSE test.word(i / 3 || ' ' || n) END, ' ')
    FROM generate_series(0, 29) n) AS body
  FROM generate_series(1, 12000) i;
ALTER TABLE doc ADD PRIMARY KEY (id);
CREATE INDEX doc_fp ON doc USING simhash (fp);
CREATE INDEX doc_body ON doc USING simhash (body);
CREATE TRIGGER d BEFORE INSERT OR UPDATE ON t
  FOR EACH ROW EXECUTE FUNCTION simhash_dedup('fp=fp');
VACUUM ANALYZE;
SQL

sub insert
{
	my ($kind, $variant) = @_;
	return "INSERT INTO t (kind, fp) VALUES ('$kind', of('$kind', $variant))";
}

sub there_are
{
	my ($count, $kind, $test) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	answer_is($node, "SELECT count(*) FROM t WHERE kind = '$kind'", $count, $test);
}

# Statements with parallel workers. They return no row.
my @parallel = (
	'REINDEX INDEX doc_fp',
	map { "SELECT count(*) FROM $_ HAVING count(*) = 0" } "simhash_pairs('doc_fp', 3)",
	"simhash_clusters('doc_fp', 3)",
	"simhash_duplicates('doc_body', 0.7)");

open_session($node, $_) for 'old', 'another';
is(answer($_, insert($_, 0)), '', "$_ session: a row") for 'old', 'another';
is(answer('old', $_), '', "one build: $_") for @parallel;

# The file of an upgrade: of another version, in the place of the old one.
my $bytes = slurp_file($library);
my $changed = $bytes =~ s/(pg_simhash \S+ by) rustc /$1 RUSTC /g;
cmp_ok($changed, '>=', 1, 'the library names its build');
append_to_file("$library.new", $bytes);
rename("$library.new", $library) or die $!;
open_session($node, 'new');

for my $order ([qw(old new)], [qw(new old)])
{
	my ($first, $second) = @$order;
	is(answer($first, 'BEGIN'), '', "$first before $second");
	is(answer($first, insert("$first first", 0)), '', 'a row in a transaction');
	begin($second, insert("$first first", 1));
	waits($second, 'advisory', 'the other build waits for the transaction');
	is(answer($first, 'COMMIT'), '', 'until it is committed');
	is(ended($second), '', 'and goes on');
	there_are(1, "$first first", 'the near row is skipped');
}
answer('old', 'BEGIN');
answer('old', insert('far', 0));
is(answer('another', "SET lock_timeout = '5s'"), '', 'sessions of one build');
is(answer('another', insert('apart', 0)), $has_board ? '' : 'ERROR:  55P03',
	'wait for each other only where there is no board');
answer('old', 'COMMIT');
my $said = slurp_file($node->logfile) =~ /pg_simhash was installed anew since the server started/;
is($said ? 1 : 0, $has_board ? 1 : 0, "the server's log says why");

for (@parallel)
{
	is(answer('old', $_), 'ERROR:  55000', "two builds: $_");
	is(answer('new', $_), '', "the new one: $_");
}
like(answer('old', "\\set VERBOSITY default\n$parallel[0]"),
	qr/was installed anew since this session loaded it\n.*HINT:  Connect again/s, 'a hint');
is(answer('old', 'SET max_parallel_maintenance_workers = 0'), '', 'without workers');
is(answer('old', $parallel[0]), '', 'the old session goes on');
index_is_clean($node, $_, "$_ is sound") for 'doc_fp', 'doc_body', 't_fp';

close_sessions();
$node->restart;
open_session($node, $_) for 'new', 'another';
answer('new', 'BEGIN');
answer('new', insert('restarted', 0));
answer('another', "SET lock_timeout = '5s'");
is(answer('another', insert('at once', 0)), $has_board ? '' : 'ERROR:  55P03',
	'after a restart all have the new build');
answer('new', 'COMMIT');
there_are(1, 'restarted', 'a row');
close_sessions();
done_testing();
