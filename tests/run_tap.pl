# Runs the cluster tests named on the command line, two at a time. Ends with "N passed, N failed".
# usage: perl run_tap.pl DIRECTORY-OF-PostgreSQL::Test TEST...
use strict;
use warnings;
use TAP::Harness;

my ($modules, @tests) = @ARGV;
# The tests that take longest at full length start first, so that none runs alone at the end.
my @longest = map { qr{/$_\.pl$} } qw(properties dedup interrupts memory equivalence);
for my $long (reverse @longest) { @tests = ((grep { /$long/ } @tests), grep { !/$long/ } @tests); }
my $harness = TAP::Harness->new({ lib => [$modules], jobs => 2, merge => 0, timer => 1 });
my $results = $harness->runtests(@tests);
# A test that dies before its plan is fulfilled fails without a failed assertion.
my $failed = 0;
for my $test (grep { $_->has_problems } $results->parsers($results->descriptions)) {
	$failed += scalar($test->failed) || 1;
}
printf "%d passed, %d failed\n", scalar $results->passed, $failed;
exit($failed == 0 ? 0 : 1);
