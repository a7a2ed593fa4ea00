# Sessions of psql that run beside each other, each with a name. A test begins a statement in one,
# and goes on with others before it reads the answer.
package Sessions;
use strict;
use warnings;
use IPC::Open2;
use Test::More;
use Exporter 'import';

our @EXPORT = qw(open_session backend begin ended answer waits close_sessions);

my %session;

sub open_session
{
	my ($node, $name) = @_;
	my $connection = $node->connstr('postgres');
	my $pid = open2(my $output, my $input, 'sh', '-c',
		"exec psql -XAtq -d \"$connection\" -v VERBOSITY=sqlstate 2>&1");
	$input->autoflush(1);
	$session{$name} = { node => $node, pid => $pid, input => $input, output => $output };
	$session{$name}{backend} = answer($name, 'SELECT pg_backend_pid()');
}

# The process number of a session's server process.
sub backend { return $session{ $_[0] }{backend} }

sub begin
{
	my ($name, $statement) = @_;
	print { $session{$name}{input} } "$statement;\n\\warn done\n";
}

# The error of a session's last statement, or ''.
sub ended
{
	my ($name) = @_;
	my $answer = '';
	while (defined(my $line = readline $session{$name}{output}))
	{
		last if $line eq "done\n";
		$answer .= $line;
	}
	chomp $answer;
	return $answer =~ s/^psql:<stdin>:\d+: //gmr;
}

sub answer
{
	my ($name, $statement) = @_;
	begin($name, $statement);
	return ended($name);
}

# One test: the session that has begun a statement waits for a lock of that type.
sub waits
{
	my ($name, $kind, $test) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	ok($session{$name}{node}->poll_query_until('postgres', <<"SQL"), $test);
SELECT count(*) = 1 FROM pg_locks WHERE pid = $session{$name}{backend} AND NOT granted
  AND locktype = '$kind'
SQL
}

sub close_sessions
{
	for my $one (values %session) { close $one->{input}; waitpid $one->{pid}, 0; }
	%session = ();
}

1;
