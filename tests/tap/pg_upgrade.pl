# pg_upgrade: indexes, constraints, triggers, groups and models go on working, and no index is built
# anew. SIMHASH_OLD_SERVER is the directory above bin and lib of an older server with the extension:
# from there, with copied and with linked files. Without it, from the version under test to itself,
# with copied files.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Everything;
use SimhashTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $old_server = $ENV{SIMHASH_OLD_SERVER};
my @modes = $old_server ? ('', '--link') : ('');

# Further objects, of later versions of the extension.
my $more = <<'SQL';
SELECT simhash_dictionary('names', '{"new york", "los angeles"}');
CREATE TABLE tenants (id bigint PRIMARY KEY, tenant integer, word text, fp fingerprint64,
  note integer);
INSERT INTO tenants SELECT i, i % 7, 'w' || i % 3, test.number((i / 5)::text)::fingerprint64, i
  FROM generate_series(1, 3000) i;
CREATE INDEX tenants_fp ON tenants USING simhash (tenant, word, fp) INCLUDE (note);
CREATE TABLE grouped (id bigint PRIMARY KEY, fp fingerprint64, cluster bigint);
CREATE INDEX grouped_fp ON grouped USING simhash (fp);
SELECT simhash_cluster_create('grouped', 'fp=fp', 'distance=3', 'cluster=cluster');
INSERT INTO grouped (id, fp) SELECT i, test.number((i / 4)::text)::fingerprint64
  FROM generate_series(1, 400) i;
-- Indexes that name a model or a list of words. Every text comes twice, once with a word more.
CREATE TABLE named (id bigint PRIMARY KEY, body text,
  EXCLUDE USING simhash (near_text(body, 0.97, '{"dictionary": "names"}') WITH ~=));
INSERT INTO named SELECT i + 1000 * more,
    format('in new york lives number %s of the %s people who %s words are from%s', i, i * 7, i * 13,
      repeat(' again', more))
  FROM generate_series(1, 150) i, generate_series(0, 1) more;
SELECT simhash_train('named_words', 'SELECT body FROM named', '{"shingle": 2}');
CREATE INDEX named_idf ON named USING simhash (body)
  WITH (config = '{"weight": "idf", "model": "named_words"}');
CREATE INDEX named_passages ON named USING simhash (body text_passage_ops)
  WITH (words = 5, config = '{"dictionary": "names"}');
VACUUM ANALYZE;
SQL
my $of_named = <<'SQL';
SELECT (SELECT count(*) FROM named a JOIN named b ON near_duplicate(a.body, b.body, 0.5,
    '{"weight": "idf", "model": "named_words"}') AND a.id < b.id)
  || ' ' || (SELECT count(*) FROM named
    WHERE shares_passage(body, 'lives number 17 of the 119 people', 5, '{"dictionary": "names"}'))
  || ' ' || (SELECT count(*) FROM named WHERE near_duplicate(body,
    'In NEW YORK lives number 17 of the 119 people who 221 words are from', 0.97,
    '{"dictionary": "names"}'))
SQL
my $groups = 'SELECT md5(string_agg(g::text, E\'\n\' ORDER BY g.id)) FROM grouped g';
# Groups that only one of the two has, as lists of their members.
my $from_scratch = <<'SQL';
WITH kept AS (SELECT array_agg(id ORDER BY id) AS members FROM grouped
    WHERE cluster IS NOT NULL GROUP BY cluster),
  found AS (SELECT array_agg(g.id ORDER BY g.id) AS members
    FROM simhash_clusters('grouped_fp', 3) c JOIN grouped g ON g.ctid = c.member
    GROUP BY c.representative)
SELECT (SELECT count(*) FROM (TABLE kept EXCEPT TABLE found) k)
  + (SELECT count(*) FROM (TABLE found EXCEPT TABLE kept) f)
SQL
my $of_tenants = rows_of('tenants_fp',
	"tenant = 3 AND word = 'w1' AND hamming(fp, test.number('20')::fingerprint64) <= 12",
	'tenants');
my $files = q{SELECT string_agg(relname || ' ' || relfilenode, ',' ORDER BY relname) FROM pg_class
	WHERE relkind = 'i' AND relam = (SELECT oid FROM pg_am WHERE amname = 'simhash')};

