-- First 1 while somebody else fills the room in for that incarnation: whoever began the next one
-- meanwhile would make its work void. Then below which number all may have been given, as far as
-- what is here tells, and of which life that is. `now_ms` is by the ledger.
local life = call('HMGET', LIFE, 'building', 'builds', 'built_at', 'run_id', 'next', 'ceiling',
  'incarnation')
local by_other = life[1] and life[1] ~= builder and life[2] == incarnation and life[4] == server()
local busy = by_other and math.abs(tonumber(now_ms) - num(life[3])) < tonumber(silent_ms)
return { busy and 1 or 0, math.max(num(life[5]), num(life[6])), num(life[7]) }
