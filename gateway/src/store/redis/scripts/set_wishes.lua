-- Stores the wishes of a number in place of the earlier ones. Gives the change a version, so that
-- each node can read the changes since its last reading.
call('HSET', K('wishes'), number, wishes)
call('ZADD', K('wish_changes'), call('HINCRBY', LIFE, 'wish_version', 1), number)
return 1
