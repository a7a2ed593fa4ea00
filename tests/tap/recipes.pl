# Every recipe of docs/recipes.md, docs/delete-by-plan.md and docs/delete-referred.md, and the one
# for many tables of docs/training-data.md, runs as it stands, on real texts, and leaves the right
# rows. All pairs of near texts are found by comparing each with each.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use DocumentedSql;
use SimhashTest;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_node('main', '');
seed();
my $salt = roll(1_000_000);
my @corpora = 0 .. 9;

# The part of a page before its first heading, and its sections by their headings.
sub sections_of
{
	my ($page) = @_;
	return split /^## (.*)\n/m, slurp_file("$FindBin::Bin/../../docs/$page.md");
}
my ($introduction, %sections) = sections_of('recipes');
my (undef, %planned) = sections_of('delete-by-plan');
my ($referred, %referred) = sections_of('delete-referred');
my $repoint = 'Delete where other tables refer to the rows';
my (undef, %training) = sections_of('training-data');
%sections = (%sections, %planned, $repoint => $referred,
	'Across tables' => $training{'Across tables'});
# Other pages have these statements. Here the ids are checked on real texts.
$sections{'Groups that live'} = <<'PAGE';
```sql
ALTER TABLE doc ADD COLUMN story bigint;
CREATE INDEX ON doc (story);
SELECT simhash_cluster_create('doc', 'body=body', 'cluster=story', 'similarity=0.7');
```
PAGE

# A query's rows, as arrays.
sub rows
{
	my ($database, $query) = @_;
	return map { [ split /\|/, $_, -1 ] } split /\n/, $node->safe_psql($database, $query);
}

# One test: a query returns exactly these rows, in any order.
sub rows_are
{
	my ($database, $query, $expected, $name) = @_;
	my @got = sort map { join '|', @$_ } rows($database, $query);
	is(join(' ', @got), join(' ', sort @$expected), $name);
}

# Package descriptions and verses of two languages; changed texts, some of which are changed again,
# to form chains; copies. The order in the file is not that of the ids, and some rows were updated
# since. test.near has all near pairs, found without an index.
sub prepare
{
	my ($setup) = @_;
	my $helpers = slurp_file("$FindBin::Bin/compare.sql");
	my $texts = "$FindBin::Bin/../../evaluate/corpora";
	$node->safe_psql('postgres', 'CREATE DATABASE prepared');
	$node->safe_psql('prepared', "CREATE EXTENSION pg_simhash; $helpers");
	$node->safe_psql('prepared', <<"SQL");
CREATE TABLE test.line (line text);
CREATE TABLE test.real (id serial, body text);
@{[ map { <<"COPY" } [ 'en_descriptions', 420 ], [ 'en_verses', 100 ], [ 'zh_verses', 100 ] ]}
TRUNCATE test.line;
COPY test.line FROM PROGRAM 'xz -dc "$texts/$_->[0].jsonl.xz" | head -3000'
  WITH (FORMAT csv, QUOTE E'\\x01', DELIMITER E'\\x02');
INSERT INTO test.real (body) SELECT line::json ->> 'text' FROM test.line
  ORDER BY md5(line || '$salt') LIMIT $_->[1];
COPY
-- Some words are changed, more of them the greater the number.
CREATE FUNCTION test.changed(body text, number integer) RETURNS text LANGUAGE sql IMMUTABLE AS \$\$
  SELECT string_agg(CASE WHEN hashtext(word || i || number) % 100 < number - 100
    THEN 'changed' || number ELSE word END, ' ' ORDER BY i)
  FROM regexp_split_to_table(body, ' ') WITH ORDINALITY t (word, i) \$\$;
CREATE FUNCTION test.texts() RETURNS TABLE (body text) LANGUAGE sql AS \$\$
  SELECT body FROM test.real
  UNION ALL SELECT test.changed(body, 1 + id % 9) FROM test.real WHERE id % 2 = 0
  UNION ALL SELECT test.changed(test.changed(body, 1 + id % 9), 3 + id % 7)
    FROM test.real WHERE id % 4 = 0
  UNION ALL SELECT body FROM test.real WHERE id % 10 = 0
  UNION ALL SELECT upper(body) FROM test.real WHERE id % 15 = 0 \$\$;
$setup->{sql}
INSERT INTO doc (id, body)
  SELECT row_number() OVER (ORDER BY md5('$salt ' || body), body), body FROM test.texts()
  ORDER BY md5(body);
UPDATE doc SET body = body || '!' WHERE id % 5 = 0;
DELETE FROM doc WHERE id % 41 = 0;
INSERT INTO doc (id, body) VALUES (100001, ''), (100002, '...');
ANALYZE doc;
CREATE TABLE test.before AS SELECT * FROM doc;
CREATE TABLE test.near AS
  SELECT a.id AS a, b.id AS b, text_similarity(a.body, b.body) AS similarity
  FROM test.before a JOIN test.before b ON near_duplicate(a.body || '', b.body || '', 0.7)
  WHERE a.id < b.id;
INSERT INTO test.near SELECT b, a, similarity FROM test.near;
SQL
}

