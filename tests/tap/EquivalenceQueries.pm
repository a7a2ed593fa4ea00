# Generates the queries of equivalence.pl: conditions, FROM clauses and statements.
package EquivalenceQueries;
use strict;
use warnings;
use Exporter 'import';
use EquivalenceValues;

our @EXPORT = qw(statement);

# The state of one query: the product of row counts that its tables may still reach, its CTEs, the
# number of the next alias.
my ($rows_left, @ctes, $next_alias);

sub alias { return 'a' . $next_alias++ }
sub kind { return pick(qw(fp fp fp w w h h lex)) }
sub comparison { return pick('<=', '<=', '<=', '<', '<', '<', '=', '>=', '>', '<>') }

# --- Conditions. `loose`: the condition is used where NULL counts as false, as in WHERE.

sub near_condition
{
	my ($loose, @aliases) = @_;
	my $kind = kind();
	my $own = $aliases[-1];
	my $x = column($kind, $own);
	my $y = centre($kind, @aliases);
	my $dice = int rand 100;

	# A comparison with its sides in either order, sometimes negated.
	if ($dice < 50)
	{
		my @sides = (distance($x, $y), limit($kind, @aliases));
		@sides = reverse @sides if chance(0.35);
		my $compared = pair($sides[0], ' ', comparison(), ' ', $sides[1]);
		return chance(0.15) ? pair('NOT (', $compared, ')') : $compared;
	}
	my $distance = distance($x, $y);
	return pair(
		$distance,
		pick(' ', ' NOT '),
		pick('BETWEEN ', 'BETWEEN SYMMETRIC '),
		limit($kind, @aliases),
		' AND ', limit($kind, @aliases)) if $dice < 56;
	return pair(
		$distance,
		pick(' IN (', ' NOT IN ('),
		commas(map { limit($kind, @aliases) } 1 .. roll_between(1, 4)), ')') if $dice < 59;
	return pair(
		$distance, ' ',
		pick('=', '<=', '<', '<>', '>='),
		pick(' ANY', ' ALL'),
		" (ARRAY[", join(', ', map { pick(0 .. 20) } 1 .. 3), '])') if $dice < 62;
	return pair($distance, pick(' IS DISTINCT FROM ', ' IS NOT DISTINCT FROM '),
		limit($kind, @aliases))
	  if $dice < 64;
	return pair($distance, pick(' IS NULL', ' IS NOT NULL')) if $dice < 66;
	return ball_condition($loose, $x, $y, @aliases) if $dice < 86;
	my $typed = $kind eq 'h' ? $y->{ours} : "($y->{ours})::$types{$kind}";
	return [ "$x->{ours} = $y->{ours}", equal_parts($x, $y) ] if $dice < 89;

	if ($dice < 92)
	{
		my @values = map { literal($kind) } 1 .. 3;
		my $ours = "$x->{ours} = ANY (ARRAY[" . join(', ', map { $_->{ours} } @values) . '])';
		$ours = "$x->{ours} IN (" . join(', ', map { $_->{ours} } @values) . ')'
		  if $kind eq 'lex' || chance(0.5);
		return [ $ours, '(' . join(' OR ', map { equal_parts($x, $_) } @values) . ')' ];
	}

	# hamming_within as a user may write it, with any limit.
	return pair([ "hamming_within($x->{ours}, $typed, ", '(' . plain_distance($x, $y) . ' <= ' ],
		'(', whole_limit($kind, @aliases), ')::bigint)')
	  if $dice < 94;
	return [ "($x->{ours} <~> $typed)::text = '3'", plain_distance($x, $y) . "::text = '3'" ]
	  if $dice < 96;
	my $pattern = distance(column($kind, $own), column($kind, pick(@aliases)));
	return pair($pattern, ' <= ', limit($kind, @aliases));
}

# A limit that fits a bigint.
sub whole_limit
{
	while (1)
	{
		my $limit = limit(@_);
		return $limit if (ref $limit ? $limit->[0] : $limit) !~ /kn\b|1e20|NaN/;
	}
}

