-- Pending orders' holds with their locks. ARGV from 4, twelve for each: id, visitor, plan, items, room, side by side,
-- expires, lock until, extensions, stage, what it is for, terms.
for at = 4, #ARGV, 12 do
  local id, visitor, items, expires, lock_until = ARGV[at], ARGV[at + 1], ARGV[at + 3], ARGV[at + 6], ARGV[at + 7]
  local key, cells = P .. 'hold:' .. id, cells_of(items)
  if call('EXISTS', key) == 0 then
    local net = math.floor(math.max(1, math.min(tonumber(lock_until) - tonumber(ARGV[2]), 3456000000))) + 10000
    for _, cell in ipairs(cells) do
      call('SET', P .. 'lock:' .. cell, id, 'PX', net)
      call('SETBIT', P .. 'held', cell, 1)
    end
    call('HSET', key, 'v', visitor, 'r', ARGV[at + 4], 'i', items, 'p', ARGV[at + 2], 'n', ARGV[at + 5], 'e', expires,
      'u', lock_until, 'x', ARGV[at + 8], 's', ARGV[at + 9], 'k', #cells, 'w', ARGV[at + 10], 't', ARGV[at + 11])
    call('HINCRBY', P .. 'has', visitor, #items / 16)
    call('ZADD', P .. 'deadlines', lock_until, id)
    call('HSET', P .. 'kept', id, table.concat({ARGV[at + 9], lock_until, expires, #cells}, ','))
    if ARGV[at + 9] == 'basket' then call('ZADD', P .. 'short', tonumber(expires) - 60000, id) end
  end
end
return {'OK', 0}
