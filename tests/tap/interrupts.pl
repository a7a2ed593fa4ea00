# Long calls can be stopped: statement_timeout ends every function at once, on very long texts and
# over large tables.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use SimhashTest;
use PostgreSQL::Test::Utils;
use Test::More;
use List::Util qw(min max);
use Time::HiRes qw(time);

my $node = new_node('main', <<'CONF');
fsync = off
jit = off
max_wal_size = 8GB
shared_preload_libraries = 'pg_simhash'
simhash.work_mem = '3GB'
CONF

# Texts of 200 MB, created once and stored uncompressed, so that the call takes nearly all of the
# time.
$node->safe_psql('postgres', <<'SQL');
CREATE TABLE long (kind text, body text);
ALTER TABLE long ALTER body SET STORAGE EXTERNAL;
INSERT INTO long SELECT 'english words',
  repeat('the quick brown fox jumps over the lazy dog, number after number. ', 3076923);
INSERT INTO long SELECT 'chinese words', repeat('我们在北京大学的图书馆里学习数据库系统。', 3333333);
INSERT INTO long SELECT 'one word', repeat('a', 200000000);
INSERT INTO long SELECT 'markup', repeat('<p>one</p> &amp; ', 11764705);
SQL

# In seconds. The timeout is a quarter of a second, but the machine may be busy.
my $bound = 3;
my $all_steps = '["html", "nfkc", "lower", "simplified", "punctuation", "space"]';
for my $kind ('english words', 'chinese words', 'one word', 'markup')
{
	for my $call (
		'simhash(body)',
		q{simhash128(body, '{"shingle": 3, "weight": "tf"}')},
		qq{simhash(body, '{"tokenizer": "char", "shingle": 4, "normalize": $all_steps}')},
		'simhash_normalize(body)',
		'cardinality(simhash_tokens(body))')
	{
		my $started = time;
		my ($status, $output, $error) = $node->psql('postgres', <<"SQL");
SET statement_timeout = '250ms';
SELECT $call IS NULL FROM long WHERE kind = '$kind'
SQL
		my $elapsed = time - $started;
		# A call that ends before the timeout passes too.
		ok($status == 0 || $error =~ /canceling statement due to statement timeout/,
			"$kind: $call ends or is stopped")
			or diag($error);
		cmp_ok($elapsed, '<', $bound, sprintf('%s: %s is over after %.2f s', $kind, $call, $elapsed));
	}
}
is($node->safe_psql('postgres', q{SELECT simhash('the cat sat on the mat') IS NOT NULL}),
	't', 'the server goes on');

# How long after the timeout a call ends, with the timeout at several points of the call's duration.
my $size = soak() ? 10 : 1;
$node->safe_psql('postgres', <<"SQL");
CREATE TABLE input (kind text, body text);
ALTER TABLE input ALTER body SET STORAGE EXTERNAL;
INSERT INTO input SELECT 'distinct',
  string_agg(translate(to_hex(i * 79), '0123456789', 'ghijklmnop'), ' ')
  FROM generate_series(1, 1200000 * $size) i;
INSERT INTO input SELECT 'sentences',
  string_agg(translate(to_hex(i * 79), '0123456789', 'ghijklmnop'), '. ')
  FROM generate_series(1, 1200000 * $size) i;
INSERT INTO input SELECT 'words',
  repeat('the quick brown fox jumps over the lazy dog. ', 500000 * $size);
-- PostgreSQL allows a tsvector 1 MB.
CREATE TABLE vectors AS SELECT to_tsvector('simple', left(body, 600000)) AS words
  FROM input WHERE kind = 'distinct';
-- PostgreSQL neither compresses nor reads compressed values while looking at interrupts.
CREATE TABLE lists (texts text[], numbers real[]);
ALTER TABLE lists ALTER texts SET STORAGE EXTERNAL, ALTER numbers SET STORAGE EXTERNAL;
INSERT INTO lists SELECT array_agg(i::text), array_agg(i::real)
  FROM generate_series(1, 2000000 * $size) i;
CREATE TABLE prints (fps fingerprint64[]);
ALTER TABLE prints ALTER fps SET STORAGE EXTERNAL;
INSERT INTO prints SELECT array_agg((i * 7919::bigint)::fingerprint64)
  FROM generate_series(1, 2000000 * $size) i;
CREATE TABLE many AS SELECT i AS id, 'text ' || i || ' of ' || i % 5000 AS body
  FROM generate_series(1, 300000 * $size) i;
