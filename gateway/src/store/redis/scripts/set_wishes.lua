-- Keeps the wishes of a number in place of those before, and numbers the change, so that every node
-- can read what changed since it read last.
call('HSET', K('wishes'), number, wishes)
call('ZADD', K('wish_changes'), call('HINCRBY', LIFE, 'wish_version', 1), number)
return 1
