# Damaged index pages lead to a clear error that names the block, or to a correct answer: never to a
# crash, a hang or a wrong row.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use SimhashTest;
use TextsTest;
use PostgreSQL::Test::Utils;
use Test::More;

use constant PAGE => 8192;
# The fields of a tree page's header and special area (crates/simhash-index/src/page.rs).
use constant {
	LOWER => 12, UPPER => 14, SPECIAL => 8136, RIGHT => 8136 + 44,
	TABLE => 8136 + 48, LEVEL => 8136 + 49, FLAGS => 8136 + 50, MAGIC => 8136 + 52
};

my @checksums = `postgres --version` =~ /PostgreSQL\) (?:1[89]|[2-9]\d)/
	? ('--no-data-checksums')
	: ();
my $node = new_text_node('main',
	"autovacuum = off\nrestart_after_crash = on\nshared_buffers = 16MB", options => \@checksums);
seed();

sub random_bytes { return join('', map { chr(roll(256)) } 1 .. shift) }

# Each takes one page as bytes and returns the damaged page.
my %damages = (
	'random page' => sub { return random_bytes(PAGE) },
	'zeroed page' => sub { return "\0" x PAGE },
	'wrong magic' => sub { my ($page) = @_; substr($page, MAGIC, 4) = 'XXXX'; return $page },
	'random special area' => sub { my ($page) = @_;
		substr($page, SPECIAL, 56) = random_bytes(56); return $page },
	'special area random but for the magic' => sub { my ($page) = @_;
		substr($page, SPECIAL, 52) = random_bytes(52); return $page },
	'meta or header random' => sub { my ($page) = @_;
		substr($page, 24, 64) = random_bytes(64); return $page },
	# On pages other than the meta page these bytes belong to a key.
	'impossible kind' => sub { my ($page) = @_;
		substr($page, 32, 4) = pack('L', (0, 2, 4, 6, 99)[roll(5)]); return $page },
	'wild lower' => sub { my ($page) = @_;
		substr($page, LOWER, 2) = pack('S', 24 + 8 * roll(1000)); return $page },
	'wild lower and upper' => sub { my ($page) = @_;
		substr($page, LOWER, 4) = pack('SS', 24 + roll(4000), 8136 - roll(4000)); return $page },
	'link to itself' => sub { my ($page, $block) = @_;
		substr($page, RIGHT, 4) = pack('L', $block); return $page },
	'wild link' => sub { my ($page, $block, $blocks) = @_;
		substr($page, RIGHT, 4) = pack('L', roll($blocks)); return $page },
	'link beyond the end' => sub { my ($page, $block, $blocks) = @_;
		substr($page, RIGHT, 4) = pack('L', $blocks + roll(1_000_000)); return $page },
	'another table' => sub { my ($page) = @_; substr($page, TABLE, 1) = chr(roll(256)); return $page },
	'another level' => sub { my ($page) = @_; substr($page, LEVEL, 1) = chr(roll(256)); return $page },
	'deleted' => sub { my ($page) = @_; substr($page, FLAGS, 2) = pack('S', 1); return $page },
	'random keys' => sub { my ($page) = @_;
		substr($page, 24 + 8 * roll(300), 64) = random_bytes(64); return $page },
	'random slots' => sub { my ($page) = @_;
		substr($page, SPECIAL - 1000 - roll(1000), 60) = random_bytes(60); return $page },
	'another page' => sub { my ($page, $block, $blocks, $read) = @_; return $read->(roll($blocks)) },
	'torn' => sub { my ($page, $block, $blocks, $read) = @_;
		return substr($page, 0, PAGE / 2) . substr($read->(roll($blocks)), PAGE / 2) },
	# On the meta page: the version of the format, and how texts became keys (the similarity, the
	# number of bands, the rows in each, or the config).
	'another format' => sub { my ($page) = @_; substr($page, 28, 4) = pack('L', 99); return $page },
	'impossible recipe' => sub { my ($page) = @_;
		my ($at, $bytes) = ([ 80, pack('d', 'nan') ], [ 80, pack('d', 0.1) ], [ 72, pack('L', 60) ],
			[ 76, pack('L', 7) ], [ 96, '{]' ], [ 88, pack('L', 1) ])[ roll(6) ]->@*;
		substr($page, $at, length $bytes) = $bytes; return $page },
	# A leaf and its right neighbour agree with each other but not with their parent, which directs
	# to one leaf keys that belong to the other.
	'boundary moved' => sub {
		my ($page, $block, $blocks, $read) = @_;
		for my $at (map { ($block + $_) % $blocks } 0 .. $blocks - 1)
		{
			my $leaf = $read->($at);
			my $right = unpack('L', substr($leaf, RIGHT, 4));
			next if unpack('L', substr($leaf, MAGIC, 4)) != 0x53485431
				|| ord(substr($leaf, LEVEL, 1)) > 0 || $right >= $blocks;
			my $neighbour = $read->($right);
			substr($leaf, SPECIAL + 16, 8) = substr($neighbour, SPECIAL, 8) = substr($leaf, SPECIAL, 8);
			substr($leaf, SPECIAL + 38, 6) =
				substr($neighbour, SPECIAL + 32, 6) = pack('CCCCCC', 1, 0, 0, 0, 0, 0);
			return ($page, $at, $leaf, $right, $neighbour);
		}
		die 'no leaf has a right neighbour';
	},
	'cut off' => sub { return undef });
