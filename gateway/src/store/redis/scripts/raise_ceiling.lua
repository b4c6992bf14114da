-- Allows numbers to be given up to a ceiling that the ledger has reserved.
local stands = math.max(num(call('HGET', LIFE, 'ceiling')), tonumber(ceiling))
call('HSET', LIFE, 'ceiling', stands)
return stands
