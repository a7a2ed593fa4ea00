# Tables whose partitions are on other servers: pairs, duplicates and clusters of texts are those of
# one table on one server. If a server lacks an object or has a different one, the error names the
# server.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use SimhashTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

seed();
my $salt = roll(1_000_000);
my $texts = "$FindBin::Bin/../../evaluate/corpora";
my $rows = soak() ? 8_000 : 2_500;
my $coordinator = new_cluster('coordinator');
my @shards = map { new_cluster("shard$_") } 0 .. 2;

sub new_cluster
{
	my ($name) = @_;
	my $node = PostgreSQL::Test::Cluster->new($name);
	$node->init(extra => [ '--encoding=UTF8', '--locale=C.UTF-8' ]);
	$node->append_conf('postgresql.conf', "listen_addresses = '127.0.0.1'\nmax_connections = 30\n");
	$node->start;
	$node->safe_psql('postgres', 'CREATE EXTENSION pg_simhash');
	return $node;
}

sub query { return $coordinator->safe_psql('postgres', $_[0]) }

sub error_of
{
	my (undef, undef, $error) = $coordinator->psql('postgres', $_[0]);
	return $error;
}

sub error_and_answer
{
	my (undef, $answer, $error) = $coordinator->psql('postgres', $_[0], on_error_stop => 0);
	return ($error, $answer);
}

# A table of five partitions: four on three servers, so that one server has two, and one here. The
# remote names differ.
$_->safe_psql('postgres', q{CREATE SCHEMA "Odd 'names'"}) for @shards;
$shards[$_ % 3]->safe_psql('postgres', <<"SQL") for 0 .. 3;
CREATE TABLE "Odd 'names'"."part $_" (id bigint, body text);
CREATE INDEX ON "Odd 'names'"."part $_" USING simhash (body);
SQL
query('CREATE EXTENSION postgres_fdw');
query('CREATE TABLE doc (id bigint, body text) PARTITION BY HASH (id)');
query(<<"SQL") for 0 .. 2;
CREATE SERVER "Shard $_" FOREIGN DATA WRAPPER postgres_fdw
  OPTIONS (host '127.0.0.1', port '${\ $shards[$_]->port}', dbname 'postgres');
CREATE USER MAPPING FOR CURRENT_USER SERVER "Shard $_";
SQL
query(<<"SQL") for 0 .. 3;
CREATE FOREIGN TABLE doc$_ PARTITION OF doc FOR VALUES WITH (MODULUS 5, REMAINDER $_)
  SERVER "Shard ${\ ($_ % 3)}"
  OPTIONS (schema_name 'Odd ''names''', table_name 'part $_', batch_size '1000');
SQL
query(<<'SQL');
CREATE TABLE doc4 PARTITION OF doc FOR VALUES WITH (MODULUS 5, REMAINDER 4);
CREATE INDEX ON doc4 USING simhash (body);
SQL
like(error_of(q{SELECT * FROM simhash_pairs('doc')}),
	qr/ERROR:  cannot compare rows on other servers.*HINT:  Run CREATE EXTENSION dblink/s,
	'dblink is asked for');
query('CREATE EXTENSION dblink');

# Real texts, changed copies and exact copies. Some rows were updated, and so have several versions.
query(<<"SQL");
CREATE TABLE whole (id bigserial PRIMARY KEY, body text);
CREATE TABLE line (line text);
COPY line FROM PROGRAM 'xz -dc "$texts/en_descriptions.jsonl.xz"'
  WITH (FORMAT csv, QUOTE E'\\x01', DELIMITER E'\\x02');
INSERT INTO whole (body) SELECT line::json ->> 'text' FROM (SELECT line FROM line LIMIT $rows) l;
INSERT INTO whole (body)
  SELECT regexp_replace(body, '(\\w+) (\\w+)', '\\2 $salt') FROM whole WHERE id % 3 = 0;
INSERT INTO whole (body) SELECT substr(body, 1, length(body) * 4 / 5) FROM whole WHERE id % 4 = 0;
INSERT INTO whole (body) SELECT body FROM whole WHERE id % 7 = 0;
INSERT INTO whole (body) VALUES (NULL), (''), ('...');
CREATE INDEX whole_body ON whole USING simhash (body);
INSERT INTO doc TABLE whole;
SQL
$shards[$_ % 3]->safe_psql('postgres', <<"SQL") for 0 .. 3;
ALTER TABLE "Odd 'names'"."part $_" ADD COLUMN seen integer, SET (fillfactor = 50);
VACUUM FULL "Odd 'names'"."part $_";
UPDATE "Odd 'names'"."part $_" SET seen = 1 WHERE id % 5 = 0;
SQL

