-- Counts the room's visitors. A visitor whose pass has expired no longer counts as inside.
local function counts(now_s)
  local ran_out = call('ZRANGEBYSCORE', K('inside'), '-inf', now_s)
  for _, number in ipairs(ran_out) do end_visit(number) end
  if #ran_out > 0 then
    call('ZREMRANGEBYSCORE', K('inside'), '-inf', now_s)
    call('HINCRBY', LIFE, 'ended', #ran_out)
  end
  local life = fields_of(LIFE, 'next', 'absent', 'ended', 'done', 'finished', 'void')
  local next, void = num(life.next), num(life.void)
  return strict({ next = next, joined = next - void, left = num(life.absent) - void,
    inside = call('ZCARD', K('inside')), ended = num(life.ended), claimed = call('HLEN', K('passes')),
    done = num(life.done), finished = num(life.finished) })
end
