# If the system refuses memory, the result is an ERROR 53200. Every function that takes a user's
# data is called while the address space is limited to a little more than the backend has. Each call
# ends with its right answer or with that error, and the same backend gives the right answer once
# the limit is lifted.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use SimhashTest;
use PostgreSQL::Test::Utils;
use Test::More;

plan skip_all => 'no prlimit here' if system('prlimit --version >/dev/null 2>&1') != 0;

# Capturing a backtrace takes memory and locks: an error about missing memory must not capture one
# first.
$ENV{RUST_BACKTRACE} = 1;
# The library is not preloaded: otherwise the dictionary would already be loaded, and failures to
# load it would not show. Scans are not synchronised: after a scan that ended early the next one
# would begin where it stopped, and see the rows in another order.
my $node = new_node('main',
	"fsync = off\njit = off\nrestart_after_crash = on\nsynchronize_seqscans = off");
my $million = soak() ? 1_000_000 : 100_000;
$node->safe_psql('postgres', <<"SQL");
CREATE TABLE texts (kind text PRIMARY KEY, body text);
ALTER TABLE texts ALTER body SET STORAGE EXTERNAL;
INSERT INTO texts SELECT 'distinct',
  string_agg(translate(to_hex(i), '0123456789', 'ghijklmnop'), ' ')
  FROM generate_series(1, 6 * $million) i;
INSERT INTO texts SELECT 'words',
  repeat('the quick brown fox jumps over the lazy dog. ', $million / 2);
INSERT INTO texts SELECT 'markup', repeat('<p>one &amp; two</p> ', $million);
INSERT INTO texts SELECT 'han', repeat('我们在北京大学的图书馆里学习数据库系统。', $million / 3);
CREATE TABLE many AS SELECT i AS id, 'text number ' || i || ' of ' || i % 1000 AS body
  FROM generate_series(1, $million) i;
CREATE TABLE fps AS
  SELECT i AS id, ((hashint8extended(i / 10, 1) & ~7) | i % 8)::fingerprint64 AS fp
  FROM generate_series(1, 2 * $million) i;
CREATE INDEX fps_fp ON fps USING simhash (fp);
CREATE TABLE guarded (id int, body text, fp fingerprint64);
CREATE INDEX guarded_fp ON guarded USING simhash (fp);
CREATE TRIGGER once BEFORE INSERT ON guarded
  FOR EACH ROW EXECUTE FUNCTION simhash_dedup('fp=fp', 'body=body');
CREATE TABLE filters AS SELECT bloom_agg(body, 10 * $million) AS filter FROM many;
SELECT simhash_train('small', 'SELECT body FROM many WHERE id <= 5000');
ANALYZE;
SQL

my $of = sub { my ($kind, $call) = @_; "SELECT $call FROM texts WHERE kind = '$kind'" };
my $all_steps = '["html", "nfkc", "lower", "simplified", "punctuation", "space"]';
my %queries = (
	'simhash of distinct words' => $of->('distinct', 'simhash(body)'),
	'simhash128 of shingles' => $of->('distinct',
		q{simhash128(body, '{"shingle": 3, "weight": "tf"}')}),
	'simhash of Han' => $of->('han', 'simhash(body)'),
	'simhash of every step' => $of->('markup', qq{simhash(body, '{"normalize": $all_steps}')}),
	'simhash_tokens' => $of->('words', q{md5(array_to_string(simhash_tokens(body), '|'))}),
	'simhash_tokens of Han' => $of->('han', 'cardinality(simhash_tokens(body))'),
	'simhash_normalize' => $of->('markup',
		q{md5(simhash_normalize(body, '{"normalize": ["html", "lower"]}'))}),
	'simhash_features' => <<'SQL',
SELECT count(*), sum(hash::bigint::numeric) FROM texts, simhash_features(body)
  WHERE kind = 'distinct'
SQL
	'shingles' => $of->('distinct', 'cardinality(shingles(body, 3))'),
	'shingle_similarity' => $of->('distinct', q{shingle_similarity(body, body || ' more', 3)}),
	'near_duplicate' => $of->('distinct', q{near_duplicate(body, body || ' more', 0.3)}),
	'minhash' => $of->('distinct', 'md5(minhash(body, 256)::text)'),
	'minhash128 of shingles' => $of->('distinct', q{minhash128(body, '{"shingle": [1, 3]}')}),
	'ksentence' => $of->('words', 'md5(ksentence(body)::text)'),
	'esimhash' => $of->('distinct', q{esimhash(body, 'small')}),
	'imatch' => $of->('distinct', q{imatch(body, 'small', 0, 20)}),
	'simhash_lexicons' => $of->('distinct', q{simhash_lexicons(body, 'small', 10, 1)}),
	'simhash_from' => <<'SQL',
SELECT simhash_from(array_agg(body)), simhash_from(array_agg(body), array_agg(id::real)) FROM many
SQL
	'simhash of tsvector' => <<'SQL',
SELECT simhash(to_tsvector('simple', string_agg(id::text, ' '))) FROM many WHERE id <= 60000
SQL
	'dedup_texts' => <<'SQL',
SELECT count(*), sum(id)
  FROM dedup_texts('SELECT id, body FROM many', exact => 'trie', distance => 2)
SQL
	'bloom_agg' => 'SELECT md5(bloom_agg(body, 20000000)::bytea) FROM many',
	'bloom_union' => 'SELECT md5(bloom_union(filter)::bytea) FROM filters, generate_series(1, 3)',
	'a filter as text' =>
		'SELECT md5(filter::text), md5(filter::text::bloom_filter::bytea) FROM filters',
	'simhash_train_agg' => q{SELECT md5(simhash_train_agg(body, '{}')) FROM many},
	'simhash_train' => q{SELECT simhash_train('another', 'SELECT body FROM many')},
	'simhash_pairs' => q{SELECT count(*), sum(distance) FROM simhash_pairs('fps_fp', 3)},
	'simhash_clusters' => q{SELECT count(*), sum(size) FROM simhash_clusters('fps_fp', 3)},
	'simhash_suggest' => <<'SQL',
SELECT count(*), sum(found), sum(distance) FILTER (WHERE suggested) FROM simhash_suggest('fps_fp')
SQL
	'nearest' => <<'SQL',
SELECT sum(fp <~> '0000000000000000')
  FROM (SELECT fp FROM fps ORDER BY fp <~> '0000000000000000' LIMIT 300000) n
SQL
	'a wide range' => <<'SQL',
SELECT count(*) FROM fps WHERE fp <@ hamming_ball('0000000000000000'::fingerprint64, 28)
SQL
	'an index' => 'CREATE INDEX ON fps USING simhash (fp)',
	'a trigger' => <<'SQL');
