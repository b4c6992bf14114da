-- Answers with the next number, and with bits. The bit of each number that was seen in one of the
-- slots is set in `here`. If the line is ordered, notes the numbers that were not seen. The bit of
-- each number that was ever noted is set in `ever_away`. There is no answer until `away_after_s`
-- seconds after the first run in this life.
call('HSETNX', LIFE, 'looking_since', now_s)
if tonumber(now_s) - num(call('HGET', LIFE, 'looking_since')) < tonumber(away_after_s) then
  return false
end
local seen = {}
for slot in each_slots() do table.insert(seen, K('seen:' .. slot)) end
call('BITOP', 'OR', K('here'), unpack(seen))
local here, next_number = call('GET', K('here')) or '', num(call('HGET', LIFE, 'next'))
if is_ordered == '1' and next_number > 0 then
  -- `here` gets one byte for each eight numbers. Numbers that are not given yet count as seen.
  local bits = math.ceil(next_number / 8) * 8
  call('SETBIT', K('here'), bits - 1, call('GETBIT', K('here'), bits - 1))
  for at = next_number, bits - 1 do call('SETBIT', K('here'), at, 1) end
  call('BITOP', 'NOT', K('here'), K('here'))
  call('BITOP', 'OR', K('ever_away'), K('ever_away'), K('here'))
end
call('UNLINK', K('here'))
local ever_away = call('GET', K('ever_away')) or ''
return named({ next = next_number, here = here, ever_away = ever_away })
