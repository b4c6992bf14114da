-- Notes that a claim was written. Returns 1 if it is the first claim of the number. A second run
-- changes nothing.
local at = tonumber(number)
if reserved_rank ~= '' then
  call('ZREM', K('entering'), reserved_rank)
  call('HDEL', K('entering_calls'), reserved_rank)
end
local first = call('HSET', K('passes'), at, expires_s)
if call('GETBIT', K('done'), at) == 0 then call('ZADD', K('inside'), expires_s, at) end
-- The visitor may have left while the claim was being written.
if first == 1 and call('GETBIT', K('absent'), at) == 1 then
  note_left(at, leaf_of(at).holder)
end
return first
