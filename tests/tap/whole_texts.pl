# Whole tables of texts: pairs, duplicates and clusters by similarity are those of comparing each
# text with each, and duplicates are the rows that inserting under the constraint drops.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use SimhashTest;
use TextsTest;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_text_node('main', '');
seed();
my $salt = roll(1_000_000);
my $texts = "$FindBin::Bin/../../evaluate/corpora";

sub query { return $node->safe_psql('postgres', $_[0]) }

# The definitions, by brute force. Expressions prevent the use of indexes.
query(<<'SQL');
CREATE FUNCTION test.near(a text, b text, s double precision, c simhash_config DEFAULT '{}')
  RETURNS boolean LANGUAGE sql IMMUTABLE AS $$ SELECT near_duplicate(a || '', b || '', s, c) $$;
-- The cover of the table "rows" (id, place, scope, body), in the order of place: what is dropped,
-- and for what. Of two tables, those of "others" are all kept.
CREATE FUNCTION test.cover(s double precision, two boolean DEFAULT false)
  RETURNS TABLE (id bigint, kept bigint, similarity double precision) LANGUAGE plpgsql AS $$
DECLARE r record;
BEGIN
  CREATE TEMP TABLE kept ON COMMIT DROP AS SELECT * FROM others WHERE two;
  FOR r IN SELECT * FROM rows ORDER BY place LOOP
    SELECT k.id, text_similarity(k.body, r.body) INTO kept, similarity FROM kept k
      WHERE k.scope = r.scope AND near_duplicate(k.body || '', r.body || '', s)
      ORDER BY text_similarity(k.body, r.body) DESC, k.place LIMIT 1;
    IF FOUND THEN
      id := r.id;
      RETURN NEXT;
    ELSIF NOT two THEN
      INSERT INTO kept VALUES (r.id, r.place, r.scope, r.body);
    END IF;
  END LOOP;
  DROP TABLE kept;
END $$;
SQL

# Equal to inserting in that order under the constraint, on three real data sets, in two orders.
for (
	[ 'en_descriptions', 2500, 0.7 ],
	[ 'en_verses', 4000, 0.5 ],
	[ 'zh_verses', 4000, 0.8 ])
{
	my ($corpus, $rows, $similarity) = @$_;
	query(<<"SQL");
CREATE TABLE line (line text);
COPY line FROM PROGRAM 'xz -dc "$texts/$corpus.jsonl.xz"'
  WITH (FORMAT csv, QUOTE E'\\x01', DELIMITER E'\\x02');
CREATE TABLE doc (id bigserial, body text);
INSERT INTO doc (body)
  SELECT line::json ->> 'text' FROM (SELECT line FROM line LIMIT $rows) l;
-- Changed copies, as real texts have; and copies.
INSERT INTO doc (body)
  SELECT regexp_replace(body, '(\\w+) (\\w+)', '\\2 $salt') FROM doc WHERE id % 3 = 0;
INSERT INTO doc (body)
  SELECT substr(body, 1, length(body) * 4 / 5) FROM doc WHERE id % 4 = 0;
INSERT INTO doc (body) SELECT body FROM doc WHERE id % 7 = 0;
CREATE INDEX doc_body ON doc USING simhash (body);
SQL
	for my $order ('id', 'length(body) DESC, md5(body), id')
	{
		my $result = query(<<"SQL");
CREATE TABLE clean (LIKE doc, EXCLUDE USING simhash (near_text(body, $similarity) WITH ~=));
INSERT INTO clean SELECT * FROM doc ORDER BY $order ON CONFLICT DO NOTHING;
CREATE TABLE dropped AS SELECT d.id, k.id AS kept, s.similarity
  FROM simhash_duplicates('doc_body', similarity => $similarity, keep => '$order') s
  JOIN doc d ON d.ctid = s.duplicate JOIN doc k ON k.ctid = s.kept;
SELECT (SELECT count(*) FROM dropped) > 300,
  (SELECT count(*) FROM dropped JOIN clean USING (id)),
  (SELECT count(*) FROM doc WHERE id NOT IN (SELECT id FROM dropped UNION SELECT id FROM clean)),
  (SELECT count(*) FROM dropped WHERE kept NOT IN (SELECT id FROM clean)),
  (SELECT count(*) FROM dropped x JOIN doc d USING (id) JOIN doc k ON k.id = x.kept
    WHERE x.similarity <> text_similarity(d.body, k.body)
      OR NOT test.near(d.body, k.body, $similarity));
DROP TABLE clean, dropped;
SQL
		is($result, 't|0|0|0|0', "$corpus at $similarity by $order: as under the constraint");
	}
	query('DROP TABLE line, doc');
}

