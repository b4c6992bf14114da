-- Turns an offer of the waitlist into a basket. The field `a` says that the basket was an offer.
local plan, items, until_now, cells, accepted = unpack(call('HMGET', hold, 'p', 'i', 'u', 'k', 'a'))
if not (accepted or serves('offer', made_for)) then return {'PURPOSE', at, made_for or 'basket'} end
if stage ~= 'basket' then return {'ORDERED', at} end
-- This is a repeated call: the first call accepted the offer.
if accepted then return answer(id) end
-- The offer's time is over, but no sweep has freed it yet.
if tonumber(until_now) <= now then return {'GONE', at} end
if plan ~= meta[5] then return {'PLAN', at} end
local all, seats, changed = have(visitor), #items / 16, {}
if all > tonumber(limit) then return {'LIMIT', at, all - seats} end
local locked = cells_of(items)
local lost = regain(locked, id, lock_until_ms, changed)
if #lost > 0 then return {'TAKEN', at, packed(lost)} end
call('HSET', hold, 'w', 'basket', 'e', expires_ms, 'u', lock_until_ms, 'a', '1')
schedule(id, lock_until_ms, expires_ms, 'basket')
renew(locked, id, lock_until_ms)
tell(id, visitor, 'basket', changed, lock_until_ms, expires_ms, cells)
return answer(id)