# These damage the contents of pages, not their structure: only a check can notice that.
my $plausible = qr/random keys|random slots|torn|kind/;

# The damage that a check must find. The meta page has no special area.
my $evident = qr/random page|zeroed|magic|random special|boundary/;
my $evident_in_meta = qr/random page|zeroed|header random|kind|format|recipe/;

# The damaged block: the meta page, a root, any other. The roots are blocks 1 to 5 in an index of
# fingerprints, 1 to 3 in one of texts.
my %places = (
	meta => sub { 0 },
	root => sub { my ($blocks, $kind) = @_; return 1 + roll($kind eq 'texts' ? 3 : 5) },
	any => sub { my ($blocks) = @_; return 4 + roll($blocks - 4) });

my @cases;
for my $kind (('fingerprints', 'texts') x (soak() ? 4 : 1))
{
	for my $damage (sort keys %damages)
	{
		my @where = $damage eq 'cut off' ? 'any'
			: $damage eq 'boundary moved' ? ('any') x 3
			: $damage eq 'another format' ? 'meta'
			: $damage eq 'impossible recipe' ? ('meta') x ($kind eq 'texts' ? 4 : 0)
			: sort keys %places;
		push @cases, { kind => $kind, damage => $damage, place => $_ } for @where;
	}
}

