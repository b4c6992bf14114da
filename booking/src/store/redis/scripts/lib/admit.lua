-- Checks whether a new hold may be made. The arguments are those of NewHoldArguments in scripts.rs.
local hold, seats_max = P .. 'hold:' .. id, tonumber(limit)
local owner = call('HGET', hold, 'v')
if owner then
  -- This is a repeated call: the first call made the hold.
  if owner ~= visitor then return {'FOREIGN', at} end
  return answer(id)
end
if plan ~= meta[5] then return {'PLAN', at} end
local seats, had = #items / 16, have(visitor)
if seats > 0 and had + seats > seats_max then return {'LIMIT', at, had} end
local cells = cells_of(items)

-- Writes the hold once its cells are locked.
local function made(state)
  call('HSET', hold, 'v', visitor, 'r', room, 'i', items, 'p', plan, 'n', side_by_side,
    'e', expires_ms, 'u', lock_until_ms, 'x', extensions, 's', 'basket', 'k', #cells,
    'w', purpose, 't', terms)
  count('has', visitor, seats)
  schedule(id, lock_until_ms, expires_ms, state)
  local changed = {}
  mark(cells, 1, changed)
  tell(id, visitor, state, changed, lock_until_ms, expires_ms, #cells)
  return {'OK', at}
end
