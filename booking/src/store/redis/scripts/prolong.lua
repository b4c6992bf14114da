-- Keeps the lock of an order whose claim the ledger has beyond its deadline, or takes it again where it fell and nobody has
-- the cells. ARGV from 4: id, visitor, plan, items, room, side by side, expires, lock until, what it is for, terms, the
-- newest row of the seat outbox when the claim was read, what prolonging must gain.
local id, visitor, plan, items, room, beside, expires, lock_until = unpack(ARGV, 4, 11)
local hold = P .. 'hold:' .. id
local stage, until_now, cells_now = unpack(call('HMGET', hold, 's', 'u', 'k'))
if stage then
  -- A basket of the same id was taken after the order had ended.
  if stage == 'ordered' and tonumber(lock_until) >= tonumber(until_now) + tonumber(ARGV[15]) then
    call('HSET', hold, 'u', lock_until)
    schedule(id, lock_until, expires, 'ordered')
    renew(cells_of(items), id, lock_until)
    tell(id, visitor, 'ordered', {}, lock_until, expires, cells_now)
  end
  return {'OK', at}
end
-- What the ledger decided since the claim was read may be its end.
if tonumber(meta[8]) > tonumber(ARGV[14]) then return {'DECIDED', at} end
local cells = cells_of(items)
local refused = lock_kept(cells, id, lock_until)
if #refused > 0 then return {'TAKEN', at, packed(refused)} end
call('HSET', hold, 'v', visitor, 'r', room, 'i', items, 'p', plan, 'n', beside, 'e', expires, 'u', lock_until,
  'x', 0, 's', 'ordered', 'k', #cells, 'w', ARGV[12], 't', ARGV[13])
count('has', visitor, #items / 16)
schedule(id, lock_until, expires, 'ordered')
local changed = {}
mark(cells, 1, changed)
tell(id, visitor, 'ordered', changed, lock_until, expires, #cells)
return {'OK', at}
