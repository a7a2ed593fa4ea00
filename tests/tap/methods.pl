# Every method against a computation of this test's own: sets, hashes and sums in Perl, or all
# pairs.
use strict;
use warnings;
use utf8;
use Digest::MD5 qw(md5_hex);
use Encode qw(encode_utf8);
use List::Util qw(sum0 min);
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init(extra => [ '--encoding=UTF8', '--locale=C' ]);
$node->append_conf('postgresql.conf',
	"min_parallel_table_scan_size = 0\nparallel_setup_cost = 0\nparallel_tuple_cost = 0");
$node->start;
$node->safe_psql('postgres', 'CREATE EXTENSION pg_simhash');

sub rows { return map { [ split /\|/, $_, -1 ] } split /\n/, $node->safe_psql('postgres', shift) }
sub value { return $node->safe_psql('postgres', shift) }
srand(4);

# A word of letters: a digit would end a token.
sub word { return 'w' . (shift() =~ tr/0-9/a-j/r) }
# Texts of few different words, so that many shingles are shared.
my @texts = map {
	join ' ', map { word(int(rand 30)) } 1 .. 3 + int(rand 40)
} 1 .. 300;
$node->safe_psql('postgres', 'CREATE TABLE texts (id int, body text);' . join '',
	map { "INSERT INTO texts VALUES ($_, '$texts[$_]');" } 0 .. $#texts);

# Shingles
sub shingles {
	my ($text, $k) = @_;
	my @words = split / /, $text;
	$k = @words if $k > @words;
	my %set;
	$set{ join ' ', @words[ $_ .. $_ + $k - 1 ] } = 1 for 0 .. @words - $k;
	return \%set;
}
sub jaccard {
	my ($x, $y) = @_;
	my $common = grep { $y->{$_} } keys %$x;
	return $common / (keys(%$x) + keys(%$y) - $common);
}
my ($wrong, $wrong_part) = (0, 0);
for my $row (rows(<<'SQL')) {
SELECT a.id, b.id, shingle_similarity(a.body, b.body, 2), shingle_containment(a.body, b.body, 2)
  FROM texts a JOIN texts b ON b.id = a.id + 1
SQL
	my ($x, $y) = map { shingles($texts[$_], 2) } @$row[ 0, 1 ];
	$wrong++ if abs(jaccard($x, $y) - $row->[2]) > 1e-6;
	$wrong_part++ if abs(grep({ $y->{$_} } keys %$x) / keys(%$x) - $row->[3]) > 1e-6;
}
is($wrong, 0, 'shingle_similarity is the Jaccard similarity of two sets');
is($wrong_part, 0, 'shingle_containment is the share of the first set');
is(value(<<'SQL'), '0', 'similarity is symmetric');
SELECT count(*) FROM texts a, texts b
  WHERE shingle_similarity(a.body, b.body, 3) <> shingle_similarity(b.body, a.body, 3)
SQL

# MinHash
my ($squares, $expected, $pairs, $bias) = (0, 0, 0, 0);
for my $row (rows(<<'SQL')) {
SELECT a.id, b.id,
    jaccard(minhash(a.body, 64, '{"shingle": 1}'), minhash(b.body, 64, '{"shingle": 1}'))
  FROM texts a
  JOIN texts b ON b.id > a.id AND b.id < a.id + 20
SQL
	my $exact = jaccard(map { shingles($texts[$_], 1) } @$row[ 0, 1 ]);
	$squares += ($row->[2] - $exact)**2;
	$bias += $row->[2] - $exact;
	$expected += $exact * (1 - $exact) / 64;
	$pairs++;
}
cmp_ok($squares, '<', 1.1 * $expected,
	"the error of jaccard over $pairs pairs is that of independent permutations, or less");
# Pairs share texts, so they are not independent: the mean may deviate by more than its standard
# error.
cmp_ok(abs($bias / $pairs), '<', 0.01, 'jaccard is unbiased');
is(value('SELECT count(*) FROM texts WHERE jaccard(minhash(body), minhash(body)) <> 1'),
	'0', 'a text is equal to itself');
is(value(<<'SQL'), '0', 'the order of the words does not matter');
SELECT count(*) FROM texts WHERE minhash(body, 128, '{"shingle": 1}') <> minhash((
  SELECT string_agg(w, ' ' ORDER BY random()) FROM unnest(string_to_array(body, ' ')) w), 128,
  '{"shingle": 1}')
SQL

# Banding: pairs of sets with 40 words in common and 100 in total, s = 0.4.
$node->safe_psql('postgres', <<'SQL');
CREATE TABLE banded AS SELECT i,
  minhash((SELECT string_agg(translate('x' || i || 'y' || w, '0123456789', 'abcdefghij'), ' ')
    FROM generate_series(1, 70) w), 300, '{"shingle": 1}') AS a,
  minhash((SELECT string_agg(translate('x' || i || 'y' || w, '0123456789', 'abcdefghij'), ' ')
    FROM generate_series(31, 100) w), 300, '{"shingle": 1}') AS b
FROM generate_series(1, 1000) i;
CREATE INDEX banded_3 ON banded USING gin (a minhash_ops (bands = 100, rows = 3))
SQL
my $met = value(<<'SQL');
SET enable_seqscan = off;
SELECT count(*) FROM banded q,
  LATERAL (SELECT 1 FROM banded t WHERE t.a && q.b AND t.i = q.i OFFSET 0) s
SQL
cmp_ok($met, '>=', 994,
	"of 1000 pairs of similarity 0.4, 998.66 are expected to share one of 100 bands of 3: $met did");
like(value(<<'SQL'), qr/Bitmap Index Scan on banded_3/, 'through the index');
SET enable_seqscan = off;
EXPLAIN (COSTS OFF) SELECT i FROM banded WHERE a && (SELECT b FROM banded LIMIT 1)
SQL
$node->safe_psql('postgres', <<'SQL');
DROP INDEX banded_3;
CREATE INDEX banded_10 ON banded USING gin (a minhash_ops (rows = 10, bands = 10))
SQL
$met = value(<<'SQL');
SET enable_seqscan = off;
SELECT count(*) FROM banded q,
  LATERAL (SELECT 1 FROM banded t WHERE t.a && q.b AND t.i = q.i OFFSET 0) s
SQL
# 1 - (1 - 0.4^10)^10 = 0.001
cmp_ok($met, '<=', 8, "with 10 bands of 10 one pair in a thousand is expected: $met did");
$node->safe_psql('postgres',
	'DROP INDEX banded_10; CREATE INDEX banded_default ON banded USING gin (a)');
is(value(<<'SQL'),
SET enable_seqscan = off;
SELECT count(*) FROM banded q, LATERAL (SELECT 1 FROM banded t WHERE t.a && q.b OFFSET 0) s
SQL
	value(<<'SQL'),
SET enable_bitmapscan = off;
SELECT count(*) FROM banded q, LATERAL (SELECT 1 FROM banded t WHERE t.a && q.b OFFSET 0) s
SQL
	'with default options index and operator agree');

# Sets that are spread over rows: by the definition, over the hashes of all distinct shingles.
sub mixed
{
	use integer;
	my $x = shift;
	$x = (($x ^ $x >> 16) * 0x85ebca6b) & 0xffffffff;
	$x = (($x ^ $x >> 13) * 0xc2b2ae35) & 0xffffffff;
	return $x ^ $x >> 16;
}
# The components, at most 128, for a set of hashes in hexadecimal.
sub components
{
	my ($components, @hashes) = @_;
	my $bits = 1;
	$bits++ while 1 << $bits < $components;
	my @coefficients = map {
		my ($high, $b) = map { hex } /^(.{8})(.{8})$/;
		[ $b, $high & 0xffff | 1, $high >> 16 & 0xfffe ]
	} @hashes;
	return map {
		my $i = $_;
		mixed(min map {
				my ($b, $a, $q) = @$_;
				($b + (($a * $i + $q * $i * $i) % 2**$bits << 32 - $bits)) % 2**32
		} @coefficients)
	} 0 .. $components - 1;
}
for my $components (1, 16, 100, 128)
{
	my $wrong = 0;
	for my $row (rows(<<"SQL")) {
SELECT substring(m::text from '{(.*)}'), (SELECT string_agg(DISTINCT hash::text, ',')
      FROM texts t, simhash_features(t.body, '{"shingle": 2}') WHERE t.id % 11 = part)
  FROM (SELECT id % 11 AS part, minhash_agg(body, $components) AS m FROM texts GROUP BY 1) s
SQL
		my ($found, $hashes) = @$row;
		$wrong++ if $found ne join ',', components($components, split /,/, $hashes);
	}
	is($wrong, 0, "minhash_agg of $components components is the signature of the union");
}
($squares, $expected, $pairs) = (0, 0, 0);
for my $row (rows(<<'SQL')) {
WITH sets AS (SELECT id / 10 AS part, minhash_agg(body, 64, '{"shingle": 1}') AS m
    FROM texts GROUP BY 1)
SELECT a.part, b.part, jaccard(a.m, b.m) FROM sets a JOIN sets b ON a.part < b.part
SQL
	my @sets = map {
		my $part = $_;
		+{ map { %{ shingles($texts[$_], 1) } } 10 * $part .. min(10 * $part + 9, $#texts) }
	} @$row[ 0, 1 ];
	my $exact = jaccard(@sets);
	$squares += ($row->[2] - $exact)**2;
	$expected += $exact * (1 - $exact) / 64;
	$pairs++;
}
cmp_ok($pairs, '>', 400, 'pairs of sets of ten rows');
cmp_ok($squares, '<', 1.1 * $expected, 'jaccard of unions has the error of permutations, or less');
$node->safe_psql('postgres', <<'SQL');
CREATE TABLE spread AS
  SELECT id, id % 97 AS part, CASE WHEN id % 5 > 0 THEN body END AS body FROM texts
  UNION ALL SELECT id + 1000, id % 97, '...' FROM texts
  UNION ALL SELECT id + 2000, 97, NULL FROM texts;
ANALYZE spread;
CREATE VIEW serial AS SELECT part, minhash_agg(body) AS m FROM spread GROUP BY part;
SQL
my $serial = 'SET max_parallel_workers_per_gather = 0; CREATE TABLE alone AS TABLE serial';
$node->safe_psql('postgres', $serial);
is(value('SELECT count(m) || $$ of $$ || count(*) FROM alone'),
	'97 of 98', 'a group without a token has no signature');
my %plans = (
	'a parallel plan' => [ 'max_parallel_workers_per_gather = 2', qr/Partial/ ],
	'a plan that spills' => [ "work_mem = '64kB'; SET enable_sort = off", qr/HashAggregate/ ],
	'a plan that sorts' => [ 'enable_hashagg = off', qr/GroupAggregate/ ]);
for my $plan (sort keys %plans)
{
	my ($setting, $node_of_plan) = @{ $plans{$plan} };
	like(value("SET $setting; EXPLAIN (COSTS OFF) TABLE serial"), $node_of_plan, $plan);
	is(value("SET $setting; SELECT count(*) FROM serial s JOIN alone a USING (part) "
			. 'WHERE s.m IS NOT DISTINCT FROM a.m'), '98', "$plan gives the same");
}
for my $other (
	'SELECT part, minhash_union(minhash(body)) AS m FROM spread GROUP BY part',
	'SELECT part, minhash_agg(body ORDER BY id DESC) AS m FROM spread GROUP BY part',
	'SELECT part, minhash_agg(body || $$ ... $$) FROM (TABLE spread UNION ALL TABLE spread) s'
	  . ' GROUP BY part',
	'SELECT DISTINCT ON (part) part, minhash_agg(body) OVER (PARTITION BY part ORDER BY id) AS m'
	  . ' FROM spread ORDER BY part, id DESC',
	'SELECT part, minhash_union(m) FROM (SELECT part, id % 3, minhash_agg(body) AS m FROM spread'
	  . ' GROUP BY part, id % 3) s GROUP BY part',
	'SELECT part, coalesce(a.m | b.m, a.m, b.m) FROM'
	  . ' (SELECT part, minhash_agg(body) AS m FROM spread WHERE id % 2 = 0 GROUP BY part) a'
	  . ' FULL JOIN (SELECT part, minhash_agg(body) AS m FROM spread WHERE id % 2 = 1'
	  . ' GROUP BY part) b USING (part)')
{
	is(value("SELECT count(*) FROM ($other) s (part, m) JOIN alone a USING (part) "
			. 'WHERE s.m IS NOT DISTINCT FROM a.m'), '98', "the same: $other");
}
is(value('SET max_parallel_workers_per_gather = 2; SELECT minhash_union(m) = '
		. '(SELECT minhash_agg(body) FROM spread) FROM alone'), 't', 'the union of all groups');

# KSentence
my $poem = "床前明月光，疑是地上霜。举头望明月\n低头思故乡 and  Home";
for my $k (1, 2, 9) {
	my @sentences = map { s/\s+/ /gr } grep { /\S/ } split /[\p{P}\n]/, lc $poem;
	@sentences = sort { length($b) <=> length($a) || encode_utf8($a) cmp encode_utf8($b) } @sentences;
	my $digest = md5_hex(encode_utf8(join "\n", @sentences[ 0 .. min($k, scalar @sentences) - 1 ]));
	is(value(encode_utf8("SELECT replace(ksentence('$poem', $k)::text, '-', '')")),
		$digest, "ksentence of $k");
}

# Bloom filters
for my $rate (0.1, 0.01, 0.001) {
	my $measured = value(<<"SQL");
WITH f AS MATERIALIZED (
  SELECT bloom_agg('in ' || i, 20000, $rate) AS filter FROM generate_series(1, 20000) i)
SELECT avg(bloom_contains(filter, 'out ' || i)::int)
  FROM f, generate_series(1, 1000000 / (SELECT CASE WHEN $rate < 0.01 THEN 1 ELSE 5 END)) i
SQL
	cmp_ok(abs($measured / $rate - 1), '<', 0.1, "asked for a rate of $rate, measured $measured");
}
is(value(<<'SQL'), '0', 'no text that was added is missed');
SELECT count(*) FROM (SELECT bloom_agg(body, 1000, 0.01) AS filter FROM texts) f, texts
  WHERE NOT bloom_contains(filter, body)
SQL
is(value(<<'SQL'), 't', 'the union of parts is the whole');
SELECT (SELECT bloom_union(f)
    FROM (SELECT bloom_agg(body, 1000, 0.01) AS f FROM texts GROUP BY id % 7) s)::bytea
  = (SELECT bloom_agg(body, 1000, 0.01) FROM texts)::bytea
SQL

# dedup_texts against all pairs, with fingerprints from the database
$node->safe_psql('postgres', <<'SQL');
CREATE TABLE dups AS SELECT row_number() OVER (ORDER BY id, n) AS id,
    CASE n WHEN 0 THEN body WHEN 1 THEN body
      ELSE body || translate(' w' || id % 30, '0123456789', 'abcdefghij') END AS body
  FROM texts, generate_series(0, 2) n
SQL
for my $exact (qw(none hash trie)) {
	my (%first, @kept, %expected);
	for my $row (rows(q{SELECT id, body, simhash(body)::bit(64) FROM dups ORDER BY id})) {
		my ($id, $body, $bits) = @$row;
		if ($exact ne 'none' && defined $first{$body}) {
			$expected{$id} = "$first{$body}|$exact|0";
			next;
		}
		$first{$body} //= $id;
		my @distances = map { [ ($_->[1] ^ $bits) =~ tr/\x01//, $_->[0] ] } @kept;
		my @near = sort { $a->[0] <=> $b->[0] || $a->[1] <=> $b->[1] }
			grep { $_->[0] <= 6 } @distances;
		if (@near) { $expected{$id} = "$near[0][1]|near|$near[0][0]" }
		else { push @kept, [ $id, $bits ] }
	}
	my %got = map { $_->[0] => join '|', @$_[ 1 .. 3 ] } rows(<<"SQL");
SELECT * FROM dedup_texts('SELECT id, body FROM dups ORDER BY id', '$exact', distance => 6)
SQL
	is_deeply(\%got, \%expected,
		"dedup_texts with exact => $exact equals all pairs, " . keys(%expected) . ' duplicates');
}
is(value(<<'SQL'),
SELECT count(*), count(duplicate_of)
  FROM dedup_texts('SELECT id, body FROM dups ORDER BY id', 'bloom', distance => NULL)
SQL
	value(q{SELECT count(*) - count(DISTINCT body), 0 FROM dups}),
	'a Bloom filter finds the equal texts of a small set');

# Models: all weights of E-Simhash, computed by their definition
my @corpus = map { $texts[$_] } 0 .. 99;
is(value(<<'SQL'), '100', 'documents read');
SELECT simhash_train('m', 'SELECT body FROM texts WHERE id < 100 ORDER BY id DESC')
SQL
my (%df, %left, %right);
for my $text (@corpus) {
	my @words = split / /, $text;
	my %seen = map { $_ => 1 } @words;
	$df{$_}++ for keys %seen;
	for my $i (1 .. $#words) {
		$right{ $words[ $i - 1 ] }{ $words[$i] }++;
		$left{ $words[$i] }{ $words[ $i - 1 ] }++;
	}
}
# In bits.
sub entropy {
	my $counts = shift // {};
	my $total = sum0(values %$counts);
	return sum0(map { -$_ / $total * log($_ / $total) / log(2) } values %$counts);
}
$wrong = 0;
for my $row (rows(<<'SQL')) {
SELECT w, t.* FROM generate_series(0, 29) i,
  translate(concat('w', i), '0123456789', 'abcdefghij') w, simhash_model_term('m', w) t
SQL
	my ($word, $documents, $idf, $h) = @$row;
	$wrong++ if $documents != $df{$word} || abs($idf - log(100 / ($df{$word} + 1))) > 1e-9
		|| abs($h - (entropy($left{$word}) + entropy($right{$word})) / 2) > 2e-6;
}
is($wrong, 0, 'document frequencies, IDF and entropies are those of the definition');
my %weight = (
	idf => sub { my ($tf, $idf, $h) = @_; $idf },
	tfidf => sub { my ($tf, $idf, $h) = @_; $tf * $idf },
	entropy => sub { my ($tf, $idf, $h) = @_; sqrt((($tf * $idf)**2 + $h**2) / 2) });
for my $scheme (sort keys %weight) {
	$wrong = 0;
	my $text = "$texts[150] wd wd unseen";
	my @words = split / /, $text;
	my %count;
	$count{$_}++ for @words;
	for my $row (rows(<<"SQL")) {
SELECT feature, weight FROM simhash_features('$text', '{"weight": "$scheme", "model": "m"}')
SQL
		my $t = $row->[0];
		my $want = $weight{$scheme}->($count{$t} / @words,
			log(100 / (($df{$t} // 0) + 1)), (entropy($left{$t}) + entropy($right{$t})) / 2);
		$want = 0 if $want < 0;
		$wrong++ if abs($row->[1] - $want) > 4e-6;
	}
	is($wrong, 0, "weights $scheme are those of the definition");
}
is(value(<<'SQL'), '0', 'esimhash is a shorthand');
SELECT count(*) FROM texts
  WHERE simhash128(body, '{"weight": "entropy", "model": "m", "position": "spread", "cap": "90%"}')
    <> esimhash(body, 'm')
SQL
# The fingerprint is the sign of the sum that simhash128_features shows.
is(value(<<'SQL'), '0', 'the fingerprint is the sign of the weighted sum');
SELECT count(*) FROM texts WHERE esimhash(body, 'm')::bit(128)::text <> (
  SELECT string_agg(CASE WHEN s > 0 THEN '1' ELSE '0' END, '' ORDER BY bit) FROM (
    SELECT bit, sum(CASE get_bit(hash::bit(128), bit)
        WHEN 1 THEN weight::numeric ELSE -weight::numeric END) AS s
    FROM simhash128_features(body,
        '{"weight": "entropy", "model": "m", "position": "spread", "cap": "90%"}'),
      generate_series(0, 127) bit GROUP BY bit) v)
  AND id < 20
SQL

# One corpus gives one model: in parallel, in other orders, in little memory with temporary files
my $plan = value(<<'SQL');
EXPLAIN (COSTS OFF) SELECT simhash_train_agg(body, '{}') FROM texts WHERE id < 100
SQL
like($plan, qr/Partial Aggregate/, 'simhash_train_agg runs in parallel');
is(value(<<'SQL'), 't', 'the parallel model is the serial one');
SELECT model = (SELECT simhash_train_agg(body, '{}') FROM texts WHERE id < 100)
  FROM simhash_model WHERE name = 'm'
SQL
$node->safe_psql('postgres', <<'SQL');
CREATE TABLE wide AS SELECT (
    SELECT string_agg(translate(
        't' || (hashint4(i * 1000 + g) & 4095), '0123456789', 'abcdefghij'), ' ')
    FROM generate_series(1, 400) g) AS body
  FROM generate_series(1, 4000) i
SQL
value(q{SET simhash.work_mem = '16MB'; SELECT simhash_train('little', 'SELECT body FROM wide')});
value(q{SELECT simhash_train('much', 'SELECT body FROM wide')});
is(value(<<'SQL'), '1', 'memory does not change a model');
SELECT count(DISTINCT model) FROM simhash_model WHERE name IN ('little', 'much')
SQL
my ($status, $out, $error) = $node->psql('postgres', <<'SQL');
SET simhash.work_mem = '16MB';
SET max_parallel_workers_per_gather = 0;
SELECT simhash_train_agg(body, '{}') FROM wide
SQL
like($error, qr/simhash.work_mem/, 'the aggregate says when it needs more memory');
# Training and dedup_texts hold one text at a time. The forty texts of 10 MB are stored compressed.
SKIP:
{
	skip 'memory is read from /proc', 1 unless -r '/proc/self/status';
	$node->safe_psql('postgres', <<'SQL');
CREATE TABLE large AS SELECT i AS id, repeat('w' || i || ' ', 3000000) AS body
  FROM generate_series(1, 40) i
SQL
	my $peak = value(<<'SQL');
SET simhash.work_mem = '16MB';
SELECT simhash_train('large', 'SELECT body FROM large') \g /dev/null
SELECT count(*) FROM dedup_texts('SELECT id, body FROM large', 'bloom', '{}', NULL) \g /dev/null
SELECT substring(pg_read_file('/proc/self/status') FROM 'VmHWM:\s*(\d+) kB')::integer / 1024
SQL
	cmp_ok($peak, '<', 250, 'megabytes at the most, of 400 that the texts are');
	value(q{DELETE FROM simhash_model WHERE name = 'large'});
}

# Dropped models, other schemas, dump and restore
($status, $out, $error) = $node->psql('postgres', <<'SQL');
SELECT esimhash('wb wc', 'much');
DELETE FROM simhash_model WHERE name = 'much';
SELECT esimhash('wb wc', 'much')
SQL
like($error, qr/model "much" does not exist\nHINT:  Existing ones: "little", "m"\./,
	'a dropped model is not served from the cache');
my $before = value(q{SELECT esimhash('wb wc wd wj', 'm')});
is(value(q{SET search_path = pg_catalog; SELECT public.esimhash('wb wc wd wj', 'm')}),
	$before, 'whatever the search path');
$node->safe_psql('postgres', <<'SQL');
CREATE INDEX ON texts (esimhash(body, 'm'));
CREATE SCHEMA other;
ALTER EXTENSION pg_simhash SET SCHEMA other
SQL
is(value(q{SELECT other.esimhash('wb wc wd wj', 'm')}), $before, 'after a move to another schema');
$node->safe_psql('postgres', 'CREATE DATABASE restored');
my $dump = $node->basedir . '/dump.sql';
$node->command_ok([ 'pg_dump', '-f', $dump, '-d', $node->connstr('postgres') ], 'dump');
my @psql = ('psql', '-X', '-q', '-v', 'ON_ERROR_STOP=1', '-d', $node->connstr('restored'));
$node->command_ok([ @psql, '-f', $dump ], 'restore');
is($node->safe_psql('restored', q{SELECT other.esimhash('wb wc wd wj', 'm')}),
	$before, 'the dump holds the model');

# Lexicons and I-Match
my @lexicons = rows(<<'SQL');
SELECT other.simhash_lexicons(body, 'm', 5)::text[] FROM texts WHERE id < 50 ORDER BY id
SQL
is(scalar(grep { tr/,// == 5 } map { $_->[0] } @lexicons),
	50, 'one fingerprint for the whole lexicon and one for each part');
is(value(<<'SQL'), '0',
SET search_path = public, other;
SELECT count(*) FROM texts, unnest(simhash_lexicons(body, 'm', 8)) WITH ORDINALITY u(fp, n)
  WHERE n = 1 AND fp <> simhash(body, '{"shingle": 2, "weight": "log"}')
SQL
	'the whole lexicon has every word, so the first is the shingle simhash');
is(value(<<'SQL'), '0', 'the distance of two documents is the least over the lexicons');
SET search_path = public, other;
SELECT count(*) FROM texts a JOIN texts b ON b.id = a.id + 1
  WHERE other.hamming(simhash_lexicons(a.body, 'm', 6), simhash_lexicons(b.body, 'm', 6))
    <> (SELECT min(hamming(x, y))
      FROM unnest(simhash_lexicons(a.body, 'm', 6), simhash_lexicons(b.body, 'm', 6)) u(x, y))
SQL
is(value(<<'SQL'), '0',
SET search_path = public, other;
SELECT count(*) FROM texts a, texts b WHERE a.id < 60 AND b.id < 60
  AND (imatch(a.body, 'm', 0.5, 1.5) IS NOT DISTINCT FROM imatch(b.body, 'm', 0.5, 1.5)) <> (
    (SELECT array_agg(DISTINCT w ORDER BY w) FROM unnest(string_to_array(a.body, ' ')) w,
      simhash_model_term('m', w) t WHERE t.idf BETWEEN 0.5 AND 1.5)
    IS NOT DISTINCT FROM
    (SELECT array_agg(DISTINCT w ORDER BY w) FROM unnest(string_to_array(b.body, ' ')) w,
      simhash_model_term('m', w) t WHERE t.idf BETWEEN 0.5 AND 1.5))
SQL
	'imatch is equal where the terms in the band are');

# The choice of a distance, against counts in SQL
is(value(<<'SQL'), '0', 'simhash_evaluate counts as SQL does');
SET search_path = public, other;
CREATE TABLE pairs AS
  SELECT simhash(a.body) AS a, simhash(b.body) AS b, a.id % 7 = b.id % 7 AS duplicate
  FROM texts a JOIN texts b ON b.id > a.id AND b.id < a.id + 9;
SELECT count(*) FROM simhash_evaluate('SELECT * FROM pairs') e,
  LATERAL (SELECT count(*) FILTER (WHERE duplicate AND hamming(a, b) <= e.distance) AS tp,
    count(*) FILTER (WHERE NOT duplicate AND hamming(a, b) <= e.distance) AS fp,
    count(*) FILTER (WHERE duplicate AND hamming(a, b) > e.distance) AS fn,
    count(*) FILTER (WHERE NOT duplicate AND hamming(a, b) > e.distance) AS tn FROM pairs) c
  WHERE (e.true_positives, e.false_positives, e.false_negatives, e.true_negatives)
      <> (c.tp, c.fp, c.fn, c.tn)
    OR abs(e.f1 - 2.0 * c.tp / (2 * c.tp + c.fp + c.fn)) > 1e-9
SQL
is(value(<<'SQL'), '0', 'the blocks are the bits');
SET search_path = public, other;
SELECT count(*) FROM texts, LATERAL (
    SELECT string_agg(key::bit(16)::text, '' ORDER BY block) AS bits
    FROM simhash_blocks(simhash(body))) s
  WHERE bits <> simhash(body)::bit(64)::text
SQL

$node->stop;
done_testing();
