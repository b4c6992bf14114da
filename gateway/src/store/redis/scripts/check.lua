-- ARGV: incarnation. How the life stands: next number, ceiling, entries that are not in the ledger yet.
local life = call('HMGET', LIFE, 'next', 'ceiling')
return { num(life[1]), num(life[2]), call('XLEN', K('feed')) }
