# Logical replication of tables without a key: the subscriber finds a row by comparing all of its
# columns, so every type needs an equality operator.
use strict;
use warnings;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my %values = (
	fingerprint64 => [ q{'00000000000000ff'}, q{'ff00000000000000'} ],
	fingerprint128 => [ q{repeat('0f', 16)::fingerprint128}, q{repeat('f0', 16)::fingerprint128} ],
	fingerprint256 => [ q{repeat('0f', 32)::fingerprint256}, q{repeat('f0', 32)::fingerprint256} ],
	hamming_ball64 => [ q{'<00000000000000ff,3>'}, q{'<00000000000000ff,4>'} ],
	hamming_ball128 => [ q{'<000000000000000000000000000000ff,3>'},
		q{'<000000000000000000000000000000ff,4>'} ],
	hamming_ball256 => [ q{('<' || repeat('0f', 32) || ',3>')::hamming_ball256},
		q{('<' || repeat('0f', 32) || ',4>')::hamming_ball256} ],
	hamming_ball_bit => [ q{'<0000111100001111,3>'}, q{'<0000111100001111,4>'} ],
	simhash_config => [ q('{"shingle": 2}'), q('{"shingle": 3}') ],
	minhash_signature => [ q{minhash('the cat sat on the mat', 16)},
		q{minhash('another text of some words', 16)} ],
	bloom_filter => [ q{(SELECT bloom_agg(w, 100) FROM unnest('{a,b,c}'::text[]) w)},
		q{(SELECT bloom_agg(w, 100) FROM unnest('{d,e}'::text[]) w)} ]);

sub node
{
	my ($name) = @_;
	my $node = PostgreSQL::Test::Cluster->new($name);
	$node->init(allows_streaming => 'logical', extra => [ '--encoding=UTF8', '--locale=C' ]);
	$node->append_conf('postgresql.conf', <<'CONF');
max_worker_processes = 40
max_logical_replication_workers = 30
max_wal_senders = 30
max_replication_slots = 30
CONF
	# Each subscription has an origin. Older versions allow as many of them as slots.
	$node->append_conf('postgresql.conf', 'max_active_replication_origins = 30')
		if (qx(postgres --version) =~ / (\d+)/)[0] >= 18;
	$node->start;
	$node->safe_psql('postgres', 'CREATE EXTENSION pg_simhash');
	return $node;
}
my $publisher = node('publisher');
my $subscriber = node('subscriber');

# Four types are not meant for columns.
my @types = split /\n/, $publisher->safe_psql('postgres', <<'SQL');
SELECT typname FROM pg_type t
  JOIN pg_depend d ON d.classid = 'pg_type'::regclass AND d.objid = t.oid AND d.deptype = 'e'
  JOIN pg_extension e ON d.refclassid = 'pg_extension'::regclass
    AND d.refobjid = e.oid AND e.extname = 'pg_simhash'
WHERE typtype = 'b' AND typelem = 0 AND typname NOT IN ('near_text', 'simhash_fingerprint',
  'text_passage', 'simhash_incomparable')
ORDER BY typname COLLATE "C"
SQL
is("@types", join(' ', sort keys %values), 'every type of the extension is tried');

# One table and one subscription for each type and for arrays: if one subscription stops, the others
# go on.
my %tables = (map({ $_ => $_ } @types),
	'hamming_ball64[]' => 'balls', 'fingerprint64[]' => 'fingerprints');
$values{'hamming_ball64[]'} = [ q('{"<00000000000000ff,3>",NULL}'), q('{"<00000000000000ff,4>"}') ];
$values{'fingerprint64[]'} = [ q('{00000000000000ff,00000000000000fe}'), q('{00000000000000ff}') ];
my $connection = $publisher->connstr . ' dbname=postgres';
for my $type (sort keys %tables)
{
	my $table = "t_$tables{$type}";
	my ($first, $second) = @{ $values{$type} };
	$_->safe_psql('postgres', <<"SQL") for $publisher, $subscriber;
CREATE TABLE $table (id integer, v $type);
ALTER TABLE $table REPLICA IDENTITY FULL
SQL
	$publisher->safe_psql('postgres', <<"SQL");
INSERT INTO $table VALUES (1, $first), (2, $first), (3, $second), (4, NULL);
CREATE PUBLICATION p_$table FOR TABLE $table
SQL
	$subscriber->safe_psql('postgres',
		"CREATE SUBSCRIPTION s_$table CONNECTION '$connection' PUBLICATION p_$table");
	$subscriber->poll_query_until('postgres', "SELECT count(*) = 4 FROM $table")
		or die "no first copy of $table";
	$publisher->safe_psql('postgres', <<"SQL");
UPDATE $table SET v = $second WHERE id = 1;
DELETE FROM $table WHERE id = 2;
UPDATE $table SET id = 5 WHERE v IS NULL
SQL
}
for my $type (sort keys %tables)
{
	my $table = "t_$tables{$type}";
	my $contents = "SELECT string_agg(t::text, E'\\n' ORDER BY id) FROM $table t";
	my $expected = $publisher->safe_psql('postgres', $contents);
	# A subscription that stops with an ERROR starts again and again, so wait for a few seconds
	# only.
	my $found;
	for (1 .. 100)
	{
		$found = $subscriber->safe_psql('postgres', $contents);
		last if $found eq $expected;
		select(undef, undef, undef, 0.1);
	}
	is($found, $expected, "rows with a $type are updated and deleted on the subscriber");
}
unlike(slurp_file($subscriber->logfile),
	qr/could not identify an equality operator/, 'no equality is missing');

$subscriber->stop;
$publisher->stop;
done_testing();
