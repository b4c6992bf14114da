-- Turns an offer of the waitlist into a basket. The field ACCEPTED says that the basket was an
-- offer.
local offer = fields_of(hold_key(id), PLAN, ITEMS, LOCK_UNTIL_MS, CELLS, ACCEPTED)
if not (offer[ACCEPTED] or serves('offer', own[PURPOSE])) then
  return answer('PURPOSE', { purpose = own[PURPOSE] or 'basket' })
end
if own[STAGE] ~= 'basket' then return answer('ORDERED') end
-- This is a repeated call: the first call accepted the offer.
if offer[ACCEPTED] then return answer_hold(id) end
-- The offer's time is over, but no sweep has freed it yet.
if tonumber(offer[LOCK_UNTIL_MS]) <= now then return answer('GONE') end
if offer[PLAN] ~= meta.plan then return answer('PLAN') end
local all, seats, changed = have(visitor), #offer[ITEMS] / 16, {}
if all > tonumber(limit) then return answer('LIMIT', { had = all - seats }) end
local locked = cells_of(offer[ITEMS])
local lost = regain(locked, id, lock_until_ms, changed)
if #lost > 0 then return answer('TAKEN', { cells = packed(lost) }) end
call('HSET', hold_key(id), PURPOSE, 'basket', EXPIRES_MS, expires_ms,
  LOCK_UNTIL_MS, lock_until_ms, ACCEPTED, '1')
schedule(id, lock_until_ms, expires_ms, 'basket')
renew(locked, id, lock_until_ms)
tell(id, visitor, 'basket', changed, lock_until_ms, expires_ms, offer[CELLS])
return answer_hold(id)
