# Idle connections of a pool run again after the table was emptied, vacuumed and filled again. The
# index blocks that they remember now belong to other block tables. All connections insert at once,
# and none may wait for ever.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use SimhashTest;
use PostgreSQL::Test::Utils;
use Test::More;

use constant SESSIONS => 60;
my $rounds = soak() ? 100 : 8;
my $rows = 8_000;
my $node = new_node('main', "autovacuum = off\nshared_buffers = 64MB\nmax_connections = 100");
seed();

sub random_rows
{
	my ($count) = @_;
	return <<"SQL";
SELECT ('x' || substr(md5(random()::text), 1, 16))::bit(64)::bigint::fingerprint64
  FROM generate_series(1, $count) i
SQL
}

# Sends statements to a psql that stays connected. A line in its output file marks their end.
my $marks = 0;
sub send_statements
{
	my ($session, $sql) = @_;
	$session->{mark} = 'done ' . ++$marks;
	print { $session->{to} } "$sql;\n\\echo $session->{mark}\n";
	$session->{to}->flush;
}

sub is_done
{
	my ($session) = @_;
	return -e $session->{output} && slurp_file($session->{output}) =~ /^$session->{mark}$/m;
}

# Waits until all sessions have finished. Returns false if they have not within this number of
# seconds.
sub wait_for_all
{
	my ($sessions, $seconds) = @_;
	for (1 .. $seconds * 10)
	{
		return 1 if !grep { !is_done($_) } @$sessions;
		select(undef, undef, undef, 0.1);
	}
	return 0;
}

$node->safe_psql('postgres', <<"SQL");
CREATE TABLE n (id bigint GENERATED ALWAYS AS IDENTITY, fp fingerprint64);
INSERT INTO n (fp) @{[random_rows($rows)]};
CREATE INDEX n_fp ON n USING simhash (fp)
SQL
my @sessions;
for my $number (1 .. SESSIONS)
{
	my $output = $node->basedir . "/session$number";
	my $command = sprintf "psql -XqAt -d '%s' >%s 2>&1", $node->connstr('postgres'), $output;
	open(my $to, '|-', $command) or die $!;
	push @sessions, { to => $to, output => $output };
}
send_statements($_, "INSERT INTO n (fp) @{[random_rows(3)]}") for @sessions;
ok(wait_for_all(\@sessions, 60), 'every session has inserted once');

my $hung = 0;
for my $round (1 .. $rounds)
{
	$node->safe_psql('postgres', 'DELETE FROM n');
	$node->safe_psql('postgres', 'VACUUM n');
	$node->safe_psql('postgres', "INSERT INTO n (fp) @{[random_rows($rows)]}");
	my $insert = join(';', ("INSERT INTO n (fp) @{[random_rows(1)]}") x 6);
	send_statements($_, <<"SQL") for @sessions;
SET statement_timeout = '20s';
$insert;
SELECT count(*) FROM n WHERE fp ~= '0123456789abcdef'
SQL
	$hung = !wait_for_all(\@sessions, 40);
	my $waiting = <<'SQL';
SELECT string_agg(pid::text, ' ') FROM pg_stat_activity
  WHERE wait_event ~ '^Buffer(Content|Share|Exclusive)'
SQL
	ok(!$hung, "round $round: nobody waits for ever")
		or diag('waiting for a page: ', scalar $node->safe_psql('postgres', $waiting));
	last if $hung;
}
if ($hung)
{
	# Only this ends such a backend.
	$node->stop('immediate');
	done_testing();
	exit;
}
answer_is($node, 'SELECT count(*) FROM n', $rows + SESSIONS * 6, 'every row is there');
index_is_clean($node, 'n_fp', 'the index is sound');
answers_agree($node, 'n', 'fp', 'n_fp', 'all scans agree');
for my $session (@sessions)
{
	print { $session->{to} } "\\q\n";
	close $session->{to};
}
is(join('', map { session_errors(slurp_file($_->{output}), qr/^$/) } @sessions),
	'', 'no session had an error');
$node->stop;
done_testing();
