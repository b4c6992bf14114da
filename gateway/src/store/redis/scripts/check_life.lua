-- Answers with the next number, the ceiling, the number of entries in the feed that are not in the
-- ledger yet, and the time (ms) since which joins are paused for new codes. That time is 0 if joins
-- are not paused.
local life = fields_of(LIFE, 'next', 'ceiling', 'codes_since')
return named({ next = num(life.next), ceiling = num(life.ceiling),
  feed_entries = call('XLEN', K('feed')), codes_since_ms = num(life.codes_since) })