sub everything_answers
{
	my ($node, $kind) = @_;
	my $answers = answers($node, $kind);
	$answers->{$_->[0]} = $node->safe_psql('postgres', $_->[1])
	  for [ 'groups' => $groups ], [ 'indexes with names' => $of_named ],
		[ 'scopes' => $of_tenants =~ s/KIND/$kind/r ],
	  [ 'a dictionary' => q{SELECT simhash('in new york', '{"dictionary": "names"}')} ];
	# From 17 on a table's owner has MAINTAIN as well.
	$answers->{rights} =~ s/=arwdDxtm\//=arwdDxt\//g;
	return $answers;
}

for my $mode (@modes)
{
	my $name = $mode || '--copy';
	my $suffix = $name =~ s/-//gr;
	my $old = PostgreSQL::Test::Cluster->new("old_$suffix",
		$old_server ? (install_path => $old_server) : ());
	$old->init(extra => [ '--encoding=UTF8', '--locale=C' ]);
	$old->start;
	$old->safe_psql('postgres', 'CREATE EXTENSION pg_simhash');
	make_everything($old);
	my @later = map { slurp_file($_) } sort glob("$FindBin::Bin/arguments_*.sql");
	$old->safe_psql('postgres', join("\n", @later, $more));
	my $expected = everything_answers($old, 'sequential');
	my $before = $old->safe_psql('postgres', $files);

	my $new = PostgreSQL::Test::Cluster->new("new_$suffix");
	# Releases of November 2026 (such as 15.20) store an option on every column. Releases of later
	# versions before that month (such as 18.6) refuse it, so that PostgreSQL cannot upgrade any
	# table.
	$old->safe_psql('postgres', q{UPDATE pg_attribute SET attoptions = NULL
		WHERE attoptions::text LIKE '%pg_attver%'})
	  if slurp_file(server_programs() . '/postgres') !~ /pg_attver/;
	$old->stop;
	# From 18 on pages have checksums by default.
	my @plain = server_version() >= 18 ? '--no-data-checksums' : ();
	$new->init(extra => [ '--encoding=UTF8', '--locale=C', @plain ]);
	chdir PostgreSQL::Test::Utils::tempdir or die $!;
	$new->command_ok(
		[ 'pg_upgrade', server_version() >= 15 ? '--no-sync' : (),
			'-d', $old->data_dir, '-D', $new->data_dir,
			'-b', $old_server ? "$old_server/bin" : server_programs(),
			'-B', server_programs(),
			'-s', $new->host, '-p', $old->port, '-P', $new->port, $mode ? $mode : () ],
		"$name: pg_upgrade");
	$new->start;
	$new->safe_psql('postgres', 'ANALYZE');
	is($new->safe_psql('postgres', $files), $before, "$name: no index is built anew");
	every_index_is_sound($new, $name);
	is_deeply(everything_answers($new, $_), $expected, "$name: answers by $_ scans")
	  for 'sequential', 'index', 'bitmap';
	constraints_hold($new, $name);

	# The new server writes to the old pages.
	$new->safe_psql('postgres', <<'SQL');
INSERT INTO grouped (id, fp) SELECT i, test.number((i / 4)::text)::fingerprint64
  FROM generate_series(1000, 1400) i;
DELETE FROM grouped WHERE id % 9 = 0;
SELECT simhash_cluster_settle('grouped');
INSERT INTO tenants SELECT i, i % 7, 'w' || i % 3, test.number((i / 5)::text)::fingerprint64, i
  FROM generate_series(3001, 9000) i;
DELETE FROM tenants WHERE id % 4 = 0;
VACUUM tenants, grouped;
SQL
	every_index_is_sound($new, "$name, after writing");
	answer_is($new, $from_scratch, '0', "$name: groups are those made from scratch");
	is($new->safe_psql('postgres', $of_tenants =~ s/KIND/index/r),
		$new->safe_psql('postgres', $of_tenants =~ s/KIND/sequential/r),
		"$name: new rows are found");
	$new->stop;
}
done_testing();
