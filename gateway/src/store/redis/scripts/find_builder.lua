-- Returns first 1 while another node fills the room in for that incarnation, because a node that
-- began the next one meanwhile would make that work void. Then returns the number below which all
-- may have been given, as far as Redis knows, and the life of those numbers. `now_ms` is by the
-- ledger's clock.
local life = call('HMGET', LIFE, 'building', 'builds', 'built_at', 'run_id', 'next', 'ceiling',
  'incarnation')
local by_other = life[1] and life[1] ~= builder and life[2] == incarnation and life[4] == server()
local busy = by_other and math.abs(tonumber(now_ms) - num(life[3])) < tonumber(silent_ms)
return { busy and 1 or 0, math.max(num(life[5]), num(life[6])), num(life[7]) }
