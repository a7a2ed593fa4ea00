# The trigger simhash_cluster used by roles other than the owner, where tests in SQL alone do not
# suffice: plans that a writer logs contain no keys of rows hidden from it, and renaming schemas
# during inserts puts no id into another table.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use IPC::Run qw(start finish timeout);
use SimhashTest;
use PostgreSQL::Test::Utils;
use Test::More;

my $rows = soak() ? 20_000 : 1000;
my $node = new_node('main', "autovacuum = off\nsession_preload_libraries = auto_explain");
$node->safe_psql('postgres', <<'SQL');
CREATE ROLE writer;
CREATE TABLE secret (id text PRIMARY KEY, fp fingerprint64, story text, given text);
CREATE INDEX ON secret USING simhash (fp);
CREATE INDEX ON secret (story);
SELECT simhash_cluster_create('secret', 'fp=fp', 'cluster=story', 'settle=later');
INSERT INTO secret VALUES ('unheard of', '0000000000000000'), ('unknown', '0000000000000000');
GRANT INSERT (id, fp), DELETE, SELECT (given) ON secret TO writer;
ALTER TABLE secret ENABLE ROW LEVEL SECURITY;
CREATE POLICY any_row ON secret FOR INSERT WITH CHECK (true);
CREATE POLICY own_rows ON secret FOR ALL USING (id ~ '^a');
SQL

# printed STATEMENT, ROLE: the plans that a session logs. A plan shows a text as the numbers of its
# bytes. auto_explain, which only a superuser can set, logs parameters from 16 on.
sub printed
{
	my ($statement, $role) = @_;
	my ($status, $out, $err) = $node->psql('postgres', <<"SQL");
SET auto_explain.log_min_duration = 0;
SET auto_explain.log_nested_statements = on;
@{[ $role ? "SET SESSION AUTHORIZATION $role;" : '' ]}
SET client_min_messages = log;
SET debug_print_parse = on;
SET debug_print_rewritten = on;
SET debug_print_plan = on;
$statement;
SQL
	is($status, 0, $statement);
	return $err;
}

sub bytes_of { return join ' ', map { ord } split //, shift }

my $hidden = bytes_of('unheard of');
like(printed(q{SELECT FROM secret WHERE id = 'unheard of'}), qr/\b$hidden\b/,
	'a plan shows the values that it was made with');
for my $statement (
	q{INSERT INTO secret (id, fp) VALUES ('a stranger', '0000000000000000')},
	q{INSERT INTO secret (id, fp) VALUES ('a', 'ffffffffffffffff'), ('b', 'ffffffffffffffff')},
	q{DELETE FROM secret WHERE given IS NULL})
{
	my $plans = printed($statement, 'writer');
	like($plans, qr/:commandType 2/, 'ids are told by a plan that the writer sees')
		if $statement =~ /^INSERT/;
	like($plans, qr/Query Text: (UPDATE|INSERT INTO) .*\n.* on /, 'auto_explain has it, too')
		if $statement =~ /^INSERT/;
	unlike($plans, qr/\b$hidden\b|unheard of/, 'without keys of hidden rows');
}
is($node->safe_psql('postgres', 'SELECT id, story FROM secret ORDER BY id'),
	"b|a\nunheard of|unheard of\nunknown|unheard of", 'groups are right');

# Two tables of one name, whose schemas are renamed all the time. Rows are inserted through a view,
# which refers to its table by OID.
$node->safe_psql('postgres', <<'SQL');
CREATE SCHEMA one;
CREATE SCHEMA two;
CREATE TABLE one.t (id int PRIMARY KEY, fp fingerprint64, story int);
CREATE INDEX ON one.t USING simhash (fp);
CREATE INDEX ON one.t (story);
SELECT simhash_cluster_create('one.t', 'fp=fp', 'cluster=story');
CREATE TABLE two.t (LIKE one.t);
CREATE INDEX ON two.t (id);
CREATE VIEW mine AS TABLE one.t;
CREATE VIEW other AS TABLE two.t;
INSERT INTO other SELECT i, '0000000000000000' FROM generate_series(0, 20000) i;
CREATE PROCEDURE swap(times int) LANGUAGE plpgsql AS $$
BEGIN
  FOR i IN 1..times LOOP
    ALTER SCHEMA one RENAME TO zero;
    ALTER SCHEMA two RENAME TO one;
    ALTER SCHEMA zero RENAME TO two;
    COMMIT;
  END LOOP;
END $$;
CREATE TABLE again (at int);
CREATE PROCEDURE load(rows int) LANGUAGE plpgsql AS $$
DECLARE i int := 0;
BEGIN
  WHILE i < rows LOOP
    BEGIN
      INSERT INTO mine VALUES (i, left(md5((i / 2)::text), 16)::fingerprint64);
      i := i + 1;
    EXCEPTION WHEN serialization_failure THEN
      INSERT INTO again VALUES (i);
    END;
    COMMIT;
  END LOOP;
END $$;
SQL
my ($in, $out, $err) = ('', '', '');
my @psql = ('psql', '-XAtq', '-d', $node->connstr('postgres'));
my $swapping = start([ @psql, '-c', 'CALL swap(1000000)' ], \$in, \$out, \$err,
	timeout($PostgreSQL::Test::Utils::timeout_default));
$node->poll_query_until('postgres', "SELECT count(*) > 0 FROM pg_stat_activity
	WHERE query LIKE 'CALL swap%' AND pid <> pg_backend_pid()");
$node->safe_psql('postgres', "CALL load($rows)");
$node->safe_psql('postgres', "SELECT pg_terminate_backend(pid) FROM pg_stat_activity
	WHERE query LIKE 'CALL swap%' AND pid <> pg_backend_pid()");
eval { finish($swapping) };
note 'tried again: ' . $node->safe_psql('postgres', 'SELECT count(*) FROM again');
is($node->safe_psql('postgres', 'SELECT count(*) FROM other WHERE story IS NOT NULL'),
	0, 'no id is in the other table');
is($node->safe_psql('postgres',
		'SELECT count(*), count(*) FILTER (WHERE story = id / 2 * 2) FROM mine'),
	"$rows|$rows", 'all ids are in the table');
$node->stop;
done_testing();
