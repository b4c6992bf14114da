-- Moves the deadlines of a basket, but never to an earlier time. `call_id` names the call.
if own[STAGE] ~= 'basket' then return answer('ORDERED') end
local basket = fields_of(hold_key(id), ITEMS, EXPIRES_MS, LOCK_UNTIL_MS, EXTENSIONS, CELLS, EXTENDED_BY)
-- A call with the id of the last call is a repeated call: the extension was already made.
if basket[EXTENDED_BY] == call_id then return answer_hold(id) end
if tonumber(basket[EXTENSIONS]) == 0 then return answer('NOEXTENSIONS') end
local expires, lock_until = basket[EXPIRES_MS], basket[LOCK_UNTIL_MS]
if tonumber(expires_ms) > tonumber(expires) then expires = expires_ms end
if tonumber(lock_until_ms) > tonumber(lock_until) then lock_until = lock_until_ms end
call('HSET', hold_key(id), EXPIRES_MS, expires, LOCK_UNTIL_MS, lock_until,
  EXTENSIONS, tonumber(basket[EXTENSIONS]) - 1, EXTENDED_BY, call_id)
schedule(id, lock_until, expires, 'basket')
renew(cells_of(basket[ITEMS]), id, lock_until)
tell(id, visitor, 'basket', {}, lock_until, expires, basket[CELLS])
return answer_hold(id)
