# What the index's cluster tests share: clusters, a reproducible seed, made-up fingerprints, and comparisons of what an
# index answers with what a sequential scan answers.
package SimhashTest;
use strict;
use warnings;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Exporter 'import';
use FindBin;

our @EXPORT = qw(soak seed roll new_node answer_is error_like index_is_clean answers_agree session_errors start_again pgbench_tries_again);

# The long form of the tests: `make soak`.
sub soak { return ($ENV{PG_TEST_EXTRA} // '') =~ /\bsoak\b/ }

# The seed of everything made up; printed, so that a failure can be had again with SIMHASH_SEED. The short form is the
# same each time, the long form is not.
my $seed;

sub seed
{
	return $seed if defined $seed;
	$seed = $ENV{SIMHASH_SEED} || (soak() ? int(time) : 20);
	srand($seed);
	note "SIMHASH_SEED=$seed";
	return $seed;
}

# A whole number from 0 to below a limit.
sub roll { seed(); return int(rand(shift)) }

# A running cluster with the extension and with the functions of compare.sql.
sub new_node
{
	my ($name, $settings, %init) = @_;
	my $node = PostgreSQL::Test::Cluster->new($name);
	my @extra = ('--encoding=UTF8', '--locale=C', @{ delete $init{options} // [] });
	$node->init(extra => \@extra, %init);
	$node->append_conf('postgresql.conf', "max_connections = 40\nlog_statement = none\nlog_autovacuum_min_duration = -1\n$settings");
	$node->start;
	$node->safe_psql('postgres', 'CREATE EXTENSION pg_simhash;' . slurp_file("$FindBin::Bin/compare.sql"));
	return $node;
}

# One test: a query gives these rows. An error is a failure that shows its message.
sub answer_is
{
	my ($node, $query, $expected, $name) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	my ($status, $output, $error) = $node->psql('postgres', $query, on_error_stop => 1);
	return is($status == 0 ? $output : "status $status: $error", $expected, $name);
}

# One test: a statement fails with a message that matches.
sub error_like
{
	my ($node, $statement, $pattern, $name) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	my ($status, $output, $error) = $node->psql('postgres', "\\set VERBOSITY verbose\n$statement", on_error_stop => 1);
	return like($status == 3 ? $error : "status $status: $error$output", $pattern, $name);
}

# One test: the index's structure is sound, and every live row is in every table.
sub index_is_clean
{
	my ($node, $index, $name) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	return answer_is($node, "SELECT count(*) FROM simhash_index_check('$index') c", '1', $name);
}

# One test: the index and a sequential scan answer alike at some random points and distances, and for the whole table.
sub answers_agree
{
	my ($node, $table, $column, $index, $name, %options) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	my $wide = $options{wide} // 64;
	my $distances = $options{distances} // ($wide == 64 ? '0,1,3,6,12,20,64' : '0,3,10,24,40,128');
	my $points = $options{points} // 6;
	return answer_is($node, <<"SQL", '', $name);
SELECT failures FROM test.compare('$table', '$column', '$index', test.points('$table', '$column', $points, '@{[seed()]}'), '{$distances}', '{1,10}')
SQL
}

# The messages of a log or of a client, without those that are expected.
sub session_errors
{
	my ($text, $expected) = @_;
	return join("\n", grep { /\b(?:ERROR|FATAL|PANIC)\b|terminated by signal/ && !/$expected/ } split /\n/, $text);
}

# Whether pgbench tries a transaction again that failed to serialize, as it does from 15 on; else the named test is not run.
sub pgbench_tries_again
{
	my ($name) = @_;
	return 1 if `pgbench --version` =~ /\) (?:1[5-9]|[2-9]\d)/;
	note "$name: not run, for this pgbench does not try again";
	return 0;
}

# Starts a cluster again after kill -9 of its postmaster: the children must have noticed and ended before.
sub start_again
{
	my ($node) = @_;
	for (1 .. 300)
	{
		return 1 if $node->start(fail_ok => 1);
		# The attempt may have left a process number behind.
		$node->stop('fast', fail_ok => 1);
		select(undef, undef, undef, 0.2);
	}
	return 0;
}

1;
