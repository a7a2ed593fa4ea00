# The trigger simhash_cluster: loads, and then comparisons with a model of it. Sessions take turns
# with random statements: insertions, COPY, updates, deletions, upserts, MERGE, statements with
# several parts, savepoints, rollbacks, exceptions. The model compares every pair, and so knows
# which rows form a group and which id the group has. In some tables texts are compared too: their
# words are sets whose similarity is easily counted. With settle=later, groups are right once they
# are settled. A user's trigger that changes the statement's rows before the extension's trigger
# fires must not affect that. Finally clients that do not take turns write at three isolation levels
# while the server is killed, and the groups must be those that SQL finds by brute force.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use IPC::Open2;
use SimhashTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(usleep);

my $near = 3;
my $turns = soak() ? 600 : 300;
my $deadline = soak() ? time + soak_seconds() : 0;
my $node = new_node('main', "autovacuum = off\nmax_wal_size = 1GB\ndeadlock_timeout = 50ms");
my $has_merge = $node->safe_psql('postgres',
	q{SELECT current_setting('server_version_num')::int >= 150000}) eq 't';

# The partition into groups, by brute force: the id of every row whose group is wrong. Groups are
# compared by their least members, so that their ids do not matter. In tables with texts, these are
# compared as sets of words.
my $least = 0.5;
my $words = "string_to_array(%s.note, ' ')";
my $common = sprintf(
	"(SELECT count(*) FROM (SELECT unnest($words) INTERSECT SELECT unnest($words)) w)", 'a', 'b');
my $similar = "AND $common >= $least * ("
	. sprintf("(SELECT count(DISTINCT w) FROM unnest($words || $words) w)", 'a', 'b')
	. ') AND a.note IS NOT NULL AND b.note IS NOT NULL';
my $wrong_groups = <<"SQL";
WITH RECURSIVE pair AS (
  SELECT a.id AS a, b.id AS b FROM t a JOIN t b ON a.id <> b.id AND a.tenant = b.tenant
    AND hamming(a.fp, b.fp) + 0 <= $near $similar
), reached AS (SELECT a, b FROM pair UNION SELECT r.a, p.b FROM reached r JOIN pair p ON p.a = r.b),
truth AS (SELECT a AS id, least(a, min(b)) AS first FROM reached GROUP BY a),
stored AS (SELECT id, story, CASE WHEN story IS NOT NULL
    THEN min(id) OVER (PARTITION BY story) END AS first FROM t)
SELECT coalesce(string_agg(id || ' in ' || coalesce(story::text, 'none'), ', ' ORDER BY id), '')
FROM stored LEFT JOIN truth USING (id) WHERE stored.first IS DISTINCT FROM truth.first
SQL

# The same by the whole-table function, for a table without scopes.
my $other_clusters = <<"SQL";
WITH found AS (
  SELECT d.id, min(d.id) OVER (PARTITION BY c.representative) AS first
  FROM simhash_clusters('t_fp', $near) c JOIN t d ON d.ctid = c.member),
stored AS (SELECT id, min(id) OVER (PARTITION BY story) AS first FROM t WHERE story IS NOT NULL)
SELECT count(*) FROM found FULL JOIN stored USING (id)
WHERE found.first IS DISTINCT FROM stored.first
SQL

sub create_table
{
	my ($kind) = @_;
	my $partitions = $kind =~ /partitioned/;
	my ($by, $parts) = ('', '');
	if ($partitions)
	{
		$by = 'PARTITION BY RANGE (id)';
		$parts = <<'SQL';
CREATE TABLE t_a PARTITION OF t FOR VALUES FROM (MINVALUE) TO (20);
CREATE TABLE t_b (story bigint, gone int, tenant int, note text, fp fingerprint64,
  id bigint NOT NULL);
ALTER TABLE t_b DROP COLUMN gone;
ALTER TABLE t ATTACH PARTITION t_b FOR VALUES FROM (20) TO (MAXVALUE);
SQL
	}
	my $scope = $kind eq 'plain' ? '' : q{, 'scope=tenant'};
	my $index = $kind =~ /scoped/ ? 'tenant, fp' : 'fp';
	my $later = $kind eq 'later' ? q{, 'settle=later'} : '';
	my $texts = $kind =~ /similar/ ? qq{, 'body=note', 'shingle=1', 'similarity=$least'} : '';
	my $near_by = "'fp=fp', 'distance=$near'";
	($index, $near_by) = ('tenant, note', "'body=note', 'similarity=$least'") if $kind =~ /text/;
	$node->safe_psql('postgres', <<"SQL");
DROP TABLE IF EXISTS t;
CREATE TABLE t (id bigint PRIMARY KEY, fp fingerprint64, tenant int, note text, story bigint) $by;
$parts
CREATE INDEX t_fp ON t USING simhash ($index);
CREATE INDEX ON t (story);
SELECT simhash_cluster_create('t', $near_by, 'cluster=story'$scope$later$texts)
SQL
}

## The model: rows by id, each with fp, tenant, story.

my ($kind, %committed, @session, @bases, @history, %keys);
my $unnamed = 0;

sub is_similar { return $kind =~ /similar/ }

sub bits { return unpack('%64b*', pack('Q', $_[0] ^ $_[1])) }

sub is_near
{
	my ($a, $b) = @_;
	return 0 unless defined $a->{fp} && defined $b->{fp};
	return 0 unless $kind eq 'plain'
		|| (defined $a->{tenant} && defined $b->{tenant} && $a->{tenant} == $b->{tenant});
	return bits($a->{fp}, $b->{fp}) <= $near && (!is_similar() || are_similar($a, $b));
}

sub are_similar
{
	my ($a, $b) = map { $_->{note} } @_;
	return 0 unless defined $a && defined $b;
	my %a = map { $_ => 1 } split / /, $a;
	my %b = map { $_ => 1 } split / /, $b;
	my %all = (%a, %b);
	return grep({ $b{$_} } keys %a) >= $least * keys %all;
}