WITH new AS (INSERT INTO guarded SELECT id, body FROM many ORDER BY id LIMIT 2000 RETURNING id)
  SELECT count(*), sum(id) FROM new
SQL
delete @queries{ grep { $_ ne $ENV{CALL} } keys %queries } if $ENV{CALL};

my @limits = soak()
	? (0.5, 1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 24, 32, 40, 48, 64, 80, 100, 128)
	: (1, 7, 20);
my $set = q{prlimit --pid "$BACKEND" --as=};
my $present = q{$(awk '/^VmSize/ {print $2}' "/proc/$BACKEND/status")};
my ($runs, $refused) = (0, 0);
for my $name (sort keys %queries)
{
	my $query = $queries{$name};
	my $script = <<"SCRIPT";
\\pset footer off
SET max_parallel_workers_per_gather = 0;
BEGIN;
\\echo right
$query;
\\echo state :SQLSTATE
ROLLBACK;
SCRIPT
	for my $limit (@limits)
	{
		# Each call has a new backend, without freed memory that it could reuse.
		$script .= <<"SCRIPT";
\\c -
SET max_parallel_workers_per_gather = 0;
SELECT simhash('a') IS NULL AS loaded, pg_backend_pid() AS pid \\gset
\\setenv BACKEND :pid
\\echo limit $limit
BEGIN;
\\! $set\$(( ($present + int($limit * 1024)) * 1024 )):
$query;
\\! $set\$(ulimit -H -v | grep -v unlimited || echo unlimited):
\\echo state :SQLSTATE
ROLLBACK;
\\echo again
BEGIN;
$query;
ROLLBACK;
SELECT CASE pg_backend_pid() WHEN :pid THEN 'alive' END;
SCRIPT
		$script =~ s/int\($limit \* 1024\)/int($limit * 1024)/e;
	}
	# The script is a file, because a psql that has lost its server reads no further input.
	my $file = "$PostgreSQL::Test::Utils::tmp_check/memory.sql";
	PostgreSQL::Test::Utils::append_to_file($file, $script);
	my ($status, $output, $errors) = $node->psql('postgres', "\\i $file",
		on_error_stop => 0, extra_params => [ '-v', 'VERBOSITY=verbose' ], timeout => 600);
	unlink $file;
	my ($right, @results) = split /^limit /m, $output;
	$right =~ s/^right\n//;
	my $defined = $right =~ s/state 00000\n//;
	my @wrong;
	for my $i (0 .. $#limits)
	{
		$runs++;
		my $result = $results[$i] // 'not run';
		$result .= "\n" unless $result =~ /\n\z/;
		my $answered = $result eq "$limits[$i]\n${right}state 00000\nagain\n${right}alive\n";
		my $error = $result eq "$limits[$i]\nstate 53200\nagain\n${right}alive\n";
		$refused++ if $error;
		push @wrong, $result unless $answered || $error;
	}
	ok(!@wrong && $status == 0 && $defined, "$name: the right answer, or 53200")
		or diag("psql ended with $status\nright: $right\nwrong: "
			. substr(join('', @wrong), 0, 2000) . substr($errors, -1500));
	$node->poll_query_until('postgres', 'SELECT true', 't') if $status != 0;
}
# One filter of 12 MB for each group: HashAgg knows their size and processes the groups in batches.
{
	my $groups = 'SELECT count(*) FROM (SELECT DISTINCT md5(filter::bytea) FROM (
  SELECT bloom_agg(body, 10000000) AS filter FROM many WHERE id <= 4000 GROUP BY id % 40) f) d';
	my $script = <<"SCRIPT";
SET max_parallel_workers_per_gather = 0; SET enable_sort = off; SET work_mem = '16MB';
SELECT simhash('a') IS NULL AS loaded, pg_backend_pid() AS pid \\gset
\\setenv BACKEND :pid
\\! $set\$(( ($present + 150 * 1024) * 1024 )):
$groups;
SCRIPT
	answer_is($node, $script, '40', 'an aggregate of large states does not hold them all at once');
}
note "$runs runs, $refused of them refused";
cmp_ok($refused, '>', $runs / 10, 'memory was refused');
my $log = slurp_file($node->logfile);
unlike($log, qr/terminated by signal|PANIC:|server process .* exited/, 'no process ended');
$node->stop;
done_testing();
