# Statements that try to break the server, run one after the other, and what of their outcome is a
# fault: a server that crashed, an error of class XX, a Rust panic, a WARNING that begins with
# WRONG, a statement that would not be cancelled.
package Hostile;
use strict;
use warnings;
use POSIX qw(WNOHANG);
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(sleep time);
use Exporter 'import';

our @EXPORT = qw(run_hostile faults_of no_faults $patience hostile_settings);

# Seconds that a statement may take, and how many more until it must have ended.
our $patience = 5;
my $grace = 5;

# Settings that a cluster needs.
sub hostile_settings
{
	return
		"restart_after_crash = on\nlog_min_duration_statement = "
	  . 1000 * ($patience + $grace)
	  . "\nlog_error_verbosity = verbose\n";
}

# What nobody should read in a message: words of a Rust panic.
my $panic =
qr/panicked|unwrap\(\)|called `|attempt to |index out of bounds|out of range for slice|RefCell|poison|not yet implemented|internal error: entered/;

my $runs = 0;

# Runs statements, one a line each. Options: preamble, statements before the first, and again after
# a crash; tolerated, a pattern of "SQLSTATE: message" that is no fault; seconds for all. Answers
# with a list of [statement, what happened], and the number of statements that gave an error.
sub run_hostile
{
	my ($node, $statements, %option) = @_;
	my @preamble = (
		"SET statement_timeout = '${patience}s'",
		'SET client_min_messages = warning',
		@{ $option{preamble} // [] }
	);
	my $tolerated = $option{tolerated} // qr/(?!)/;
	my (@faults, $next, %refused);
	my $log_start = -s $node->logfile;
	for ($next = 0; $next < @$statements;)
	{
		my $first = $next;
		my $file  = $node->basedir . '/hostile' . ++$runs . '.sql';
		open my $handle, '>', $file or die "$file: $!";
		print $handle map { "$_;\n" } @preamble, @$statements[$first .. $#$statements];
		close $handle;
		my @command = (
			'psql', '-XqAt',     '-v', 'VERBOSITY=verbose',
			'-o',   '/dev/null', '-d', $node->connstr('postgres'),
			'-f',   $file
		);
		my $ended = _run(\@command, "$file.err", $option{seconds} // 1800);
		my $error = slurp_file("$file.err");
		my $last;

		for my $line (split /\n/, $error)
		{
			next unless $line =~ /^psql:\Q$file\E:(\d+): (.*)/ || $line =~ /^()(.*)/;
			my ($number, $message) = ($1, $2);
			$last = $first + $number - 1 - @preamble if $number ne '';
			my $statement = defined $last && $last >= $first ? $statements->[$last] : '(preamble)';
			$refused{$last} = 1 if defined $last && $message =~ /^ERROR/;
			next if $message =~ /^(?:ERROR|WARNING|FATAL):\s+(.*)/ && $1 =~ $tolerated;
			if (   $message =~ /^(?:ERROR|FATAL|PANIC|WARNING):\s+XX\w{3}:/
				|| $message =~ $panic
				|| $message =~ /WRONG:/
				|| $message =~ /^PANIC/)
			{
				push @faults, [$statement, $message];
			}
		}
		unlink "$file.err", $file unless @faults;
		if (!$ended)
		{
			my $queries = $node->safe_psql('postgres',
"SELECT query FROM pg_stat_activity WHERE state = 'active' AND pid <> pg_backend_pid() AND backend_type = 'client backend'"
			);
			push @faults, [$queries, 'still running when all should have ended'];
			$node->stop('immediate');
			$node->start;
			last;
		}
		last
		  if $error !~
		  /server closed the connection|connection to server was lost|terminating connection/;
		$last = $first unless defined $last && $last >= $first;
		push @faults, [$statements->[$last], 'the server crashed'];
		$next = $last + 1;
		_wait_for($node);

		# A server that crashes each time would be restarted for ever.
		if (@faults >= 30) { push @faults, ['', 'given up after 30 faults']; last; }
	}
	my $log = slurp_file($node->logfile, $log_start);
	push @faults, [$2, "ended after $1 ms only"]
	  while $log =~ /duration: (\d+)\.\d+ ms  statement: (.*)/g;
	push @faults, ['', $1] while $log =~ /(TRAP: .*|PANIC: .*)/g;
	return (\@faults, scalar keys %refused);
}

# Until a server that crashed lets clients in again. Not by a query that a psql reads: it may be
# gone before it has.
sub _wait_for
{
	my ($node) = @_;
	for (1 .. 600)
	{
		return if system('pg_isready', '-q', '-d', $node->connstr('postgres')) == 0;
		sleep 0.1;
	}
	die 'the server does not come back';
}

# Runs a command with its errors in a file; false when it had to be killed.
sub _run
{
	my ($command, $errors, $seconds) = @_;
	my $deadline = time + $seconds;
	my $pid      = fork // die "fork: $!";
	if (!$pid)
	{
		open STDERR, '>', $errors or POSIX::_exit(126);
		exec @$command or POSIX::_exit(127);
	}
	while (waitpid($pid, WNOHANG) == 0)
	{
		if (time > $deadline)
		{
			kill 'KILL', $pid;
			waitpid $pid, 0;
			return 0;
		}
		sleep 0.02;
	}
	return 1;
}

# A list of faults, for a person; the same message once.
sub faults_of
{
	my ($faults) = @_;
	my (%seen, @lines);
	for (@$faults)
	{
		my ($statement, $what) = @$_;
		next if $seen{ $what =~ s/[0-9a-f]*\d[0-9a-f]*/#/gr }++ > 2;
		$statement = substr($statement, 0, 1000) . ' ...' if length $statement > 1000;
		push @lines, "$what\n    $statement";
	}
	return join "\n", @lines;
}

# One test: nothing of it was a fault.
sub no_faults
{
	my ($node, $name, $statements, %option) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	my $started = time;
	my ($faults, $refused) = run_hostile($node, $statements, %option);
	note sprintf '%s: %d statements, %d refused, %.1f s', $name, scalar @$statements, $refused,
	  time - $started;
	return is(faults_of($faults), '', "$name: " . @$statements . ' statements');
}

1;
