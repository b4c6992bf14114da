-- Prolongs the lock of an order whose claim is still in the ledger after the claim's deadline. If
-- the hold has lapsed, its cells are locked again, provided that no other hold has them. `cursor`
-- is the newest row of the seat outbox when the claim was read. A lock is prolonged only if its
-- deadline moves by at least `gain_ms_min`.
local hold = P .. 'hold:' .. id
local stage, until_now, cells_now = unpack(call('HMGET', hold, 's', 'u', 'k'))
if stage then
  -- A basket that was taken after the order ended may have the same id.
  if stage == 'ordered' and tonumber(lock_until_ms) >= tonumber(until_now) + tonumber(gain_ms_min) then
    call('HSET', hold, 'u', lock_until_ms)
    schedule(id, lock_until_ms, expires_ms, 'ordered')
    renew(cells_of(items), id, lock_until_ms)
    tell(id, visitor, 'ordered', {}, lock_until_ms, expires_ms, cells_now)
  end
  return {'OK', at}
end
-- A decision after the claim was read may have ended the claim.
if tonumber(meta[8]) > tonumber(cursor) then return {'DECIDED', at} end
local cells = cells_of(items)
local refused = lock_kept(cells, id, lock_until_ms)
if #refused > 0 then return {'TAKEN', at, packed(refused)} end
call('HSET', hold, 'v', visitor, 'r', room, 'i', items, 'p', plan, 'n', side_by_side,
  'e', expires_ms, 'u', lock_until_ms, 'x', 0, 's', 'ordered', 'k', #cells, 'w', purpose, 't', terms)
count('has', visitor, #items / 16)
schedule(id, lock_until_ms, expires_ms, 'ordered')
local changed = {}
mark(cells, 1, changed)
tell(id, visitor, 'ordered', changed, lock_until_ms, expires_ms, #cells)
return {'OK', at}
