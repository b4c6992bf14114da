-- Returns the next number, the ceiling, how many entries of the feed are not in the ledger yet, and
-- since when joins are paused for new codes (ms; 0 if they are not).
local life = call('HMGET', LIFE, 'next', 'ceiling', 'codes_since')
return { num(life[1]), num(life[2]), call('XLEN', K('feed')), num(life[3]) }
