# Finds the SQL blocks of a documentation page and runs them as they stand.
package DocumentedSql;
use strict;
use warnings;
use Exporter 'import';
use Test::More;
use SimhashTest;

our @EXPORT = qw(blocks runs);

# The SQL blocks of a text, each with the output block that follows it, if any.
sub blocks
{
	my ($text) = @_;
	my @blocks;
	while ($text =~ /^```sql\n(.*?)^```\n(?:```\n(.*?)^```\n)?/msg)
	{
		push @blocks, { sql => $1, output => $2 };
	}
	return @blocks;
}

# A printed table without the parts that vary between runs: echoed settings, trailing spaces, the
# row count.
sub table_of
{
	my ($printed) = @_;
	$printed =~ s/^(?:Output format|Tuples only|Default footer).*\n//mg;
	$printed =~ s/[ \t]+$//mg;
	$printed =~ s/\(\d+ rows?\)\s*\z//;
	return $printed =~ s/\s+\z//r;
}

# Two tests: a block runs, and its output is the one that the page shows, if it shows any.
sub runs
{
	my ($node, $database, $block, $name) = @_;
	my $shown = $block->{output};
	my $sql = $block->{sql};
	$sql = join "\n", '\pset format aligned', '\pset tuples_only off', '\pset footer off', $sql
		if defined $shown;
	my ($status, $output, $error) = $node->psql($database, $sql, on_error_stop => 1);
	is($status, 0, "$name: runs") or diag $error;
	is(table_of($output), table_of($shown), "$name: gives what the page shows") if defined $shown;
	return;
}

1;
