-- ARGV: incarnation, number, the rank whose way in was reserved or '', expiry (s). Again changes nothing.
local number = tonumber(ARGV[2])
if ARGV[3] ~= '' then
  call('ZREM', K('entering'), ARGV[3])
  call('HDEL', K('entering_calls'), ARGV[3])
end
local first = call('HSET', K('passes'), number, ARGV[4])
if call('GETBIT', K('done'), number) == 0 then call('ZADD', K('inside'), ARGV[4], number) end
-- The place may have been left while its claim was being written.
if first == 1 and call('GETBIT', K('absent'), number) == 1 then
  note_left(number, string.sub(record(number), 1, 32))
end
return first
