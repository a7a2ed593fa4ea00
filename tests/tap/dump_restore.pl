# Fingerprints, generated fingerprint columns, indexes, models and the privileges on models survive
# pg_dump and COPY unchanged.
use strict;
use warnings;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use FindBin;

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init(extra => [ '--encoding=UTF8', '--locale=C' ]);
$node->start;

$node->safe_psql('postgres', 'CREATE DATABASE source');
$node->safe_psql('source', <<'SQL');
CREATE EXTENSION pg_simhash;
CREATE TABLE doc (
  id integer PRIMARY KEY,
  body text,
  fp fingerprint64 GENERATED ALWAYS AS (simhash(body)) STORED,
  fp128 fingerprint128 GENERATED ALWAYS AS (simhash128(body, '{"shingle": 2}')) STORED
);
CREATE INDEX doc_fp ON doc (fp);
CREATE INDEX doc_fp128 ON doc USING hash (fp128);
INSERT INTO doc (id, body)
  SELECT i, 'the cat number ' || i || ' sat on the mat 你妈妈喊你回家吃饭哦' || chr(19968 + i)
    FROM generate_series(1, 200) i;
INSERT INTO doc VALUES (201, ''), (202, NULL);
CREATE TABLE plain (fp fingerprint64, fp128 fingerprint128, ball hamming_ball64,
  ball128 hamming_ball128, config simhash_config, code bit(100), bit_ball hamming_ball_bit);
CREATE INDEX plain_code ON plain USING simhash (code);
CREATE VIEW nearest AS SELECT code FROM plain ORDER BY code <^> repeat('1', 100)::bit(100);
INSERT INTO plain
  SELECT fp, fp128, hamming_ball(fp, id % 65), hamming_ball(fp128, id % 129),
    '{"shingle": 3, "weight": "log"}', fp128::bit(100),
    hamming_ball(fp128::bit(100), id % 100) FROM doc;
INSERT INTO plain VALUES
  ('ffffffffffffffff', repeat('f', 32)::fingerprint128, '<8000000000000000,64>', NULL, '{}');
SQL

# A digest of everything stored, in an order that does not depend on the storage.
my $contents = q{
  SELECT md5(string_agg(d::text, E'\n' ORDER BY id)) FROM doc d
  UNION ALL SELECT md5(string_agg(p::text, E'\n' ORDER BY p::text COLLATE "C")) FROM plain p};
my $before = $node->safe_psql('source', $contents);
like($before, qr/^[0-9a-f]{32}\n[0-9a-f]{32}$/, 'there is something to compare');
is($node->safe_psql('source', 'SELECT count(*) FROM doc WHERE fp IS NULL'),
	'2', 'no features, no fingerprint');
is($node->safe_psql('source', 'SELECT count(DISTINCT fp) > 100 FROM doc'),
	't', 'different texts have different fingerprints');

my $dump = PostgreSQL::Test::Utils::tempdir . '/dump';
my %formats = (
	plain => sub {
		$node->command_ok([ 'psql', '-X', '-q', '-v', 'ON_ERROR_STOP=1', '-f', $dump, shift ],
			'plain dump restores');
	},
	custom => sub {
		$node->command_ok([ 'pg_restore', '--exit-on-error', '-d', shift, $dump ],
			'custom dump restores');
	});
for my $format (sort keys %formats)
{
	$node->command_ok([ 'pg_dump', "--format=$format", '-f', $dump, 'source' ], "dumps as $format");
	$node->safe_psql('postgres', "CREATE DATABASE $format");
	$formats{$format}->($format);
	is($node->safe_psql($format, $contents), $before, "the $format dump brings back every value");
	is($node->safe_psql($format, <<'SQL'),
SELECT string_agg(indexname, ' ' ORDER BY indexname) FROM pg_indexes WHERE tablename = 'doc'
SQL
		'doc_fp doc_fp128 doc_pkey', "the $format dump brings back the indexes");
	is($node->safe_psql($format, <<'SQL'),
SET enable_seqscan = off;
SELECT count(*) FROM doc a WHERE a.id = (SELECT min(b.id) FROM doc b WHERE b.fp = a.fp)
SQL
		$node->safe_psql('source', 'SELECT count(DISTINCT fp) FROM doc'),
		"the index of the $format dump finds every row");
	is($node->safe_psql($format, <<'SQL'),
SELECT simhash_index_check('plain_code');
SET enable_seqscan = off;
SELECT count(*) FROM plain p
  WHERE EXISTS (SELECT FROM plain q WHERE hamming(q.code, p.code) <= 0 AND q.bit_ball @> p.code)
SQL
		"\n" . $node->safe_psql('source', 'SELECT count(code) FROM plain'),
		"the index of bit strings of the $format dump finds every row");
}

