-- Returns nothing until `away_after_s` seconds after the first run in this life. From then on
-- returns the next number and bits. The bit of each number that was seen in one of the slots is
-- set.
call('HSETNX', LIFE, 'looking_since', now_s)
if tonumber(now_s) - num(call('HGET', LIFE, 'looking_since')) < tonumber(away_after_s) then
  return {}
end
local seen = {}
for slot in each_slots() do table.insert(seen, K('seen:' .. slot)) end
call('BITOP', 'OR', K('here'), unpack(seen))
local here = call('GET', K('here')) or ''
call('UNLINK', K('here'))
return { num(call('HGET', LIFE, 'next')), here }