# The near rows of each row, with their similarity, and the length of each row's text.
our (%near, %length);
# Connected components, sorted, single rows included.
my @groups;

sub components
{
	my %group = map { $_ => [ $_ ] } keys %length;
	for my $a (keys %near)
	{
		for my $b (keys %{ $near{$a} })
		{
			my ($x, $y) = map { $group{$_} } $a, $b;
			next if $x == $y;
			push @$x, @$y;
			$group{$_} = $x for @$y;
		}
	}
	my %seen;
	return map { [ sort { $a <=> $b } @$_ ] } grep { !$seen{$_}++ } values %group;
}

# The rows that a cover in this order drops, each with the row that is kept for it.
sub cover
{
	my @order = @_;
	my (%place, %kept, %dropped);
	@place{@order} = 0 .. $#order;
	for my $row (@order)
	{
		my @kept = grep { $kept{$_} } keys %{ $near{$row} // {} };
		my ($best) = sort { $near{$row}{$b} <=> $near{$row}{$a} || $place{$a} <=> $place{$b} } @kept;
		if (defined $best) { $dropped{$row} = $best }
		else { $kept{$row} = 1 }
	}
	return \%dropped;
}

sub by_id { return cover(sort { $a <=> $b } keys %length) }
sub by_length
{
	return cover(sort { $length{$b} <=> $length{$a} || $a <=> $b } keys %length);
}

# Three tests: no two remaining rows are near, every removed row is near a remaining one, and many
# were removed. Computed from the pairs, not from the cover.
sub nothing_is_lost
{
	my ($database, @ids) = @_;
	my %left = map { $_ => 1 } @ids;
	my @gone = grep { !$left{$_} } keys %length;
	is(scalar(grep { my $a = $_; grep { $left{$_} } keys %{ $near{$a} // {} } } @ids), 0,
		'no row that stays is near another');
	is(scalar(grep { my $a = $_; !grep { $left{$_} } keys %{ $near{$a} // {} } } @gone), 0,
		'no row that went is far from those that stay');
	cmp_ok(scalar @gone, '>', 100, 'and many went');
}

sub left_is
{
	my ($database, $dropped) = @_;
	my @left = map { $_->[0] } rows($database, 'SELECT id FROM doc');
	nothing_is_lost($database, @left);
	is(join(' ', sort @left), join(' ', sort grep { !$dropped->{$_} } keys %length),
		'the rows that the order says are left');
}

sub plan_is_the_cover
{
	my ($database) = @_;
	my $dropped = by_length();
	rows_are($database, 'SELECT duplicate, kept FROM plan',
		[ map { "$_|$dropped->{$_}" } keys %$dropped ], 'the plan is the cover');
	my @far = rows($database, <<'SQL');
SELECT FROM plan p JOIN doc d ON d.id = duplicate JOIN doc k ON k.id = kept
WHERE similarity <> text_similarity(d.body, k.body)
SQL
	is(scalar @far, 0, 'with exact similarities');
	is($node->safe_psql($database, 'SELECT count(*) FROM doc'), scalar keys %length,
		'and nothing was changed');
}

sub others_are_aside
{
	my ($database, $table) = @_;
	my $dropped = by_id();
	left_is($database, $dropped);
	rows_are($database, 'SELECT id, duplicate_of, length(body) FROM doc_duplicate',
		[ map { "$_|$dropped->{$_}|$length{$_}" } keys %$dropped ],
		'the others are in the side table');
}

sub rows_are_marked
{
	my ($database) = @_;
	my $dropped = by_id();
	rows_are($database, 'SELECT id, duplicate_of FROM doc',
		[ map { "$_|" . ($dropped->{$_} // '') } keys %length ], 'each row is marked');
	# Marks that are no longer right.
	$node->safe_psql($database, 'UPDATE doc SET duplicate_of = id WHERE id % 3 = 0');
	$node->safe_psql($database, (blocks($sections{Mark}))[1]{sql});
	rows_are($database, 'SELECT id, duplicate_of FROM doc',
		[ map { "$_|" . ($dropped->{$_} // '') } keys %length ], 'and so it is after the next time');
}

# Tables that refer to the rows: with a unique key, with partitions, by two columns, and doc itself.
my $references = <<'SQL';
CREATE TABLE comment (id serial PRIMARY KEY, doc bigint NOT NULL REFERENCES doc, of bigint);
INSERT INTO comment (doc, of) SELECT id, id FROM doc;
CREATE TABLE tag (doc bigint REFERENCES doc, tag text, of bigint, PRIMARY KEY (doc, tag));
INSERT INTO tag SELECT id, 'all', id FROM doc;
INSERT INTO tag SELECT id, 'own' || id, id FROM doc;
CREATE TABLE visit (doc bigint REFERENCES doc, day date, again bigint REFERENCES doc)
  PARTITION BY RANGE (day);
CREATE TABLE visit_1 PARTITION OF visit DEFAULT;
INSERT INTO visit SELECT id, '2026-01-01', id FROM doc;
CREATE INDEX ON comment (doc);
CREATE INDEX ON visit (doc);
CREATE INDEX ON visit (again);
-- of a row and its neighbour, never of a row with itself
CREATE TABLE link (a bigint REFERENCES doc, b bigint REFERENCES doc, CHECK (a <> b));
INSERT INTO link SELECT duplicate, kept FROM plan WHERE duplicate % 2 = 0;
INSERT INTO link SELECT duplicate, other.id FROM plan
  CROSS JOIN LATERAL (SELECT id FROM doc WHERE id NOT IN (SELECT duplicate FROM plan)
    AND id <> kept ORDER BY id LIMIT 1) other;
CREATE INDEX ON link (a);
CREATE INDEX ON link (b);
-- a row and what it answers, which may be its duplicate
ALTER TABLE doc ADD COLUMN answers bigint REFERENCES doc;
CREATE INDEX ON doc (answers);
UPDATE doc SET answers = duplicate FROM plan WHERE id = kept;
SQL
# Foreign keys that the procedure refuses to repoint, with its messages.
my @refused = (
	[ 'CREATE TABLE x (doc bigint REFERENCES doc)', qr/first create an index on x \(doc\)/ ],
	[ 'CREATE TABLE x (n bigint PRIMARY KEY REFERENCES doc (code));
	   INSERT INTO x SELECT duplicate FROM plan LIMIT 1',
		qr/first repoint x by hand: foreign key x_n_fkey does not refer to doc \(id\) alone/ ],
	[ 'CREATE TABLE x (n bigint, m bigint, FOREIGN KEY (n, m) REFERENCES doc (id, code));
	   CREATE INDEX ON x (n);
	   INSERT INTO x SELECT duplicate, duplicate FROM plan LIMIT 1',
		qr/first repoint x by hand: foreign key x_n_m_fkey does not refer to doc \(id\) alone/ ],
	[ 'CREATE TABLE x (n bigint PRIMARY KEY REFERENCES doc (code), m bigint REFERENCES doc);
	   INSERT INTO x SELECT duplicate FROM plan LIMIT 1',
		qr/repoint x by hand: .*; create an index on x \(m\)/ ]);

# How many referring rows go, as the page counts them before.
my $foreseen;

sub strangers_are_refused
{
	my ($database) = @_;
	$node->safe_psql($database, <<'SQL');
ALTER TABLE doc ADD COLUMN code bigint;
UPDATE doc SET code = id;
ALTER TABLE doc ADD UNIQUE (code), ADD UNIQUE (id, code);
SQL
	for (@refused)
	{
		my ($table, $error) = @$_;
		$node->safe_psql($database, $table);
		my ($rc, undef, $err) = $node->psql($database, 'CALL repoint_and_delete()');
		isnt($rc, 0, 'a foreign key that cannot be repointed stops it');
		like($err, $error, 'and is named');
		$node->safe_psql($database, 'DROP TABLE x');
	}
	is($node->safe_psql($database, 'SELECT count(*) FROM plan WHERE done'), '0',
		'before anything is done');
	my ($rc, undef, $err) = $node->psql($database, "BEGIN;\nCALL repoint_and_delete();");
	like($err, qr/invalid transaction termination/, 'and so does a transaction around it');
	# A row of doc is not deleted because it cannot refer to a kept row.
	$node->safe_psql($database, <<'SQL');
ALTER TABLE doc ADD COLUMN twin bigint UNIQUE REFERENCES doc;
UPDATE doc SET twin = id FROM (SELECT duplicate, kept FROM plan LIMIT 1) p
  WHERE id IN (duplicate, kept);
SQL
	($rc, undef, $err) = $node->psql($database, 'CALL repoint_and_delete()');
	isnt($rc, 0, 'a row of the table itself that cannot be repointed stops it');
	like($err, qr/doc_twin_key/, 'by the constraint');
	$node->safe_psql($database, 'ALTER TABLE doc DROP COLUMN twin');
	is($node->safe_psql($database, 'SELECT count(*) FROM lost'), '0', 'and nothing is lost');
	$foreseen = 0;
	$foreseen += $node->safe_psql($database, $_->{sql})
	  for blocks($referred{'The rows it deletes'});
	# A table that was repointed by hand, as the page shows, is no obstacle.
	my ($update) = $referred =~ /(UPDATE att.*?;)/s;
	$node->safe_psql($database, <<"SQL");
CREATE TABLE attachment (doc_code bigint REFERENCES doc (code));
CREATE INDEX ON attachment (doc_code);
INSERT INTO attachment SELECT duplicate FROM plan;
$update
SQL
}

sub references_follow
{
	my ($database) = @_;
	my $dropped = by_length();
	# The procedure goes on after an interruption.
	is($node->safe_psql($database, 'SELECT count(*) FROM plan WHERE NOT done'), '0',
		'the whole plan is done');
	left_is($database, $dropped);
	my @wrong = rows($database, <<'SQL');
SELECT 'comment', c.id FROM comment c LEFT JOIN plan p ON p.duplicate = c.of
  WHERE c.doc <> coalesce(p.kept, c.of)
UNION ALL SELECT 'visit', v.again FROM visit v JOIN plan p ON p.duplicate IN (v.doc, v.again)
UNION ALL SELECT 'tag', t.of FROM tag t LEFT JOIN plan p ON p.duplicate = t.of
  WHERE t.doc <> coalesce(p.kept, t.of)
SQL
	is(scalar @wrong, 0, 'references are those to the kept rows');
	is($node->safe_psql($database, 'SELECT count(*) FROM lost'), $foreseen,
		'as many referring rows are lost as the page counts');
	is($node->safe_psql($database, <<'SQL'), $foreseen, 'and their contents are there');
SELECT count(*) FROM lost WHERE relation IN ('tag'::regclass, 'link'::regclass)
	AND coalesce(gone ->> 'tag', gone ->> 'a') IS NOT NULL
SQL
	my $all = scalar keys %length;
	is($node->safe_psql($database, 'SELECT count(*) FROM comment'), $all, 'no comment is lost');
	is($node->safe_psql($database, 'SELECT count(*) FROM visit'), $all, 'and no visit');
	is($node->safe_psql($database, "SELECT count(*) FROM tag WHERE tag <> 'all'"), $all,
		'nor a tag that the kept row had not');
	is($node->safe_psql($database, "SELECT count(*) FROM tag WHERE tag = 'all'"),
		$all - keys %$dropped, 'a tag that it had is there once');
	is($node->safe_psql($database, 'SELECT count(*) FROM link'), scalar keys %$dropped,
		'a link of a row with itself is gone, and no other');
	is($node->safe_psql($database, 'SELECT count(*) FROM doc WHERE answers IS NOT NULL'), '0',
		'no row answers itself');
}

sub incoming_is_new
{
	my ($database, $near) = @_;
	rows_are($database, 'SELECT id FROM incoming',
		[ grep { !defined $near->{$_} } keys %$near ], 'what is new stays');
	rows_are($database, 'SELECT id FROM incoming_match', [ grep { defined $near->{$_} } keys %$near ],
		'what is near is named');
	rows_are($database, <<'SQL', [ map { "$_|$near->{$_}" } grep { defined $near->{$_} } keys %$near ],
SELECT id, round(similarity::numeric, 9) FROM incoming_match
SQL
		'with the nearest row');
	cmp_ok(scalar(grep { defined $near->{$_} } keys %$near), '>', 20, 'there were near-duplicates');
}

sub nearest_of_incoming
{
	my ($database) = @_;
	my @nearest = rows($database, <<'SQL');
SELECT i.id, round(max(text_similarity(i.body, d.body))::numeric, 9) FROM incoming i
LEFT JOIN doc d ON near_duplicate(i.body || '', d.body || '', 0.7) GROUP BY i.id
SQL
	return { map { $_->[0] => length $_->[1] ? $_->[1] : undef } @nearest };
}

# This recipe compares at 0.8, so there are fewer pairs.
sub the_night_removed
{
	my ($database) = @_;
	local %near = map { my $a = $_;
		($a => { map { $_ => $near{$a}{$_} } grep { $near{$a}{$_} >= 0.8 } keys %{ $near{$a} } })
	} keys %near;
	my %far = map { $_->[0] . ' ' . $_->[1] => 1 } rows($database, <<'SQL');
SELECT n.a, n.b FROM test.near n JOIN test.before a ON a.id = n.a JOIN test.before b ON b.id = n.b
WHERE similarity >= 0.8 AND NOT near_duplicate(a.body || '', b.body || '', 0.8)
SQL
	for (keys %far) { my ($a, $b) = split / /; delete $near{$a}{$b}; }
	my $dropped = by_id();
	rows_are($database, 'SELECT id FROM doc', [ grep { !$dropped->{$_} } keys %length ],
		'the night leaves the cover');
	rows_are($database, 'SELECT id, duplicate_of FROM removed',
		[ map { "$_|$dropped->{$_}" } keys %$dropped ], 'and names what it removed');
	$node->safe_psql($database, 'CALL deduplicate_doc()');
	is($node->safe_psql($database, 'SELECT count(*) FROM removed'), scalar keys %$dropped,
		'the next night finds nothing');
}

sub view_has_the_groups
{
	my ($database) = @_;
	my @large = grep { @$_ > 1 } @groups;
	rows_are($database, "SELECT size, array_to_string(members, ',') FROM doc_group",
		[ map { @$_ . '|' . join(',', @$_) } @large ], 'the groups are there');
	is($node->safe_psql($database, <<'SQL'), '0', 'with their least similarity');
SELECT count(*) FROM doc_group g WHERE least_similarity <> (
  SELECT min(text_similarity(f.body, d.body)) FROM doc f, doc d
  WHERE f.id = g.first AND d.id = ANY (g.members))
SQL
	my $gone = $large[0][0];
	$node->safe_psql($database, <<"SQL");
DELETE FROM doc WHERE id = $gone;
REFRESH MATERIALIZED VIEW CONCURRENTLY doc_group;
SQL
	is($node->safe_psql($database, "SELECT count(*) FROM doc_group WHERE $gone = ANY (members)"),
		'0', 'a refresh follows the table');
}

# A pair is a bridge if without it one of its rows cannot be reached from the other.
sub bridges_are
{
	my ($database) = @_;
	my @bridges;
	for my $group (grep { @$_ > 2 && @$_ <= 50 } @groups)
	{
		for my $a (@$group)
		{
			for my $b (grep { $a < $_ } keys %{ $near{$a} })
			{
				my (%reached, @next);
				@next = ($a);
				while (defined(my $row = pop @next))
				{
					next if $reached{$row}++;
					push @next, grep { !($row == $a && $_ == $b) } keys %{ $near{$row} };
				}
				push @bridges, "$a|$b" unless $reached{$b};
			}
		}
	}
	cmp_ok(scalar @bridges, '>', 10, 'there are bridges');
	rows_are($database, 'SELECT a, b FROM bridge', \@bridges, 'the bridges are found');
}

# The ids are assigned, each that of the group's first row.
sub groups_live
{
	my ($database) = @_;
	my %rows = map { $_->[0] => $_->[1] } rows($database, 'SELECT id, story FROM doc');
	my @large = grep { @$_ > 1 } @groups;
	my @whole = grep { my $first = $_->[0]; @$_ == grep { $rows{$_} eq $first } @$_ } @large;
	# The fingerprint finds 99 of 100 pairs.
	cmp_ok(scalar @whole, '>=', 0.95 * @large, 'nearly all groups have the id of their first row');
	is(scalar(grep { length $rows{ $_->[0] } } grep { @$_ == 1 } @groups), 0, 'single rows have none');
}

# The rows of all corpora. The ids of each table are in a million of their own.
sub everything
{
	my ($columns) = @_;
	my $row = "id AS place$columns";
	return join ' UNION ALL ', map { "SELECT $_ * 1000000 + $row FROM corpus$_" } @corpora;
}

sub cover_of_corpora
{
	my ($database) = @_;
	my $all = everything(', body');
	$node->safe_psql($database, "CREATE TABLE test.everything AS $all");
	local (%near, %length);
	%length = map { $_->[0] => 1 } rows($database, 'SELECT place FROM test.everything');
	for (rows($database, <<'SQL'))
SELECT a.place, b.place, text_similarity(a.body, b.body) FROM test.everything a
JOIN test.everything b ON near_duplicate(a.body || '', b.body || '', 0.7) WHERE a.place <> b.place
SQL
	{
		$near{ $_->[0] }{ $_->[1] } = $_->[2];
	}
	my $dropped = by_id();
	cmp_ok(scalar keys %$dropped, '>', 50, 'there were near-duplicates');
	return [ grep { !$dropped->{$_} } keys %length ];
}

sub earlier_tables_stay
{
	my ($database, $kept) = @_;
	rows_are($database, everything(''), $kept, 'what is near a row before it is gone');
}

sub pictures_left
{
	my ($database) = @_;
	my $is_blank = 'bit_count(phash::bit(64)) NOT BETWEEN 8 AND 56';
	my @order = map { $_->[0] }
		rows($database, "SELECT id FROM image WHERE NOT $is_blank ORDER BY pixels DESC, id");
	local (%near, %length);
	%length = map { $_ => 1 } @order;
	for (rows($database, <<"SQL"))
WITH t AS MATERIALIZED (SELECT id, phash FROM image WHERE NOT $is_blank)
SELECT a.id, b.id, 64 - bit_count((a.phash # b.phash)::bit(64)) FROM t a, t b
WHERE a.id <> b.id AND bit_count((a.phash # b.phash)::bit(64)) <= 4
SQL
	{
		$near{ $_->[0] }{ $_->[1] } = $_->[2];
	}
	my $dropped = cover(@order);
	cmp_ok(scalar keys %$dropped, '>', 100, 'there were near-duplicates');
	my @others = map { $_->[0] }
		rows($database, "SELECT id FROM image WHERE phash IS NULL OR $is_blank");
	return [ @others, grep { !$dropped->{$_} } @order ];
}

sub pictures_stay
{
	my ($database, $left) = @_;
	rows_are($database, 'SELECT id FROM image', $left,
		'pictures with the most pixels stay, and all blank ones');
}

# For each recipe: plan, whether it needs the plan of 'Make a plan'; first, SQL to run first;
# tables, SQL for tables that refer to the rows; between, checks after the recipe's first block;
# interrupt, a call to interrupt; before, SQL before the remaining blocks; expect, a computation of
# the expected rows before these; after, the checks at the end.
my %recipes = (
	'Make a plan' => { after => \&plan_is_the_cover },
	'Delete by the plan' => { plan => 1, after => sub { left_is($_[0], by_length()) } },
	'Delete' => { after => sub { left_is($_[0], by_length()) } },
	'Move to a side table' => { after => \&others_are_aside },
	'Mark' => { after => \&rows_are_marked },
	$repoint => {
		plan => 1,
		tables => $references,
		between => \&strangers_are_refused,
		# A crash in the middle, in batches of 70.
		interrupt => 'repoint_and_delete(70)',
		after => \&references_follow,
	},
	'Compare with another table' => {
		before => <<'SQL',
INSERT INTO incoming
  SELECT id, test.changed(body, 5 + id % 3) FROM test.real WHERE id % 3 = 1;
INSERT INTO incoming
  SELECT id, md5(id::text) || ' is new ' || id FROM generate_series(5000, 5050) id;
INSERT INTO incoming VALUES (0, '');
SQL
		expect => \&nearest_of_incoming,
		after => \&incoming_is_new,
	},
	'Clean up every night' => { after => \&the_night_removed },
	'List the groups' => { after => \&view_has_the_groups },
	'Bridges' => { after => \&bridges_are },
	'Groups that live' => { after => \&groups_live },
	'Across tables' => {
		first => join('', 'CREATE TABLE source (rank integer PRIMARY KEY, relation regclass);',
			map { <<"SQL" } @corpora),
CREATE TABLE corpus$_ (id bigint PRIMARY KEY, body text);
INSERT INTO source VALUES ($_, 'corpus$_');
INSERT INTO corpus$_
  SELECT id, test.changed(body, 2 + $_) FROM test.real
  WHERE id BETWEEN $_ * 20 + 1 AND $_ * 20 + 40;
SQL
		expect => \&cover_of_corpora,
		after => \&earlier_tables_stay,
	},
	'Image hashes in a bigint column' => {
		before => <<"SQL",
INSERT INTO image
  SELECT i, test.number('$salt image ' || i / 4) # test.flips(i::text, i % 4), i * 7919 % 1000
  FROM generate_series(1, 1200) i;
INSERT INTO image SELECT 5000 + i, CASE WHEN i % 2 = 0 THEN 0 ELSE -1 END, i
  FROM generate_series(1, 100) i;
INSERT INTO image VALUES
  (9001, 1234567890123456789, 1), (9002, 1234567890123456789 # 15, 2), (9003, NULL, 3);
SQL
		expect => \&pictures_left,
		after => \&pictures_stay,
	},
);

# The page's first block makes the tables; the recipes follow. Where a recipe needs something after
# its first block, that block makes its tables.
prepare((blocks($introduction))[0]);
%length = map { $_->[0] => $_->[1] } rows('prepared', 'SELECT id, length(body) FROM doc');
$near{ $_->[0] }{ $_->[1] } = $_->[2]
  for rows('prepared', 'SELECT a, b, similarity FROM test.near');
@groups = components();
cmp_ok(scalar(grep { @$_ > 1 } @groups), '>', 100, 'there are groups');
is(join('; ', sort keys %sections), join('; ', sort keys %recipes), 'every recipe has a check');
for my $title (sort keys %sections)
{
	my $recipe = $recipes{$title} or next;
	my $database = substr $title =~ s/\W+/_/gr, 0, 40;
	$node->safe_psql('postgres', "CREATE DATABASE \"$database\" TEMPLATE prepared");
	my @blocks = blocks($sections{$title});
	$node->safe_psql($database, $recipe->{first}) if $recipe->{first};
	$node->safe_psql($database, (blocks($sections{'Make a plan'}))[0]{sql}) if $recipe->{plan};
	$node->safe_psql($database, $recipe->{tables}) if $recipe->{tables};
	if ($recipe->{before} || $recipe->{interrupt})
	{
		runs($node, $database, shift @blocks, "$title, tables");
	}
	$recipe->{between}->($database) if $recipe->{between};
	if ($recipe->{interrupt})
	{
		# A batch fails in the middle; earlier batches remain committed.
		$node->safe_psql($database, <<"SQL");
CREATE FUNCTION test.stop() RETURNS trigger LANGUAGE plpgsql AS \$\$
BEGIN
  IF (SELECT count(*) FROM plan WHERE done) > (SELECT count(*) / 2 FROM plan) THEN
    RAISE EXCEPTION 'crash';
  END IF;
  RETURN NULL;
END \$\$;
CREATE TRIGGER stop AFTER UPDATE ON plan EXECUTE FUNCTION test.stop();
SQL
		my ($rc) = $node->psql($database, "CALL $recipe->{interrupt}");
		isnt($rc, 0, "$title: interrupted");
		is($node->safe_psql($database, <<'SQL'), 't|t', 'some of the plan is done');
DROP TRIGGER stop ON plan;
SELECT count(*) FILTER (WHERE done) > 0, count(*) FILTER (WHERE NOT done) > 0 FROM plan
SQL
	}
	$node->safe_psql($database, $recipe->{before}) if $recipe->{before};
	my $expected = $recipe->{expect} ? $recipe->{expect}->($database) : undef;
	runs($node, $database, $_, $title) for @blocks;
	$recipe->{after}->($database, $expected);
}

$node->stop;
done_testing();
