-- Writes the holds of pending orders, with their locks.
for hold in each_holds() do
  local id, key, cells = hold.id, P .. 'hold:' .. hold.id, cells_of(hold.items)
  if call('EXISTS', key) == 0 then
    local lasts_ms = math.min(tonumber(hold.lock_until_ms) - tonumber(caller_ms), 3456000000)
    local net = math.floor(math.max(1, lasts_ms)) + 10000
    for _, cell in ipairs(cells) do
      call('SET', P .. 'lock:' .. cell, id, 'PX', net)
      call('SETBIT', P .. 'held', cell, 1)
    end
    call('HSET', key, 'v', hold.visitor, 'r', hold.room, 'i', hold.items, 'p', hold.plan,
      'n', hold.side_by_side, 'e', hold.expires_ms, 'u', hold.lock_until_ms, 'x', hold.extensions,
      's', hold.stage, 'k', #cells, 'w', hold.purpose, 't', hold.terms)
    call('HINCRBY', P .. 'has', hold.visitor, #hold.items / 16)
    call('ZADD', P .. 'deadlines', hold.lock_until_ms, id)
    local summary = {hold.stage, hold.lock_until_ms, hold.expires_ms, #cells}
    call('HSET', P .. 'kept', id, table.concat(summary, ','))
    if hold.stage == 'basket' then
      call('ZADD', P .. 'short', tonumber(hold.expires_ms) - 60000, id)
    end
  end
end
return {'OK', 0}
