-- A hold that is asked for. ARGV from 4: id, visitor, limit, plan, items, room, side by side, expires, lock until,
-- extensions, what it is for, terms.
local id, visitor, limit, plan, items = ARGV[4], ARGV[5], tonumber(ARGV[6]), ARGV[7], ARGV[8]
local hold, expires, lock_until = P .. 'hold:' .. id, ARGV[11], ARGV[12]
local owner = call('HGET', hold, 'v')
if owner then
  -- The first try landed and its answer was lost, or the call is made again.
  if owner ~= visitor then return {'FOREIGN', at} end
  return answer(id)
end
if plan ~= meta[5] then return {'PLAN', at} end
local seats, had = #items / 16, have(visitor)
if seats > 0 and had + seats > limit then return {'LIMIT', at, had} end
local cells = cells_of(items)

-- Keeps the hold, once its cells are locked.
local function made(state)
  call('HSET', hold, 'v', visitor, 'r', ARGV[9], 'i', items, 'p', plan, 'n', ARGV[10], 'e', expires, 'u', lock_until,
    'x', ARGV[13], 's', 'basket', 'k', #cells, 'w', ARGV[14], 't', ARGV[15])
  count('has', visitor, seats)
  schedule(id, lock_until, expires, state)
  local changed = {}
  mark(cells, 1, changed)
  tell(id, visitor, state, changed, lock_until, expires, #cells)
  return {'OK', at}
end