CREATE TABLE fps AS
  SELECT i AS id, ((hashint8extended(i / 10, 1) & ~7) | i % 8)::fingerprint64 AS fp
  FROM generate_series(1, 1000000 * $size) i;
CREATE INDEX fps_fp ON fps USING simhash (fp);
CREATE INDEX many_body ON many USING simhash (body);
CREATE INDEX input_passages ON input USING simhash (body text_passage_ops) WITH (words = 5);
CREATE TABLE filters (filter bloom_filter);
ALTER TABLE filters ALTER filter SET STORAGE EXTERNAL;
INSERT INTO filters SELECT bloom_agg(body, 40000000 * $size) FROM many;
CREATE TABLE minhashes AS SELECT minhash(body, 256) AS m FROM many LIMIT 1000;
SELECT simhash_train('small', 'SELECT body FROM many WHERE id <= 50000');
CREATE TABLE models AS SELECT simhash_train_agg(body, '{}') AS model FROM many;
SELECT simhash_dictionary('large', array_agg(chr(19968 + i % 20000) || chr(19968 + i % 7919)))
  FROM generate_series(1, 900000) i;
ANALYZE;
SQL
my $of = sub { my ($kind, $call) = @_; "SELECT $call IS NULL FROM input WHERE kind = '$kind'" };
my %calls = (
	'simhash' => $of->('distinct', 'simhash(body)'),
	'simhash128' => $of->('distinct',
		q{simhash128(body, '{"shingle": 5, "weight": "tf", "position": "spread"}')}),
	'simhash_normalize' => $of->('sentences', 'simhash_normalize(body)'),
	'simhash_tokens' => $of->('distinct', 'simhash_tokens(body)'),
	'simhash_tokens of words' => $of->('words', 'simhash_tokens(body)'),
	'simhash_numbers' => $of->('distinct',
		q{simhash_numbers(repeat(body, 10), '{"numbers": "same"}')}),
	'simhash_features' =>
		q{SELECT count(*) FROM input, simhash_features(body) WHERE kind = 'distinct'},
	'simhash128_features' => <<'SQL',
SELECT count(*) FROM input, simhash128_features(body, '{"shingle": 3}') WHERE kind = 'distinct'
SQL
	'simhash_dictionary' => q{SELECT simhash_dictionary('new', texts[1:900000]) FROM lists},
	'simhash with a dictionary' => q{SELECT simhash('a', '{"dictionary": "large"}')},
	'simhash_explain' => <<'SQL',
SELECT count(*) FROM input, simhash_explain(body, body || ' more', '{"shingle": 3}')
WHERE kind = 'distinct'
SQL
	'simhash of tsvector' => 'SELECT simhash(words) IS NULL FROM vectors',
	'simhash_from' => 'SELECT simhash_from(texts) FROM lists',
	'simhash_from with weights' => 'SELECT simhash128_from(texts, numbers) FROM lists',
	'shingles' => $of->('distinct', 'shingles(body, 3)'),
	'shingle_similarity' => $of->('distinct', q{shingle_similarity(body, body || ' more', 3)}),
	'shingle_containment' => $of->('distinct', q{shingle_containment(body, body || ' more', 3)}),
	'near_duplicate' => $of->('distinct', q{near_duplicate(body, body || ' more', 0.3)}),
	'text_similarity' => $of->('distinct', q{text_similarity(body || ' more', body)}),
	'edit_similarity' => $of->('distinct',
		q{edit_similarity(left(body, 400000), reverse(left(body, 400000)))}),
	'shares_passage' => $of->('distinct', q{shares_passage(body, reverse(body), 5)}),
	'passage_share' => $of->('distinct', q{passage_share(body, body || ' more')}),
	'shared_passages' => $of->('distinct',
		q{(SELECT count(*) FROM shared_passages(body, body || ' more'))}),
	'text_passage' => $of->('distinct', q{body && text_passage(reverse(body), 30)}),
	'near_text' => $of->('distinct', q{near_text(body) ~= near_text('more ' || body)}),
	'minhash' => $of->('distinct', 'minhash(body, 256)'),
	'minhash128' => $of->('distinct', q{minhash128(body, '{"shingle": [1, 2]}')}),
	'minhash64_from' => 'SELECT minhash64_from(texts) FROM lists',
	'minhash of tsvector' => 'SELECT minhash64(words) IS NULL FROM vectors',
	'minhash_agg' => 'SELECT minhash_agg(body, 8192) IS NULL FROM many',
	'minhash_agg of one' => $of->('distinct', 'minhash_agg(body)'),
	'minhash_union' => 'SELECT minhash_union(m) IS NULL FROM minhashes',
	'jaccard' => 'SELECT count(jaccard(a.m, b.m)) FROM minhashes a, minhashes b',
	'ksentence' => $of->('sentences', 'ksentence(body, 1000000)'),
	'ksentence of one' => $of->('distinct', 'ksentence(body, 3)'),
	'esimhash' => $of->('distinct', q{esimhash(body, 'small')}),
	'imatch' => $of->('words', q{imatch(body, 'small', -10, 20)}),
	'imatch_keys' => q{SELECT imatch_keys(string_agg(body, ' '), 'small', 100, -10, 20) FROM many},
	'simhash_lexicons' => $of->('words', q{simhash_lexicons(body, 'small', 100, 3)}),
	'dedup_texts' => <<'SQL',
SELECT count(*) FROM dedup_texts('SELECT id, body FROM many', exact => 'trie', distance => 3)
SQL
	'dedup_texts of long ones' => <<'SQL',
SELECT count(*) FROM dedup_texts('SELECT 1 AS id, body FROM input', exact => 'trie')
SQL
	'bloom_agg' => 'SELECT bloom_agg(body, 100000000) IS NULL FROM many',
	'bloom_union' => 'SELECT bloom_union(filter) IS NULL FROM filters, generate_series(1, 5)',
	# Not by casts to text and back: PostgreSQL copies between them without checking for interrupts.
	'bloom_filter as text' => 'SELECT bloom_filter_in(bloom_filter_out(filter)) IS NULL FROM filters',
	'bloom_filter as bytes' => 'SELECT filter::bytea::bloom_filter IS NULL FROM filters',
	'bloom_filter united' => 'SELECT filter | filter IS NULL FROM filters',
	'simhash_train_agg' => q{SELECT simhash_train_agg(body, '{}') IS NULL FROM many},
	'simhash_train_agg of one' => q{SELECT simhash_train_agg(body, '{}') IS NULL FROM input},
	'simhash_train' => q{SELECT simhash_train('another', 'SELECT body FROM input')},
	# Neighbours spill to files. The terms, which are as many as the texts, have to fit.
	'simhash_train with little memory' => sprintf(
		q{SET LOCAL simhash.work_mem = '%dMB'; SELECT simhash_train('another', '%s')},
		64 * $size, 'SELECT body FROM many'),
	'simhash_store_model' => q{SELECT simhash_store_model('stored', model) FROM models},
	'simhash_evaluate' => <<'SQL',
SELECT count(*) FROM simhash_evaluate('SELECT fp AS a, fp AS b, true FROM fps')
SQL
	'distance of arrays' => 'SELECT hamming(fps, fps) FROM prints',
	'balls of an array' => 'SELECT hamming_ball(fps, 3) IS NULL FROM prints',
	'an array in balls' => 'SELECT fps <@ hamming_ball(fps, 3) FROM prints',
	# Not in FROM: there PostgreSQL materialises a function's result, and removing a file of 1 GB
	# takes a second.
	'simhash_pairs' => q{SELECT count(*) FROM (SELECT simhash_pairs('fps_fp', 6)) pairs},
	'simhash_clusters' => q{SELECT count(*) FROM simhash_clusters('fps_fp', 6)},
	'simhash_passages' => q{SELECT count(*) FROM simhash_passages('input_passages', 6, NULL)},
	'simhash_suggest' => q{SELECT count(*) FROM simhash_suggest('fps_fp')},
	'simhash_suggest of texts' => q{SELECT count(*) FROM simhash_suggest('many_body')},
	'simhash_suggest_pairs' => q{SELECT count(*) FROM simhash_suggest_pairs('many_body')},
	'nearest' => <<'SQL',
SELECT count(*) FROM (SELECT fp FROM fps ORDER BY fp <~> '0000000000000000' LIMIT 1000000) n
SQL
	'a wide range' => <<'SQL',
SELECT count(*) FROM fps WHERE fp <@ hamming_ball('0000000000000000'::fingerprint64, 30)
SQL
	'near_duplicate' => $of->('distinct', q{near_duplicate(body, body || ' more', 0.5)}),
	'text_similarity' => $of->('distinct', q{text_similarity(body, body || ' more')}),
	'near_text' => $of->('distinct', q{near_text(body, 0.5) ~= near_text(body || ' more', 0.9)}),
	'a text inserted' => q{INSERT INTO many SELECT 0, body FROM input WHERE kind = 'distinct'},
	'a text asked for' => <<'SQL',
SELECT count(*) FROM many
  WHERE body ~= near_text((SELECT body FROM input WHERE kind = 'words'), 0.5)
SQL
	'texts asked for' => <<'SQL',
SET LOCAL enable_seqscan = off; SELECT count(*) FROM many WHERE body ~= near_text('text of 17', 0.3)
SQL
	'CREATE INDEX of texts' => 'CREATE INDEX ON many USING simhash (body)',
	'ADD EXCLUDE' => <<'SQL',
ALTER TABLE many ADD EXCLUDE USING simhash (id WITH =, near_text(body, 0.5) WITH ~=)
SQL
	'simhash_index_check of texts' => q{SELECT count(*) FROM simhash_index_check('many_body')},
	'simhash_index_info of texts' => q{SELECT count(*) FROM simhash_index_info('many_body')},
	'simhash_index_check' => q{SELECT count(*) FROM simhash_index_check('fps_fp')},
	'CREATE INDEX' => 'CREATE INDEX ON fps USING simhash (fp)');
