-- Answers whether another node is filling the room in for this incarnation. The next life must not
-- begin then, because it would undo that work. Also answers with the number below which Redis may
-- have given numbers (`given_below`), and with the incarnation of those numbers. `now_ms` is by the
-- ledger's clock.
local life = fields_of(LIFE, 'building', 'builds', 'built_at', 'run_id', 'next', 'ceiling',
  'incarnation')
local by_other = life.building and life.building ~= builder and life.builds == incarnation
  and life.run_id == server()
local busy = by_other and math.abs(tonumber(now_ms) - num(life.built_at)) < tonumber(silent_ms)
return named({ busy = busy and 1 or 0, given_below = math.max(num(life.next), num(life.ceiling)),
  incarnation = num(life.incarnation) })