# `=` of two values, as plain SQL over their parts.
sub equal_parts
{
	my ($x, $y) = @_;
	return
	  '(' . join(' AND ', map { "$x->{plain}[$_] = $y->{plain}[$_]" } 0 .. $#{ $x->{plain} }) . ')';
}

# <@, @>, ~= and balls.
sub ball_condition
{
	my ($loose, $x, $y, @aliases) = @_;
	my $kind = $x->{kind};
	my $typed = $kind eq 'h' ? $y->{ours} : "($y->{ours})::$types{$kind}";
	my $plain = plain_distance($x, $y);

	# Over arrays without a common position the operators are false and the distance is NULL.
	return [ "hamming($x->{ours}, $typed) <= 5", "$plain <= 5" ] if $kind eq 'lex' && !$loose;
	my $dice = int rand 10;
	return [ "$x->{ours} ~= $typed", "$plain <= " . ($kind eq 'w' ? 10 : 3) ] if $dice < 3;
	my $radius = ball_radius($kind, @aliases);
	if ($dice < 7)
	{
		my $ball = "hamming_ball($typed, $radius)";
		return [
			chance(0.4) && $kind ne 'h' ? "$ball @> $x->{ours}" : "$x->{ours} <@ $ball",
			"$plain <= $radius" ];
	}
	if ($dice == 7 && $loose)
	{
		my $limit = whole_limit($kind, @aliases);
		return pair([ "$x->{ours} <@ hamming_ball_or_null($typed, (", "($plain <= (" ],
			$limit, [ ')::bigint)', ')::bigint)' ]);
	}
	if ($dice == 8 && $kind ne 'h' && $kind ne 'lex')
	{
		my @balls = map { [ literal($kind), pick(0 .. 12) ] } 1 .. 2;
		return [
			"$x->{ours} <@ ANY (ARRAY["
			  . join(', ', map { "hamming_ball($_->[0]{ours}, $_->[1])" } @balls) . '])',
			'(' . join(' OR ', map { plain_distance($x, $_->[0]) . " <= $_->[1]" } @balls) . ')' ];
	}

	# The ball of a row: ~= requires that each ball contains the other's centre.
	my $own = $aliases[-1];
	my $centre = literal('fp');
	my $to_own = plain_distance(column('fp', $own), $centre);
	my $fixed = pick(0 .. 12, 20);
	my $row_ball = pick("$own.ball", "hamming_ball($own.fp, $own.rad)");
	return [
		"$row_ball ~= hamming_ball($centre->{ours}, $fixed)",
		"$to_own <= (CASE WHEN $own.rad IS NOT NULL THEN least($own.rad, $fixed) END)" ]
	  if chance(0.5);
	return [
		pick("$row_ball @> $centre->{ours}", "$centre->{ours} <@ $row_ball"),
		"$to_own <= $own.rad" ];
}

sub plain_condition
{
	my (@aliases) = @_;
	my ($a, $b) = ($aliases[-1], pick(@aliases));
	return pick(
		"$a.id % " . pick(2, 3, 7) . ' = 1',
		"$a.grp = " . roll_between(0, 6),
		"$a.ok",
		"$a.k > " . pick(0 .. 12),
		"$a.fp IS NULL",
		"$a.fp IS NOT NULL",
		"$a.id < " . pick(20, 60, 100),
		"$a.grp < 4",
		"$a.id <> $b.id",
		"$a.grp = $b.grp",
		"$a.grp = ANY (ARRAY[1, $b.grp, NULL])",
		"$a.grp IN (2, 3) AND $a.ok = $b.ok",
		"$a.grp = " . pick('1', '3::bigint', '5000000000', 'NULL', '(SELECT 2)'),
		"$a.grp % 3 = 1",
		"$a.k IS NOT NULL",
		"$a.ok IS NOT TRUE",
		"$a.id BETWEEN 30 AND 100",
		'true');
}

# A condition with a subquery over another table.
sub subquery_condition
{
	my ($depth, @aliases) = @_;
	my $outer = $aliases[-1];
	my ($from, $z) = small_source();
	return near_condition(0, @aliases) if !defined $from;
	my $where = pair(' FROM ', $from, ' WHERE ', condition($depth - 1, 1, @aliases, $z));
	return pick(
		pair('EXISTS (SELECT 1', $where, ')'),
		pair('EXISTS (SELECT ', $where, ')'),
		pair('NOT EXISTS (SELECT 1', $where, ')'),
		pair("$outer.id IN (SELECT $z.id", $where, ')'),
		pair("$outer.id NOT IN (SELECT $z.id", $where, ')'),
		pair("$outer.k NOT IN (SELECT $z.k", $where, ')'),
		pair("$outer.grp = ANY (SELECT $z.grp", $where, ')'),
		pair("$outer.k <= ALL (SELECT $z.grp", $where, ')'),
		pair('(SELECT count(*)', $where, ') ', comparison(), ' ', roll_between(0, 4)),
		pair("(SELECT min($z.k)", $where, ") < $outer.k"),
		pair("($outer.id, $outer.grp) IN (SELECT $z.id, $z.grp", $where, ')'),
		pair("$outer.fp IN (SELECT $z.fp", $where, ')'));
}

sub condition
{
	my ($depth, $loose, @aliases) = @_;
	if ($depth <= 0 || chance(0.35))
	{
		return chance(0.8) ? near_condition($loose, @aliases) : plain_condition(@aliases);
	}
	my $sub = sub { condition($depth - 1, $_[0], @aliases) };
	my $dice = int rand 100;
	if ($dice < 55)
	{
		my $word = $dice < 33 ? ' AND ' : ' OR ';
		my @arms = map { pair('(', $sub->($loose), ')') } 1 .. roll_between(2, 3);
		return pair(map { $_ ? ($word, $arms[$_]) : $arms[$_] } 0 .. $#arms);
	}
	return pair('NOT (', $sub->(0), ')') if $dice < 63;
	return pair('CASE WHEN ', $sub->(0), ' THEN ', $sub->($loose), ' ELSE ', $sub->($loose), ' END')
	  if $dice < 68;
	return pair('coalesce(', $sub->(0), ', ', pick('true', 'false', plain_condition(@aliases)), ')')
	  if $dice < 72;
	return pair(
		'(',
		$sub->(0),
		') IS ',
		pick(
			'TRUE', 'FALSE', 'NOT TRUE', 'NOT FALSE', 'UNKNOWN', 'NOT UNKNOWN', 'NULL', 'NOT NULL')
	) if $dice < 80;
	return pair('(', $sub->(0), ') ', pick('=', '<>', 'IS DISTINCT FROM'), ' (', $sub->(0), ')')
	  if $dice < 83;
	return subquery_condition($depth, @aliases);
}

# --- Sources: an item of FROM and its alias, or undef if the query already has enough rows.

sub affordable
{
	return grep { $tables{$_} <= $rows_left } @_;
}

sub named_source
{
	my @names = affordable(@_) or return;
	my $name = pick(@names);
	$rows_left /= $tables{$name};
	my $alias = alias();
	return (pair(from_table($name), " $alias"), $alias, $name);
}

sub small_source { return named_source(qw(u n u n t v_few far)) }

my @columns = qw(id grp k2 k k8 kn ok rad fp w h lex);

sub column_list
{
	my ($alias) = @_;
	return commas(map { $_ eq 'w' ? [ "$alias.w", "$alias.w1, $alias.w2" ] : "$alias.$_" } @columns);
}

# Rows with their ball. Set operations cannot compare balls.
sub with_ball { return [ '*, hamming_ball(fp, rad) AS ball', '*' ] }

sub source
{
	my @any = (
		't', 't', 't', 'big', 'u', 'n', 'part', 'ex', 'dom', 'pl', 'pr', 'ph', 'inh', 'far',
		grep { /^v_/ } sort keys %tables);
	my ($from, $alias, $name) = named_source(@any);
	return ($from, $alias) if !defined $from || chance(0.72);
	my $outer = alias();
	my $dice = int rand 100;

	# Subqueries that are pulled up, and others that are not.
	return (
		pair(
			"(SELECT * FROM ",
			$from,
			' WHERE ',
			condition(1, 1, $alias),
			pick('', '', ' OFFSET 0'),
			") $outer"),
		$outer) if $dice < 35;
	return (pair("(SELECT * FROM ", $from, " ORDER BY $alias.id LIMIT ", pick(20, 50), ") $outer"),
		$outer)
	  if $dice < 42;
	return (
		pair(
			'(SELECT ', with_ball(), ' FROM (SELECT DISTINCT ',
			column_list($alias), ' FROM ', $from, ") s) $outer"),
		$outer) if $dice < 50;
	if ($dice < 75)
	{
		my ($second, $second_alias) = named_source(qw(u n t pl inh v_few));
		return ($from, $alias) if !defined $second;
		my $word = pick('UNION ALL', 'UNION ALL', 'UNION ALL', 'UNION', 'EXCEPT', 'INTERSECT');
		my @lists = map { column_list($_) } $alias, $second_alias;
		my @where = map { chance(0.5) ? pair(' WHERE ', condition(1, 1, $_)) : '' } $alias,
		  $second_alias;
		return (
			pair(
				'(SELECT ', with_ball(), ' FROM (SELECT ', $lists[0],
				' FROM ', $from, $where[0], " $word SELECT ",
				$lists[1], ' FROM ', $second, $where[1],
				") s) $outer"),
			$outer);
	}
	my $cte = "c$outer";
	push @ctes,
	  pair(
		"$cte AS ",
		pick('', 'MATERIALIZED ', 'NOT MATERIALIZED '),
		'(SELECT * FROM ',
		$from, chance(0.5) ? pair(' WHERE ', condition(1, 1, $alias)) : '', ')');
	return (pair("$cte $outer"), $outer);
}

# A FROM clause of several sources, and their aliases.
sub from_clause
{
	my ($most) = @_;
	my ($from, $first) = source();
	my @aliases = ($first);
	my $count = pick(1, 1, 1, 2, 2, 2, 2, 3);
	for my $joined (2 .. $count)
	{
		last if $joined > $most;
		my ($next, $alias) = source();
		last if !defined $next;
		my $dice = int rand 100;
		my $on = sub {
			pair(
				' ON ',
				chance(0.6)
				? near_condition(1, @aliases, $alias)
				: condition(2, 1, @aliases, $alias));
		};

		# An ON condition cannot refer to items before a comma.
		if ($dice < 14)
		{
			$from = pair($from, $joined == $count && chance(0.7) ? ', ' : ' CROSS JOIN ', $next);
		}
		elsif ($dice < 40) { $from = pair($from, ' JOIN ', $next, $on->()) }
		elsif ($dice < 62) { $from = pair($from, ' LEFT JOIN ', $next, $on->()) }
		elsif ($dice < 72) { $from = pair($from, ' RIGHT JOIN ', $next, $on->()) }

		# FULL joins need an equality, to hash or merge by.
		elsif ($dice < 80)
		{
			my $more = chance(0.5) ? pair(' AND ', near_condition(1, $alias)) : '';
			$from = pair($from, ' FULL JOIN ', $next,
				" ON $first." . pick('id', 'grp') . " = $alias.grp", $more);
		}
		else
		{
			my $outer = alias();
			my $join = pick([ ' CROSS JOIN LATERAL ', '' ], [ ' LEFT JOIN LATERAL ', ' ON true' ]);
			my $limit = chance(0.5) ? " ORDER BY $alias.id LIMIT " . pick(1, 3, 50) : '';
			$from = pair(
				$from, $join->[0], '(SELECT * FROM ',
				$next, ' WHERE ', near_condition(1, @aliases, $alias),
				$limit, ") $outer", $join->[1]);
			$alias = $outer;
		}
		push @aliases, $alias;
	}
	return ($from, @aliases);
}

# --- Statements

sub outputs
{
	my ($conditions, @aliases) = @_;
	my @list = map { "$_.id" } @aliases;
	my $last = $aliases[-1];
	my $kind = kind();
	push @list, pair('', distance(column($kind, $last), centre($kind, @aliases)), '')
	  if chance(0.25);
	push @list, pair('(', condition(1, 0, @aliases), ')') if $conditions && chance(0.2);
	push @list, [ "$last.fp::bigint", "$last.fp" ] if chance(0.1);
	return map { pair($list[$_], ' AS o' . $_) } 0 .. $#list;
}

# A query ordered by distance. Only distances are compared: rows at equal distances have no defined
# order.
sub nearest
{
	my ($from, $where, @aliases) = @_;
	my $kind = kind();
	my $x = column($kind, $aliases[-1]);
	my @by = map {
		my $y = $_ ? literal($kind) : chance(0.7) ? literal($kind) : centre($kind, @aliases);
		[   "$x->{ours} <~> " . ($kind eq 'h' ? $y->{ours} : "($y->{ours})::$types{$kind}"),
			plain_distance($x, $y) ]
	} 0 .. (chance(0.15) ? 1 : 0);
	my $list = commas(@by);
	my $limit = pick('', ' LIMIT 1', ' LIMIT 10', ' LIMIT 10 OFFSET 3', ' LIMIT 100', ' LIMIT 0');
	return pair('SELECT ', $list, ' FROM ', $from, $where, ' ORDER BY ', $list, $limit);
}

# An aggregate, a grouping or a DISTINCT, chosen by the dice.
sub aggregate
{
	my ($dice, $from, $where, $kind, $distance, @aliases) = @_;
	my $last = $aliases[-1];
	return pair(
		"SELECT count(*) AS o0, count($aliases[0].k) AS o1, sum($last.id) AS o2 FROM ",
		$from, $where) if $dice < 73;
	return pair(
		'SELECT count(*) FILTER (WHERE ',
		condition(1, 0, @aliases),
		') AS o0, min(',
		$distance, ') AS o1 FROM ',
		$from, $where) if $dice < 78;
	return pair(
		"SELECT $last.grp AS o0, count(*) AS o1, min(",
		$distance,
		") AS o2 FROM ",
		$from,
		$where,
		" GROUP BY $last.grp HAVING min(",
		$distance,
		') ',
		comparison(),
		' ',
		limit_of_group($kind),
		chance(0.3) ? ' AND count(*) > 2' : '') if $dice < 84;
	return pair('SELECT DISTINCT ', $distance, " AS o0, $last.grp AS o1 FROM ", $from, $where)
	  if $dice < 88;
	return pair('SELECT ', $distance, ' AS o0, count(*) AS o1 FROM ', $from, $where, ' GROUP BY 1');
}

sub select_statement
{
	my ($from, @aliases) = from_clause(3);
	my $where = chance(0.85) ? pair(' WHERE ', condition(roll_between(0, 3), 1, @aliases)) : '';
	my $last = $aliases[-1];
	my $kind = kind();
	my $dice = int rand 100;
	return ({ ordered => 1 }, nearest($from, $where, @aliases)) if $dice < 13;
	my $query = pair('SELECT ', commas(outputs(1, @aliases)), ' FROM ', $from, $where);
	return ({}, $query) if $dice < 62;
	return ({ ordered => 1 },
		pair($query, ' ORDER BY ', join(', ', map { "$_.id" } @aliases), ' LIMIT 20'))
	  if $dice < 67 && @aliases == 1 && $from->[0] =~ /^eq\.(?:t|u|n|big|pl|ex) /;
	my $distance = distance(column($kind, $last), centre($kind, @aliases));
	return ({}, aggregate($dice, $from, $where, $kind, $distance, @aliases)) if $dice < 91;
	return (
		{},
		pair(
			"SELECT $last.id AS o0, rank() OVER (PARTITION BY $last.grp ORDER BY ",
			$distance, ') AS o1 FROM ',
			$from, $where)) if $dice < 95;
	my ($second, @others) = from_clause(1);
	return ({}, $query) if !defined $second || @others == 0;
	return (
		{},
		pair(
			"SELECT $last.id, $last.grp FROM ",
			$from,
			$where,
			' ',
			pick('UNION', 'UNION ALL', 'INTERSECT', 'EXCEPT', 'EXCEPT ALL'),
			" SELECT $others[-1].id, $others[-1].grp FROM ",
			$second,
			' WHERE ',
			condition(1, 1, @others)));
}

sub limit_of_group { return pick(0 .. 12, 20, -1, 64, '(SELECT 5)', "'7'::bigint") }

# A statement that writes and returns rows, followed by a query of the table's new contents.
sub writing_statement
{
	my ($target, $alias, $name) = named_source(qw(t u n pl pr inh part ex dom));
	my $change = chance(0.5) ? 'DELETE' : 'UPDATE';
	my ($other, $z) = chance(0.5) ? small_source() : ();
	my @aliases = defined $other ? ($z, $alias) : ($alias);
	my $where = pair(' WHERE ', condition(roll_between(0, 2), 1, @aliases));
	my $check = pair('SELECT id, k, ', [ 'fp::bigint', 'fp' ], ' FROM ', from_table($name));
	return (
		{ check => $check },
		pair(
			'DELETE FROM ', $target, defined $other ? (' USING ', $other) : '',
			$where, " RETURNING $alias.id")) if $change eq 'DELETE';
	my $set = pick(
		"k = $alias.grp",
		"ok = NOT $alias.ok",
		[ "fp = $alias.h::fingerprint64", "fp = $alias.h" ],
		'fp = NULL', 'grp = 2');

	# `grp = 2` may move a row to another partition.
	return (
		{ check => $check },
		pair(
			'UPDATE ', $target, ' SET ', $set, defined $other ? (' FROM ', $other) : '',
			$where, " RETURNING $alias.id"));
}

# One statement: what is known about its answer, and the pair of wordings. The product of its
# tables' row counts is at most the given number.
sub statement
{
	my ($writes, $most_rows) = @_;
	($rows_left, $next_alias) = ($most_rows, 1);
	@ctes = ();
	my ($about, $text) = $writes ? writing_statement() : select_statement();
	$text = pair('WITH ', commas(@ctes), ' ', $text) if @ctes;
	return ($about, $text);
}

1;
