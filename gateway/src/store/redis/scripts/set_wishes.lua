-- Keeps the wishes of a number in place of those before, and numbers the change, so that every node
-- can read what changed since it read last.
call('HSET', K('wishes'), number, wishes)
call('ZADD', K('wish_changes'), call('INCR', K('wish_version')), number)
return 1
