-- Counts a basket that has lapsed, each basket once. Answers with nothing if its holder has no
-- place with a pass, or the basket is not known.
local number = call('HGET', K('holders'), holder)
local pass = number and call('HGET', K('passes'), number)
if not pass or call('HEXISTS', K('baskets:' .. number), hold) == 0 then return false end
local is_new = call('SET', K('lapsed:' .. hold), '', 'NX', 'PX', known_ms)
local lapses = call('HINCRBY', K('lapses'), number, is_new and 1 or 0)
return named({ number = tonumber(number), lapses = lapses, pass_expires_s = num(pass) })
