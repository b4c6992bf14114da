-- ARGV: incarnation, ceiling as the ledger has it by now.
local ceiling = math.max(num(call('HGET', LIFE, 'ceiling')), tonumber(ARGV[2]))
call('HSET', LIFE, 'ceiling', ceiling)
return ceiling
