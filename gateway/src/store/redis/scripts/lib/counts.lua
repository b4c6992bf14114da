-- Counts the room's visitors. A visitor whose pass has expired no longer counts as inside. `counts`
-- in read.rs reads the results in this order.
local function counts(now_s)
  local ran_out = call('ZREMRANGEBYSCORE', K('inside'), '-inf', now_s)
  if ran_out > 0 then call('HINCRBY', LIFE, 'ended', ran_out) end
  local life = call('HMGET', LIFE, 'next', 'absent', 'ended', 'done', 'finished', 'void')
  local next, absent, void = num(life[1]), num(life[2]), num(life[6])
  return { next, next - void, absent - void, call('ZCARD', K('inside')), num(life[3]),
    call('HLEN', K('passes')), num(life[4]), num(life[5]) }
end
