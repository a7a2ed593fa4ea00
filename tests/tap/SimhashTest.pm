# Shared by the cluster tests: clusters, a seed that repeats a run, and comparisons of an index's
# answers with those of a sequential scan.
package SimhashTest;
use strict;
use warnings;
use Graph::Undirected;
use IPC::Run;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Exporter 'import';
use FindBin;

our @EXPORT = qw(server_programs server_version soak soak_seconds parallel_joins seed roll
	by_force new_node answer_is components_are error_like index_is_clean answers_agree
	session_errors kill_all_processes start_again pgbench_tries_again under_load replay_settings
	new_standby);

# Whether the tests run in their long form, as in `scripts/run soak`.
sub soak { return ($ENV{PG_TEST_EXTRA} // '') =~ /\bsoak\b/ }

# How many seconds a test goes on generating cases in its long form.
sub soak_seconds { return $ENV{SIMHASH_SOAK_SECONDS} // 300 }

# Server settings for the long form of a test, under which every join of simhash_pairs and
# simhash_clusters uses workers.
sub parallel_joins
{
	return soak() ? "min_parallel_index_scan_size = 0\nparallel_setup_cost = 0" : '';
}

# Settings under which a query compares every row and uses no simhash index.
sub by_force
{
	return <<'SQL';
SET enable_indexscan = off;
SET enable_bitmapscan = off;
SET enable_indexonlyscan = off;
SET simhash.enable_rewrite = off;
SQL
}

# The seed of all random choices, printed so that SIMHASH_SEED can repeat a failure. The short form
# always uses the same seed, the long form a new one.
my $seed;

sub seed
{
	return $seed if defined $seed;
	$seed = $ENV{SIMHASH_SEED} || (soak() ? int(time) : 20);
	srand($seed);
	note "SIMHASH_SEED=$seed";
	return $seed;
}

# The directory of the programs of the server under test.
sub server_programs
{
	my ($found) = grep { -x "$_/postgres" } split /:/, $ENV{PATH};
	return $found // die "no postgres in $ENV{PATH}";
}

# The major version of the server under test.
sub server_version
{
	my ($major) = `postgres --version` =~ /\) (\d+)/ or die 'no version of postgres';
	return $major;
}

# A whole number of at least 0 and below a limit.
sub roll { seed(); return int(rand(shift)) }

# A running cluster with the extension and with the functions of compare.sql.
sub new_node
{
	my ($name, $settings, %init) = @_;
	my $node = PostgreSQL::Test::Cluster->new($name);
	my @extra = ('--encoding=UTF8', '--locale=C', @{ delete $init{options} // [] });
	$node->init(extra => \@extra, %init);
	$node->append_conf('postgresql.conf', <<"CONF");
max_connections = 40
log_statement = none
log_autovacuum_min_duration = -1
$settings
CONF
	$node->start;
	$node->safe_psql('postgres',
		'CREATE EXTENSION pg_simhash;' . slurp_file("$FindBin::Bin/compare.sql"));
	return $node;
}

# Settings of a primary whose replay is tested: each replayed page is compared with the primary's,
# buffers are few, and vacuum runs often. The primary keeps the WAL that a slow standby still needs.
sub replay_settings
{
	return <<'CONF';
shared_buffers = 16MB
wal_consistency_checking = 'generic'
max_wal_size = 2GB
wal_keep_size = 64GB
autovacuum_naptime = 1
autovacuum_vacuum_threshold = 50
autovacuum_vacuum_scale_factor = 0
autovacuum_vacuum_cost_delay = 0
CONF
}

# A running standby. Its feedback makes the primary keep the rows that its queries see.
sub new_standby
{
	my ($primary) = @_;
	$primary->backup('base');
	my $standby = PostgreSQL::Test::Cluster->new('standby');
	$standby->init_from_backup($primary, 'base', has_streaming => 1);
	$standby->append_conf('postgresql.conf', <<'CONF');
hot_standby_feedback = on
max_standby_streaming_delay = -1
wal_receiver_status_interval = 1
CONF
	$standby->start;
	return $standby;
}

# One test: a query returns these rows. An error is a failure that shows the message.
sub answer_is
{
	my ($node, $query, $expected, $name) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	my ($status, $output, $error) = $node->psql('postgres', $query, on_error_stop => 1);
	return is($status == 0 ? $output : "status $status: $error", $expected, $name);
}

# components_are NODE, COLUMN, PAIRS, NAME: one test. The ids in a column of table t are the
# connected components of the pairs of ids that a query returns, as CPAN's Graph finds them. Rows in
# no pair have no id.
sub components_are
{
	my ($node, $column, $pairs, $name) = @_;
	my $graph = Graph::Undirected->new;
	$graph->add_edge(split /\|/) for split /\n/, $node->safe_psql('postgres', $pairs);
	my @found = map { join ' ', sort { $a <=> $b } @$_ } $graph->connected_components;
	my $stored = $node->safe_psql('postgres', "SELECT string_agg(id::text, ' ' ORDER BY id)
		FROM t WHERE $column IS NOT NULL GROUP BY $column");
	is(join("\n", sort split /\n/, $stored), join("\n", sort @found), $name);
}

# One test: a statement fails with a message that matches.
sub error_like
{
	my ($node, $statement, $pattern, $name) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	my ($status, $output, $error) =
		$node->psql('postgres', "\\set VERBOSITY verbose\n$statement", on_error_stop => 1);
	return like($status == 3 ? $error : "status $status: $error$output", $pattern, $name);
}

# One test: the index's structure is sound, and every live row is in every table.
sub index_is_clean
{
	my ($node, $index, $name) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	return answer_is($node, "SELECT count(*) FROM simhash_index_check('$index') c", '1', $name);
}

# One test: the index and a sequential scan give the same answers at some points and distances, and
# for the whole table.
sub answers_agree
{
	my ($node, $table, $column, $index, $name, %options) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	my $wide = $options{wide} // 64;
	my $distances = $options{distances} // ($wide == 64 ? '0,1,3,6,12,20,64' : '0,3,10,24,40,128');
	my $points = $options{points} // 6;
	return answer_is($node, <<"SQL", '', $name);
SELECT failures FROM test.compare('$table', '$column',
    '$index', test.points('$table', '$column', $points, '@{[seed()]}'), '{$distances}', '{1,10}')
SQL
}

# The error messages of a log or of a client, without those that are expected.
sub session_errors
{
	my ($text, $expected) = @_;
	return join("\n", grep { /\b(?:ERROR|FATAL|PANIC)\b|terminated by signal/
		&& !/$expected/ } split /\n/, $text);
}

# Whether pgbench retries a transaction after a serialization failure, as it does from PostgreSQL 15
# on. If not, a note says that the named test does not run.
sub pgbench_tries_again
{
	my ($name) = @_;
	return 1 if `pgbench --version` =~ /\) (?:1[5-9]|[2-9]\d)/;
	note "$name: not run, because this pgbench does not try again";
	return 0;
}

# Two tests: pgbench writes to a server for some seconds while a function runs, and neither pgbench
# nor the server reports an error. Names of scripts end with their weights ('insert@6').
sub under_load
{
	my ($primary, $seconds, $writes, $meanwhile) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	my @files;
	for my $name (sort keys %$writes)
	{
		my ($base, $weight) = split /@/, $name;
		my $file = PostgreSQL::Test::Utils::tempdir . "/write_$base";
		append_to_file($file, $writes->{$name});
		push @files, '-f', "$file\@$weight";
	}
	my $output = '';
	my $writers = IPC::Run::start(
		[ 'pgbench', '-n', '-c', 4, '-T', $seconds, @files, $primary->connstr('postgres') ],
		'>&', \$output);
	$meanwhile->();
	ok($writers->finish, 'the primary took the load') or diag($output);
	is(session_errors($output, qr/^$/), '', 'no error on the primary');
}

# Kills the server with every child. The postmaster is stopped first, so that it starts no child
# after the children were listed: that child would wait for ever for a lock of a killed one, and no
# server could start.
sub kill_all_processes
{
	my ($node) = @_;
	my $postmaster = $node->{_pid};
	kill 'STOP', $postmaster;
	my @children =
		map { m{/proc/(\d+)/} && parent_of($1) == $postmaster ? $1 : () } glob '/proc/[0-9]*/stat';
	$node->kill9;
	kill 'KILL', @children;
}

# The process number of the parent, or 0 for a process that has ended.
sub parent_of
{
	my ($process) = @_;
	open my $file, '<', "/proc/$process/stat" or return 0;
	return (<$file> // '') =~ /\) \S (\d+) / ? $1 : 0;
}

# Starts a cluster again after kill -9 of its postmaster. This succeeds only once its children have
# noticed and ended.
sub start_again
{
	my ($node) = @_;
	for (1 .. 300)
	{
		return 1 if $node->start(fail_ok => 1);
		# The attempt may have left a file with a process number.
		$node->stop('fast', fail_ok => 1);
		select(undef, undef, undef, 0.2);
	}
	return 0;
}

1;
