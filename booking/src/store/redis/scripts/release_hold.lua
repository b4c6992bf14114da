-- Frees a hold that no order has. Remembers the release for `remembered_ms`, so that a repeated
-- call succeeds too.
local released = P .. 'released:' .. id
local hold = fields_of(hold_key(id), VISITOR, STAGE, PURPOSE)
-- This is a repeated call: the first call freed the hold.
if not hold[VISITOR] and call('GET', released) == visitor then return answer('OK') end
if not hold[VISITOR] then return answer('GONE') end
if hold[VISITOR] ~= visitor then return answer('FOREIGN') end
if not serves(purposes, hold[PURPOSE]) then
  return answer('PURPOSE', { purpose = hold[PURPOSE] or 'basket' })
end
if hold[STAGE] ~= 'basket' then return answer('ORDERED') end
drop(id, 'gone')
call('SET', released, visitor, 'PX', remembered_ms)
return answer('OK')
