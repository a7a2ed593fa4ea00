# Runs statements that try to break the server, one after the other, and reports the faults among
# their outcomes: a server that crashed, an error of class XX, a Rust panic, a message that contains
# WRONG:, a statement that could not be cancelled.
package Hostile;
use strict;
use warnings;
use POSIX qw(WNOHANG);
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(sleep time);
use Exporter 'import';

our @EXPORT = qw(run_hostile faults_of no_faults $patience hostile_settings);

# Seconds until a statement is cancelled, and further seconds until it must have ended.
our $patience = 5;
my $grace = 5;

# Settings that a cluster needs for these tests.
sub hostile_settings
{
	return
		"restart_after_crash = on\nlog_min_duration_statement = "
	  . 1000 * ($patience + $grace)
	  . "\nlog_error_verbosity = verbose\n";
}

# Words of a Rust panic. No message may contain them.
my @panic = ('panicked', 'unwrap\(\)', 'called `', 'attempt to ', 'index out of bounds',
	'out of range for slice', 'RefCell', 'poison', 'not yet implemented', 'internal error: entered');
my $panic = join '|', @panic;
$panic = qr/$panic/;

my $runs = 0;

# Runs statements, one a line, because psql's messages name lines. Options: preamble, statements
# before the first one and again after a crash; tolerated, a pattern of "SQLSTATE: message" that is
# no fault; seconds, the limit of one psql run. Returns a list of [statement, what happened] and the
# number of statements that gave an error.
sub run_hostile
{
	my ($node, $statements, %option) = @_;
	my @preamble = (
		"SET statement_timeout = '${patience}s'",
		'SET client_min_messages = warning',
		@{ $option{preamble} // [] }
	);
	my (@faults, %refused);
	my $log_start = -s $node->logfile;
	for (my $next = 0; $next < @$statements;)
	{
		my $first = $next;
		my $file  = $node->basedir . '/hostile' . ++$runs . '.sql';
		open my $handle, '>', $file or die "$file: $!";
		print $handle map { s/\s*\n\s*/ /gr . ";\n" } @preamble,
		  @$statements[$first .. $#$statements];
		close $handle;
		my @command = (
			'psql', '-XqAt',     '-v', 'VERBOSITY=verbose',
			'-o',   '/dev/null', '-d', $node->connstr('postgres'),
			'-f',   $file
		);
		my $ended = _run(\@command, "$file.err", $option{seconds} // 1800);
		my $error = slurp_file("$file.err");
		my $last;
		for (_messages($error, $file))
		{
			my ($number, $message) = @$_;
			$last = $first + $number - 1 - @preamble if $number ne '';
			my $statement = defined $last && $last >= $first ? $statements->[$last] : '(preamble)';
			$refused{$last} = 1 if defined $last && $message =~ /^ERROR/;
			push @faults, [$statement, $message] if _is_fault($message, $option{tolerated});
		}
		unlink "$file.err", $file unless @faults;
		if (!$ended) { push @faults, _end_all($node); last; }
		last
		  if $error !~
		  /server closed the connection|connection to server was lost|terminating connection/;
		$last = $first unless defined $last && $last >= $first;
		push @faults, [$statements->[$last], 'the server crashed'];
		$next = $last + 1;
		_wait_for($node);

		# Give up: a server that crashes every time would be restarted for ever.
		if (@faults >= 30) { push @faults, ['', 'given up after 30 faults']; last; }
	}
	push @faults, _faults_in_log(slurp_file($node->logfile, $log_start));
	return (\@faults, scalar keys %refused);
}

# psql's messages as [line number, message]. The number is empty where psql names no line.
sub _messages
{
	my ($error, $file) = @_;
	return map { /^psql:\Q$file\E:(\d+): (.*)/ || /^()(.*)/ ? [$1, $2] : () } split /\n/, $error;
}

sub _is_fault
{
	my ($message, $tolerated) = @_;
	$tolerated //= qr/(?!)/;
	return 0 if $message =~ /^(?:ERROR|WARNING|FATAL):\s+(.*)/ && $1 =~ $tolerated;
	return $message =~ /^(?:ERROR|FATAL|PANIC|WARNING):\s+XX\w{3}:/
	  || $message =~ $panic
	  || $message =~ /WRONG:/
	  || $message =~ /^PANIC/;
}

# Restarts a server whose statements take too long. The fault names them.
sub _end_all
{
	my ($node) = @_;
	my $queries = $node->safe_psql('postgres', <<'SQL');
SELECT query FROM pg_stat_activity
  WHERE state = 'active' AND pid <> pg_backend_pid() AND backend_type = 'client backend'
SQL
	$node->stop('immediate');
	$node->start;
	return [$queries, 'still running when all should have ended'];
}

sub _faults_in_log
{
	my ($log) = @_;
	my @faults;
	push @faults, [$2, "ended after $1 ms only"]
	  while $log =~ /duration: (\d+)\.\d+ ms  statement: (.*)/g;
	push @faults, ['', $1] while $log =~ /(TRAP: .*|PANIC: .*)/g;
	return @faults;
}

# Waits until a server that crashed accepts clients again. It uses pg_isready: a psql may end before
# it has read its query.
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

# Runs a command with its errors in a file. Returns false if the command had to be killed.
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

# The faults as a list to print. Each message appears at most three times.
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

# One test: no outcome of these statements was a fault.
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
