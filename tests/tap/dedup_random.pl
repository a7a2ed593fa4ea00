# The trigger simhash_dedup against a model of it. Several sessions take turns with random
# statements on a partitioned table: insertions, updates that move rows or do not, deletions,
# upserts, MERGE, cursors, savepoints, rollbacks, caught exceptions, other triggers that suppress
# rows or write to the table themselves. The model predicts the outcome of every statement. The rows
# that it has committed are compared with the table. At the end, clients move and insert the same
# rows at once.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use IPC::Open2;
use SimhashTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $near = 3;
my $sessions = 3;
my $turns = soak() ? 800 : 400;
my $deadline = soak() ? time + soak_seconds() : 0;
my $node = new_node('main', <<'CONF');
autovacuum = off
max_prepared_transactions = 5
shared_preload_libraries = 'pg_simhash'
CONF
my $has_merge = $node->safe_psql('postgres',
	q{SELECT current_setting('server_version_num')::int >= 150000}) eq 't';

# Each row has a number, id % 1000, which it keeps when it moves between partitions.
sub create_table
{
	my ($arguments) = @_;
	my $columns = $arguments =~ /scope=/ ? 'tenant, fp' : 'fp';
	$node->safe_psql('postgres', <<"SQL");
DROP TABLE IF EXISTS t;
CREATE TABLE t (id int, fp fingerprint64, note text NOT NULL, tenant int, same_as int)
  PARTITION BY RANGE (id);
CREATE TABLE t0 PARTITION OF t FOR VALUES FROM (0) TO (1000);
CREATE TABLE t1 (note text NOT NULL, gone int, same_as int, fp fingerprint64, tenant int,
  id int NOT NULL);
ALTER TABLE t1 DROP COLUMN gone;
ALTER TABLE t ATTACH PARTITION t1 FOR VALUES FROM (1000) TO (2000);
CREATE TABLE t2 PARTITION OF t FOR VALUES FROM (2000) TO (3000) PARTITION BY RANGE (id);
CREATE TABLE t20 PARTITION OF t2 FOR VALUES FROM (2000) TO (2500);
CREATE TABLE t25 PARTITION OF t2 FOR VALUES FROM (2500) TO (3000);
ALTER TABLE t ADD PRIMARY KEY (id);
CREATE INDEX ON t USING simhash ($columns);
CREATE OR REPLACE FUNCTION before() RETURNS trigger LANGUAGE plpgsql AS \$\$
DECLARE word text[] = string_to_array(NEW.note, ' ');
BEGIN
  IF word[1] = 'vanish' THEN RETURN NULL; END IF;
  IF word[1] IN ('touch', 'insert') THEN
    NEW.note = 'done';
    IF word[1] = 'touch' THEN UPDATE t SET note = 'touched' WHERE id = word[2]::int;
    ELSE
      INSERT INTO t VALUES (word[2]::int, word[3]::fingerprint64, 'nested', word[4]::int);
    END IF;
  END IF;
  RETURN NEW;
END \$\$;
CREATE OR REPLACE FUNCTION never() RETURNS trigger LANGUAGE plpgsql AS \$\$
BEGIN
  IF NEW.note = 'never' THEN RETURN NULL; END IF;
  RETURN NEW;
END \$\$;
CREATE TRIGGER a BEFORE INSERT ON t FOR EACH ROW EXECUTE FUNCTION before();
CREATE TRIGGER m BEFORE INSERT OR UPDATE ON t
  FOR EACH ROW EXECUTE FUNCTION simhash_dedup('fp=fp', $arguments);
CREATE TRIGGER z BEFORE UPDATE ON t FOR EACH ROW EXECUTE FUNCTION never();
SQL
}

## The model: the rows by id, as a statement of one session sees them, and the statement's changes.

my ($action, $scoped, %committed, @session, $number, @bases, @history, @plan);

sub bits { return unpack('%64b*', pack('Q', $_[0] ^ $_[1])) }

sub table_of { my ($id) = @_; return $id < 2000 ? int($id / 1000) : $id < 2500 ? 2 : 3 }

