-- Keeps the wishes of a number in place of those before, and numbers the change, so that every node
-- can read what changed since it read last.
local version = call('HINCRBY', LIFE, 'wish_version', 1)
call('HSET', K('wishes'), number, wishes)
call('ZADD', K('wish_changes'), version, number)
return version