for my $options ('FORMAT text', 'FORMAT csv',
	q{FORMAT csv, DELIMITER '|', NULL 'none', HEADER}, 'FORMAT binary')
{
	my $file = PostgreSQL::Test::Utils::tempdir . '/copy';
	$node->safe_psql('source', "COPY plain TO '$file' WITH ($options)");
	$node->safe_psql('source',
		"CREATE TABLE copied (LIKE plain); COPY copied FROM '$file' WITH ($options)");
	is($node->safe_psql('source', <<'SQL'),
SELECT md5(string_agg(p::text, E'\n' ORDER BY p::text COLLATE "C")) FROM copied p
SQL
		(split /\n/, $before)[1],
		"COPY ($options) round-trips");
	$node->safe_psql('source', 'DROP TABLE copied');
}

# Privileges on models and lists of words: those of the role that installed the extension, and of
# the roles that it granted some.
my $rights = <<'SQL';
SELECT t || ': ' || string_agg(format('%s %s', r, p), ', ' ORDER BY r COLLATE "C", p COLLATE "C")
FROM unnest('{simhash_model,simhash_word_list}'::text[]) t,
  unnest('{bob,creator,owner,PUBLIC}'::text[]) r,
  unnest(CASE r WHEN 'PUBLIC' THEN '{SELECT}'
    ELSE '{INSERT,DELETE,INSERT WITH GRANT OPTION}' END::text[]) p
WHERE CASE r WHEN 'PUBLIC' THEN has_table_privilege('nobody', t, p)
  ELSE has_table_privilege(r, t, p) END
GROUP BY t ORDER BY t
SQL
# The tests run under any user name.
my $superuser = $node->safe_psql('postgres', 'SELECT current_user');
# Both tables have the same privileges.
sub of_both { my ($has) = @_; return "simhash_model: $has\nsimhash_word_list: $has" }
$node->safe_psql('postgres', "CREATE ROLE $_ LOGIN") for qw(owner creator bob nobody);
$node->safe_psql('postgres', $_) for 'CREATE DATABASE owned OWNER owner',
	'CREATE DATABASE created', 'GRANT CREATE ON DATABASE created TO creator';
$node->safe_psql($_, 'GRANT CREATE ON SCHEMA public TO owner, creator') for 'owned', 'created';
my %installed = (owned => 'owner', created => 'creator');
my %has = (
	owned => 'PUBLIC SELECT, bob INSERT, '
		. 'owner DELETE, owner INSERT, owner INSERT WITH GRANT OPTION',
	created => 'PUBLIC SELECT, bob INSERT, '
		. 'creator DELETE, creator INSERT, creator INSERT WITH GRANT OPTION');
for my $database (sort keys %installed)
{
	my @as = (extra_params => [ '-U', $installed{$database} ]);
	$node->safe_psql($database, 'CREATE EXTENSION pg_simhash', @as);
	# The role restores its own dump without an error into a database of its own.
	$node->command_ok(
		[ 'pg_dump', '-U', $installed{$database}, '--format=custom', '-f', $dump, $database ],
		"$installed{$database} dumps");
	$node->safe_psql('postgres', "CREATE DATABASE ${database}_own OWNER $installed{$database}");
	$node->command_ok(
		[ 'pg_restore', '-U', $installed{$database}, '--exit-on-error',
			'-d', "${database}_own", $dump ],
		'and restores');
	is($node->safe_psql("${database}_own", <<"SQL"),
SELECT has_table_privilege('$installed{$database}', 'simhash_model', 'INSERT WITH GRANT OPTION')
SQL
		't', 'he has his rights');
	$node->safe_psql($database, <<'SQL', @as);
GRANT INSERT ON simhash_model, simhash_word_list TO bob;
SELECT simhash_dictionary('d', '{a b}');
SELECT simhash_train('m', $$SELECT 'a b c'$$)
SQL
	is($node->safe_psql($database, $rights), of_both($has{$database}),
		"rights of the one who installed, $installed{$database}");
	$node->command_ok([ 'pg_dump', '--format=custom', '-f', $dump, $database ], 'a superuser dumps');
	for my $new ($superuser, $installed{$database})
	{
		$node->safe_psql('postgres', "CREATE DATABASE restored OWNER $new");
		$node->command_ok([ 'pg_restore', '--exit-on-error', '-d', 'restored', $dump ],
			"and restores into a database of $new");
		# The owner of the database has the grant option as its owner.
		my $expected = $has{$database};
		$expected =~ s/, owner INSERT WITH GRANT OPTION// if $new eq $superuser;
		is($node->safe_psql('restored', $rights), of_both($expected), 'rights are what they were');
		is($node->safe_psql('restored',
			q{DELETE FROM simhash_model WHERE name = 'm' RETURNING name;
				DELETE FROM simhash_word_list WHERE name = 'd' RETURNING words},
			extra_params => [ '-U', $installed{$database} ]),
			"m\n{\"a b\"}", 'and serve');
		$node->safe_psql('postgres', 'DROP DATABASE restored');
	}
}
# A role can be dropped afterwards.
$node->safe_psql($_, 'DROP OWNED BY owner, creator')
	for 'owned', 'created', 'owned_own', 'created_own';