# One call of the trigger: assigns groups to the fresh rows. $given has the story that each fresh
# row had when it was written; a row whose story has changed since got it from another call for the
# same statement. $former: rows that may have been split off their groups, by id.
sub regroup
{
	my ($rows, $fresh, $given, $former) = @_;
	my %fresh = map { $_ => 1 } grep { $rows->{$_} } @$fresh;
	my %void = map { $_ => 1 }
		grep { ($rows->{$_}{story} // 0) == ($given->{$_} // 0) } keys %fresh;
	my %live = map { $_ => $rows->{$_}{story} }
		grep { defined $rows->{$_}{story} && !$void{$_} } keys %$rows;
	my %of;
	push @{ $of{ $live{$_} } }, $_ for keys %live;
	my (%seen, @parties);
	for my $start (sort { $a <=> $b } keys %fresh)
	{
		next if $seen{$start}++;
		my (@open, @rows, %groups) = ($start);
		while (defined(my $id = shift @open))
		{
			push @rows, $id;
			my @next;
			@next = @{ $of{ $live{$id} } } if $live{$id} && !$groups{ $live{$id} }++;
			# Two rows are connected if they are near and at least one is fresh, or if they are in
			# one group.
			push @next, grep { $_ != $id && ($fresh{$id} || $fresh{$_})
				&& is_near($rows->{$id}, $rows->{$_}) } keys %$rows;
			push @open, grep { !$seen{$_}++ } @next;
		}
		push @parties, {
			rows => [ sort { $a <=> $b } @rows ],
			groups => [ sort { $a <=> $b } keys %groups ]
		};
	}
	my %merging = map { $_ => 1 } map { @{ $_->{groups} } } @parties;
	$_->{id} = $_->{groups}[0] for @parties;
	# The remainder of a group keeps its id: the part with the founder, or else with the oldest
	# member. A changed row counts only in a part that has another member of its group.
	my %heirs;
	for my $party (grep { @{ $_->{rows} } > 1 } @parties)
	{
		my %present = map { $former->{$_} => 1 } grep { $former->{$_} } @{ $party->{rows} };
		for my $id (@{ $party->{rows} })
		{
			my $group = $former->{$id} // ($fresh{$id} ? $given->{$id} : undef);
			next unless $group && $present{$group};
			my $heir = $heirs{$group};
			$heirs{$group} = [ $party, $id ]
				if !$heir || $heir->[1] != $group && ($id == $group || $id < $heir->[1]);
		}
	}
	for my $group (sort { $a <=> $b } keys %heirs)
	{
		my $party = $heirs{$group}[0];
		$party->{id} = $group if !defined $party->{id} || $group < $party->{id};
	}
	my %used = map { $_->{id} => 1 } grep { defined $_->{id} } @parties;
	my $certain = 1;
	for my $party (grep { @{ $_->{rows} } > 1 && !defined $_->{id} } @parties)
	{
		($party->{id}) = grep { !$used{$_} && !$merging{$_} && !$of{$_} } @{ $party->{rows} };
		# If all keys are taken, the trigger renames another group. The model is then uncertain
		# about ids, and any id serves.
		$certain = 0 unless defined $party->{id};
		$party->{id} //= -++$unnamed;
		$used{ $party->{id} } = 1;
	}
	for my $party (@parties) { $rows->{$_}{story} = $party->{id} for @{ $party->{rows} } }
	return $certain;
}

# Finds the groups of a statement's changed rows, and those of the rows near deleted or changed
# ones.
sub settle
{
	my ($rows, $fresh, $given, $gone) = @_;
	my %changed = map { $_ => 1 } @$fresh;
	my %groups;
	for my $was (grep { defined $_->{story} } @$gone)
	{
		for my $id (grep { !$changed{$_} && is_near($was, $rows->{$_}) } keys %$rows)
		{
			$groups{ $rows->{$id}{story} } = 1 if defined $rows->{$id}{story};
		}
	}
	my %former = map { $_ => $rows->{$_}{story} } grep {
		!$changed{$_} && defined $rows->{$_}{story} && $groups{ $rows->{$_}{story} }
	} keys %$rows;
	return regroup($rows, [ @$fresh, keys %former ], { %$given, %former }, \%former);
}

# Applies a statement to the model: the rows it put (undef: deleted), in one order for each trigger
# that fires: 'update', 'insert', 'delete'.
sub apply
{
	my ($view, @events) = @_;
	my $rows = $view->{rows};
	my $certain = 1;
	my @runs;
	for my $event (@events)
	{
		my ($what, %put) = @$event;
		my (@gone, @fresh, %given);
		for my $id (sort { $a <=> $b } keys %put)
		{
			my ($was, $is) = ($rows->{$id}, $put{$id});
			if ($was && $is && ($was->{fp} // 'x') eq ($is->{fp} // 'x')
				&& ($kind eq 'plain' || ($was->{tenant} // 'x') eq ($is->{tenant} // 'x'))
				&& (!is_similar() || ($was->{note} // 'x') eq ($is->{note} // 'x')))
			{
				$rows->{$id} = { %$is, story => $was->{story} };
				next;
			}
			push @gone, {%$was} if $was;
			if ($is)
			{
				$given{$id} = $was && $was->{story};
				$rows->{$id} = { %$is, story => $given{$id} };
				push @fresh, $id;
			}
			else { delete $rows->{$id}; }
		}
		push @runs, [ \@fresh, \%given, \@gone ];
	}
	for my $run (@runs)
	{
		my ($fresh, $given, $gone) = @$run;
		$certain &= settle($rows, $fresh, $given, $gone) if @$fresh || @$gone;
	}
	$view->{certain} &= $certain;
	$keys{$_} = 1 for keys %$rows;
}

# Applies a statement of several parts. Which rows form a group is certain, but ids depend on the
# order of its parts.
sub apply_unnamed
{
	my ($view, %put) = @_;
	my $rows = $view->{rows};
	for my $id (keys %put)
	{
		if ($put{$id}) { $rows->{$id} = { story => undef, %{ $put{$id} } }; }
		else { delete $rows->{$id}; }
	}
	my %given = map { $_ => $rows->{$_}{story} } keys %$rows;
	regroup($rows, [ keys %$rows ], \%given, {});
	$view->{certain} = 0;
	$keys{$_} = 1 for keys %$rows;
}

## Random statements, each with a function that applies it to the model.

sub shown { my ($fp) = @_; return defined $fp ? sprintf("'%016x'", $fp) : 'NULL' }
sub number { my ($number) = @_; return $number // 'NULL' }
sub text { my ($text) = @_; return defined $text ? "'$text'" : 'NULL::text' }

sub any_id
{
	my ($view) = @_;
	my @ids = sort { $a <=> $b } keys %{ $view->{rows} };
	return @ids ? $ids[ roll(scalar @ids) ] : 0;
}

# A free number. There are few, so that keys are reused.
sub new_id
{
	my ($view, @others) = @_;
	my %other = map { $_ => 1 } @others;
	my @free = grep { !$view->{rows}{$_} && !$other{$_} } 1 .. 45;
	return @free ? $free[ roll(scalar @free) ] : undef;
}

# Chains of near fingerprints: some bits of a base are set one after the other.
sub any_fp
{
	return undef if roll(25) == 0;
	# A line, on which groups lie side by side, split and merge.
	return (1 << roll(63)) - 1 if $kind =~ /line|later|nested|before|after/;
	my $fp = $bases[ roll(scalar @bases) ];
	my $from = 8 * roll(2);
	$fp ^= 1 << $_ for $from .. $from + roll(16);
	return $fp;
}

sub any_note
{
	return undef if roll(12) == 0;
	my @words = grep { roll(3) } qw(alpha bravo charlie delta echo);
	return join(' ', @words ? @words : 'none');
}

sub any_tenant
{
	return 1 if $kind =~ /line|later|nested|before|after/;
	return roll(15) ? 1 + (roll(5) == 0) : undef;
}

sub new_rows
{
	my ($view, $count) = @_;
	my (%rows, @ids);
	for (1 .. $count)
	{
		my $id = new_id($view, @ids) // last;
		push @ids, $id;
		$rows{$id} = { fp => any_fp(), tenant => any_tenant(), note => any_note() };
	}
	return %rows;
}

sub values_of
{
	my (%rows) = @_;
	my $value = sub {
		my ($id) = @_;
		my ($row, $fp) = ($rows{$id}, shown($rows{$id}{fp}));
		return "($id, $fp, " . join(', ', number($row->{tenant}), number($row->{story}),
			text($row->{note})) . ')';
	};
	return join(', ', map { $value->($_) } sort { $a <=> $b } keys %rows);
}

sub insertion
{
	my ($view) = @_;
	my %rows = new_rows($view, 1 + (roll(2) ? 0 : roll(5)));
	return () unless %rows;
	return ('INSERT INTO t (id, fp, tenant, story, note) VALUES ' . values_of(%rows),
		sub { apply($_[0], [ insert => %rows ]) });
}

sub copy
{
	my ($view) = @_;
	my %rows = new_rows($view, 1 + roll(6));
	my $lines = join('', map {
		my $row = $rows{$_};
		join("\t", $_, defined $row->{fp} ? sprintf('%016x', $row->{fp}) : '\N',
			$row->{tenant} // '\N', $row->{story} // '\N', $row->{note} // '\N') . "\n"
	} sort { $a <=> $b } keys %rows);
	return ("COPY t (id, fp, tenant, story, note) FROM STDIN;\n$lines\\.\nSELECT",
		sub { apply($_[0], [ insert => %rows ]) });
}

sub update
{
	my ($view) = @_;
	# Without a scope the tenant is an ordinary column, whose change waits for no lock.
	my %set = roll(3) || $kind eq 'plain' ? (fp => any_fp()) : (tenant => any_tenant());
	%set = (note => any_note()) if is_similar() && roll(2);
	my %ids = map { $_ => 1 } map { any_id($view) } 0 .. (roll(3) ? 0 : 2);
	my %shown = (fp => \&shown, tenant => \&number, note => \&text);
	my $list = join(', ', map { "$_ = " . $shown{$_}->($set{$_}) } sort keys %set);
	return ("UPDATE t SET $list WHERE id IN (" . join(', ', sort { $a <=> $b } keys %ids) . ')', sub {
		my ($view) = @_;
		apply($view, [ update =>
			map { $_ => { %{ $view->{rows}{$_} }, %set } } grep { $view->{rows}{$_} } keys %ids ]);
	});
}

# Each row gets its own new fingerprint.
sub shifting
{
	my ($view) = @_;
	my $bit = roll(64);
	my $tenant = 1 + roll(2);
	my $mask = sprintf('%016x', 1 << $bit);
	return (<<"SQL", sub {
UPDATE t SET fp = (fp::bigint # '$mask'::fingerprint64::bigint)::fingerprint64
  WHERE tenant = $tenant AND id % 3 = 0
SQL
		my ($view) = @_;
		my $rows = $view->{rows};
		apply($view, [ update => map { $_ => { %{ $rows->{$_} }, fp => $rows->{$_}{fp} ^ (1 << $bit) } }
			grep { ($rows->{$_}{tenant} // 0) == $tenant && $_ % 3 == 0 && defined $rows->{$_}{fp} }
			keys %$rows ]);
	});
}

sub rekey
{
	my ($view) = @_;
	my ($id, $new) = (any_id($view), new_id($view));
	return () unless $id && $new;
	return ("UPDATE t SET id = $new WHERE id = $id", sub {
		my ($view) = @_;
		my $was = $view->{rows}{$id} or return;
		my @gone = {%$was};
		delete $view->{rows}{$id};
		$view->{rows}{$new} = {%$was};
		$keys{$new} = 1;
		$view->{certain} &= settle($view->{rows}, [$new], { $new => $was->{story} }, \@gone);
	});
}

sub deletion
{
	my ($view) = @_;
	my %ids = map { $_ => undef } map { any_id($view) } 0 .. (roll(3) ? 0 : 3);
	return ('DELETE FROM t WHERE id IN (' . join(', ', sort { $a <=> $b } keys %ids) . ')', sub {
		my ($view) = @_;
		apply($view, [ delete => map { $_ => undef } grep { $view->{rows}{$_} } keys %ids ]);
	});
}

# TRUNCATE only outside a transaction block: its lock would keep others from reading.
sub truncation
{
	my ($view) = @_;
	return (($view->{open} ? 'DELETE FROM' : 'TRUNCATE') . ' t', sub { %{ $_[0]{rows} } = () });
}

sub noting
{
	my ($view) = @_;
	my $id = any_id($view);
	return () if is_similar();
	return ("UPDATE t SET note = 'note' WHERE id = $id", undef);
}

# Only the trigger assigns ids: this has no effect.
sub tampering
{
	my ($view) = @_;
	my ($id, $story) = (any_id($view), 1 + roll(50));
	return ("UPDATE t SET story = nullif($story, 50) WHERE id IN ($id, $id + 1)", undef);
}

# One statement that sets the ids of some rows and the fingerprints of others.
sub mixing
{
	my ($view) = @_;
	my ($fp, $rest) = (any_fp(), roll(3));
	my $shown = shown($fp);
	return (<<"SQL", sub {
UPDATE t SET story = 46,
  fp = CASE WHEN id % 3 = $rest THEN CAST($shown AS fingerprint64) ELSE fp END
  WHERE id % 4 <> 0
SQL
		my ($view) = @_;
		my $rows = $view->{rows};
		apply($view, [ update => map { $_ => { %{ $rows->{$_} }, fp => $fp } }
			grep { $_ % 4 && $_ % 3 == $rest } keys %$rows ]);
	});
}

sub upsert
{
	my ($view) = @_;
	my %rows = new_rows($view, roll(3));
	my $id = any_id($view);
	$rows{$id} = { fp => any_fp(), tenant => any_tenant(), note => any_note() } if $id;
	return () unless %rows;
	my $values = values_of(%rows);
	return (<<"SQL", sub {
INSERT INTO t (id, fp, tenant, story, note) VALUES $values ON CONFLICT (id)
  DO UPDATE SET fp = EXCLUDED.fp, tenant = EXCLUDED.tenant, note = EXCLUDED.note
SQL
		my ($view) = @_;
		my %updated = map { $_ => { %{ $rows{$_} }, story => $view->{rows}{$_}{story} } }
			grep { $view->{rows}{$_} } keys %rows;
		my %inserted = map { $_ => { %{ $rows{$_} }, story => undef } }
			grep { !$view->{rows}{$_} } keys %rows;
		apply($view, [ update => %updated ], [ insert => %inserted ]);
	});
}

# One statement inserts, updates and deletes rows, or does some of these. While the trigger is
# called for the deleted rows, the updated ones still have their old ids, so that ids depend on the
# order of calls. Keys change too, but not together with insertions: PostgreSQL may not pass on the
# new version of such rows.
sub merge
{
	my ($view) = @_;
	my %has = map { $_ => 1 } split //, ('idu', 'idu', 'u', 'du', 'iu', 'di')[ roll(6) ];
	my %new = $has{i} ? new_rows($view, 1 + roll(2)) : ();
	my ($updated, $deleted) = map { $has{$_} ? any_id($view) : 0 } 'u', 'd';
	# Not to another partition, which is refused.
	my ($free) = grep { !$view->{rows}{$_} } 1 .. 45;
	my $becomes = (!$has{i} && $kind !~ /partitioned/ && roll(4) && $free) || $updated;
	my %set = (fp => any_fp(), tenant => any_tenant(), note => any_note());
	my $source = sub {
		my ($id, $what, $row) = @_;
		return "($id, '$what', " . shown($row->{fp}) . '::fingerprint64, ' . number($row->{tenant})
			. '::int, ' . text($row->{note}) . ', ' . number($row->{story}) . '::bigint)';
	};
	my @source = map { $source->($_, 'i', $new{$_}) } sort { $a <=> $b } keys %new;
	push @source, $source->($updated, 'u', \%set) if $updated && $updated != $deleted;
	push @source, $source->($deleted, 'd', {}) if $deleted;
	return () unless @source;
	my $values = join(', ', @source);
	my %action = (
		d => "WHEN MATCHED AND what = 'd' THEN DELETE",
		u => "WHEN MATCHED AND what = 'u' THEN UPDATE"
			. ($becomes != $updated ? " SET id = $becomes," : ' SET')
			. ' fp = s.fp, tenant = s.tenant, note = s.note',
		i => "WHEN NOT MATCHED AND what = 'i' THEN INSERT (id, fp, tenant, note, story)"
			. ' VALUES (s.id, s.fp, s.tenant, s.note, s.story)');
	my $actions = join("\n  ", map { $has{$_} ? $action{$_} : () } 'd', 'u', 'i');
	return (<<"SQL", sub {
MERGE INTO t USING (VALUES $values) s (id, what, fp, tenant, note, story) ON t.id = s.id
  $actions
SQL
		my ($view) = @_;
		my $rows = $view->{rows};
		my %inserted = map { $_ => $new{$_} } grep { !$rows->{$_} } keys %new;
		my %updated;
		%updated = ($updated => undef,
			$becomes => { %set, story => $rows->{$updated}{story} })
			if $updated && $updated != $deleted && $rows->{$updated};
		my %deleted;
		$deleted{$deleted} = undef if $deleted && $rows->{$deleted};
		apply_unnamed($view, %deleted, %updated, %inserted);
	});
}

# A statement with a data-modifying CTE: a row is deleted, or ids are set, and another row is
# inserted. PostgreSQL determines the order in which the triggers fire, and ids may depend on it.
sub with_parts
{
	my ($view) = @_;
	my ($id, %rows) = (any_id($view), new_rows($view, 1));
	return () unless $id && %rows;
	my $goes = roll(2);
	my $part = $goes ? "DELETE FROM t WHERE id = $id"
		: 'UPDATE t SET story = ' . ($id, any_id($view), 'NULL')[ roll(3) ]
			. ' WHERE id % 3 <> ' . roll(4);
	return ("WITH part AS ($part) "
		. 'INSERT INTO t (id, fp, tenant, story, note) VALUES ' . values_of(%rows), sub {
		my ($view) = @_;
		my %deleted = map { $_ => undef } grep { $goes && $view->{rows}{$_} } $id;
		apply_unnamed($view, %deleted, %rows);
	});
}

sub exception
{
	my ($view) = @_;
	my ($undone) = (\&insertion, \&update, \&deletion)[ roll(3) ]->($view);
	my ($done, $model) = (\&insertion, \&update, \&deletion)[ roll(3) ]->($view);
	return () unless $undone && $done;
	return (<<"SQL", $model);
DO \$\$
BEGIN
  BEGIN
    $undone;
    RAISE EXCEPTION 'undo';
  EXCEPTION WHEN raise_exception THEN NULL;
  END;
  $done;
END \$\$
SQL
}

my @statements = (
	(\&insertion) x 30, (\&copy) x 8, (\&update) x 18, (\&shifting) x 4, (\&rekey) x 5,
	(\&deletion) x 16, \&truncation, (\&noting) x 3, (\&tampering) x 4, (\&mixing) x 2, (\&upsert) x 8,
	(\&with_parts) x 6, (\&exception) x 8, $has_merge ? (\&merge) x 10 : ());

## Sessions, which take turns.

sub start_session
{
	my ($name, $level) = @_;
	my $connection = $node->connstr('postgres');
	# Errors and the output of \warn are unbuffered and in order.
	my $psql = "exec psql -XAtq -d \"$connection\" 2>&1 >/dev/null";
	my $pid = open2(my $output, my $input, 'sh', '-c', $psql);
	$input->autoflush(1);
	my $s = { name => $name, pid => $pid, input => $input, output => $output };
	run($s, <<"SQL");
\\set VERBOSITY sqlstate
SET lock_timeout = '10ms';
SET default_transaction_isolation = '$level'
SQL
	return $s;
}

# Runs a statement and returns its SQLSTATE, or '' if it succeeded.
sub run
{
	my ($s, $statement) = @_;
	push @history, "$s->{name}: $statement";
	print { $s->{input} } "$statement;\n\\warn done\n";
	my $error = '';
	while (defined(my $line = readline $s->{output}))
	{
		last if $line eq "done\n";
		$error ||= $1 if $line =~ /(?:ERROR|FATAL|PANIC):\s+(\w{5})/;
	}
	$history[-1] .= " -- $error" if $error;
	return $error;
}

sub copy_of { my ($rows) = @_; return { map { $_ => { %{ $rows->{$_} } } } keys %$rows } }

# The rows that a session sees: the committed ones or, once it has written, its own copy. No other
# session writes then: another test covers concurrent writers.
sub view_of
{
	my ($s) = @_;
	return { rows => copy_of($s->{rows} // \%committed), certain => 1, open => $s->{open} };
}

sub end_transaction
{
	my ($s, $commit) = @_;
	my $error = run($s, $commit ? 'COMMIT' : 'ROLLBACK');
	%committed = %{ $s->{rows} } if $commit && !$error && $s->{rows};
	@$s{qw(open rows savepoints)} = (0, undef, []);
	return $error;
}

sub roll_back_to
{
	my ($s) = @_;
	my $place = roll(scalar @{ $s->{savepoints} });
	splice @{ $s->{savepoints} }, $place + 1;
	my $rows = $s->{savepoints}[$place];
	$s->{rows} = $rows && copy_of($rows);
	return run($s, "ROLLBACK TO s$place");
}

# One turn of a session. Returns what is wrong, or ''.
sub take_turn
{
	my ($writer) = grep { $_->{rows} } @session;
	my $s = $writer // $session[ roll(scalar @session) ];
	my $dice = roll(100);
	if (!$s->{open} && $dice < 15)
	{
		@$s{qw(open rows savepoints)} = (1, undef, []);
		return run($s, 'BEGIN');
	}
	if ($s->{open})
	{
		return end_transaction($s, roll(3)) if $dice < 20;
		if ($dice < 27 && @{ $s->{savepoints} } < 3)
		{
			push @{ $s->{savepoints} }, $s->{rows} && copy_of($s->{rows});
			return run($s, 'SAVEPOINT s' . $#{ $s->{savepoints} });
		}
		return roll_back_to($s) if $dice < 33 && @{ $s->{savepoints} };
	}
	return take_statement($s);
}

sub take_statement
{
	my ($s, @from) = @_;
	my $view = view_of($s);
	@from = @statements unless @from;
	my ($statement, $model) = $from[ roll(scalar @from) ]->($view);
	return '' unless $statement;
	my $state = run($s, $statement);
	if ($state)
	{
		# A session that would have to wait gives up (55P03). A trigger may not change a row that
		# the statement is about to change (27000).
		return "SQLSTATE $state" if $state ne '55P03' && !($kind eq 'before' && $state eq '27000');
		if ($s->{open}) { @{ $s->{savepoints} } && roll(2) ? roll_back_to($s) : end_transaction($s, 0); }
		return '';
	}
	# A statement without a model changes no group, and the session may write beside others.
	return '' unless $model;
	$model->($view);
	$s->{rows} = $view->{rows};
	return $view->{certain} ? '' : compare($s, 1) if $s->{open};
	%committed = %{ delete $s->{rows} };
	return $view->{certain} || $kind =~ /later|nested|before|after/ ? '' : compare(undef, 1);
}

# Compares the rows that a session sees with its model. If the model is not certain, adopts the ids
# of the table.
sub compare
{
	my ($s, $take_over) = @_;
	my $rows = $s ? $s->{rows} // \%committed : \%committed;
	my $found;
	if ($s)
	{
		my $file = $node->data_dir . '/found';
		unlink $file;
		run($s, "\\copy (SELECT id, fp, tenant, story FROM t ORDER BY id) TO '$file' "
			. "(FORMAT csv, DELIMITER '|')\n");
		$found = -e $file ? slurp_file($file) : 'no file';
		chomp $found;
		pop @history;
	}
	else { $found = $node->safe_psql('postgres', 'SELECT id, fp, tenant, story FROM t ORDER BY id'); }
	if ($take_over)
	{
		my %story = map { (split /\|/, $_, -1)[ 0, 3 ] } split /\n/, $found;
		my (%to, %from);
		for my $id (sort { $a <=> $b } keys %$rows)
		{
			my ($model, $stored) = ($rows->{$id}{story} // '', $story{$id} // '');
			# The same partition: stories correspond one to one.
			$to{$model} //= $stored;
			$from{$stored} //= $model;
			return "row $id is in another group:\n$found\n" . shown_model($rows)
				if $model ne '' ? $to{$model} ne $stored || $from{$stored} ne $model || $stored eq ''
				: $stored ne '';
			return "the id $stored is no row's key" if $stored ne '' && !$keys{$stored};
			$rows->{$id}{story} = $stored eq '' ? undef : $stored;
		}
	}
	my $expected = shown_model($rows);
	return $found eq $expected ? '' : "the table:\n$found\nthe model:\n$expected\n";
}

sub shown_model
{
	my ($rows) = @_;
	return join("\n", map {
		my $row = $rows->{$_};
		join('|', $_, defined $row->{fp} ? sprintf('%016x', $row->{fp}) : '', $row->{tenant} // '',
			$row->{story} // '')
	} sort { $a <=> $b } keys %$rows);
}

# One test: the table holds the rows of the model.
sub play
{
	($kind) = @_;
	create_table($kind);
	%committed = @history = %keys = ();
	@bases = map { roll(2**32) << 32 | roll(2**32) } 1 .. 3;
	@session = map { start_session(@$_) } [ 'A', 'read committed' ], [ 'B', 'read committed' ];
	my ($wrong, $turn) = ('', 0);
	until ($wrong || $turn++ == $turns)
	{
		$wrong = take_turn();
		$wrong ||= compare(undef, 0) if $turn % 5 == 0;
	}
	end_transaction($_, 1) for grep { $_->{open} } @session;
	$wrong ||= compare(undef, 0);
	is($wrong, '', "$kind: $turns turns")
		or diag(join("\n", @history > 40 ? @history[ -40 .. -1 ] : @history));
	for my $s (@session) { close $s->{input}; waitpid $s->{pid}, 0; }
	# From 19 on a recursive query allocates memory for the estimated number of rows.
	$node->safe_psql('postgres', 'ANALYZE t');
	if ($kind eq 'plain')
	{
		my $check = $wrong_groups =~ s/\Q$similar\E|AND a\.tenant = b\.tenant//gr;
		answer_is($node, $check, '', "$kind: brute force agrees");
		answer_is($node, $other_clusters, '0', "$kind: so does simhash_clusters");
	}
	my $check = is_similar() ? $wrong_groups : $wrong_groups =~ s/\Q$similar\E//r;
	answer_is($node, $check, '', "$kind: brute force agrees") if $kind ne 'plain';
	my $before = $node->safe_psql('postgres', 'SELECT id, story FROM t ORDER BY id');
	$node->safe_psql('postgres', q{SELECT simhash_cluster_settle('t', full => true)});
	answer_is($node, 'SELECT id, story FROM t ORDER BY id', $before,
		"$kind: finding all groups anew changes none");
}

# Small tables without a model: two near rows always have the same id, and once groups are settled,
# they are right.
# later: with settle=later. The last statements only insert, so that marked groups merge with others
# and are not marked again.
# nested: a user's trigger, which fires before the extension's, changes, adds and removes rows of
# the same table.
# before: such a trigger fires before ids are assigned, which is refused.
# after: such a trigger fires after ids were assigned.
sub play_games
{
	($kind) = @_;
	create_table($kind);
	my $s = start_session('A', 'read committed');
	my $check = $wrong_groups =~ s/\Q$similar\E//r;
	my $apart = <<"SQL";
SELECT coalesce(string_agg(a.id || ' and ' || b.id, ', '), '') FROM t a JOIN t b
  ON a.id < b.id AND a.tenant = b.tenant AND hamming(a.fp, b.fp) + 0 <= $near
WHERE a.story IS DISTINCT FROM b.story OR a.story IS NULL
SQL
	my @changes = (@statements, (\&with_parts) x 12, (\&tampering) x 6,
		(\&mixing) x 6);
	my %fires = (
		nested => [ 1, 5, 'AFTER INSERT OR UPDATE OR DELETE' ],
		before => [ 2, 1, 'BEFORE UPDATE OF story' ],
		after => [ 2, 1, 'AFTER UPDATE OF story' ]);
	my ($depth, $moved, $when) = @{ $fires{$kind} // [] };
	$node->safe_psql('postgres', <<"SQL") if $when;
CREATE OR REPLACE FUNCTION meddle() RETURNS trigger LANGUAGE plpgsql AS \$\$ BEGIN
  IF pg_trigger_depth() <> $depth THEN
    RETURN NULL;
  END IF;
  IF random() < 0.7 THEN
    UPDATE t SET fp = ((1::bigint << (random() * 62)::int) - 1)::fingerprint64
      WHERE id IN (SELECT id FROM t ORDER BY random() LIMIT $moved);
  END IF;
  IF random() < 0.5 THEN
    INSERT INTO t (id, fp, tenant)
      SELECT (random() * 1e9)::bigint, ((1::bigint << (random() * 62)::int) - 1)::fingerprint64, 1
      FROM generate_series(1, 3);
  END IF;
  IF random() < 0.2 THEN
    DELETE FROM t WHERE id IN (SELECT id FROM t ORDER BY random() LIMIT 2);
  END IF;
  RETURN NULL;
END \$\$;
CREATE TRIGGER meddle $when ON t
  FOR EACH STATEMENT EXECUTE FUNCTION meddle();
SQL
	my ($wrong, $games) = ('', $turns / 2);
	for my $game (1 .. $games)
	{
		%committed = @history = ();
		run($s, 'TRUNCATE t; SELECT setseed(' . roll(1000) / 1000 . ')');
		$wrong ||= take_statement($s, @$_)
			for ([ \&copy ]) x 4, ([@changes]) x (1 + roll(4)), ([ \&insertion ]) x (1 + roll(2));
		$wrong ||= $node->safe_psql('postgres', $apart);
		$wrong ||= run($s, q{SELECT simhash_cluster_settle('t')}) if $kind eq 'later';
		$wrong ||= $node->safe_psql('postgres', $check);
		last if $wrong;
	}
	is($wrong, '', "$kind: $games games") or diag(join("\n", @history));
	close $s->{input};
	waitpid $s->{pid}, 0;
}

# A user's trigger, which fires before the extension's, changes rows of the statement. Their groups
# were found before the statement's own call.
sub moved_before_its_turn
{
	create_table('scoped');
	$node->safe_psql('postgres', <<'SQL');
CREATE FUNCTION on_line(bits int) RETURNS fingerprint64 LANGUAGE sql AS
  'SELECT ((1::bigint << bits) - 1)::fingerprint64';
CREATE TABLE moves (id int, since fingerprint64, till fingerprint64);
CREATE FUNCTION move() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
  IF pg_trigger_depth() = 1 THEN
    UPDATE t SET fp = till FROM moves m WHERE t.id = m.id AND fp = since;
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER move AFTER INSERT OR UPDATE ON t FOR EACH STATEMENT EXECUTE FUNCTION move()
SQL
	my $groups = q{SELECT string_agg(id || ' ' || coalesce(story::text, 'none'), ', ' ORDER BY id)
		FROM t};
	# A row moves to the group of 11, which merges with that of 1 through another row of the
	# statement.
	$node->safe_psql('postgres', <<'SQL');
INSERT INTO t SELECT id, on_line(bits), 1
  FROM (VALUES (1, 0), (3, 3), (11, 9), (12, 12), (13, 15)) v (id, bits);
INSERT INTO moves VALUES (2, on_line(60), on_line(18));
INSERT INTO t VALUES (2, on_line(60), 1), (20, on_line(6), 1)
SQL
	answer_is($node, $groups, '1 1, 2 1, 3 1, 11 1, 12 1, 13 1, 20 1', 'moved to another group');
	# A group moves to another scope as a whole, and two of its rows move within the group.
	$node->safe_psql('postgres', <<'SQL');
DELETE FROM t;
INSERT INTO t SELECT id, on_line(bits), 1 FROM (VALUES (5, 0), (8, 3), (17, 6)) v (id, bits);
INSERT INTO moves VALUES (5, on_line(0), on_line(12)), (8, on_line(3), on_line(9));
UPDATE t SET tenant = 2
SQL
	answer_is($node, $groups, '5 5, 8 5, 17 5', 'moved within its group');
	$node->safe_psql('postgres',
		'DROP TABLE t, moves; DROP FUNCTION move; DROP FUNCTION on_line');
}

# Rows that join others before the trigger is called for those, which have left their group.
sub joined_before_their_turn
{
	my $create = sub {
		create_table(@_);
		$node->safe_psql('postgres', <<'SQL');
CREATE OR REPLACE FUNCTION on_line(bits int) RETURNS fingerprint64 LANGUAGE sql AS
  'SELECT ((1::bigint << bits) - 1)::fingerprint64';
INSERT INTO t SELECT id, on_line(bits), 1 FROM (VALUES (1, 0), (2, 3)) v (id, bits)
SQL
	};
	my $moving = q{UPDATE t SET fp = on_line(id::int * 20)};
	my $joining = q{INSERT INTO t SELECT id, on_line(bits), 1 FROM (VALUES (5, 20), (6, 40))
  v (id, bits)};
	for my $kind ('scoped', 'later')
	{
		my $groups = ($kind eq 'later' ? q{SELECT FROM simhash_cluster_settle('t');} : '')
			. q{SELECT string_agg(id || ' ' || coalesce(story::text, 'none'), ', ' ORDER BY id) FROM t};
		$create->($kind);
		$node->safe_psql('postgres', "WITH moved AS ($moving) $joining");
		answer_is($node, $groups, '1 1, 2 2, 5 1, 6 2', "$kind: joined in another part");
		$create->($kind);
		$node->safe_psql('postgres', <<"SQL");
CREATE FUNCTION joining() RETURNS trigger LANGUAGE plpgsql AS \$\$ BEGIN
  IF pg_trigger_depth() = 1 THEN
    $joining;
  END IF;
  RETURN NULL;
END \$\$;
CREATE TRIGGER joining AFTER INSERT OR UPDATE ON t FOR EACH STATEMENT
  WHEN (current_setting('test.joining', true) = 'on') EXECUTE FUNCTION joining();
SET test.joining = on;
$moving
SQL
		answer_is($node, $groups, '1 1, 2 2, 5 1, 6 2', "$kind: joined in a trigger");
		$node->safe_psql('postgres', 'DROP TABLE t; DROP FUNCTION joining; DROP FUNCTION on_line');
	}
}

## Clients that do not take turns, at three isolation levels, and crashes.

sub at_once
{
	my ($name, $kind) = @_;
	return unless pgbench_tries_again($name);
	my $seconds = soak() ? 20 : 4;
	create_table($kind);
	# Texts of four subjects that differ in some words.
	my $note = $kind =~ /text/ ? <<'SQL' : <<'SQL_WORDS';
SELECT string_agg(CASE WHEN n / 4 >> place & 1 = 1 THEN 'x' ELSE 'w' || n % 4 END || place, ' ')
    FROM generate_series(0, 13) place
SQL
SELECT string_agg(word, ' ') FROM unnest('{alpha,bravo,charlie,delta}'::text[])
    WITH ORDINALITY w (word, place) WHERE n >> place::int & 1 = 1
SQL_WORDS
	$node->safe_psql('postgres', <<"SQL");
CREATE OR REPLACE FUNCTION some_fp(n bigint, bits bigint) RETURNS fingerprint64 LANGUAGE sql AS
  \$\$SELECT (test.number('base ' || n % 4) # ((1::bigint << bits::int) - 1))::fingerprint64\$\$;
CREATE OR REPLACE FUNCTION some_note(n bigint) RETURNS text LANGUAGE sql AS \$\$
  $note
\$\$;
INSERT INTO t SELECT i, some_fp(i, i % 20), 1 + i % 2, some_note(i) FROM generate_series(1, 120) i
SQL
	my %scripts;
	for my $level ('READ COMMITTED', 'REPEATABLE READ', 'SERIALIZABLE')
	{
		$scripts{"$name $level"} = <<"SQL";
\\set id random(1, 120)
\\set other random(1, 120)
\\set bits random(0, 20)
\\set n random(0, 3)
\\set what random(0, 5)
BEGIN ISOLATION LEVEL $level;
\\if :what = 0
DELETE FROM t WHERE id IN (:id, :other);
INSERT INTO t (id, fp, tenant, note) VALUES (:id, some_fp(:n, :bits), 1, some_note(:other))
  ON CONFLICT (id) DO UPDATE SET fp = EXCLUDED.fp;
\\elif :what = 1
UPDATE t SET fp = some_fp(:n, :bits) WHERE id = :id;
UPDATE t SET fp = some_fp(:n, :bits + 2), tenant = 2 WHERE id = :other;
UPDATE t SET note = some_note(:other) WHERE id = :id + 1;
\\elif :what = 2
INSERT INTO t (id, fp, tenant, note) VALUES (:id, some_fp(:n, :bits), 1, some_note(:id)),
  (:other, some_fp(:n, 20), 2, some_note(:other)) ON CONFLICT (id) DO NOTHING;
\\elif :what = 3
SAVEPOINT s;
DELETE FROM t WHERE id BETWEEN :id AND :id + 5;
ROLLBACK TO s;
UPDATE t SET note = 'n' WHERE id = :other;
\\elif :what = 4
UPDATE t SET fp = some_fp(:n, id % 20) WHERE id BETWEEN :id AND :id + 3;
\\else
INSERT INTO t (id, fp, tenant, note) SELECT i, some_fp(i, :bits), 1, some_note(i + :other)
  FROM generate_series(:id, :id + 3) i WHERE i <= 120
  ON CONFLICT (id) DO UPDATE SET fp = EXCLUDED.fp, tenant = EXCLUDED.tenant, note = EXCLUDED.note;
\\endif
COMMIT;
SQL
	}
	for my $crash (0 .. (soak() ? 5 : 1))
	{
		if ($crash)
		{
			my @files;
			for my $script (sort keys %scripts)
			{
				push @files, '-f', PostgreSQL::Test::Utils::tempdir . '/script' . @files;
				append_to_file($files[-1], $scripts{$script}) unless -e $files[-1];
			}
			my $output = '';
			my $bench = IPC::Run::start([ 'pgbench', '-n', '-c', 6, '-j', 2, '-T', 60,
				'--max-tries=1000', @files, $node->connstr('postgres') ], '>&', \$output);
			usleep(500_000 + roll(1_500_000));
			$node->kill9;
			$bench->finish;
			ok(start_again($node), "$name: the server starts again");
		}
		else
		{
			$node->pgbench("-n -c 6 -j 2 -T $seconds --max-tries=1000", 0,
				[qr/processed: [1-9]/], [qr/^(?!.*(?:ERROR|aborted|FATAL))/s],
				"$name: six clients", \%scripts);
		}
		if ($kind eq 'later')
		{
			$node->safe_psql('postgres', q{SELECT simhash_cluster_settle('t')});
			answer_is($node, 'SELECT count(*) FROM simhash_unsettled', '0', "$name: all is settled");
		}
		my $check = $kind =~ /similar/ ? $wrong_groups : $wrong_groups =~ s/\Q$similar\E//r;
		$check =~ s/hamming\(a.fp, b.fp\) \+ 0 <= $near/near_duplicate(a.note || '', b.note, $least)/
			if $kind =~ /text/;
		answer_is($node, $check, '', "$name: brute force agrees");
		my ($pair) = $check =~ /pair AS \(\s*(.*?)\s*\), reached/s;
		components_are($node, 'story', $pair, "$name: so does a library of graphs");
		answer_is($node, 'SELECT count(*) FROM t WHERE story NOT BETWEEN 1 AND 125', '0',
			"$name: ids are keys");
	}
}

# Two sessions load rows with the same fingerprints by COPY, in opposite orders. Neither fails: a
# session with a single statement gives way.
sub loads_in_opposite_order
{
	my $fields = q{1, (test.number('o' || i / 4) # (1::bigint << i % 4))::fingerprint64, 'n'};
	for my $round (1 .. 4)
	{
		create_table('scoped');
		my @loads = map {
			my ($first, $order) = @$_;
			my ($input, $output) = ("COPY t (id, tenant, fp, note) FROM STDIN;\n", '');
			$input .= $node->safe_psql('postgres', "COPY (SELECT $first + i, $fields
				FROM generate_series(0, 1499) i ORDER BY i $order) TO STDOUT") . "\n\\.\n";
			{ input => $input, psql => IPC::Run::start([ 'psql', '-XAtq', '-d',
				$node->connstr('postgres') ], '<', \$input, '&>', \$output), output => \$output }
		} [ 1, 'ASC' ], [ 10001, 'DESC' ];
		$_->{psql}->finish for @loads;
		is(join('', map { ${ $_->{output} } } @loads), '', "opposite orders, round $round");
		components_are($node, 'story', "SELECT a.id, b.id FROM t a JOIN t b ON a.id < b.id
			AND hamming(a.fp, b.fp) + 0 <= $near", "opposite orders, round $round: groups");
	}
}

## Loads: statements of many rows, which are joined instead of searched for one by one.

sub loads
{
	create_table('scoped');
	$node->safe_psql('postgres', <<'SQL');
CREATE OR REPLACE FUNCTION load(lowest bigint, highest bigint) RETURNS SETOF t LANGUAGE sql AS $$
  SELECT i, (test.number('load ' || i / 3) # test.flips('l' || i, i % 4))::fingerprint64, 1 + i % 2,
    NULL, NULL::bigint FROM generate_series(lowest, highest) i
$$;
INSERT INTO t SELECT * FROM load(1, 500);
CREATE TABLE before AS SELECT id, story FROM t WHERE story IS NOT NULL;
SQL
	# Components by PostgreSQL's own join, which reads every pair of a tenant's rows once.
	my $check = <<"SQL";
WITH RECURSIVE near AS MATERIALIZED (
  SELECT a.id AS a, b.id AS b FROM t a, LATERAL (SELECT id FROM t b WHERE b.tenant = a.tenant
    AND b.fp <@ hamming_ball(a.fp, $near) AND b.id <> a.id) b
), reached AS (SELECT a, b FROM near UNION SELECT r.a, n.b FROM reached r JOIN near n ON n.a = r.b),
truth AS (SELECT a AS id, least(a, min(b)) AS first FROM reached GROUP BY a),
stored AS (SELECT id, min(id) OVER (PARTITION BY story) AS first FROM t WHERE story IS NOT NULL)
SELECT count(*) FROM truth FULL JOIN stored USING (id)
WHERE truth.first IS DISTINCT FROM stored.first
SQL
	answer_is($node, $check, '0', 'a few rows, by searches');
	$node->safe_psql('postgres', 'INSERT INTO t SELECT * FROM load(501, 15000)');
	answer_is($node, $check, '0', 'many rows, by the join');
	answer_is($node, 'SELECT count(*) FROM before b JOIN t USING (id)'
		. ' WHERE t.story IS DISTINCT FROM b.story AND t.story >= b.story', '0',
		'groups that were there have their ids, or met older ones');
	answer_is($node, 'SELECT count(*) FROM (SELECT story FROM t GROUP BY story'
		. ' HAVING story <> ALL (array_agg(id))) s', '0', 'ids are keys of members');
	$node->safe_psql('postgres', 'INSERT INTO t SELECT * FROM load(15001, 19000)');
	answer_is($node, $check, '0', 'more rows, by searches');
	$node->safe_psql('postgres', 'UPDATE t SET fp = (fp::bigint # 1)::fingerprint64 WHERE id % 5 = 0');
	answer_is($node, $check, '0', 'an update of many rows');
	$node->safe_psql('postgres', 'DELETE FROM t WHERE id % 3 = 0');
	answer_is($node, $check, '0', 'a deletion of many rows');
	error_like($node, "SET statement_timeout = '20ms'; INSERT INTO t SELECT * FROM load(20001, 60000)",
		qr/57014/, 'a load can be cancelled');
	error_like($node, "SET statement_timeout = '3ms'; SELECT simhash_cluster_settle('t', true)",
		qr/57014/, 'so can settling');
	answer_is($node, $check, '0', 'and leaves nothing behind');
	# Where the index lacks the scope's column, each row is searched for and remembered.
	$node->safe_psql('postgres', <<'SQL');
DROP INDEX t_fp;
CREATE INDEX t_fp ON t USING simhash (fp);
SQL
	error_like($node, <<'SQL', qr/53200.*simhash_cluster needs more than the 16 MB/s, 'memory');
SET simhash.work_mem = '16MB';
INSERT INTO t SELECT * FROM load(20001, 150000)
SQL
	answer_is($node, $check, '0', 'and then nothing has changed');
	$node->safe_psql('postgres', 'DROP TABLE before; DROP FUNCTION load');
}

# A few fingerprints of thousands of rows each, which fill many pages of the index. The trigger
# examines one copy of each. The check compares fingerprints with each other and counts each one's
# rows.
sub copies
{
	create_table('scoped line');
	my $check = <<"SQL";
WITH RECURSIVE f AS (SELECT tenant, fp, count(*) AS n, count(story) AS named, min(story) AS low,
  max(story) AS high FROM t GROUP BY tenant, fp),
near AS (SELECT tenant, a.fp AS a, b.fp AS b FROM f a JOIN f b USING (tenant)
  WHERE hamming(a.fp, b.fp) + 0 <= $near),
reached AS (SELECT * FROM near UNION
  SELECT tenant, r.a, n.b FROM reached r JOIN near n USING (tenant) WHERE n.a = r.b),
component AS (SELECT r.tenant, r.a AS fp, min(r.b::text) AS first, sum(f.n) AS size
  FROM reached r JOIN f ON f.tenant = r.tenant AND f.fp = r.b GROUP BY r.tenant, r.a),
named AS (SELECT c.first, c.size, f.* FROM component c JOIN f USING (tenant, fp))
SELECT (SELECT count(*) FROM named WHERE CASE WHEN size = 1 THEN named > 0
    ELSE named < n OR low <> high END)
  + (SELECT count(*) FROM named a JOIN named b ON a.size > 1 AND b.size > 1
    AND (a.low = b.low) <> (a.tenant = b.tenant AND a.first = b.first))
SQL
	$node->safe_psql('postgres', <<'SQL');
CREATE OR REPLACE FUNCTION on_line(bits bigint) RETURNS fingerprint64 LANGUAGE sql AS
  'SELECT ((1::bigint << bits::int) - 1)::fingerprint64';
INSERT INTO t SELECT i, on_line(i % 4 * 20), 1 + i % 3 FROM generate_series(1, 40000) i;
INSERT INTO t SELECT 50000 + i, on_line(i % 7 * 10), 1 FROM generate_series(1, 70) i
SQL
	answer_is($node, $check, '0', 'copies');
	my $free = 100_000;
	for my $turn (1 .. 20)
	{
		my ($from, $to, $tenant) = (roll(64), roll(64), 1 + roll(3));
		my $ids = "id BETWEEN $free AND $free + 3";
		$free += 10;
		# Inserts and deletes single rows that bridge the lines' ends, and many rows at once.
		$node->safe_psql('postgres', ("INSERT INTO t SELECT $free + n, on_line(3 * n), $tenant "
				. 'FROM generate_series(0, 20) n',
			"DELETE FROM t WHERE id > 100000 AND fp = on_line(3 * (3 + $from % 14))",
			"UPDATE t SET fp = on_line($to) WHERE id IN (SELECT id FROM t ORDER BY id LIMIT 3)",
			"INSERT INTO t SELECT $free + n, on_line($from), $tenant FROM generate_series(0, 2000) n",
			"DELETE FROM t WHERE id > 100000 AND id % 3 = $from % 3",
			'DELETE FROM t WHERE fp = on_line(20) AND tenant = 2')[ roll(6) ]);
		$free += 2100;
		answer_is($node, $check, '0', "copies, turn $turn") if $turn % 4 == 0;
	}
	$node->safe_psql('postgres', 'DROP FUNCTION on_line(bigint)');
}

# Rows that are neighbours in a chain are deleted at once: the rest may form two groups.
sub removed_side_by_side
{
	create_table('scoped');
	my $check = $wrong_groups =~ s/\Q$similar\E//r;
	for my $count (1 .. 5)
	{
		for my $step (1 .. 3)
		{
			$node->safe_psql('postgres', <<"SQL");
TRUNCATE t;
INSERT INTO t SELECT i, ((1::bigint << i * $step) - 1)::fingerprint64, 1
  FROM generate_series(1, 16) i;
DELETE FROM t WHERE id BETWEEN 6 AND 5 + $count
SQL
			answer_is($node, $check, '', "$count rows side by side, $step bits apart");
		}
	}
}

# All rows of a group leave it in an uncommitted transaction while others join.
sub all_leave
{
	create_table('scoped');
	my $check = $wrong_groups =~ s/\Q$similar\E//r;
	my %leaves = (
		'are deleted' => 'DELETE FROM t WHERE id < 3',
		'lose their fingerprints' => 'UPDATE t SET fp = NULL WHERE id < 3',
		'move' => q{UPDATE t SET fp = 'ffff000000000000' WHERE id < 3},
		'change their scope' => 'UPDATE t SET tenant = 2 WHERE id < 3',
		'change their keys' => 'UPDATE t SET id = id + 100 WHERE id < 3');
	my @sessions = map { start_session($_, 'read committed') } 'A', 'B', 'C';
	run($_, 'SET lock_timeout = 0') for @sessions;
	my ($first, @others) = @sessions;
	for my $what (sort keys %leaves)
	{
		for my $coming (1, 2)
		{
			$node->safe_psql('postgres', <<'SQL');
TRUNCATE t;
INSERT INTO t (id, fp, tenant) VALUES (1, '00000000000000ff', 1), (2, '00000000000000fe', 1)
SQL
			run($first, "BEGIN; $leaves{$what}");
			for my $n (1 .. $coming)
			{
				print { $others[ $n - 1 ]{input} } "INSERT INTO t (id, fp, tenant)"
					. " VALUES (10 + $n, '00000000000000ff', 1);\n\\warn done\n";
			}
			$node->poll_query_until('postgres', 'SELECT count(DISTINCT pid) = ' . $coming
				. q{ FROM pg_locks WHERE NOT granted AND locktype = 'advisory'});
			run($first, 'COMMIT');
			for my $s (@others[ 0 .. $coming - 1 ])
			{
				while (defined(my $line = readline $s->{output})) { last if $line eq "done\n"; }
			}
			answer_is($node, $check, '', "rows $what, $coming come");
		}
	}
	for my $s (@sessions) { close $s->{input}; waitpid $s->{pid}, 0; }
}

# A text without a word is near no text.
sub wordless
{
	create_table('scoped text');
	$node->safe_psql('postgres', <<'SQL');
INSERT INTO t (id, note, tenant) SELECT i, 'one text of some words that all of these rows have', 1
  FROM generate_series(1, 4) i;
UPDATE t SET note = CASE id WHEN 1 THEN '!!!' ELSE '' END WHERE id < 3
SQL
	answer_is($node, q{SELECT string_agg(id || ' ' || coalesce(story::text, 'none'), ', '
		ORDER BY id) FROM t}, '1 none, 2 none, 3 1, 4 1', 'texts without a word');
}

# Once MERGE has inserted a row into a partitioned table, PostgreSQL may pass that row to the
# trigger in place of each one that it updates afterwards.
sub merge_inserts_first
{
	return unless $has_merge;
	create_table('partitioned');
	$node->safe_psql('postgres', <<'SQL');
INSERT INTO t (id, fp, tenant) VALUES (1, '00000000000000ff', 1), (2, 'ff00000000000000', 1),
  (25, '00000000000000fe', 1), (30, '0000ffff00000000', 1);
-- Rows are merged in the order of the source.
SET enable_hashjoin = off;
SET enable_mergejoin = off;
MERGE INTO t USING (VALUES (40, '00ff00ff00ff00ff'::fingerprint64), (30, '00000000000000fc'),
    (2, '00ff00ff00ff00fe'), (25, 'fffffffffffffff0')) s (id, fp) ON t.id = s.id
  WHEN MATCHED THEN UPDATE SET fp = s.fp
  WHEN NOT MATCHED THEN INSERT (id, fp, tenant) VALUES (s.id, s.fp, 1)
SQL
	answer_is($node, q{SELECT string_agg(id || ' ' || coalesce(story::text, 'none'), ', '
		ORDER BY id) FROM t}, '1 1, 2 2, 25 none, 30 1, 40 2', 'MERGE that inserts first');
}

# Only the trigger assigns ids.
sub given_ids
{
	my ($kind) = @_;
	create_table($kind);
	my $groups = q{SELECT string_agg(id || ' ' || coalesce(story::text, 'none'), ', '
		ORDER BY id) FROM t};
	my $given = q{INSERT INTO t (id, fp, story) VALUES (1, '00000000000000ff', 7)};
	error_like($node, $given, qr/428C9.*DISABLE TRIGGER USER/s, "$kind: an id in an INSERT");
	$node->safe_psql('postgres', <<'SQL');
INSERT INTO t (id, fp, tenant, story) VALUES (1, '00000000000000ff', 1, NULL),
  (2, '00000000000000fe', 1, NULL), (3, 'ffffffff00000000', 1, NULL);
UPDATE t SET story = 9, note = 'as an ORM writes it';
UPDATE t SET story = id;
INSERT INTO t (id, fp, tenant, story) VALUES (3, 'ffffffff00000000', 1, 5)
  ON CONFLICT (id) DO UPDATE SET story = EXCLUDED.story
SQL
	answer_is($node, $groups, '1 1, 2 1, 3 none', "$kind: ids in an UPDATE");
	$node->safe_psql('postgres', <<'SQL');
CREATE FUNCTION gives() RETURNS trigger LANGUAGE plpgsql AS
  'BEGIN NEW.story := 3; RETURN NEW; END';
CREATE TRIGGER zz_gives BEFORE UPDATE ON t FOR EACH ROW
  WHEN (pg_trigger_depth() = 0) EXECUTE FUNCTION gives()
SQL
	error_like($node, q{UPDATE t SET note = 'x' WHERE id = 3}, qr/428C9/,
		"$kind: an id of a row trigger");
	answer_is($node, $groups, '1 1, 2 1, 3 none', "$kind: and nothing has changed");
	# A restore of data only, without triggers.
	$node->safe_psql('postgres', <<'SQL');
DROP TRIGGER zz_gives ON t; DROP FUNCTION gives;
CREATE TABLE saved AS SELECT * FROM t;
TRUNCATE t;
ALTER TABLE t DISABLE TRIGGER USER;
INSERT INTO t SELECT * FROM saved;
ALTER TABLE t ENABLE TRIGGER USER;
DROP TABLE saved;
DELETE FROM t WHERE id = 1
SQL
	answer_is($node, $groups, '2 none, 3 none', "$kind: rows restored with their ids");
}

# MERGE may not move rows of a partitioned table, neither by its SET nor by a row trigger.
sub merge_moves
{
	return unless $has_merge;
	create_table('partitioned');
	my $merge = sub {
		return "MERGE INTO t USING (VALUES (1, 30)) s (id, new) ON t.id = s.id"
			. " WHEN MATCHED THEN UPDATE SET $_[0]";
	};
	error_like($node, $merge->('id = s.new'), qr/0A000.*MERGE that may move/s, 'MERGE that moves');
	$node->safe_psql('postgres', $merge->("note = 'n'"));
	error_like($node, 'WITH s AS (SELECT 1 AS id, 30 AS new) ' . $merge->('id = s.new, fp = NULL'),
		qr/0A000/, 'with parts');
	$node->safe_psql('postgres', <<'SQL');
CREATE FUNCTION may() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END';
CREATE TRIGGER may BEFORE UPDATE ON t_b FOR EACH ROW EXECUTE FUNCTION may()
SQL
	error_like($node, $merge->("note = 'n'"), qr/0A000/, 'a row trigger of a partition might');
	$node->safe_psql('postgres', 'DROP TABLE t; DROP FUNCTION may');
}

# Rows that a user's trigger marks while groups are being settled stay marked.
sub marked_while_settling
{
	create_table('later');
	$node->safe_psql('postgres', <<'SQL');
INSERT INTO t SELECT id, ((1::bigint << bits) - 1)::fingerprint64, 1
  FROM (VALUES (1, 0), (2, 3), (3, 6), (11, 40), (12, 43), (13, 46)) v (id, bits);
CREATE FUNCTION goes() RETURNS trigger LANGUAGE plpgsql AS
  'BEGIN DELETE FROM t WHERE id = 12; RETURN NULL; END';
CREATE TRIGGER goes AFTER UPDATE OF story ON t FOR EACH STATEMENT EXECUTE FUNCTION goes();
DELETE FROM t WHERE id = 2
SQL
	my $settle = q{SELECT simhash_cluster_settle('t')};
	my $groups = q{SELECT string_agg(id || ' ' || coalesce(story::text, 'none'), ', ' ORDER BY id)
		FROM t};
	my $full = $settle =~ s/\)/, full => true)/r;
	for my $first ($settle, $full)
	{
		$node->safe_psql('postgres', $first);
		answer_is($node, $groups, '1 none, 3 none, 11 11, 13 11', "before: $first");
		answer_is($node, $settle, '1', 'one group is marked');
		answer_is($node, $groups, '1 none, 3 none, 11 none, 13 none', 'and settled');
		# The same again, by the other way to settle.
		$node->safe_psql('postgres', <<'SQL');
ALTER TABLE t DISABLE TRIGGER goes;
INSERT INTO t SELECT id, ((1::bigint << bits) - 1)::fingerprint64, 1
  FROM (VALUES (2, 3), (12, 43)) v (id, bits);
ALTER TABLE t ENABLE TRIGGER goes;
DELETE FROM t WHERE id = 2
SQL
	}
	$node->safe_psql('postgres', "$settle; $settle; DROP TABLE t; DROP FUNCTION goes");
}

seed();
loads();
loads_in_opposite_order();
copies();
removed_side_by_side();
all_leave();
wordless();
marked_while_settling();
moved_before_its_turn();
joined_before_their_turn();
merge_inserts_first();
merge_moves();
given_ids($_) for 'scoped', 'partitioned';
my @kinds =
	('plain', 'scoped', 'scoped line', 'partitioned', 'scoped similar', 'partitioned similar');
do
{
	play($_) for @kinds;
	play_games($_) for 'later', 'nested', 'before', 'after';
} while (time < $deadline);
at_once('settled now', 'scoped');
at_once('settled later', 'later');
at_once('verified by texts', 'scoped similar');
at_once('by texts', 'scoped text');
my $expected = join('|', 'lock timeout', 'statement timeout', 'simhash.work_mem',
	'could not serialize', 'deadlock detected', 'undo', 'server process',
	'terminating connection', 'postmaster.pid', 'current transaction is aborted',
	'already modified by an operation triggered', 'while group ids were assigned',
	'can only be set by simhash_cluster', 'MERGE that may move rows');
is(session_errors(slurp_file($node->logfile), qr/$expected/), '', 'nothing unexpected in the log');

$node->stop;
done_testing();
