# Runs the statements of docs/scale-out.md and docs/scale-out-writers.md as they stand: a table over
# three clusters with postgres_fdw. Conditions and orders are sent to the shards, each shard uses
# its own index, and answers equal those of one table. Pairs found by blocks equal those found by
# brute force.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use SimhashTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $rows = soak() ? 300_000 : 9_000;
seed();
my $salt = roll(1_000_000);
my $coordinator = new_cluster('coordinator', '');
my $explained = <<'CONF';
session_preload_libraries = auto_explain
auto_explain.log_min_duration = 0
auto_explain.log_verbose = on
CONF
my @shards = map { new_cluster("shard$_", $explained) } 0 .. 2;

# A running cluster that accepts TCP connections on the loopback address, with only the settings
# that the pages need.
sub new_cluster
{
	my ($name, $settings) = @_;
	my $node = PostgreSQL::Test::Cluster->new($name);
	$node->init(extra => [ '--encoding=UTF8', '--locale=C' ]);
	$node->append_conf('postgresql.conf',
		"listen_addresses = '127.0.0.1'\nmax_prepared_transactions = 5\n$settings");
	$node->start;
	return $node;
}

# The SQL blocks of the pages, each with the output block that follows it, if any.
sub blocks
{
	my $page = join '', map { slurp_file("$FindBin::Bin/../../docs/$_.md") }
		qw(scale-out scale-out-writers);
	my @blocks;
	while ($page
		=~ /^```sql\n-- on (every shard|the coordinator)\n(.*?)^```\n(?:```\n(.*?)^```\n)?/msg)
	{
		push @blocks, { where => $1, sql => $2, output => $3 };
	}
	return @blocks;
}

