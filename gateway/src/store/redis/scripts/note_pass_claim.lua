-- Notes that a claim was written. Returns 1 if it is the first claim of the number. A second run
-- changes nothing.
local at = tonumber(number)
if reserved_rank ~= '' then
  call('ZREM', K('entering'), reserved_rank)
  call('HDEL', K('entering_calls'), reserved_rank)
end
local before = call('HGET', K('passes'), at)
local first = call('HSET', K('passes'), at, expires_s)
if before ~= expires_s then
  call('ZREM', K('active'), at)
  call('HDEL', K('called_behind'), at)
  call('HDEL', K('excused'), at)
  call('HDEL', K('lapses'), at)
end
-- The visitor may have left while the claim was being written. Then the pass takes nothing.
if call('GETBIT', K('absent'), at) == 1 then
  if first == 1 then note_left(at, leaf_of(at).holder) end
else
  count_inside(at, expires_s, at_s)
end
return first
