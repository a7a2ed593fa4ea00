# The documentation: its examples run as they stand and give the output that the page shows, and the
# reference names every function. (recipes.pl has docs/recipes.md, docs/delete-by-plan.md and
# docs/delete-referred.md, scale_out.pl docs/scale-out.md and docs/scale-out-writers.md, citus.pl
# docs/citus.md, memories.pl docs/memories.md and docs/memories-loading.md, and the Python tests run
# docs/portable.md.)
use strict;
use warnings;
use File::Basename;
use FindBin;
use lib $FindBin::Bin;
use DocumentedSql;
use SimhashTest;
use PostgreSQL::Test::Utils;
use Test::More;

my $top = "$FindBin::Bin/../..";
my $docs = "$top/docs";
my $node = new_node('main', '');

# Methods: each page in its own database, with a table doc of some hundred texts.
$node->safe_psql('postgres', 'CREATE DATABASE texts');
$node->safe_psql('texts', 'CREATE EXTENSION pg_simhash;' . slurp_file("$FindBin::Bin/compare.sql"));
$node->safe_psql('texts', <<'SQL');
CREATE TABLE doc (
  id bigint PRIMARY KEY,
  body text NOT NULL,
  fp fingerprint64 GENERATED ALWAYS AS (simhash(body)) STORED
);
INSERT INTO doc (id, body)
  SELECT i, (SELECT string_agg(test.word(i / 2 || ' ' || j), ' ') FROM generate_series(1, 100) j)
  FROM generate_series(1, 400) i;
ANALYZE doc;
SQL
for my $page (sort glob "$docs/methods/*.md")
{
	my @blocks = blocks(slurp_file($page));
	my $name = basename($page);
	ok(@blocks > 0, "$name has an example") unless $name eq 'README.md';
	$node->safe_psql('postgres', "CREATE DATABASE \"$name\" TEMPLATE texts");
	runs($node, $name, $_, $name) for @blocks;
}

# The README, from its first block to its last in one database. The other pages start from the
# results of its first two blocks and from the tables that their examples assume.
sub run_example
{
	my ($database, $block, $name) = @_;
	$block->{sql} =~ s/\$1/simhash('the quick brown fox')/g;
	runs($node, $database, $block, $name);
}

$node->safe_psql('postgres', 'CREATE DATABASE begun TEMPLATE template0');
my @readme = blocks(slurp_file("$top/README.md"));
cmp_ok(scalar @readme, '>', 4, 'the README has examples');
run_example('begun', shift @readme, 'README, first block');
$node->safe_psql('begun', <<'SQL');
CREATE TABLE labelled (a_fp fingerprint64, b_fp fingerprint64, duplicate boolean);
SQL
run_example('begun', shift @readme, 'README, second block');
$node->safe_psql('postgres', 'CREATE DATABASE readme TEMPLATE begun');
run_example('readme', $_, 'README') for @readme;
is($node->safe_psql('readme', 'SELECT count(*) FROM note'), '2',
	'README: a near-duplicate is kept out');
for my $page (sort glob "$docs/*.md")
{
	my $name = $page =~ s/.*\///r;
	next if $name =~ /^(?:recipes|delete-(?:by-plan|referred)|scale-out(?:-writers)?|citus|portable|
		memories(?:-loading)?)\.md$/x;
	my @blocks = blocks(slurp_file($page)) or next;
	$node->safe_psql('postgres', "CREATE DATABASE \"begun_$name\" TEMPLATE begun");
	run_example("begun_$name", $_, $name) for @blocks;
}

