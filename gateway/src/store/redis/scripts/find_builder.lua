-- Returns three figures. The first is 1 while another node is filling the room in for this
-- incarnation. The next life must not begin then, because it would undo that work. The second is
-- the number below which Redis may have given numbers. The third is the incarnation of those
-- numbers. `now_ms` is by the ledger's clock.
local life = call('HMGET', LIFE, 'building', 'builds', 'built_at', 'run_id', 'next', 'ceiling',
  'incarnation')
local by_other = life[1] and life[1] ~= builder and life[2] == incarnation and life[4] == server()
local busy = by_other and math.abs(tonumber(now_ms) - num(life[3])) < tonumber(silent_ms)
return { busy and 1 or 0, math.max(num(life[5]), num(life[6])), num(life[7]) }