sub make_tables
{
	my $sql = '';
	for my $number (0 .. $#cases)
	{
		my $name = "c$number";
		# Some of the postings are still recent.
		$sql .= $cases[$number]{kind} eq 'texts' ? <<"SQL" : <<"SQL";
CREATE TABLE $name (id integer, body text);
INSERT INTO $name SELECT i, test.text(i / 8, 12, i, i % 4) FROM generate_series(1, 700) i;
CREATE INDEX ${name}_i ON $name USING simhash (body) WITH (recent = 24);
INSERT INTO $name SELECT i, test.text(i / 8, 12, i, i % 4) FROM generate_series(701, 800) i;
INSERT INTO $name VALUES (801, ''), (802, NULL);
VACUUM ANALYZE $name;
SQL
CREATE TABLE $name (id integer, fp64 fingerprint64);
INSERT INTO $name SELECT i, test.made(i) FROM generate_series(1, 4000) i;
CREATE INDEX ${name}_i ON $name USING simhash (fp64);
VACUUM ANALYZE $name;
SQL
	}
	$node->safe_psql('postgres', $sql);
	for my $number (0 .. $#cases)
	{
		$cases[$number]{file} = $node->data_dir
			. '/' . $node->safe_psql('postgres', "SELECT pg_relation_filepath('c${number}_i')");
	}
}

sub damage_file
{
	my ($case) = @_;
	my $bytes = slurp_file($case->{file});
	my $blocks = length($bytes) / PAGE;
	my $block = $case->{block} = $places{ $case->{place} }->($blocks, $case->{kind});
	my $read = sub { return substr($bytes, $_[0] * PAGE, PAGE) };
	my ($page, @others) = $damages{ $case->{damage} }->($read->($block), $block, $blocks, $read);
	open(my $file, '+<', $case->{file}) or die $!;
	binmode $file;
	my @pages = ($block, $page, @others);
	while (my ($at, $bytes) = splice(@pages, 0, 2))
	{
		if (!defined $bytes) { truncate($file, $at * PAGE) or die $! }
		else
		{
			seek($file, $at * PAGE, 0);
			print $file $bytes;
		}
	}
	close $file;
}

my $asks = join(' UNION ALL ', map { <<"SQL" } 0, 3, 12, 30, 64);
SELECT coalesce(sum(
    test.agree('%s', 'fp64', test.made($_ * 77)::fingerprint64::text, $_)), 0) AS n
SQL
my @statements = (
	[ 'asks', "SELECT count(*) FROM ($asks) a" ],
	[ 'nearest', <<'SQL' ],
SET enable_seqscan = off;
SELECT count(*) FROM (SELECT id FROM %s ORDER BY fp64 <~> '0123456789abcdef' LIMIT 4500) x
SQL
	[ 'index-only', q{SET enable_seqscan = off; SELECT count(fp64) FROM %s} ],
	[ 'info', q{SELECT count(*) FROM simhash_index_info('%s_i')} ],
	[ 'suggest', q{SELECT count(*) FROM simhash_suggest('%s_i')} ],
	[ 'check', q{SELECT count(*) FROM simhash_index_check('%s_i') c} ],
	[ 'pairs', q{SET simhash.work_mem = '16MB'; SELECT count(*) FROM simhash_pairs('%s_i', 6)} ],
	[ 'clusters', <<'SQL' ],
SET simhash.work_mem = '16MB';
SELECT count(*) FROM simhash_clusters('%s_i', 12)
SQL
	[ 'insert', q{INSERT INTO %s SELECT i, test.made(i) FROM generate_series(5000, 5400) i} ],
	[ 'vacuum', q{DELETE FROM %1$s WHERE id %% 3 = 0; VACUUM %1$s} ],
	[ 'insert again', q{INSERT INTO %s SELECT i, test.made(i) FROM generate_series(6000, 9000) i} ],
	[ 'asks again', "SELECT count(*) FROM ($asks) a" ],
	[ 'reindex', q{REINDEX INDEX %1$s_i; SELECT simhash_index_check('%1$s_i')} ]);
my $texts = join(' UNION ALL ', map { <<"SQL" } 0.3, 0.5, 0.7, 1);
SELECT coalesce(sum(test.agree_on_text('%s', test.text(i, 12, 1, 1), $_)), 0) AS n
  FROM generate_series(1, 100, 7) i
SQL
my @text_statements = (
	[ 'asks', "SELECT count(*) FROM ($texts) a" ],
	[ 'all rows', q{SET enable_seqscan = off; SELECT count(*) FROM %s} ],
	[ 'info', q{SELECT count(*) FROM simhash_index_info('%s_i')} ],
	[ 'check', q{SELECT count(*) FROM simhash_index_check('%s_i') c} ],
	[ 'insert', <<'SQL' ],
INSERT INTO %s SELECT i, test.text(i, 12, 1, 0) FROM generate_series(1000, 1200) i
SQL
	[ 'vacuum', q{DELETE FROM %1$s WHERE id %% 3 = 0; VACUUM %1$s} ],
	[ 'insert again', <<'SQL' ],
INSERT INTO %s SELECT i, test.text(i, 12, 1, 0) FROM generate_series(2000, 2300) i
SQL
	[ 'asks again', "SELECT count(*) FROM ($texts) a" ],
	[ 'reindex', q{REINDEX INDEX %1$s_i; SELECT simhash_index_check('%1$s_i')} ]);
# The SQLSTATEs of a damaged index or file, with a message that names the block. A meta page of
# another format does not count as damaged.
my $clear = qr/ERROR:  XX00[012]: [^\n]*(?:block[s]? \d+|has format version \d+)/;
# A TID far beyond the end of the table.
my $no_such_segment = qr/ERROR:  58P01: could not open file/;
# The error that test.agree raises when a row is missing.
my $disagreement = qr/ERROR:  P0001: (?:within \d+ of|c\d+ WHERE)/;


sub try_statements
{
	my ($case, $table) = @_;
	my $name = "$case->{kind}: $case->{damage}, $case->{place} block $case->{block}";
	my (@problems, $found);
	for my $statement ($case->{kind} eq 'texts' ? @text_statements : @statements)
	{
		my ($what, $sql) = @$statement;
		$sql =~ s/%1\$s/$table/g;
		$sql =~ s/%s/$table/g;
		$sql =~ s/%%/%/g;
		my ($status, $output, $error) = $node->psql('postgres',
			"\\set VERBOSITY verbose\nSET statement_timeout = '20s';\n$sql", on_error_stop => 1);
		my $allowed = $case->{damage} =~ $plausible
			? qr/$clear|$disagreement|$no_such_segment/
			: $clear;
		my $must_be_found = $case->{place} eq 'meta' ? $evident_in_meta : $evident;
		$found = 1 if $what eq 'check' && $status != 0;
		if ($status == 0)
		{
			push @problems, "$what: passes"
				if $what eq 'check' && $case->{damage} =~ $must_be_found;
		}
		elsif ($status != 3 || $error !~ $allowed) { push @problems, "$what: status $status: $error" }
		elsif ($what eq 'reindex') { push @problems, "rebuilding does not mend it: $error" }
	}
	is(join("\n", @problems), '', $name);
	return $found;
}

make_tables();
$node->stop;
damage_file($_) for @cases;
$node->start;
my $found = 0;
for my $number (0 .. $#cases)
{
	$found++ if try_statements($cases[$number], "c$number");
}
cmp_ok($found, '>', @cases / 2,
	"simhash_index_check found $found of " . scalar(@cases) . ' damages');
answer_is($node, 'SELECT 1', '1', 'the server is up');
unlike(slurp_file($node->logfile), qr/terminated by signal|PANIC|panicked/, 'no backend crashed');
$node->stop;
done_testing();
