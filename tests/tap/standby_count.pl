# A scan that needs no column is index-only, whatever columns the access method can return. On a
# standby it must not count rows that vacuum has removed on the primary, even if their pages are
# all-visible when the scan reaches them.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use SimhashTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $primary = new_node('primary', "autovacuum = off\nwal_keep_size = 1GB", allows_streaming => 1);
# The first row fills a page up to the last line pointer, so that the paused scan keeps vacuum out
# of that page only.
my %indexes = (whole => '', partial => 'WHERE id > 0');
$primary->safe_psql('postgres', <<"SQL") for sort keys %indexes;
CREATE TABLE $_ (id integer, fp fingerprint64, filler text);
ALTER TABLE $_ ALTER filler SET STORAGE PLAIN;
CREATE INDEX ON $_ USING simhash (fp) $indexes{$_};
INSERT INTO $_ SELECT i, i::bigint::fingerprint64, CASE i WHEN 1 THEN repeat('x', 8110) END
  FROM generate_series(1, 400) i;
SQL
$primary->backup('base');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($primary, 'base', has_streaming => 1);
$standby->append_conf('postgresql.conf', <<'CONF');
hot_standby_feedback = on
max_standby_streaming_delay = -1
wal_receiver_status_interval = 1
log_recovery_conflict_waits = on
CONF
$standby->start;

# Settings under which an index-only scan is the cheapest plan.
my $cheapest = <<'SQL';
SET enable_seqscan = off;
SET enable_bitmapscan = off;
SET enable_indexscan = off;
SET seq_page_cost = 1e20;
SET cpu_tuple_cost = 1e10;
SQL

for my $table (sort keys %indexes)
{
	my $query = "SELECT 1 FROM $table $indexes{$table}";
	my $deleter = $primary->safe_psql('postgres', <<"SQL");
VACUUM $table;
WITH d AS (DELETE FROM $table WHERE id % 2 = 0 RETURNING 1)
  SELECT pg_current_xact_id() FROM d LIMIT 1
SQL
	my $alive = $primary->safe_psql('postgres', "SELECT count(*) FROM $table");
	$primary->wait_for_catchup($standby);
	my $session = $standby->background_psql('postgres');
	$session->query_safe("$cheapest BEGIN;");
	my $plan = $session->query_safe("EXPLAIN (COSTS OFF) $query;");
	like($plan, qr/Index Only Scan/, "$table: the plan needs no column");
	$session->query_safe("DECLARE c CURSOR FOR $query;");
	my $first = $session->query_safe('FETCH 1 FROM c;');
	$primary->poll_query_until('postgres',
		"SELECT backend_xmin::text::bigint > $deleter FROM pg_stat_replication")
		or die 'no feedback';
	$primary->safe_psql('postgres', "VACUUM $table; VACUUM $table");
	is($primary->safe_psql('postgres',
		"SELECT relallvisible = relpages FROM pg_class WHERE relname = '$table'"),
		't', "$table: vacuum took the deleted rows out");
	my $until = $primary->lsn('flush');
	for (1 .. 50)
	{
		last if $standby->safe_psql('postgres', "SELECT pg_last_wal_replay_lsn() >= '$until'") eq 't';
		select(undef, undef, undef, 0.1);
	}
	note 'startup: ' . $standby->safe_psql('postgres', <<'SQL') . " until $until";
SELECT wait_event, pg_last_wal_replay_lsn() FROM pg_stat_activity WHERE backend_type = 'startup'
SQL
	my $rest = $session->query('FETCH ALL FROM c;');
	my $rows = scalar(grep { /^1$/ } split /\n/, "$first\n$rest");
	is($rows, $alive, "$table: the living rows are counted, and no other");
	$session->quit;
	$primary->wait_for_catchup($standby);
	answer_is($standby, "$cheapest SELECT count(*) FROM ($query) s", $alive, "$table: and again");
}
$standby->stop;
$primary->stop;
done_testing();
