-- Returns how the life stands: the next number, the ceiling, how many entries are not in the ledger
-- yet, and since when joins wait for new codes (ms) or 0.
local life = call('HMGET', LIFE, 'next', 'ceiling', 'codes_since')
return { num(life[1]), num(life[2]), call('XLEN', K('feed')), num(life[3]) }