sub seen
{
	my ($s) = @_;
	my %rows = (%committed, %{ $s->{writes} });
	delete @rows{ grep { !$rows{$_} } keys %rows };
	return { session => $s, rows => \%rows, changes => {} };
}

sub put
{
	my ($view, $id, $row) = @_;
	$view->{changes}{$id} = $row;
	if ($row) { $view->{rows}{$id} = $row; } else { delete $view->{rows}{$id}; }
}

# Whether the trigger lets the row in, and the id that it links the row to: that of the nearest row,
# or of the least id among equally near ones. With a scope only rows of the same tenant count.
sub judged
{
	my ($view, $id, $fp, $tenant) = @_;
	return (1, undef) unless defined $fp && (defined $tenant || !$scoped);
	my ($best, $link);
	for my $other (sort { $a <=> $b } keys %{ $view->{rows} })
	{
		my $theirs = $view->{rows}{$other}{fp};
		next if $other == $id || !defined $theirs;
		next if $scoped && ($view->{rows}{$other}{tenant} // 0) != $tenant;
		my $distance = bits($fp, $theirs);
		($best, $link) = ($distance, $other)
			if $distance <= $near && (!defined $best || $distance < $best);
	}
	return (1, $link) if $action eq 'link' || !defined $best;
	die { state => '23S01' } if $action eq 'error';
	return (0, undef);
}

# The effect of trigger a. Returns false if the row is not stored.
sub fires_before
{
	my ($view, $row) = @_;
	my ($word, @rest) = split / /, $row->{note};
	return 0 if $word eq 'vanish';
	return 1 unless $word eq 'touch' || $word eq 'insert';
	$row->{note} = 'done';
	if ($word eq 'touch') { modify($view, $rest[0], note => 'touched'); }
	else { add($view, $rest[0], hex($rest[1]), 'nested', $rest[2]); }
	return 1;
}

sub add
{
	my ($view, $id, $fp, $note, $tenant) = @_;
	my $row = { fp => $fp, note => $note, tenant => $tenant };
	return 0 unless fires_before($view, $row);
	my ($kept, $link) = judged($view, $id, $fp, $tenant);
	return 0 unless $kept;
	# Only ON CONFLICT DO UPDATE inserts an id that already exists.
	return modify($view, $id, fp => $fp, note => $note, tenant => $tenant) if $view->{rows}{$id};
	put($view, $id, { %$row, same_as => $link });
	return 1;
}

sub modify
{
	my ($view, $id, %set) = @_;
	my $old = $view->{rows}{$id} or return 0;
	my $row = { %$old, map { $_ => $set{$_} } grep { $_ ne 'id' } keys %set };
	if (grep { ($row->{$_} // 'none') ne ($old->{$_} // 'none') } 'fp', $scoped ? 'tenant' : ())
	{
		(my $kept, $row->{same_as}) = judged($view, $id, $row->{fp}, $row->{tenant});
		return 0 unless $kept;
	}
	return 0 if $row->{note} eq 'never';
	my $to = $set{id} // $id;
	put($view, $id, undef);
	return 0 if table_of($id) != table_of($to) && !fires_before($view, $row);
	put($view, $to, $row);
	return 1;
}

## Random statements, each with a function that applies it to the model.

sub number { my ($number) = @_; return $number // 'NULL' }

sub shown { my ($fp) = @_; return defined $fp ? sprintf("'%016x'", $fp) : 'NULL' }

# The current id of the row that a session updated last. The update may have been suppressed or
# undone.
sub updated_last
{
	my ($view, $s) = @_;
	return (grep { $_ % 1000 == $s->{updated} } sort { $a <=> $b } keys %{ $view->{rows} })[0];
}

# The id of a row. In half of the cases it is one that some session updated last.
sub any_id
{
	my ($view) = @_;
	my $id = updated_last($view, $session[ roll(scalar @session) ]);
	return $id if $id && roll(2);
	my @ids = sort { $a <=> $b } keys %{ $view->{rows} };
	return @ids ? $ids[ roll(scalar @ids) ] : 0;
}

sub new_id { return 1000 * roll(3) + $number++ }

sub elsewhere { my ($id) = @_; return 1000 * roll(3) + $id % 1000 }

# A copy of a row's fingerprint, often that of the row that the session updated last, or a
# fingerprint more or less near to one of the bases, or rarely NULL.
sub any_fp
{
	my ($view) = @_;
	my $kind = roll(20);
	return undef if $kind == 0;
	my $copied = $kind < 8 ? updated_last($view, $view->{session})
		: $kind < 12 ? any_id($view)
		: undef;
	return $view->{rows}{$copied}{fp} if $copied;
	my $fp = $bases[ roll(scalar @bases) ];
	$fp ^= 1 << roll(64) for 1 .. roll(5);
	return $fp;
}

# With a scope, one of two tenants or rarely NULL. Without, always NULL.
sub any_tenant { return $scoped && roll(12) ? 1 + roll(2) : undef }

sub insertion
{
	my ($view) = @_;
	my @rows = map { [ new_id(), any_fp($view), 'new', any_tenant() ] } 0 .. (roll(3) ? 0 : 2);
	if (roll(8) == 0)
	{
		my $fp = any_fp($view) // 0;
		$rows[0][2] = roll(2) ? 'touch ' . any_id($view) : insert_note($fp);
	}
	my $values = join(', ',
		map { "($_->[0], " . shown($_->[1]) . ", '$_->[2]', " . number($_->[3]) . ')' } @rows);
	return ("INSERT INTO t VALUES $values", sub { add($_[0], @$_) for @rows });
}

# The note at which trigger a inserts a row.
sub insert_note
{
	my ($fp) = @_;
	return join(' ', 'insert', new_id(), sprintf('%016x', $fp), any_tenant() // ());
}

sub update
{
	my ($view, $id, %set) = @_;
	$view->{session}{updated} = $id % 1000;
	my %shown = (%set, exists $set{fp} ? (fp => shown($set{fp})) : (),
		exists $set{tenant} ? (tenant => number($set{tenant})) : (),
		exists $set{note} ? (note => "'$set{note}'") : ());
	my $list = join(', ', map { "$_ = $shown{$_}" } sort keys %shown);
	return ("UPDATE t SET $list WHERE id = $id", sub { modify($_[0], $id, %set) });
}

sub moving
{
	my ($view) = @_;
	my $id = any_id($view);
	my %set = (id => elsewhere($id));
	$set{fp} = any_fp($view) if roll(4) == 0;
	$set{tenant} = any_tenant() if $scoped && roll(4) == 0;
	my $kind = table_of($id) == table_of($set{id}) ? 9 : roll(10);
	if ($kind == 0) { $set{note} = 'vanish'; }
	elsif ($kind < 3)
	{
		my $other = any_id($view);
		$set{note} = "touch $other" if $other != $id;
	}
	elsif ($kind == 3)
	{
		# Not near the moving row, which is in no partition at that moment.
		my ($old, $fp) = ($view->{rows}{$id}, any_fp($view) // 0);
		my $moved = exists $set{fp} ? $set{fp} : $old && $old->{fp};
		$set{note} = insert_note($fp)
			if !defined $moved || bits($fp, $moved) > $near;
	}
	return update($view, $id, %set);
}

sub merge
{
	my ($view) = @_;
	my ($id, $new, $fp) = (any_id($view) || new_id(), new_id(), any_fp($view));
	my ($to, $other) = (elsewhere($id), any_fp($view));
	my $tenant = any_tenant();
	my %set = (id => $to, roll(2) ? (fp => $other) : (), $scoped ? (tenant => $tenant) : ());
	my $set = join(', ', 'id = s.new', map { "$_ = s.$_" } grep { $_ ne 'id' } sort keys %set);
	my $values = "($id, $to, " . shown($other) . '::fingerprint64, ' . number($tenant) . '::int), '
		. "($new, 0, " . shown($fp) . ', ' . number($tenant) . ')';
	my $merge = <<"SQL";
MERGE INTO t USING (VALUES $values) s (id, new, fp, tenant) ON t.id = s.id
  WHEN MATCHED THEN UPDATE SET $set
  WHEN NOT MATCHED THEN INSERT VALUES (s.id, s.fp, 'merged', s.tenant)
SQL
	return ($merge, sub {
		my ($view) = @_;
		if ($view->{rows}{$id}) { modify($view, $id, %set); }
		else { add($view, $id, $other, 'merged', $tenant); }
		add($view, $new, $fp, 'merged', $tenant);
	});
}

sub upsert
{
	my ($view) = @_;
	my ($id, $fp) = ((roll(4) && any_id($view)) || new_id(), any_fp($view));
	my $tenant = any_tenant();
	my $values = "($id, " . shown($fp) . ", 'upserted', " . number($tenant) . ')';
	return (<<"SQL", sub { add($_[0], $id, $fp, 'upserted', $tenant) });
INSERT INTO t VALUES $values ON CONFLICT (id)
  DO UPDATE SET fp = EXCLUDED.fp, note = EXCLUDED.note, tenant = EXCLUDED.tenant
SQL
}

sub moving_all
{
	my ($from, $to) = (roll(3), 1000 * roll(3));
	return ("UPDATE t SET id = id % 1000 + $to WHERE id / 1000 = $from", sub {
		my ($view) = @_;
		modify($view, $_, id => $_ % 1000 + $to)
			for grep { int($_ / 1000) == $from } keys %{ $view->{rows} };
	});
}

# A row moves, and the same statement inserts a copy of it.
sub moving_and_copying
{
	my ($view) = @_;
	my ($id, $new) = (any_id($view), new_id());
	my $to = elsewhere($id);
	return (<<"SQL", sub {
WITH m AS (UPDATE t SET id = $to WHERE id = $id RETURNING fp, tenant)
INSERT INTO t SELECT $new, fp, 'copied', tenant FROM m
SQL
		my ($view) = @_;
		return unless modify($view, $id, id => $to);
		my $moved = $view->{rows}{$to};
		add($view, $new, $moved->{fp}, 'copied', $moved->{tenant});
	});
}

# The condition id + 0 prunes nothing, so that the cursor scans every partition.
sub by_cursor
{
	my ($view) = @_;
	my $id = any_id($view);
	my $to = elsewhere($id);
	return (<<"SQL", sub { modify($_[0], $id, id => $to) });
DO 'DECLARE
  c CURSOR FOR SELECT 1 FROM t WHERE id + 0 = $id FOR UPDATE;
  x int;
BEGIN
  OPEN c;
  FETCH c INTO x;
  IF FOUND THEN UPDATE t SET id = $to WHERE CURRENT OF c; END IF;
  CLOSE c;
END'
SQL
}

sub noting
{
	my ($view) = @_;
	return update($view, any_id($view), note => 'note ' . roll(100));
}

# An update that the last trigger suppresses.
sub never
{
	my ($view) = @_;
	return update($view, any_id($view), note => 'never', roll(2) ? (fp => any_fp($view)) : ());
}

sub deletion
{
	my ($view) = @_;
	my $id = any_id($view);
	return ("DELETE FROM t WHERE id = $id", sub { put($_[0], $id, undef) if $_[0]{rows}{$id} });
}

sub fingerprint
{
	my ($view) = @_;
	return update($view, any_id($view), fp => any_fp($view));
}

sub tenancy
{
	my ($view) = @_;
	return update($view, any_id($view), tenant => any_tenant());
}

# A statement that an exception undoes, and another one after it in the same transaction. The model
# applies only the second.
sub exception
{
	my ($view) = @_;
	my ($undone) = (\&noting, \&moving, \&insertion)[ roll(3) ]->($view);
	my ($done, $model) = (\&noting, \&moving, \&insertion, \&insertion)[ roll(4) ]->($view);
	return (<<"SQL", $model);
DO \$\$
BEGIN
  BEGIN
    $undone;
    RAISE EXCEPTION 'undo';
  EXCEPTION WHEN raise_exception OR SQLSTATE '23S01' THEN NULL;
  END;
  $done;
END \$\$
SQL
}

# Each statement appears as often as its weight.
my @statements = (
	(\&insertion) x 25, (\&moving) x 20, (\&noting) x 8, (\&never) x 8, (\&fingerprint) x 8,
	(\&deletion) x 10, (\&moving_all) x 3, (\&upsert) x 8, (\&moving_and_copying) x 4,
	(\&by_cursor) x 4, (\&exception) x 10, $has_merge ? (\&merge) x 8 : ());
my @scoped_statements = (@statements, (\&tenancy) x 8);

## Sessions, which take turns.

sub start_session
{
	my ($name) = @_;
	my $connection = $node->connstr('postgres');
	# Errors and the output of \warn are unbuffered and in order.
	my $psql = "exec psql -XAtq -d \"$connection\" 2>&1 >/dev/null";
	my $pid = open2(my $output, my $input, 'sh', '-c', $psql);
	$input->autoflush(1);
	my $s = {
		name => $name, pid => $pid, input => $input, output => $output,
		writes => {}, savepoints => [], updated => -1
	};
	# With nested loops MERGE takes its rows in the given order.
	run($s, <<"SQL");
\\set VERBOSITY sqlstate
SET lock_timeout = '10ms';
SET statement_timeout = '60s';
SET enable_hashjoin = off;
SET enable_mergejoin = off
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
		$error = $1 if $line =~ /(?:ERROR|FATAL|PANIC):\s+(\w{5})/;
	}
	$history[-1] .= " -- $error" if $error;
	return $error;
}

# Publishes what the session wrote, or discards it.
sub settle
{
	my ($s, $commit) = @_;
	if ($commit)
	{
		%committed = (%committed, %{ $s->{writes} });
		delete @committed{ grep { !$committed{$_} } keys %committed };
	}
	@$s{qw(open writes savepoints)} = (0, {}, []);
}

sub end_transaction
{
	my ($s, $commit) = @_;
	my $error = run($s, $commit ? 'COMMIT' : 'ROLLBACK');
	settle($s, $commit && !$error);
	plan_for($s) unless $commit;
	return $error;
}

sub roll_back_to
{
	my ($s) = @_;
	my $place = roll(scalar @{ $s->{savepoints} });
	splice @{ $s->{savepoints} }, $place + 1;
	$s->{writes} = { %{ $s->{savepoints}[$place] } };
	plan_for($s);
	return run($s, "ROLLBACK TO s$place");
}

# In half of the cases, after an update without effect: makes another session move the row, and then
# this one insert a copy of it.
sub plan_for
{
	my ($s) = @_;
	my ($number, @others) = ($s->{updated}, grep { $_ != $s } @session);
	return if $number < 0 || roll(2);
	my $row = sub {
		my ($view) = @_;
		return (grep { $_ % 1000 == $number } keys %{ $view->{rows} })[0] // 0;
	};
	push @plan, [ $others[ roll(scalar @others) ], sub {
		my ($view) = @_;
		my $id = $row->($view);
		return update($view, $id, id => elsewhere($id));
	} ];
	push @plan, [ $s, sub {
		my ($view) = @_;
		my ($id, $found) = (new_id(), $row->($view));
		my ($fp, $tenant) = $found ? @{ $view->{rows}{$found} }{qw(fp tenant)} : ();
		return ("INSERT INTO t VALUES ($id, " . shown($fp) . ", 'copy', " . number($tenant) . ')',
			sub { add($_[0], $id, $fp, 'copy', $tenant) });
	} ];
}

# One turn. Returns what is wrong, or ''.
sub take_turn
{
	return take_statement(@{ shift @plan }) if @plan;
	my ($s) = ($session[ roll(scalar @session) ]);
	my $kind = roll(100);
	if (!$s->{open} && $kind < 50) { $s->{open} = 1; return run($s, 'BEGIN'); }
	if ($s->{open})
	{
		return end_transaction($s, $kind % 3) if $kind < 18;
		if ($kind < 26)
		{
			push @{ $s->{savepoints} }, { %{ $s->{writes} } };
			return run($s, 'SAVEPOINT s' . $#{ $s->{savepoints} });
		}
		if ($kind < 36 && @{ $s->{savepoints} })
		{
			return roll_back_to($s) if $kind < 33;
			pop @{ $s->{savepoints} };
			return run($s, 'RELEASE s' . scalar @{ $s->{savepoints} });
		}
	}
	return run($s, 'VACUUM ' . (qw(t0 t1 t20 t25))[ roll(4) ]) if !$s->{open} && $kind < 52;
	my @known = $scoped ? @scoped_statements : @statements;
	return take_statement($s, $known[ roll(scalar @known) ]);
}

sub take_statement
{
	my ($s, $make) = @_;
	my $view = seen($s);
	my ($statement, $model) = $make->($view);
	my $expected = '';
	eval { $model->($view); 1 } or $expected = ref $@ ? $@->{state} : die $@;
	my $state = run($s, $statement);
	if ($state)
	{
		if ($s->{open})
		{
			@{ $s->{savepoints} } && roll(2) ? roll_back_to($s) : end_transaction($s, 0);
		}
		# A session that would have to wait gives up (55P03).
		return '' if $state eq '55P03' || $state eq $expected;
		return "SQLSTATE $state where '$expected' is right";
	}
	return "no error where $expected is right" if $expected;
	%{ $s->{writes} } = (%{ $s->{writes} }, %{ $view->{changes} });
	settle($s, 1) unless $s->{open};
	plan_for($s) if $statement =~ /'never'/;
	return '';
}

# One test: the table holds the rows of the model.
sub play
{
	my ($arguments) = @_;
	($action) = $arguments =~ /action=(\w+)/;
	$scoped = $arguments =~ /scope=/;
	create_table($arguments);
	%committed = @history = @plan = ();
	$number = 1;
	@bases = map { roll(2**32) << 32 | roll(2**32) } 1 .. 5;
	@session = map { start_session($_) } 'A' .. chr(ord('A') + $sessions - 1);
	my ($wrong, $turn) = ('', 0);
	until ($wrong || $turn == $turns || $number > 980)
	{
		$wrong = take_turn();
		$wrong = differences() if !$wrong && ++$turn % 25 == 0;
	}
	end_transaction($_, 0) for grep { $_->{open} } @session;
	$wrong ||= differences();
	is($wrong, '', "$arguments: $turn turns")
		or diag(join("\n", @history > 60 ? @history[ -60 .. -1 ] : @history));
	for my $s (@session) { close $s->{input}; waitpid $s->{pid}, 0; }
	return if $wrong;
	if ($action ne 'link')
	{
		answer_is($node, <<"SQL", '0', "$arguments: no near-duplicate pair");
SELECT count(*) FROM t a JOIN t b ON a.id < b.id AND (a.fp <~> b.fp) + 0 <= $near
@{[$scoped ? 'AND a.tenant = b.tenant' : '']}
SQL
	}
	my $indexes = $node->safe_psql('postgres', <<'SQL');
SELECT indexrelid::regclass FROM pg_index i JOIN pg_class c ON c.oid = indexrelid
  JOIN pg_am a ON a.oid = relam WHERE amname = 'simhash' AND relkind = 'i' ORDER BY 1
SQL
	index_is_clean($node, $_, "$arguments: the structure is sound") for $indexes =~ /\S+/g;
}

sub differences
{
	my $found = $node->safe_psql('postgres',
		'SELECT id, fp, note, same_as, tenant FROM t ORDER BY id');
	my $expected = join("\n", map {
		my $row = $committed{$_};
		join('|', $_, defined $row->{fp} ? sprintf('%016x', $row->{fp}) : '',
			$row->{note}, $row->{same_as} // '', $row->{tenant} // '')
	} sort { $a <=> $b } keys %committed);
	return '' if $found eq $expected;
	return "the table:\n$found\nthe model:\n$expected\n";
}

## Clients that do not take turns: rows move, or moves are rolled back, while others insert copies
## of these rows into other partitions.

sub at_once
{
	my ($name, $rows, $turns) = ('moves and copies at once', 15, soak() ? 5000 : 300);
	return unless pgbench_tries_again($name);
	create_table(q{'action=skip'});
	$node->safe_psql('postgres', <<"SQL");
INSERT INTO t SELECT i + 1000 * (i % 3), test.number('row ' || i)::fingerprint64, ''
  FROM generate_series(1, $rows) i;
CREATE SEQUENCE copies MINVALUE 100 MAXVALUE 999 CYCLE
SQL
	$node->pgbench("-n -c 6 -j 2 -t $turns --max-tries=1000", 0, [qr/processed: [1-9]/],
		[qr/^(?!.*(?:ERROR|aborted|FATAL))/s], "$name: six clients",
		{ 'moves@2' => qq{
\\set row random(1, $rows)
\\set to random(0, 2)
\\set keep random(0, 2)
BEGIN;
UPDATE t SET id = :row + 1000 * :to WHERE id % 1000 = :row;
\\if :keep
COMMIT;
\\else
ROLLBACK;
\\endif
}, 'notes@1' => qq{
\\set row random(1, $rows)
BEGIN;
UPDATE t SET note = 'noted' WHERE id % 1000 = :row;
ROLLBACK;
}, 'copies@2' => <<"SQL" });
\\set row random(1, $rows)
\\set to random(0, 2)
\\set flips random(0, 2)
INSERT INTO t SELECT nextval('copies') + 1000 * :to,
  (test.number('row ' || :row) # test.flips('s', :flips))::fingerprint64, 'copy';
SQL
	answer_is($node,
		'SELECT count(*) FROM t a JOIN t b ON a.id < b.id AND (a.fp <~> b.fp) + 0 <= 3',
		'0', "$name: no near-duplicate pair");
	answer_is($node, q{SELECT string_agg((id % 1000)::text, ' ' ORDER BY id % 1000) FROM t},
		join(' ', 1 .. $rows), "$name: every row is there");
}

# A partition whose detachment was interrupted midway is no longer below its parent. A session that
# writes to it still compares with its rows and those of the parent.
sub half_detached
{
	create_table(q{'action=skip'});
	$node->safe_psql('postgres', <<'SQL');
INSERT INTO t VALUES (1, '1111111111111111', ''), (1001, '2222222222222222', '');
BEGIN;
SELECT FROM t;
PREPARE TRANSACTION 'reader'
SQL
	error_like($node, <<'SQL', qr/57014/, 'the detachment does not get through');
SET statement_timeout = '200ms';
ALTER TABLE t DETACH PARTITION t0 CONCURRENTLY
SQL
	answer_is($node, q{SELECT inhrelid::regclass FROM pg_inherits WHERE inhdetachpending},
		't0', 'and stays half done');
	$node->safe_psql('postgres', <<'SQL');
INSERT INTO t0 VALUES (2, '1111111111111110', ''), (3, '2222222222222220', ''),
  (4, '4444444444444444', '')
SQL
	answer_is($node, q{SELECT string_agg(id::text, ' ' ORDER BY id) FROM t0},
		'1 4', 'a writer to the partition meets both');
	$node->safe_psql('postgres', q{COMMIT PREPARED 'reader'});
	# The trigger is dropped with the attachment to the parent.
	$node->safe_psql('postgres', <<'SQL');
ALTER TABLE t DETACH PARTITION t0 FINALIZE;
CREATE TRIGGER m BEFORE INSERT ON t0 FOR EACH ROW EXECUTE FUNCTION simhash_dedup('fp=fp')
SQL
	$node->safe_psql('postgres', <<'SQL');
INSERT INTO t0 VALUES (5, '1111111111111110', ''), (6, '2222222222222220', '')
SQL
	answer_is($node, q{SELECT string_agg(id::text, ' ' ORDER BY id) FROM t0},
		'1 4 6', 'and, when it is detached, its own alone');
	$node->safe_psql('postgres', 'DROP TABLE t0');
}

seed();
do
{
	play(q{'action=skip'});
	play(q{'action=skip', 'writers=one'});
	play(q{'action=error'});
	play(q{'action=link', 'link=same_as'});
	play(q{'action=skip', 'scope=tenant'});
	play(q{'action=error', 'scope=tenant', 'writers=one'});
	play(q{'action=error', 'scope=tenant'});
	play(q{'action=link', 'link=same_as', 'scope=tenant', 'writers=one'});
	play(q{'action=link', 'link=same_as', 'scope=tenant'});
} while (time < $deadline);
at_once();
half_detached();
is(session_errors(slurp_file($node->logfile),
	qr/lock timeout|statement timeout|near-duplicate row|undo|due to concurrent update/),
	'', 'nothing unexpected in the log');

$node->stop;
done_testing();