# The columns of each function's result to compare, with ids in place of TIDs.
my %columns = (
	pairs => [ 'least(a.id, b.id) AS one', 'greatest(a.id, b.id) AS two' ],
	duplicates => [ 'a.id AS one', 'b.id AS two' ],
	clusters => [ 'a.id AS one', 'b.id AS two', 'size', 'least_similarity' ]);
my %names = (
	pairs => [qw(a b)],
	duplicates => [qw(duplicate kept)],
	clusters => [qw(member representative)]);

sub by_ids
{
	my ($function, $table, $relation, $arguments) = @_;
	my ($a, $b) = @{ $names{$function} };
	my $columns = join(', ', @{ $columns{$function} }, 's.similarity');
	return <<"SQL";
SELECT $columns FROM simhash_$function('$relation', $arguments) s
  JOIN $table a ON a.ctid = s.$a AND a.tableoid = s.${a}_table
  JOIN $table b ON b.ctid = s.$b AND b.tableoid = s.${b}_table
SQL
}

sub same
{
	my ($function, $arguments, $least, $settings) = @_;
	my ($over, $here) = (by_ids($function, 'doc', 'doc', $arguments),
		by_ids($function, 'whole', 'whole_body', $arguments));
	my $answer = query(<<"SQL");
SET enable_nestloop = off; SET work_mem = '64MB'; @{[ $settings // '' ]}
CREATE TEMP TABLE over AS $over;
CREATE TEMP TABLE here AS $here;
SELECT (SELECT count(*) FROM here) > $least,
  (SELECT count(*) FROM (TABLE over EXCEPT ALL TABLE here) x),
  (SELECT count(*) FROM (TABLE here EXCEPT ALL TABLE over) x);
SQL
	is($answer, 't|0|0', "$function $arguments: as of one table");
	return;
}

same('pairs', "similarity => $_", 300) for 0.5, 0.7, 0.9;
same('pairs', 'similarity => 0.6', 300, "SET simhash.work_mem = '16MB';");
for my $order ('id', 'length(body) DESC, md5(body), id')
{
	same('duplicates', "similarity => $_, keep => '$order'", 300) for 0.5, 0.7, 0.9;
}
same('duplicates', q{similarity => 0.7, keep => 'id', config => '{"numbers": "same"}'}, 300);
same('clusters', "similarity => 0.7, linkage => 'star', keep => 'id'", 300);
# In chains the first row is the representative, and the order of rows differs here. Only the
# clusters are compared.
my $clusters = <<'SQL';
SELECT count(*), sum(size), md5(string_agg(least::text, ' ' ORDER BY least)) FROM (
  SELECT min(a.id) AS least, count(*) AS size FROM simhash_clusters('%s', 0.7) s
    JOIN %s a ON a.ctid = s.member AND a.tableoid = s.member_table
    GROUP BY s.representative, s.representative_table) x
SQL
is(query(sprintf $clusters, 'doc', 'doc'), query(sprintf $clusters, 'whole_body', 'whole'),
	'chains are those of one table');
is(query(q{SELECT count(*) FROM simhash_duplicates('doc', 0.7) s}) > 300, 1, 'without keep');

# A foreign table alone, like a table of one partition.
my $of_one = q{SELECT count(*) FROM whole a JOIN whole b ON a.id < b.id
  AND near_duplicate(a.body || '', b.body || '', 0.7)
  WHERE satisfies_hash_partition('doc'::regclass, 5, 0, a.id)
  AND satisfies_hash_partition('doc'::regclass, 5, 0, b.id) AND a.id % 40 < 20 AND b.id % 40 < 20};
is(query(q{SELECT count(*) FROM simhash_pairs('doc0', 0.7) s JOIN doc0 a ON a.ctid = s.a
  JOIN doc0 b ON b.ctid = s.b WHERE a.id % 40 < 20 AND b.id % 40 < 20}), query($of_one),
	'a foreign table alone');

# Passages. Pairs contain the first of several rows with equal texts. Over servers that is another
# row, so texts are compared.
my $of_passages = 'USING simhash (body text_passage_ops) WITH (words = 12)';
$shards[ $_ % 3 ]->safe_psql('postgres', qq{CREATE INDEX ON "Odd 'names'"."part $_" $of_passages})
	for 0 .. 3;
query("CREATE INDEX ON doc4 $of_passages");
query("CREATE INDEX whole_passages ON whole $of_passages");
query('CREATE TABLE text AS SELECT id, min(id) OVER (PARTITION BY body) AS text FROM whole');

sub same_passages
{
	my ($arguments, $settings, $least) = @_;
	my $found = sub {
		my ($table, $relation) = @_;
		return <<"SQL";
SELECT least(t.text, u.text) AS one, greatest(t.text, u.text) AS two,
  CASE WHEN t.text < u.text THEN share_a ELSE share_b END AS share_one,
  CASE WHEN t.text < u.text THEN share_b ELSE share_a END AS share_two,
  CASE WHEN t.text < u.text THEN passages || ' ' || words END AS counts
FROM simhash_passages('$relation', $arguments) s
  JOIN $table a ON a.ctid = s.a AND a.tableoid = s.a_table JOIN text t ON t.id = a.id
  JOIN $table b ON b.ctid = s.b AND b.tableoid = s.b_table JOIN text u ON u.id = b.id
SQL
	};
	my ($over, $here) = ($found->('doc', 'doc'), $found->('whole', 'whole_passages'));
	is(query(<<"SQL"), 't|0|0|t', "passages, $arguments $settings: as of one table");
SET enable_nestloop = off; $settings
CREATE TEMP TABLE over AS $over;
CREATE TEMP TABLE here AS $here;
SELECT (SELECT count(*) FROM here) > $least,
  (SELECT count(*) FROM (SELECT one, two, share_one, share_two FROM over
    EXCEPT ALL SELECT one, two, share_one, share_two FROM here) x),
  (SELECT count(*) FROM (SELECT one, two, share_one, share_two FROM here
    EXCEPT ALL SELECT one, two, share_one, share_two FROM over) x),
  (SELECT count(*) > 50 AND bool_and(over.counts = here.counts)
    FROM over JOIN here USING (one, two, counts) WHERE over.counts IS NOT NULL);
SQL
	return;
}
same_passages('most => NULL', '', 500);
same_passages('words => 20, most => NULL', '', 300);
same_passages('most => 10', '', 300);
same_passages('most => NULL', "SET simhash.work_mem = '1MB';", 500);
like(error_of(q{SELECT * FROM simhash_passages('doc', words => 11)}),
	qr/no suitable index on passages of 11.*HINT:.*text_passage_ops/s, 'passages of fewer words');
like(error_of(q{SELECT FROM simhash_passages('doc') LIMIT 1}),
	qr/NOTICE:  texts of fewer than 12 words in table "doc": \d+/, 'short texts are counted');
is((error_and_answer("SELECT a IS NULL FROM simhash_passages('doc') LIMIT 1;
	SELECT coalesce(cardinality(dblink_get_connections()), 0)"))[1],
	"f\n0", 'and the connections are closed');

# Memory: 1,500 texts of 40 kB. Neighbours have 30 words in common, so that each text is compared
# with others. Only part of the texts waits for comparison at a time, and the number does not grow
# from part to part.
$shards[$_]->safe_psql('postgres', <<"SQL") for 0 .. 1;
CREATE FUNCTION words(n integer) RETURNS text LANGUAGE sql VOLATILE AS
  \$\$ SELECT string_agg((random() * 1e9)::int8::text, ' ') FROM generate_series(1, n) i \$\$;
CREATE TABLE long AS SELECT 2 * i + $_ AS id, words(2000) || ' ' ||
    (SELECT string_agg(md5((i / 2 * 1000 + j)::text), ' ') FROM generate_series(1, 30) j)
    || ' ' || words(2000) AS body
  FROM generate_series(1, 750) i;
CREATE INDEX ON long USING simhash (body text_passage_ops);
SQL
query(<<"SQL");
CREATE TABLE long (id bigint, body text) PARTITION BY LIST (id);
CREATE FOREIGN TABLE long0 PARTITION OF long FOR VALUES IN (0) SERVER "Shard 0"
  OPTIONS (table_name 'long');
CREATE FOREIGN TABLE long1 PARTITION OF long FOR VALUES IN (1) SERVER "Shard 1"
  OPTIONS (table_name 'long');
SQL
SKIP:
{
	skip 'no /proc here', 1 if !-r '/proc/self/status';
	my $grown = query(<<'SQL');
SET simhash.work_mem = '16MB';
CREATE FUNCTION most() RETURNS integer LANGUAGE sql VOLATILE AS
  $$ SELECT substring(pg_read_file('/proc/self/status')
    FROM 'VmHWM:\s*(\d+) kB')::integer / 1024 $$;
SELECT count(*) FROM simhash_passages('doc', words => 20, most => 10) \gset small_
SELECT most() AS before \gset
SELECT count(*) AS pairs FROM simhash_passages('long') \gset
SELECT :pairs || ' ' || (most() - :before <= 30) || ' ' || most() - :before;
SQL
	like($grown, qr/^2246 true /, 'what waits is bounded');
	note $grown;
}

# Calls that end early, also two at a time, leave nothing behind.
is(query(<<'SQL'), "3\n1\n1\n2\n0", 'two calls at a time, and what they leave');
SELECT count(*) FROM (SELECT * FROM simhash_pairs('doc', 0.7) LIMIT 3) x;
BEGIN;
DECLARE a CURSOR FOR SELECT 1 FROM simhash_pairs('doc', 0.7);
DECLARE b CURSOR FOR SELECT 1 FROM simhash_pairs('doc', 0.5);
FETCH 1 FROM a;
FETCH 1 FROM b;
MOVE ALL FROM a;
MOVE ALL FROM b;
SELECT 2;
COMMIT;
SELECT count(*) FROM simhash_pairs('doc', 1.0) WHERE a IS NULL;
SQL
my $left = 'SELECT coalesce(cardinality(dblink_get_connections()), 0)';
is(query("SELECT FROM simhash_duplicates('doc', 0.7) LIMIT 1; $left"), 0, 'connections are closed');
is(query("SELECT a IS NULL FROM simhash_pairs('doc', 0.7) LIMIT 1; $left"), "f\n0",
	'also after a LIMIT');
is((error_and_answer("BEGIN; DECLARE a CURSOR FOR SELECT 1 FROM simhash_pairs('doc', 0.7);
	FETCH 1 FROM a; SELECT 1 / 0; ROLLBACK; $left"))[1], "1\n0", 'after an ERROR elsewhere');
for my $timeout (20, 60, 150)
{
	my ($error, $answer) = error_and_answer("SET statement_timeout = $timeout;
		SELECT count(*) FROM simhash_duplicates('doc', 0.5, keep => 'id');
		RESET statement_timeout; $left");
	like($error, qr/canceling statement due to statement timeout/, "cancelled after $timeout ms");
	is($answer, 0, 'and its connections are closed');
}
is(query(q{SET statement_timeout = '60s';
	SELECT count(*) > 300 FROM simhash_pairs('doc', 0.7)}), 't', 'and it can be repeated');

# While rows are returned, code of others in the query finds no connection of the call.
for my $call (q{simhash_pairs('doc', 0.5)}, q{simhash_passages('doc', most => NULL)},
	q{simhash_clusters('doc', 0.5)})
{
	is(query(<<"SQL"), '0|t', "$call: connections are closed before the first row");
SET client_min_messages = warning;
SELECT max(open), count(*) > 500 FROM (
  SELECT $call, coalesce(cardinality(dblink_get_connections()), 0) AS open OFFSET 0) x
SQL
}
# An answer of more rows than memory allows waits in a file: 200 copies form 19,900 pairs. Reading
# it to the end, and ending it early in every way, gives no warning.
query(q{INSERT INTO doc SELECT 1000000 + i, 'one text of which there are two hundred copies here'
	FROM generate_series(1, 200) i});
my ($warnings, $counts) = error_and_answer(<<'SQL');
SET client_min_messages = warning;
SELECT count(*), count(DISTINCT (a, a_table, b, b_table)) FROM simhash_pairs('doc', 1.0)
  WHERE similarity = 1 AND a_table::regclass::text LIKE 'doc%' HAVING count(*) > 19900;
BEGIN;
DECLARE c CURSOR FOR SELECT simhash_pairs('doc', 1.0) IS NULL AS one;
FETCH 1 FROM c \gset
SAVEPOINT s;
MOVE 10000 FROM c;
ROLLBACK TO s;
MOVE 5000 FROM c;
CLOSE c;
DECLARE c CURSOR WITH HOLD FOR SELECT simhash_pairs('doc', 1.0) IS NULL AS one;
COMMIT;
MOVE ALL FROM c;
CLOSE c;
DO $$ DECLARE pair record; seen integer := 0; BEGIN
  FOR pair IN SELECT * FROM (SELECT simhash_pairs('doc', 1.0)) x LOOP
    seen := seen + 1;
    EXIT WHEN seen = 12000;
  END LOOP;
  BEGIN
    FOR pair IN SELECT * FROM (SELECT simhash_pairs('doc', 1.0)) x LOOP
      seen := seen + 1;
      IF seen = 22000 THEN RAISE division_by_zero; END IF;
    END LOOP;
  EXCEPTION WHEN division_by_zero THEN NULL;
  END;
END $$;
SELECT count(*) FROM (SELECT simhash_pairs('doc', 1.0) LIMIT 9000) x;
SQL
is($warnings, '', 'no warning of files');
like($counts, qr/^(\d+)\|\1\n9000$/, 'an answer that waits in a file');
query('DELETE FROM doc WHERE id > 1000000');

# Roles that may not read the local table.
query(<<'SQL');
CREATE ROLE stranger LOGIN;
GRANT USAGE ON FOREIGN SERVER "Shard 0", "Shard 1", "Shard 2" TO stranger;
SQL
like(error_of(q{SET ROLE stranger; SELECT * FROM simhash_pairs('doc', 0.7)}),
	qr/permission denied for table doc/, 'SELECT is needed');
query('GRANT SELECT ON doc TO stranger');
like(error_of(q{SET ROLE stranger; SELECT * FROM simhash_pairs('doc', 0.7)}),
	qr/user mapping not found for/, 'and a user mapping');

# dblink requires a password where postgres_fdw does not: the connection is refused.
query(q{CREATE USER MAPPING FOR stranger SERVER "} . $_ . q{"
	OPTIONS (user '} . query('SELECT current_user') . q{', password_required 'false')})
	for 'Shard 0', 'Shard 1', 'Shard 2';
my ($error, $answer) = error_and_answer("SET ROLE stranger;
	SELECT * FROM simhash_pairs('doc', 0.7); RESET ROLE; $left");
like($error, qr/password.* (?:is|or) /, 'and a password');
is($answer, 0, 'and the session goes on');

# Objects that servers lack or that differ.
sub refused
{
	my ($there, $expected, $what, $back) = @_;
	$shards[1]->safe_psql('postgres', $there);
	like(error_of(q{SELECT * FROM simhash_duplicates('doc', 0.7)}), $expected, $what);
	$shards[1]->safe_psql('postgres', $back);
	return;
}
my $part = q{"Odd 'names'"."part 1"};
my $index = q{"Odd 'names'"."part 1_body_idx"};
my $again = "CREATE INDEX \"part 1_body_idx\" ON $part USING simhash (body)";
refused("DROP INDEX $index", qr/"Shard 1" has no suitable index on texts for .* 0\.7/,
	'no index', $again);
refused("DROP INDEX $index; $again WHERE id > 0",
	qr/part 1" of server .*HINT:  Index part 1_body_idx is partial\. Create one there/s,
	'a partial index', "DROP INDEX $index; $again");
refused(qq{CREATE INDEX other ON $part USING simhash (body) WITH (config = '{"shingle": 3}')},
	qr/^$/, 'of two indexes the one that all have', q{DROP INDEX "Odd 'names'".other});
refused(qq{ALTER TABLE $part RENAME TO gone}, qr/does not exist\nDETAIL:  The server is "Shard 1"/,
	'a table that is not there', q{ALTER TABLE "Odd 'names'".gone RENAME TO "part 1"});
refused("DROP INDEX $index; $again WITH (similarity = 0.6)",
	qr/indexes of .* of server "Shard 0" and .*"Shard 1" have different similarities/,
	'another similarity', "DROP INDEX $index; $again");
refused(qq{DROP INDEX $index; $again WITH (config = '{"shingle": 3}')},
	qr/of server "Shard 0" and .*"Shard 1" have different configs/,
	'another config', "DROP INDEX $index; $again");
refused("DROP INDEX $index; CREATE INDEX other ON $part USING simhash (upper(body))",
	qr/indexes of .*"Shard 0" and .*"Shard 1" have different columns/,
	'another column', qq{DROP INDEX "Odd 'names'".other; $again});
refused("DROP INDEX $index; $again INCLUDE (id)", qr/index of a part .* has other columns/,
	'included columns', "DROP INDEX $index; $again");
refused("CREATE INDEX other ON $part USING simhash (id int8_ops, body)", qr/^$/,
	'an index within tenants beside it does no harm', q{DROP INDEX "Odd 'names'".other});
refused("CREATE INDEX other ON $part USING simhash (upper(body))",
	qr/"Shard 1" has indexes of two columns: body and upper\(body\)/,
	'two texts', q{DROP INDEX "Odd 'names'".other});
refused('UPDATE pg_extension SET extversion = $$0.1.9$$ WHERE extname = $$pg_simhash$$',
	qr/pg_simhash has version 0\.1\.9 where .* of server "Shard 1" is, but /, 'another version',
	'UPDATE pg_extension SET extversion = (SELECT default_version FROM pg_available_extensions'
		. ' WHERE name = $$pg_simhash$$) WHERE extname = $$pg_simhash$$');
refused('ALTER EXTENSION pg_simhash SET SCHEMA information_schema', qr/^$/,
	'another schema does no harm', 'ALTER EXTENSION pg_simhash SET SCHEMA public');
like(error_of(q{SELECT * FROM simhash_pairs('doc', 0.4)}),
	qr/has no suitable index on texts for the similarity 0\.4/, 'less than indexes serve');

# Fingerprints of every width, of which some rows have none, and bit strings.
my @kinds = ([ 'fingerprint64', '64' ], [ 'fingerprint128', '128' ], [ 'fingerprint256', '256' ],
	[ 'bigint', '64' ], [ 'bit(70)', '70' ]);
my $class = sub { return $_[0] eq 'bigint' ? 'hamming_int8_ops' : '' };
my $bits = <<"SQL";
CREATE FUNCTION flipped(i integer, width integer) RETURNS bit varying LANGUAGE sql IMMUTABLE AS \$\$
  SELECT string_agg(((abs(hashtext('$salt ' || i / 4 || ' ' || n)) % 2)
    # (abs(hashtext('f' || i || ' ' || n)) % 24 = 0 AND i % 3 > 0)::integer)::text, ''
    ORDER BY n)::varbit
  FROM generate_series(1, width) n \$\$;
SQL
query($bits);
for my $kind (@kinds)
{
	my ($type, $width) = @$kind;
	my $cast = $type =~ /^bit/ ? "::$type" : "::bit($width)::$type";
	$cast = "::bit(64)::bigint" if $type eq 'bigint';
	$shards[$_]->safe_psql('postgres', <<"SQL") for 0 .. 2;
DROP TABLE IF EXISTS print;
CREATE TABLE print (id integer, fp $type);
CREATE INDEX ON print USING simhash (fp ${\ $class->($type)});
SQL
	query('DROP TABLE IF EXISTS print, all_prints');
	query("CREATE TABLE print (id integer, fp $type) PARTITION BY HASH (id)");
	query(<<"SQL") for 0 .. 2;
CREATE FOREIGN TABLE print$_ PARTITION OF print FOR VALUES WITH (MODULUS 3, REMAINDER $_)
  SERVER "Shard $_" OPTIONS (table_name 'print');
SQL
	query(<<"SQL");
CREATE TABLE all_prints (id integer, fp $type);
INSERT INTO all_prints
  SELECT i AS id, CASE WHEN i % 50 > 0 THEN flipped(i, $width)$cast END AS fp
  FROM generate_series(1, 1200) i;
CREATE INDEX all_fp ON all_prints USING simhash (fp ${\ $class->($type)});
INSERT INTO print TABLE all_prints;
SQL
	for my $distance (0, 3, 12)
	{
		for my $of ([ 'pairs', '' ], [ 'duplicates', ", keep => 'id'" ],
			[ 'clusters', ", linkage => 'star', keep => 'id'" ])
		{
			my ($function, $more) = @$of;
			my ($a, $b) = @{ $names{$function} };
			my ($one, $two) = @{ $columns{$function} };
			my $found = sub {
				my ($table, $relation) = @_;
				return <<"SQL";
SELECT $one, $two, s.distance FROM simhash_$function('$relation', distance => $distance$more) s
  JOIN $table a ON a.ctid = s.$a AND a.tableoid = s.${a}_table
  JOIN $table b ON b.ctid = s.$b AND b.tableoid = s.${b}_table
SQL
			};
			my ($over, $here) = ($found->('print', 'print'), $found->('all_prints', 'all_fp'));
			is(query(<<"SQL"), 't|0|0', "$type: $function within $distance");
CREATE TEMP TABLE over AS $over;
CREATE TEMP TABLE here AS $here;
SELECT (SELECT count(*) FROM here) > 50,
  (SELECT count(*) FROM (TABLE over EXCEPT ALL TABLE here) x),
  (SELECT count(*) FROM (TABLE here EXCEPT ALL TABLE over) x);
SQL
		}
		my $chains = <<"SQL";
SELECT count(*), md5(string_agg(least || ' ' || size, ',' ORDER BY least)) FROM (
  SELECT min(a.id) AS least, max(size) AS size FROM simhash_clusters('%s', $distance) s
    JOIN %s a ON a.ctid = s.member AND a.tableoid = s.member_table
    GROUP BY s.representative, s.representative_table HAVING max(size) = count(*)) x
SQL
		is(query(sprintf $chains, 'print', 'print'), query(sprintf $chains, 'all_fp', 'all_prints'),
			"$type: chains within $distance");
	}
}
$shards[1]->safe_psql('postgres', <<'SQL');
DROP TABLE print;
CREATE TABLE print (fp fingerprint64);
CREATE INDEX ON print USING simhash (fp);
SQL
like(error_of(q{SELECT * FROM simhash_pairs('print', distance => 3)}),
	qr/"Shard 0" and .* "Shard 1" have different widths/, 'another width');
like(error_of(q{SELECT * FROM simhash_pairs('doc', distance => 3)}),
	qr/has no suitable index on fingerprints.*HINT/s, 'no fingerprints');

# A server dies: the error names it, and the call can be repeated when it is back.
$shards[2]->stop('immediate');
like(error_of(q{SELECT * FROM simhash_duplicates('doc', 0.7)}),
	qr/could not establish connection.*The server is "Shard 2"/s, 'a server that is down');
$shards[2]->start;
same('duplicates', "similarity => 0.8, keep => 'id'", 300);
# A server ends the connection during a call, before its answer.
$shards[2]->safe_psql('postgres', <<'SQL');
ALTER FUNCTION simhash_part_keys(regclass, integer, bigint, bigint) RENAME TO real_keys;
CREATE FUNCTION simhash_part_keys(index regclass, bands integer, low bigint, high bigint)
  RETURNS SETOF bytea LANGUAGE plpgsql AS $$
BEGIN PERFORM pg_terminate_backend(pg_backend_pid()); PERFORM pg_sleep(60); END $$;
SQL
like(error_of(q{SELECT * FROM simhash_duplicates('doc', 0.7)}),
	qr/terminating connection|server closed the connection.*Shard 2/s, 'a server ends a connection');
$shards[2]->safe_psql('postgres', <<'SQL');
DROP FUNCTION simhash_part_keys(regclass, integer, bigint, bigint);
ALTER FUNCTION real_keys RENAME TO simhash_part_keys;
SQL
same('duplicates', "similarity => 0.8, keep => 'id'", 300);

# TIDs of no row give no answer, and extend no relation.
$part = q{"Odd ''names''"."part 0"};
$index = q{"Odd ''names''"."part 0_body_idx"};
my $none = '\x0100ffffffff' . '0000ffffff00' . '01000000fe7f' . '01000000ff7f';
is($shards[0]->safe_psql('postgres', <<"SQL"), "4\n4\nt", 'rows that are none');
CREATE TEMP TABLE size AS SELECT pg_relation_size('$part') AS was;
SELECT length(simhash_part_roots('$index', '$none')) / 6;
SELECT sum(length(m)) / 6 FROM simhash_part_texts('$index', '$none', true, '', 1000000) m;
SELECT was = pg_relation_size('$part') FROM size;
SQL

done_testing();
