-- Checks whether a new hold may be made. The arguments are those of NewHoldArguments in scripts.rs.
local seats_max = tonumber(limit)
local owner = call('HGET', hold_key(id), VISITOR)
if owner then
  -- This is a repeated call: the first call made the hold.
  if owner ~= visitor then return answer('FOREIGN') end
  return answer_hold(id)
end
if plan ~= meta.plan then return answer('PLAN') end
local seats, had = #items / 16, have(visitor)
if seats > 0 and had + seats > seats_max then return answer('LIMIT', { had = had }) end
local cells = cells_of(items)

-- Writes the hold once its cells are locked. The answer has no hold, because it is as the caller
-- knows it.
local function made(state)
  call('HSET', hold_key(id), VISITOR, visitor, ROOM, room, ITEMS, items, PLAN, plan,
    SIDE_BY_SIDE, side_by_side, EXPIRES_MS, expires_ms, LOCK_UNTIL_MS, lock_until_ms,
    EXTENSIONS, extensions, STAGE, 'basket', CELLS, #cells, PURPOSE, purpose, TERMS, terms)
  count('has', visitor, seats)
  list(visitor, id)
  schedule(id, lock_until_ms, expires_ms, state)
  local changed = {}
  mark(cells, 1, changed)
  tell(id, visitor, state, changed, lock_until_ms, expires_ms, #cells)
  return answer('OK', { hold = false })
end
