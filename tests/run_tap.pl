# Runs the cluster tests named on the command line, two at a time. Ends with "N passed, N failed".
# usage: perl run_tap.pl DIRECTORY-OF-PostgreSQL::Test TEST...
# If DONE_TESTS names a directory, a test that passes leaves a file there. A test that has one is
# not run again, but counted.
use strict;
use warnings;
use File::Basename qw(basename);
use TAP::Harness;

my ($modules, @tests) = @ARGV;
my $done_file = sub { $ENV{DONE_TESTS} ? "$ENV{DONE_TESTS}/" . basename($_[0]) : '' };
my @done = grep { -f $done_file->($_) } @tests;
@tests = grep { !-f $done_file->($_) } @tests;
my $passed_before = 0;
for my $test (@done)
{
	open(my $file, '<', $done_file->($test)) or die "$test: $!";
	$passed_before += <$file>;
}
printf "passed before: %s\n", join ' ', map { basename($_) } @done if @done;
# The tests that take longest at full length start first, so that none runs alone at the end.
my @longest = map { qr{/$_\.pl$} } qw(groups interrupts properties dedup memory dedup_random
	parallel_build equivalence scopes);
for my $long (reverse @longest) { @tests = ((grep { /$long/ } @tests), grep { !/$long/ } @tests); }
my $harness = TAP::Harness->new({ lib => [$modules], jobs => 2, merge => 0, timer => 1 });
$harness->callback(after_test => sub {
	my ($test, $parser) = @_;
	return if !$ENV{DONE_TESTS} || $parser->has_problems;
	open(my $file, '>', $done_file->($test->[0])) or die "$test->[0]: $!";
	print $file scalar($parser->passed), "\n";
	close($file) or die "$test->[0]: $!";
});
my $results = $harness->runtests(@tests);
# A test that dies before its plan is fulfilled fails without a failed assertion.
my $failed = 0;
for my $test (grep { $_->has_problems } $results->parsers($results->descriptions)) {
	$failed += scalar($test->failed) || 1;
}
printf "%d passed, %d failed\n", $passed_before + $results->passed, $failed;
exit($failed == 0 ? 0 : 1);