$node->safe_psql('postgres', "DROP DATABASE $_") for qw(owned created owned_own created_own);
$node->safe_psql('postgres', 'DROP ROLE owner, creator, bob, nobody');

# Models, and data computed with them while a dump is restored, by the steps of
# docs/methods/models.md.
$node->safe_psql('postgres', "CREATE DATABASE $_") for 'news', 'news_schema';
for my $database ('news', 'news_schema')
{
	my $schema = $database eq 'news' ? 'public' : 'ext';
	# Tables whose names sort before and after simhash_model in the dump, and a model that takes a
	# while to load.
	$node->safe_psql($database, <<"SQL");
CREATE SCHEMA IF NOT EXISTS $schema;
CREATE EXTENSION pg_simhash SCHEMA $schema;
SET search_path = public, $schema;
SELECT simhash_train('news',
    'SELECT md5(i::text) || '' '' || md5((i + 1)::text) FROM generate_series(1, 30000) i');
SELECT simhash_dictionary('some', '{some words}'), simhash_stopwords('some', '{number}');
CREATE TABLE a_doc (body text,
  fp fingerprint128 GENERATED ALWAYS AS (esimhash(body, 'news')) STORED,
  by_words fingerprint128 GENERATED ALWAYS AS
    (simhash128(body, '{"dictionary": "some", "stopwords": "some"}')) STORED,
  CHECK (esimhash(body, 'news') = fp));
CREATE TABLE z_doc (LIKE a_doc INCLUDING ALL);
CREATE TABLE plain (body text);
INSERT INTO a_doc (body)
  SELECT 'some words of number ' || i || ' ' || md5(i::text) FROM generate_series(1, 100) i;
INSERT INTO z_doc (body) SELECT body FROM a_doc;
INSERT INTO plain SELECT body FROM a_doc;
CREATE INDEX plain_fp ON plain USING simhash (esimhash(body, 'news'));
CREATE MATERIALIZED VIEW fps AS SELECT esimhash(body, 'news') AS fp FROM plain;
SQL
}
$contents = q{SELECT md5(string_agg(fp::text, ' ' ORDER BY fp::text COLLATE "C")), count(*) FROM
  (SELECT fp FROM a_doc UNION ALL SELECT fp FROM z_doc UNION ALL SELECT fp FROM fps
    UNION ALL SELECT by_words FROM a_doc UNION ALL SELECT by_words FROM z_doc) all_fps};
my @steps = slurp_file("$FindBin::Bin/../../docs/methods/models.md")
	=~ /^(pg_(?:dump|restore) .*)$/mg;
cmp_ok(scalar @steps, '>=', 4, 'the page has the steps');
$node->safe_psql('postgres', 'CREATE DATABASE restored');
my $directory = PostgreSQL::Test::Utils::tempdir;
for my $step (@steps)
{
	(my $command = $step) =~ s/\bnews_copy\b/restored/;
	# pg_restore goes on after an error, so its messages are searched.
	my $script = "cd $directory && set -o pipefail && "
		. "{ $command; } 2>&1 | tee -a log && ! grep -q error log";
	$node->command_ok([ 'bash', '-c', $script ], $step);
}
is($node->safe_psql('restored', $contents), $node->safe_psql('news', $contents),
	'every value is back');
$node->safe_psql('restored', q{SELECT simhash_index_check('plain_fp')});

# If the extension is in a schema that sorts first, a dump restores as it is, without parallel jobs.
$node->command_ok([ 'pg_dump', '--format=custom', '-f', $dump, 'news_schema' ],
	'a dump with the models first');
$node->safe_psql('postgres', 'CREATE DATABASE first');
$node->command_ok([ 'pg_restore', '--exit-on-error', '-d', 'first', $dump ], 'restores');
$_ = "SET search_path = public, ext; $contents" for my $in_schema;
is($node->safe_psql('first', $in_schema), $node->safe_psql('news_schema', $in_schema),
	'with every value');

$node->stop;
done_testing();