delete @calls{ grep { $_ ne $ENV{CALL} } keys %calls } if $ENV{CALL};

# The seconds that a call may go on after the timeout. PostgreSQL's own timeout cancels it, and psql
# measures the time.
my $allowed = soak() ? 0.5 : 1;
# In the long form as many points as fit into 15 seconds, from 3 to 9. On average a call is
# cancelled halfway.
my $points = sub {
	my ($length) = @_;
	return soak() ? min(9, max(3, int(2 * 15_000 / $length))) : 3;
};
my $attempts = 0;
for my $name (sort keys %calls)
{
	my ($settings, $call) = $calls{$name} =~ /^(SET LOCAL .*?; )?(.*)$/s;
	my $prepare = 'SET max_parallel_workers_per_gather = 0; '
		. 'SET max_parallel_maintenance_workers = 0; BEGIN; ' . ($settings // '');
	my ($status, $output, $error) = $node->psql('postgres', "$prepare\n\\timing\n$call;\nROLLBACK;");
	fail("$name: $error"), next unless $status == 0;
	my ($length) = $output =~ /^Time: ([\d.]+) ms/m;
	my ($worst, $other_errors) = (0, '');
	my $count = $points->($length);
	for my $point (1 .. $count)
	{
		my $timeout = int($length * ($point - 0.5) / $count) || 1;
		my @late = ();
		# A call may be late once because it waited for the machine.
		for (1 .. 3)
		{
			my $file = PostgreSQL::Test::Utils::tempdir . '/waited' . ++$attempts;
			my $seconds = $timeout / 1000;
			($status, $output, $error) = $node->psql('postgres', <<"SQL",
SELECT pg_backend_pid() AS pid \\gset
\\setenv PID :pid
\\! (sleep $seconds; cat /proc/\$PID/schedstat) >'$file' 2>/dev/null </dev/null &
$prepare SET LOCAL statement_timeout = $timeout;
\\timing
$call;
\\! cat /proc/\$PID/schedstat
ROLLBACK;
SQL
				on_error_stop => 0, extra_params => [ '-v', 'VERBOSITY=verbose' ]);
			my ($took) = $output =~ /^Time: ([\d.]+) ms/m;
			my $cancelled = defined $took && $error =~ /ERROR:  57014: /;
			# Near its whole duration a call may end before the timeout. psql goes on after an
			# ERROR. Only its status shows that the connection was lost.
			$other_errors .= $error
				if ($status != 0 || $error =~ /ERROR|FATAL|PANIC/) && !$cancelled;
			# Other tests run in parallel: time without a free processor does not count.
			my ($at_end) = $output =~ /^\d+ (\d+) \d+$/m;
			my ($at_timeout) = -s $file ? slurp_file($file) =~ /^\d+ (\d+) / : ();
			my $waited = defined $at_end && defined $at_timeout ? ($at_end - $at_timeout) / 1e9 : 0;
			push @late, $cancelled ? ($took - $timeout) / 1000 - max(0, $waited) : 0;
			last if $late[-1] < $allowed;
		}
		my ($least) = sort { $a <=> $b } @late;
		$worst = $least if $least > $worst;
	}
	cmp_ok($worst, '<', $allowed, sprintf('%s: %.2f s after the time-out, at %d points of %.2f s',
		$name, $worst, $count, $length / 1000));
	is($other_errors, '', "$name: no other error");
}

$node->stop;
done_testing();
