# Shared by the cluster tests of indexes of texts, in addition to SimhashTest.
package TextsTest;
use strict;
use warnings;
use PostgreSQL::Test::Utils;
use SimhashTest;
use Test::More;
use Exporter 'import';
use FindBin;

our @EXPORT = qw(new_text_node text_answers_agree);

# A running cluster with the functions of compare.sql and texts.sql.
sub new_text_node
{
	my ($name, $settings, %init) = @_;
	my $node = new_node($name, $settings, %init);
	$node->safe_psql('postgres', slurp_file("$FindBin::Bin/texts.sql"));
	return $node;
}

# One test: the index and a sequential scan find the same rows near some texts.
sub text_answers_agree
{
	my ($node, $table, $index, $name, %options) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	my $questions = $options{questions} // 20;
	my ($config, $indexed) = ($options{config} // '{}', $options{indexed} // 'body');
	return answer_is($node, <<"SQL", '', $name);
SELECT failures FROM test.compare_texts('$table', '$index', $questions, '@{[seed()]}', '$config',
  \$\$$indexed\$\$)
SQL
}

1;
