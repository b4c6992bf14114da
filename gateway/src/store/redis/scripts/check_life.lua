-- Returns the next number, the ceiling, the number of entries in the feed that are not in the
-- ledger yet, and the time (ms) since which joins are paused for new codes. That time is 0 if joins
-- are not paused.
local life = call('HMGET', LIFE, 'next', 'ceiling', 'codes_since')
return { num(life[1]), num(life[2]), call('XLEN', K('feed')), num(life[3]) }
