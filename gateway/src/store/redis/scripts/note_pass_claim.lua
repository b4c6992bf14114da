-- Notes that a claim was written. Returns 1 if it is the first claim of the number. A second run
-- changes nothing.
local at = tonumber(number)
if reserved_rank ~= '' then
  call('ZREM', K('entering'), reserved_rank)
  call('HDEL', K('entering_calls'), reserved_rank)
end
local first = call('HSET', K('passes'), at, expires_s)
-- The visitor may have left while the claim was being written. Then the pass takes nothing.
if call('GETBIT', K('absent'), at) == 1 then
  if first == 1 then note_left(at, leaf_of(at).holder) end
else
  count_inside(at, expires_s)
end
return first
