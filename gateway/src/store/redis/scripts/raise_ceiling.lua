-- Allows Redis to give the numbers below a ceiling that the ledger has reserved. Never lowers the
-- ceiling.
local stands = math.max(num(call('HGET', LIFE, 'ceiling')), tonumber(ceiling))
call('HSET', LIFE, 'ceiling', stands)
return stands
