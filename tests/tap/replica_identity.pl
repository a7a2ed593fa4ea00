# Logical replication of tables without a key: the subscriber finds a row by the equality of all its columns, so every type has one.
use strict;
use warnings;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my %values = (
	fingerprint64 => [ q{'00000000000000ff'}, q{'ff00000000000000'} ],
	fingerprint128 => [ q{repeat('0f', 16)::fingerprint128}, q{repeat('f0', 16)::fingerprint128} ],
	hamming_ball64 => [ q{'<00000000000000ff,3>'}, q{'<00000000000000ff,4>'} ],
	hamming_ball128 => [ q{'<000000000000000000000000000000ff,3>'}, q{'<000000000000000000000000000000ff,4>'} ],
	simhash_config => [ q('{"shingle": 2}'), q('{"shingle": 3}') ],
	minhash_signature => [ q{minhash('the cat sat on the mat', 16)}, q{minhash('another text of some words', 16)} ],
	bloom_filter => [ q{(SELECT bloom_agg(w, 100) FROM unnest('{a,b,c}'::text[]) w)}, q{(SELECT bloom_agg(w, 100) FROM unnest('{d,e}'::text[]) w)} ]);

sub node
{
	my ($name) = @_;
	my $node = PostgreSQL::Test::Cluster->new($name);
	$node->init(allows_streaming => 'logical', extra => [ '--encoding=UTF8', '--locale=C' ]);
	$node->append_conf('postgresql.conf', "max_worker_processes = 40\nmax_logical_replication_workers = 30\nmax_wal_senders = 30\nmax_replication_slots = 30");
	$node->start;
	$node->safe_psql('postgres', 'CREATE EXTENSION pg_simhash');
	return $node;
}
my $publisher = node('publisher');
my $subscriber = node('subscriber');

my @types = split /\n/, $publisher->safe_psql('postgres', q{
  SELECT typname FROM pg_type t JOIN pg_depend d ON d.classid = 'pg_type'::regclass AND d.objid = t.oid AND d.deptype = 'e'
    JOIN pg_extension e ON d.refclassid = 'pg_extension'::regclass AND d.refobjid = e.oid AND e.extname = 'pg_simhash'
  WHERE typtype = 'b' AND typelem = 0 ORDER BY typname COLLATE "C"});
is("@types", join(' ', sort keys %values), 'every type of the extension is tried');

# One table and one subscription a type, and one of arrays: where one stops, the others go on.
my %tables = (map({ $_ => $_ } @types), 'hamming_ball64[]' => 'balls', 'fingerprint64[]' => 'fingerprints');
$values{'hamming_ball64[]'} = [ q('{"<00000000000000ff,3>",NULL}'), q('{"<00000000000000ff,4>"}') ];
$values{'fingerprint64[]'} = [ q('{00000000000000ff,00000000000000fe}'), q('{00000000000000ff}') ];
my $connection = $publisher->connstr . ' dbname=postgres';
for my $type (sort keys %tables)
{
	my $table = "t_$tables{$type}";
	my ($first, $second) = @{ $values{$type} };
	$_->safe_psql('postgres', "CREATE TABLE $table (id integer, v $type); ALTER TABLE $table REPLICA IDENTITY FULL") for $publisher, $subscriber;
	$publisher->safe_psql('postgres', "INSERT INTO $table VALUES (1, $first), (2, $first), (3, $second), (4, NULL); CREATE PUBLICATION p_$table FOR TABLE $table");
	$subscriber->safe_psql('postgres', "CREATE SUBSCRIPTION s_$table CONNECTION '$connection' PUBLICATION p_$table");
	$subscriber->poll_query_until('postgres', "SELECT count(*) = 4 FROM $table") or die "no first copy of $table";
	$publisher->safe_psql('postgres', "UPDATE $table SET v = $second WHERE id = 1; DELETE FROM $table WHERE id = 2; UPDATE $table SET id = 5 WHERE v IS NULL");
}
for my $type (sort keys %tables)
{
	my $table = "t_$tables{$type}";
	my $contents = "SELECT string_agg(t::text, E'\\n' ORDER BY id) FROM $table t";
	my $expected = $publisher->safe_psql('postgres', $contents);
	# Whoever stops with an ERROR starts again and again: a few seconds tell.
	my $found;
	for (1 .. 100)
	{
		$found = $subscriber->safe_psql('postgres', $contents);
		last if $found eq $expected;
		select(undef, undef, undef, 0.1);
	}
	is($found, $expected, "rows with a $type are updated and deleted on the subscriber");
}
unlike(slurp_file($subscriber->logfile), qr/could not identify an equality operator/, 'no equality is missing');

$subscriber->stop;
$publisher->stop;
done_testing();