sub run_block
{
	my ($block) = @_;
	my $sql = $block->{sql}
		=~ s/host 'shard(\d)', port '5432'/"host '127.0.0.1', port '" . $shards[$1]->port . "'"/ger;
	my @nodes = $block->{where} eq 'every shard' ? @shards : ($coordinator);
	my $answer;
	for my $node (@nodes)
	{
		my ($status, $output, $error) = $node->psql('postgres', $sql, on_error_stop => 1);
		is($status, 0, "$block->{where}: " . substr($sql, 0, 60) =~ s/\n.*//sr) or diag $error;
		$answer = $output;
	}
	return unless defined $block->{output};
	my $shown = $block->{output} =~ s/^ //mgr =~ s/\n$//r;
	# Before 15 postgres_fdw writes the type of every constant.
	s/'::public\.fingerprint64/'/g for $answer, $shown;
	is($answer, $shown, 'its output is the one shown');
}

# The answer to a query, and the plans that auto_explain logged on each shard.
sub shard_plans
{
	my ($query) = @_;
	my @places = map { -s $_->logfile } @shards;
	my $answer = $coordinator->safe_psql('postgres', $query);
	$coordinator->safe_psql('postgres', 'SELECT 1');
	return ($answer, map { slurp_file($shards[$_]->logfile, $places[$_]) } 0 .. 2);
}

my @blocks = blocks();
is(scalar @blocks, 10, 'the pages have their blocks');
run_block($_) for @blocks[ 0, 1 ];

# Every fifth row is a copy of an earlier one, with 0 to 4 bits flipped.
my ($functions) = slurp_file("$FindBin::Bin/compare.sql")
	=~ /(CREATE FUNCTION test\.number.*?\$\$;\n.*?CREATE FUNCTION test\.flips.*?\$\$;\n)/s;
$coordinator->safe_psql('postgres', "CREATE SCHEMA test; $functions");
$coordinator->safe_psql('postgres', <<"SQL");
CREATE TABLE whole (id bigint PRIMARY KEY, body text, fp fingerprint64);
INSERT INTO whole SELECT i, 'text ' || i, (CASE WHEN i % 5 = 0
    THEN test.number('$salt ' || (i * 7 % i + i / 2)) # test.flips(i::text, i % 5 + i / 5 % 5)
    ELSE test.number('$salt ' || i) END)::fingerprint64
  FROM generate_series(1, $rows) i;
INSERT INTO doc TABLE whole;
ANALYZE;
SQL
$_->safe_psql('postgres', 'ANALYZE') for @shards;
my $share = "SELECT count(*) BETWEEN $rows / 4 AND $rows / 2 FROM doc";
is(join('|', map { $_->safe_psql('postgres', $share) } @shards),
	't|t|t', 'each shard has its share');

run_block($_) for @blocks[ 2, 3, 4 ];
is($coordinator->safe_psql('postgres', 'SELECT count(*) FROM doc'), $rows,
	'no text is near another');

my $point = $coordinator->safe_psql('postgres', 'SELECT fp FROM whole WHERE id = 4');
for my $form ("hamming(fp, '$point') <= 6", "hamming(fp, '$point') < 7",
	"fp <@ hamming_ball('$point', 6)", "fp ~= '$point'")
{
	my ($answer, @plans) = shard_plans("SELECT id FROM doc WHERE $form ORDER BY id");
	is($answer, $coordinator->safe_psql('postgres', "SELECT id FROM whole WHERE $form ORDER BY id"),
		"$form: as one table answers");
	like($plans[$_], qr/(?:Index (?:Only )?Scan using doc_fp_idx|Bitmap Index Scan on doc_fp_idx)/,
		"$form: shard $_ uses its index") for 0 .. 2;
}
# A parameter that is known only at execution.
my ($answer, @plans) = shard_plans(<<"SQL");
SET plan_cache_mode = force_generic_plan;
PREPARE q(fingerprint64) AS SELECT id FROM doc WHERE hamming(fp, \$1) <= 6 ORDER BY id;
EXECUTE q('$point')
SQL
is($answer, $coordinator->safe_psql('postgres',
	"SELECT id FROM whole WHERE hamming(fp, '$point') <= 6 ORDER BY id"),
	'a parameter: as one table answers');
like($plans[$_], qr/doc_fp_idx/, "a parameter: shard $_ uses its index") for 0 .. 2;

# Nearest first. Rows at equal distances have no defined order, so distances are compared.
($answer, @plans) =
	shard_plans("SELECT fp <~> '$point' FROM doc ORDER BY fp <~> '$point' LIMIT 10");
is($answer, $coordinator->safe_psql('postgres',
	"SELECT hamming(fp, '$point') FROM whole ORDER BY 1 LIMIT 10"),
	'the ten nearest, as one table answers');
for (0 .. 2)
{
	like($plans[$_],
		qr/Index (?:Only )?Scan using doc_fp_idx.*Order By: \(doc\.fp OPERATOR\(public\.<~>\)/s,
		"the ten nearest: shard $_ uses its index");
	is(scalar(() = $plans[$_] =~ /FETCH 20 FROM c\d/g), 1, "the ten nearest: one fetch from shard $_");
}
answer_is($coordinator, <<"SQL", '1000', 'more than one fetch');
SELECT count(*) FROM (SELECT fp <~> '$point' FROM doc ORDER BY fp <~> '$point' LIMIT 1000) s
SQL

# Deduplication across shards drops the rows that deduplicating one local table drops.
my $by_force = $coordinator->safe_psql('postgres', <<'SQL') unless soak();
SELECT a.id, b.id, hamming(a.fp, b.fp)
  FROM whole a JOIN whole b ON a.id < b.id AND hamming(a.fp, b.fp) <= 3 ORDER BY 1, 2
SQL
my $found = $coordinator->safe_psql('postgres', <<'SQL');
SELECT least(a.id, b.id), greatest(a.id, b.id), s.distance
  FROM simhash_pairs('doc', distance => 3) s
  JOIN doc a ON a.ctid = s.a AND a.tableoid = s.a_table
  JOIN doc b ON b.ctid = s.b AND b.tableoid = s.b_table ORDER BY 1, 2
SQL
cmp_ok(scalar(split /\n/, $found), '>', $rows / 20, 'there are pairs');
is($found, $by_force, 'they are those found by force') unless soak();
run_block($_) for @blocks[ 5, 6, 7 ];
$coordinator->safe_psql('postgres', 'CREATE INDEX whole_fp ON whole USING simhash (fp);
	DELETE FROM whole d USING simhash_duplicates($$whole_fp$$, distance => 3, keep => $$id$$) s
	WHERE d.ctid = s.duplicate');
is($coordinator->safe_psql('postgres', 'SELECT id FROM doc ORDER BY id'),
	$coordinator->safe_psql('postgres', 'SELECT id FROM whole ORDER BY id'),
	'what is left is what is left of one table');
is($coordinator->safe_psql('postgres', <<'SQL'), '0', 'no near-duplicates are left') unless soak();
SELECT count(*) FROM whole a JOIN whole b ON a.id < b.id AND hamming(a.fp, b.fp) <= 3
SQL
cmp_ok($coordinator->safe_psql('postgres', 'SELECT count(*) FROM whole'),
	'>', $rows * 0.75, 'the others are');

# A trigger on the coordinator's table is refused, since it cannot search the foreign tables.
for my $create (q{CREATE TRIGGER t BEFORE INSERT ON doc
	FOR EACH ROW EXECUTE FUNCTION simhash_dedup('fp=fp')},
	q{SELECT simhash_dedup_create('doc', 'fp=fp')}, 
	q{SELECT simhash_dedup_create('doc', 'body=body', 'similarity=0.7')})
{
	my (undef, undef, $error) = $coordinator->psql('postgres', <<"SQL", on_error_stop => 1);
BEGIN; $create;
INSERT INTO doc VALUES (-1, '', '0000000000000000')
SQL
	like($error, qr/ERROR:  simhash_dedup cannot search foreign table doc\d.*HINT/s,
		'no trigger over foreign partitions');
}
# With the partition key as scope, each server's trigger searches all rows that may be near.
$coordinator->safe_psql('postgres', <<'SQL');
CREATE TABLE of_tenant (tenant integer, fp fingerprint64) PARTITION BY LIST (tenant);
CREATE TABLE of_tenant1 PARTITION OF of_tenant FOR VALUES IN (1);
CREATE FOREIGN TABLE of_tenant2 PARTITION OF of_tenant FOR VALUES IN (2)
  SERVER shard0 OPTIONS (table_name 'of_tenant');
SQL
$shards[0]->safe_psql('postgres', <<'SQL');
CREATE TABLE of_tenant (tenant integer, fp fingerprint64);
CREATE TRIGGER t BEFORE INSERT ON of_tenant
  FOR EACH ROW EXECUTE FUNCTION simhash_dedup('fp=fp', 'scope=tenant');
SQL
$coordinator->safe_psql('postgres', q{CREATE TRIGGER t BEFORE INSERT ON of_tenant1
	FOR EACH ROW EXECUTE FUNCTION simhash_dedup('fp=fp', 'scope=tenant');
	INSERT INTO of_tenant VALUES (1, '0000000000000000');
	INSERT INTO of_tenant VALUES (1, '0000000000000001'), (1, 'ffffffffffffffff');
	INSERT INTO of_tenant VALUES (2, '0000000000000000');
	INSERT INTO of_tenant VALUES (2, '0000000000000001')});
is($coordinator->safe_psql('postgres', 'SELECT * FROM of_tenant ORDER BY 1, 2'),
	"1|0000000000000000\n1|ffffffffffffffff\n2|0000000000000000",
	'a trigger with the partition key as scope, on each server');
my (undef, undef, $error) = $coordinator->psql('postgres', <<'SQL', on_error_stop => 1);
DROP TRIGGER t ON of_tenant1;
CREATE TRIGGER t BEFORE INSERT ON of_tenant1 FOR EACH ROW EXECUTE FUNCTION simhash_dedup('fp=fp');
INSERT INTO of_tenant VALUES (1, '00000000ffffffff')
SQL
like($error, qr/cannot search foreign table of_tenant2/, 'without the scope: ERROR');

# The partition key distinguishes equal values: 1.0 and 1.00 as texts. Also a subpartitioned table
# with no foreign table below it.
$coordinator->safe_psql('postgres', <<'SQL');
CREATE TABLE of_text (tenant numeric, fp fingerprint64) PARTITION BY LIST ((tenant::text));
CREATE TABLE of_text1 PARTITION OF of_text FOR VALUES IN ('1.0');
CREATE FOREIGN TABLE of_text2 PARTITION OF of_text FOR VALUES IN ('1.00') SERVER shard0;
CREATE TABLE sub (tenant integer, lang text, fp fingerprint64) PARTITION BY LIST (tenant);
CREATE TABLE sub1 PARTITION OF sub FOR VALUES IN (1) PARTITION BY LIST (lang);
CREATE TABLE sub11 PARTITION OF sub1 DEFAULT;
CREATE FOREIGN TABLE sub2 PARTITION OF sub FOR VALUES IN (2) SERVER shard0;
SQL
for my $case ([ of_text1 => 'of_text2' ], [ sub => 'sub2' ], [ sub1 => '' ])
{
	my ($table, $foreign) = @$case;
	my (undef, undef, $error) = $coordinator->psql('postgres',
		"SELECT simhash_dedup_create('$table', 'fp=fp', 'scope=tenant')", on_error_stop => 1);
	like($error, $foreign ? qr/cannot search foreign table $foreign/ : qr/^(?!.*ERROR)/s,
		"a trigger on $table");
}

# Unique keys across all servers keep near fingerprints out, whichever session writes them. Writers
# of near rows may wait for each other. As the page says, that ends in an error, and the writer may
# try again.
$coordinator->safe_psql('postgres', 'DELETE FROM doc');
run_block($_) for @blocks[ 8, 9 ];
$coordinator->safe_psql('postgres', <<"SQL");
CREATE TABLE pool AS SELECT i AS id,
  (test.number('$salt p' || i / 6) # test.flips('p' || i, i % 4))::fingerprint64 AS fp
  FROM generate_series(1, 300) i;
CREATE FUNCTION try(which integer) RETURNS void LANGUAGE plpgsql AS \$\$
BEGIN
  INSERT INTO doc SELECT id, '', fp FROM pool WHERE id = which;
EXCEPTION WHEN exclusion_violation OR deadlock_detected OR lock_not_available THEN NULL;
END \$\$;
SQL
$coordinator->pgbench('-n -c 4 -j 2 -t 300', 0, [qr/processed: 1200/], [qr/^$/],
	'writers of near fingerprints', { '030_scale_out' => <<'SQL' });
\set id random(1, 300)
SELECT try(:id)
SQL
is($coordinator->safe_psql('postgres', <<'SQL'), '0|0|0|t', 'what is let in is apart, and no less');
SELECT (SELECT count(*) FROM doc a JOIN doc b ON a.id < b.id AND hamming(a.fp, b.fp) <= 3),
  (SELECT count(*) FROM doc) - (SELECT count(DISTINCT id) FROM doc),
  (SELECT count(*) FROM (SELECT id, fp, count(*) FROM block GROUP BY 1, 2
    EXCEPT SELECT id, fp, 4 FROM doc) x),
  (SELECT count(*) BETWEEN 50 AND 250 FROM doc)
SQL
$coordinator->safe_psql('postgres', 'SELECT try(id) FROM pool');
is($coordinator->safe_psql('postgres', <<'SQL'), 0, 'every other one is near one of them');
SELECT count(*) FROM pool p WHERE NOT EXISTS (SELECT FROM doc d WHERE hamming(d.fp, p.fp) <= 3)
SQL
$coordinator->safe_psql('postgres', 'DELETE FROM doc');
is($coordinator->safe_psql('postgres', 'SELECT count(*) FROM block'), 0, 'keys go with their rows');

$_->stop for $coordinator, @shards;
done_testing();
