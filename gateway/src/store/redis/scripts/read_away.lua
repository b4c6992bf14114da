-- Answers with the next number, and with bits. The bit of each number that was seen in one of the
-- slots is set. There is no answer until `away_after_s` seconds after the first run in this life.
call('HSETNX', LIFE, 'looking_since', now_s)
if tonumber(now_s) - num(call('HGET', LIFE, 'looking_since')) < tonumber(away_after_s) then
  return false
end
local seen = {}
for slot in each_slots() do table.insert(seen, K('seen:' .. slot)) end
call('BITOP', 'OR', K('here'), unpack(seen))
local here = call('GET', K('here')) or ''
call('UNLINK', K('here'))
return named({ next = num(call('HGET', LIFE, 'next')), here = here })