# By the definitions, on texts of few words: chains, hubs, copies, NULLs, empty texts; in scopes;
# over partitions; after updates, some of them HOT, and deletes; with uncommitted changes of others;
# with enough and with little memory.
my %kinds = (
	'one table' => [ 'CREATE TABLE t (id bigint, place bigint, scope int, body text)', 'body', '' ],
	'scopes' =>
	  [ 'CREATE TABLE t (id bigint, place bigint, scope int, body text)', 'scope, body', '' ],
	'partitions' => [ <<'SQL', 'body', '' ],
CREATE TABLE t (id bigint, place bigint, scope int, body text) PARTITION BY HASH (id);
CREATE TABLE t_1 PARTITION OF t FOR VALUES WITH (MODULUS 3, REMAINDER 0);
CREATE TABLE t_2 PARTITION OF t FOR VALUES WITH (MODULUS 3, REMAINDER 1);
CREATE TABLE t_3 PARTITION OF t FOR VALUES WITH (MODULUS 3, REMAINDER 2) PARTITION BY HASH (place);
CREATE TABLE t_4 PARTITION OF t_3 DEFAULT
SQL
	'expression' => [ 'CREATE TABLE t (id bigint, place bigint, scope int, body text)',
		"lower(body || '')", '' ],
	'constraint' => [ 'CREATE TABLE t (id bigint, place bigint, scope int, body text)',
		'near_text(body, 0.5)', '' ],
	'recent postings' =>
	  [ 'CREATE TABLE t (id bigint, place bigint, scope int, body text)', 'body', 'first' ],
);
$kinds{partitions}[0] =~ s/PARTITION BY HASH \(place\);\nCREATE TABLE t_4 .*/;/;
for my $kind (sort keys %kinds)
{
	my ($table, $columns, $first) = @{ $kinds{$kind} };
	my $scope = $kind eq 'scopes' ? 'scope' : '0';
	my $same = $kind eq 'scopes' ? 'a.scope = b.scope' : 'true';
	my $index = "CREATE INDEX t_i ON t USING simhash ($columns)";
	my $insert = <<"SQL";
INSERT INTO t
  SELECT i, hashtext('$salt' || i), i % 3, test.few_words('$salt $kind', i)
  FROM generate_series(1, 700) i;
INSERT INTO t
  SELECT 1000 + i, i * 7919 % 500, NULLIF(i % 4, 3),
    'a hub of nine words that all have but one ' || i % 30
  FROM generate_series(1, 200) i;
INSERT INTO t SELECT 2000 + i, i, i % 2, 'copies of one text, which are many here'
  FROM generate_series(1, 200) i;
INSERT INTO t VALUES (3001, 1, 1, NULL), (3002, 2, 1, ''), (3003, 3, 1, '...'), (3004, 4, 1, '...');
SQL
	query(<<"SQL");
CREATE OR REPLACE FUNCTION test.few_words(salt text, i bigint) RETURNS text
LANGUAGE sql IMMUTABLE AS \$\$
  SELECT string_agg('w' || (i / 4 * 5 +
    CASE WHEN abs(hashtext(salt || i || n)) % 12 = 0 THEN n * 31 ELSE n END), ' ' ORDER BY n)
  FROM generate_series(1, 4 + abs(hashtext(salt || i / 4)) % 12) n \$\$;
$table;
@{[ $first ? "$index; $insert" : "$insert $index" ]};
UPDATE t SET place = place + 1 WHERE id % 5 = 0;
UPDATE t SET body = body || ' more' WHERE id % 11 = 0;
DELETE FROM t WHERE id % 13 = 0;
SQL
	my $others = $node->background_psql('postgres') if $node->can('background_psql');
	if ($others)
	{
		$others->query_safe('BEGIN; DELETE FROM t WHERE id % 17 = 0;
			INSERT INTO t SELECT id + 10000, place, scope, body FROM t WHERE id % 3 = 0;');
	}
	query(<<"SQL");
CREATE TABLE rows AS
  SELECT id, row_number() OVER (ORDER BY place, tableoid, ctid) AS place, $scope AS scope, body
  FROM t;
CREATE TABLE others AS
  SELECT id + 5000 AS id, place, scope, body FROM rows WHERE id % 2 = 0;
CREATE TABLE u (id bigint, scope int, body text);
INSERT INTO u SELECT id, scope, body FROM others ORDER BY place;
CREATE INDEX u_i ON u USING simhash ($columns);
SQL
	for ([ 0.5, '16MB' ], [ 0.7, '1GB' ], $kind eq 'one table' ? [ 0.9, '16MB' ] : ())
	{
		my ($similarity, $memory) = @$_;
		{
			my $setting = "SET simhash.work_mem = '$memory'; SET client_min_messages = error;";
			my $what = "$kind at $similarity, $memory";
			is(query(<<"SQL"), '0|t', "$what: duplicates");
$setting
CREATE TEMP TABLE found AS SELECT d.id, k.id AS kept, s.similarity
  FROM simhash_duplicates('t_i', similarity => $similarity, keep => 'place') s
  JOIN t d ON d.ctid = s.duplicate AND d.tableoid = s.duplicate_table
  JOIN t k ON k.ctid = s.kept AND k.tableoid = s.kept_table;
CREATE TEMP TABLE expected AS SELECT * FROM test.cover($similarity);
SELECT (SELECT count(*) FROM found FULL JOIN expected USING (id, kept, similarity)
    WHERE found IS NULL OR expected IS NULL), (SELECT count(*) > 200 FROM found);
SQL
			is(query(<<"SQL"), '0|t', "$what: duplicates of others");
$setting
CREATE TEMP TABLE found AS SELECT d.id, k.id AS kept, s.similarity
  FROM simhash_duplicates('t_i', similarity => $similarity, keep => 'place', other => 'u_i') s
  JOIN t d ON d.ctid = s.duplicate AND d.tableoid = s.duplicate_table JOIN u k ON k.ctid = s.kept;
CREATE TEMP TABLE expected AS SELECT * FROM test.cover($similarity, true);
SELECT (SELECT count(*) FROM found FULL JOIN expected USING (id, kept, similarity)
    WHERE found IS NULL OR expected IS NULL), (SELECT count(*) > 200 FROM found);
SQL
			is(query(<<"SQL"), '0|t', "$what: pairs");
$setting
CREATE TEMP TABLE found AS SELECT a.id AS a, b.id AS b, s.similarity
  FROM simhash_pairs('t_i', similarity => $similarity) s
  JOIN t a ON a.ctid = s.a AND a.tableoid = s.a_table
  JOIN t b ON b.ctid = s.b AND b.tableoid = s.b_table;
CREATE TEMP TABLE expected AS
  SELECT a.id AS a, b.id AS b, text_similarity(a.body, b.body) AS similarity
  FROM (SELECT *, tableoid, ctid FROM t) a JOIN (SELECT *, tableoid, ctid FROM t) b
  ON (a.tableoid, a.ctid) < (b.tableoid, b.ctid) AND $same
    AND test.near(a.body, b.body, $similarity);
SELECT (SELECT count(*) FROM found FULL JOIN expected USING (a, b, similarity)
    WHERE found IS NULL OR expected IS NULL), (SELECT count(*) > 200 FROM found);
SQL
			is(query(<<"SQL"), '0|t', "$what: pairs of two");
$setting
CREATE TEMP TABLE found AS SELECT a.id AS a, b.id AS b, s.similarity
  FROM simhash_pairs('t_i', other => 'u_i', similarity => $similarity) s
  JOIN t a ON a.ctid = s.a AND a.tableoid = s.a_table JOIN u b ON b.ctid = s.b;
CREATE TEMP TABLE expected AS
  SELECT a.id AS a, b.id AS b, text_similarity(a.body, b.body) AS similarity
  FROM t a JOIN u b ON $same AND test.near(a.body, b.body, $similarity);
SELECT (SELECT count(*) FROM found FULL JOIN expected USING (a, b, similarity)
    WHERE found IS NULL OR expected IS NULL), (SELECT count(*) > 200 FROM found);
SQL
			# Chains are the components of the pairs, and stars are the cover.
			is(query(<<"SQL"), '0|0|0|t', "$what: clusters");
$setting
CREATE TEMP TABLE pair AS SELECT a.id AS a, b.id AS b
  FROM simhash_pairs('t_i', similarity => $similarity) s
  JOIN t a ON a.ctid = s.a AND a.tableoid = s.a_table
  JOIN t b ON b.ctid = s.b AND b.tableoid = s.b_table;
CREATE TEMP TABLE found AS SELECT m.id, r.id AS first, s.size, s.similarity, s.least_similarity
  FROM simhash_clusters('t_i', similarity => $similarity) s
  JOIN t m ON m.ctid = s.member AND m.tableoid = s.member_table
  JOIN t r ON r.ctid = s.representative AND r.tableoid = s.representative_table;
CREATE TEMP TABLE label AS
  SELECT id, id AS least FROM (SELECT a FROM pair UNION SELECT b FROM pair) x (id);
CREATE TEMP TABLE edge AS SELECT a, b FROM pair UNION ALL SELECT b, a FROM pair;
DO \$\$ BEGIN
  LOOP
    UPDATE label SET least = n.least FROM (
      SELECT x.id, min(y.least) AS least FROM edge e
      JOIN label x ON x.id = e.a JOIN label y ON y.id = e.b GROUP BY x.id) n
    WHERE n.id = label.id AND n.least < label.least;
    EXIT WHEN NOT FOUND;
  END LOOP;
END \$\$;
SELECT
  (SELECT count(*) FROM found FULL JOIN label USING (id) WHERE found IS NULL OR label IS NULL),
  (SELECT count(*) FROM (SELECT count(DISTINCT first) AS firsts, count(*) AS n, min(size) AS size
    FROM found JOIN label USING (id) GROUP BY least) g WHERE firsts <> 1 OR n <> size),
  (SELECT count(*) FROM found f JOIN t m ON m.id = f.id JOIN t r ON r.id = f.first
    WHERE f.similarity <> text_similarity(m.body, r.body)
      OR f.least_similarity <> (SELECT min(similarity) FROM found g WHERE g.first = f.first)),
  (SELECT count(*) > 200 FROM found);
SQL
			is(query(<<"SQL"), '0|t', "$what: stars");
$setting
CREATE TEMP TABLE found AS SELECT m.id, r.id AS kept, s.similarity
  FROM simhash_clusters('t_i', similarity => $similarity, linkage => 'star', keep => 'place') s
  JOIN t m ON m.ctid = s.member AND m.tableoid = s.member_table
  JOIN t r ON r.ctid = s.representative AND r.tableoid = s.representative_table WHERE m.id <> r.id;
CREATE TEMP TABLE expected AS SELECT * FROM test.cover($similarity);
SELECT (SELECT count(*) FROM found FULL JOIN expected USING (id, kept, similarity)
    WHERE found IS NULL OR expected IS NULL), (SELECT count(*) > 200 FROM found);
SQL
		}
	}
	$others->quit if $others;
	query('DROP TABLE t, u, rows, others');
}

# With little memory rows are processed in blocks. The answers are the same.
query(<<"SQL");
CREATE TABLE large (id bigint, body text);
INSERT INTO large SELECT i, (SELECT string_agg(CASE WHEN n = 3 + i % 5 THEN 'own' || i % 6
    ELSE 'w' || abs(hashtext('$salt' || i / 6 || ' ' || n)) END, ' ' ORDER BY n)
    FROM generate_series(1, 16) n)
  FROM generate_series(1, 40000) i ORDER BY hashtext(i::text);
CREATE INDEX large_body ON large USING simhash (body);
SQL
my %answers = (
	'duplicates' => 'SELECT duplicate, kept, similarity FROM simhash_duplicates(\'large_body\', 0.7)',
	'pairs' => 'SELECT a, b, similarity FROM simhash_pairs(\'large_body\')',
	'clusters' => 'SELECT member, representative, similarity FROM simhash_clusters(\'large_body\')');
for my $name (sort keys %answers)
{
	my @sums = map { query(<<"SQL") } '16MB', '1GB';
LOAD 'pg_simhash';
SET simhash.work_mem = '$_';
SELECT count(*), sum(hashtext(answer::text)) FROM ($answers{$name}) answer
SQL
	is($sums[0], $sums[1], "$name in blocks");
	cmp_ok((split /\|/, $sums[0])[0], '>', 10000, 'of many rows');
}

# Limits and cancellation.
my $limits = q{CREATE TABLE many AS SELECT i AS id, 'one text of so many' AS body
  FROM generate_series(1, 20000) i; CREATE INDEX many_body ON many USING simhash (body);};
query($limits);
my $ten = "SELECT simhash_pairs('many_body', similarity => 1) LIMIT 10";
is(query("SELECT count(*) FROM ($ten) p"), '10', 'a LIMIT on pairs');
my ($rc, $out, $error) = $node->psql('postgres',
	q{SET statement_timeout = 300;
		SELECT count(*) FROM simhash_pairs('many_body', similarity => 0.5)});
like($error, qr/canceling statement due to statement timeout/, 'pairs are cancelled');

# Calls that are refused or return nothing.
query(<<'SQL');
CREATE TABLE own (id integer, body text, fp fingerprint64);
INSERT INTO own
  SELECT i, 'text ' || i / 2 || ' of a few words', test.number('f' || i / 2)::fingerprint64
  FROM generate_series(1, 20) i;
CREATE INDEX own_body ON own USING simhash (body);
CREATE INDEX own_upper ON own USING simhash (upper(body));
CREATE INDEX own_fp ON own USING simhash (fp);
CREATE MATERIALIZED VIEW seen AS SELECT * FROM own WITH NO DATA;
CREATE INDEX seen_body ON seen USING simhash (body);
SQL
for ([ "'own_body', measure => 'bogus'", qr/"measure" requires fingerprints/ ],
	[ "'own_body', shingle => 3", qr/"shingle" requires fingerprints/ ],
	[ q('own_body', config => '{"shingle": 1}'), qr/"config" requires fingerprints/ ],
	[ "'own_body', body => 'body'", qr/"body" requires fingerprints/ ],
	[ "'own_fp', distance => 3, shingle => 3", qr/"shingle" requires fingerprints/ ],
	[ "'own_fp', distance => 3, similarity => 0.8", qr/similarity together require/ ],
	[ "'own_fp'", qr/is on fingerprints.*simhash_duplicates\(index, distance => 3\)/s ],
	[ "'own_body', other => 'own_body'", qr/"other" must not be an index on the same table/ ],
	[ "'own_body', other => 'own_upper'", qr/"other" must not be an index on the same table/ ],
	[ "'own_body', keep => 'Order  By id'", qr/must not begin with ORDER BY/ ],
	[ "'own_body', keep => 'longest'",
		qr/column "longest" does not exist.*HINT: .*length\(body\) DESC/s ],
	[ "'own_body', keep => 'id, Newest DESC'", qr/column "newest" does not exist/ ],
	[ "'seen_body'", qr/materialized view "seen" has not been populated.*REFRESH/s ])
{
	my ($arguments, $expected) = @$_;
	my (undef, undef, $said) = $node->psql('postgres',
		"SELECT count(*) FROM simhash_duplicates($arguments)");
	like($said, $expected, "duplicates of $arguments");
}
is(query("SELECT count(*) FROM simhash_duplicates('own_body', keep => 'own, ctid')"),
	query("SELECT count(*) FROM simhash_duplicates('own_body', keep => 'id')"),
	'an order by whole rows and by a column of the system');
is(query("SELECT count(*) FROM simhash_duplicates('own_body', similarity => NULL)"), '0',
	'no similarity, no duplicates');
is(query("SELECT count(*) FROM simhash_clusters('own_body', similarity => NULL)"), '0',
	'nor clusters');
cmp_ok(query("SELECT count(*) FROM simhash_duplicates('own_body')"), '>', 5,
	'though there are some');

# Covers of fingerprints of every width, computed row by row.
query(<<'SQL');
CREATE FUNCTION test.cover_of_bits(distance integer)
  RETURNS TABLE (id integer, kept integer, apart integer) LANGUAGE plpgsql AS $$
DECLARE one record; nearest record; stay integer[] := '{}';
BEGIN
  FOR one IN SELECT b.id, b.fp FROM bits b ORDER BY b.id DESC LOOP
    SELECT b.id, hamming(b.fp, one.fp) AS apart INTO nearest FROM bits b
      WHERE b.id = ANY (stay) AND hamming(b.fp, one.fp) <= distance
      ORDER BY 2, b.id DESC LIMIT 1;
    IF FOUND THEN
      id := one.id; kept := nearest.id; apart := nearest.apart; RETURN NEXT;
    ELSE
      stay := stay || one.id;
    END IF;
  END LOOP;
END $$;
SQL
for my $width (8, 64, 65, 128, 129, 200, 256, 257, 512, 1024)
{
	my $type = { 64 => 'fingerprint64', 128 => 'fingerprint128', 256 => 'fingerprint256' }->{$width};
	my $cast = $type ? "::text::$type" : '';
	my $value = "string_agg(abs(hashtext('$salt' || i / 3 || ' ' || n) % 2)::text, '' ORDER BY n)
		::bit($width)";
	$value = "encode(decode(string_agg(lpad(to_hex(abs(hashtext('$salt' || i / 3 || ' ' || n)) % 256),
		2, '0'), '' ORDER BY n), 'hex'), 'hex')::$type" if $type;
	my $digits = $type ? $width / 8 : $width;
	query(<<"SQL");
DROP TABLE IF EXISTS bits;
CREATE TABLE bits AS
  SELECT i AS id, (SELECT $value FROM generate_series(1, $digits) n) AS fp
  FROM generate_series(1, 150) i;
CREATE INDEX bits_fp ON bits USING simhash (fp);
SQL
	for my $distance (0, 3)
	{
		is(query(<<"SQL"), '0|t', "$width bits, distance $distance: duplicates");
WITH found AS (SELECT d.id, k.id AS kept, s.distance AS apart
  FROM simhash_duplicates('bits_fp', distance => $distance, keep => 'id DESC') s
  JOIN bits d ON d.ctid = s.duplicate JOIN bits k ON k.ctid = s.kept),
expected AS (SELECT * FROM test.cover_of_bits($distance))
SELECT (SELECT count(*) FROM found FULL JOIN expected USING (id, kept, apart)
    WHERE found IS NULL OR expected IS NULL),
  (SELECT count(*) > 90 FROM found)
SQL
	}
}

$node->stop;
done_testing();