# docs/moderation.md: a post is held if it is in progress when its entry is made, or is inserted
# while the entry is being made.
SKIP:
{
	my $page = 'begun_moderation.md';
	my ($poster, $moderator) = map {
		$node->can('background_psql') ? $node->background_psql($page, on_error_stop => 1) : undef
	} 1, 2;
	skip 'this version has no background_psql', 3 unless $poster && $poster->can('query_safe');
	my $waits = q{SELECT count(*) = 1 FROM pg_stat_activity
	  WHERE wait_event_type = 'Lock' AND datname = 'begun_moderation.md'};
	my @said = ('Knock Knock whose there text us to enter the weekly draw',
		'Final chance to claim a discount voucher today from the shop');
	$poster->query_safe("BEGIN; INSERT INTO post (community, body) VALUES (9, '$said[0]')");
	$moderator->query_until(qr/waits/, "\\echo waits\nBEGIN;\nSELECT ban(0, '$said[0] 2');\n");
	ok($node->poll_query_until($page, $waits), 'an entry waits for a post in progress');
	$poster->query_safe('COMMIT');
	$moderator->query_safe("SELECT ban(0, '$said[1]')");
	$poster->query_until(qr/waits/, "\\echo waits\nINSERT INTO post (community, body)
		VALUES (9, '$said[1]!');\n");
	ok($node->poll_query_until($page, $waits), 'a post waits for an entry in progress');
	$moderator->query_safe('COMMIT');
	$poster->query_safe('SELECT 1');
	$_->quit for $poster, $moderator;
	is($node->safe_psql($page, q{SELECT count(held_for), count(*) FROM post WHERE community = 9}),
		'2|2', 'and both posts are held');
}

# The pages have a line for each argument of the triggers, with each of its words, and no others.
# The HINT about an unknown argument has the list.
for (['simhash_dedup', 'trigger.md'], ['simhash_cluster', 'groups.md'])
{
	my ($function, $page) = @$_;
	my ($table) = slurp_file("$docs/$page") =~ /^\| argument .*?\n((?:\|.*\n)+)/m;
	my $fired = $function eq 'simhash_dedup' ? 'INSERT ON hinted FOR EACH ROW' : 'INSERT ON hinted';
	my ($code, $out, $error) = $node->psql('begun', <<"SQL");
CREATE TABLE hinted (id int PRIMARY KEY, body text);
CREATE TRIGGER t BEFORE $fired EXECUTE FUNCTION $function('nonsense=1');
INSERT INTO hinted VALUES (1, 'x');
SQL
	$node->safe_psql('begun', 'DROP TABLE hinted');
	my ($allowed) = $error =~ /HINT:  Allowed: (.*)\.$/m;
	my %allowed = map { /^(\w+)=(.*)/s } split /, (?=\w+=)/, $allowed;
	my %shown;
	push @{ $shown{$1} }, $2 while $table =~ /`(\w+)=([^`]*)`/g;
	is(join(' ', sort keys %shown), join(' ', sort keys %allowed), "$page: the arguments");
	for my $key (sort grep { $allowed{$_} =~ /\|/ } keys %allowed)
	{
		my ($row) = $table =~ /^(\|[^|\n]*`$key=.*(?:\n\|[^|\n]*`$key=.*)*)/m;
		my @missing = grep { $row !~ /\b\Q$_\E\b/ } split /\|/, $allowed{$key};
		is("@missing", '', "$page: the words of $key");
	}
}

# The reference names every function that users may call: all but those that implement a type, an
# operator, an aggregate, a cast, an operator class, an estimator or the handler.
my $reference = slurp_file("$docs/reference.md");
my @functions = split /\n/, $node->safe_psql('begun', <<'SQL');
SELECT DISTINCT p.proname FROM pg_depend d JOIN pg_proc p ON p.oid = d.objid
WHERE d.classid = 'pg_proc'::regclass AND d.deptype = 'e'
	AND d.refobjid = (SELECT oid FROM pg_extension WHERE extname = 'pg_simhash')
	AND p.oid NOT IN (
		SELECT unnest(ARRAY[typinput, typoutput, typreceive, typsend]::oid[]) FROM pg_type
		UNION SELECT unnest(ARRAY[oprcode, oprrest, oprjoin]::oid[]) FROM pg_operator
			WHERE oprname <> '<~>'
		UNION SELECT unnest(ARRAY[aggtransfn, aggfinalfn, aggcombinefn, aggserialfn, aggdeserialfn]
			::oid[]) FROM pg_aggregate
		UNION SELECT amproc::oid FROM pg_amproc
		UNION SELECT castfunc FROM pg_cast
		UNION SELECT amhandler::oid FROM pg_am
		UNION SELECT prosupport::oid FROM pg_proc
		UNION SELECT tgfoid FROM pg_trigger
			WHERE tgrelid IN ('simhash_model'::regclass, 'simhash_word_list'::regclass))
ORDER BY 1
SQL
my @unnamed = grep { $reference !~ /`[^`\n]*\b\Q$_\E\b/ } @functions;
cmp_ok(scalar @functions, '>', 30, 'there are functions');
is(join(' ', @unnamed), '', 'the reference names every function');

$node->stop;
done_testing();
