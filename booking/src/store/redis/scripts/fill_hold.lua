-- Writes the holds of pending orders, with their locks.
for hold in each_holds() do
  local id, cells = hold.id, cells_of(hold.items)
  if call('EXISTS', hold_key(id)) == 0 then
    local lasts_ms = math.min(tonumber(hold.lock_until_ms) - tonumber(caller_ms), 3456000000)
    local net = math.floor(math.max(1, lasts_ms)) + 10000
    for _, cell in ipairs(cells) do
      call('SET', P .. 'lock:' .. cell, id, 'PX', net)
      call('SETBIT', P .. 'held', cell, 1)
    end
    call('HSET', hold_key(id), VISITOR, hold.visitor, ROOM, hold.room, ITEMS, hold.items,
      PLAN, hold.plan, SIDE_BY_SIDE, hold.side_by_side, EXPIRES_MS, hold.expires_ms,
      LOCK_UNTIL_MS, hold.lock_until_ms, EXTENSIONS, hold.extensions, STAGE, hold.stage,
      CELLS, #cells, PURPOSE, hold.purpose, TERMS, hold.terms)
    call('HINCRBY', P .. 'has', hold.visitor, #hold.items / 16)
    call('HSET', P .. 'own', hold.visitor, (call('HGET', P .. 'own', hold.visitor) or '') .. id)
    call('ZADD', P .. 'deadlines', hold.lock_until_ms, id)
    call('HSET', P .. 'kept', id, hold_summary(hold.stage, hold.lock_until_ms, hold.expires_ms, #cells))
    if hold.stage == 'basket' then
      call('ZADD', P .. 'short', tonumber(hold.expires_ms) - 60000, id)
    end
  end
end
return named({ code = 'OK' })
