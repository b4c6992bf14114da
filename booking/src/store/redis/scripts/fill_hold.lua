-- Writes the holds of pending orders, with their locks.
for id, visitor, plan, items, room, side_by_side, expires_ms, lock_until_ms, extensions, stage,
  purpose, terms in each_holds() do
  local key, cells = P .. 'hold:' .. id, cells_of(items)
  if call('EXISTS', key) == 0 then
    local lasts_ms = math.min(tonumber(lock_until_ms) - tonumber(caller_ms), 3456000000)
    local net = math.floor(math.max(1, lasts_ms)) + 10000
    for _, cell in ipairs(cells) do
      call('SET', P .. 'lock:' .. cell, id, 'PX', net)
      call('SETBIT', P .. 'held', cell, 1)
    end
    call('HSET', key, 'v', visitor, 'r', room, 'i', items, 'p', plan, 'n', side_by_side,
      'e', expires_ms, 'u', lock_until_ms, 'x', extensions, 's', stage, 'k', #cells,
      'w', purpose, 't', terms)
    call('HINCRBY', P .. 'has', visitor, #items / 16)
    call('ZADD', P .. 'deadlines', lock_until_ms, id)
    call('HSET', P .. 'kept', id, table.concat({stage, lock_until_ms, expires_ms, #cells}, ','))
    if stage == 'basket' then call('ZADD', P .. 'short', tonumber(expires_ms) - 60000, id) end
  end
end
return {'OK', 0}
