-- ARGV: incarnation, now (s), after how many seconds, slots. Nothing while this life has not looked for long enough;
-- else how many numbers there are, and a bit for each that was seen in one of the slots.
call('HSETNX', LIFE, 'looking_since', ARGV[2])
if tonumber(ARGV[2]) - num(call('HGET', LIFE, 'looking_since')) < tonumber(ARGV[3]) then return {} end
local slots = {}
for at = 4, #ARGV do table.insert(slots, K('seen:' .. ARGV[at])) end
call('BITOP', 'OR', K('here'), unpack(slots))
local here = call('GET', K('here')) or ''
call('UNLINK', K('here'))
return { num(call('HGET', LIFE, 'next')), here }
