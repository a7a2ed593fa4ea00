# Logical replication of a table with groups. The publisher's ids are replicated like any column,
# and the subscriber's triggers do not fire. Rows written on the subscriber join the replicated
# groups. Where the publisher has no groups, settling all rows finds them.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use SimhashTest;
use Test::More;

my $settings = "wal_level = logical\nmax_wal_senders = 10\nmax_replication_slots = 10";
my ($publisher, $subscriber) = map { new_node($_, $settings) } 'publisher', 'subscriber';
my $groups = q{SELECT string_agg(id || ' ' || coalesce(story::text, 'none'), ', ' ORDER BY id)
	FROM };
my $table = <<'SQL';
CREATE TABLE %1$s (id bigint PRIMARY KEY, fp fingerprint64, story bigint);
CREATE INDEX ON %1$s USING simhash (fp);
CREATE INDEX ON %1$s (story);
SQL
my $create = q{SELECT simhash_cluster_create('%1$s', 'fp=fp', 'cluster=story', 'distance=3')};

$_->safe_psql('postgres', sprintf($table, 'news') . sprintf($table, 'plain')
	. sprintf($create, 'news')) for $publisher, $subscriber;
$subscriber->safe_psql('postgres', sprintf($create, 'plain'));
$publisher->safe_psql('postgres', <<'SQL');
INSERT INTO news VALUES (1, '00000000000000ff'), (2, '00000000000000fe'), (3, 'ffff000000000000');
CREATE PUBLICATION p FOR TABLE news, plain;
SQL
my $connection = $publisher->connstr . ' dbname=postgres';
$subscriber->safe_psql('postgres', "CREATE SUBSCRIPTION s CONNECTION '$connection' PUBLICATION p");
ok($subscriber->poll_query_until('postgres', <<'SQL'), 'the tables are copied');
SELECT count(*) = 2 FROM pg_subscription_rel WHERE srsubstate IN ('r', 's')
SQL
answer_is($subscriber, $groups . 'news', '1 1, 2 1, 3 none', 'the first copy brings the ids');

$publisher->safe_psql('postgres', <<'SQL');
INSERT INTO news VALUES (4, 'ffff000000000001'), (5, '00000000000000fc');
DELETE FROM news WHERE id = 1;
UPDATE news SET fp = 'ffff000000000003' WHERE id = 2;
INSERT INTO plain VALUES (1, '00000000000000ff'), (2, '00000000000000fe');
SQL
$publisher->wait_for_catchup('s');
my $published = $publisher->safe_psql('postgres', $groups . 'news');
is($published, '2 3, 3 3, 4 3, 5 none', 'the publisher keeps groups');
answer_is($subscriber, $groups . 'news', $published, 'and the subscriber has them');

$subscriber->safe_psql('postgres', q{INSERT INTO news VALUES (10, 'ffff000000000007')});
answer_is($subscriber, $groups . 'news', '2 3, 3 3, 4 3, 5 none, 10 3',
	'a row of the subscriber joins a group that came');
answer_is($subscriber, $groups . 'plain', '1 none, 2 none',
	'nobody looks at rows that are applied');
answer_is($subscriber, q{SELECT simhash_cluster_settle('plain', "full" => true)}, '1',
	'settling all finds their groups');
answer_is($subscriber, $groups . 'plain', '1 1, 2 1', 'and gives ids');

# Random statements: the published groups are those that a library for graphs finds, on both sides.
$_->safe_psql('postgres', sprintf($table, 't') . sprintf($create, 't')) for $publisher, $subscriber;
$publisher->safe_psql('postgres', 'ALTER PUBLICATION p ADD TABLE t');
$subscriber->safe_psql('postgres', 'ALTER SUBSCRIPTION s REFRESH PUBLICATION');
sub fp { return sprintf '%016x', (1 << roll(30)) - 1 ^ roll(4) << 60 }
for (1 .. 200)
{
	my $id = 1 + roll(60);
	$publisher->safe_psql('postgres', (
		sprintf("INSERT INTO t VALUES (%d, '%s') ON CONFLICT DO NOTHING", $id, fp()),
		sprintf("UPDATE t SET fp = '%s' WHERE id = %d", fp(), $id),
		"DELETE FROM t WHERE id BETWEEN $id AND $id + 3")[ (0, 0, 0, 1, 1, 2)[ roll(6) ] ]);
}
$publisher->wait_for_catchup('s');
components_are($_, 'story', 'SELECT a.id, b.id FROM t a JOIN t b ON a.id < b.id
	AND hamming(a.fp, b.fp) + 0 <= 3', 'components on the ' . $_->name)
  for $publisher, $subscriber;

$_->stop for $subscriber, $publisher;
done_testing();
