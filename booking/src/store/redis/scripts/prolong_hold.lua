-- Prolongs the lock of an order whose claim is still in the ledger after the claim's deadline. If
-- the hold has lapsed, its cells are locked again, provided that no other hold has them. `cursor`
-- is the newest row of the seat outbox when the claim was read. A lock is prolonged only if its
-- deadline moves by at least `gain_ms_min`.
local stored = fields_of(hold_key(id), STAGE, LOCK_UNTIL_MS, CELLS)
if stored[STAGE] then
  local gain_ms = tonumber(lock_until_ms) - tonumber(stored[LOCK_UNTIL_MS])
  -- A basket that was taken after the order ended may have the same id.
  if stored[STAGE] == 'ordered' and gain_ms >= tonumber(gain_ms_min) then
    call('HSET', hold_key(id), LOCK_UNTIL_MS, lock_until_ms)
    schedule(id, lock_until_ms, expires_ms, 'ordered')
    renew(cells_of(items), id, lock_until_ms)
    tell(id, visitor, 'ordered', {}, lock_until_ms, expires_ms, stored[CELLS])
  end
  return answer('OK')
end
-- A decision after the claim was read may have ended the claim.
if tonumber(meta.cursor) > tonumber(cursor) then return answer('DECIDED') end
local cells = cells_of(items)
local refused = lock_kept(cells, id, lock_until_ms)
if #refused > 0 then return answer('TAKEN', { cells = packed(refused) }) end
call('HSET', hold_key(id), VISITOR, visitor, ROOM, room, ITEMS, items, PLAN, plan,
  SIDE_BY_SIDE, side_by_side, EXPIRES_MS, expires_ms, LOCK_UNTIL_MS, lock_until_ms,
  EXTENSIONS, 0, STAGE, 'ordered', CELLS, #cells, PURPOSE, purpose, TERMS, terms)
count('has', visitor, #items / 16)
list(visitor, id)
schedule(id, lock_until_ms, expires_ms, 'ordered')
local changed = {}
mark(cells, 1, changed)
tell(id, visitor, 'ordered', changed, lock_until_ms, expires_ms, #cells)
return answer('OK')
