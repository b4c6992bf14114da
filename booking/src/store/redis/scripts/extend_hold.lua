-- Moves the deadlines of a basket, but never to an earlier time. `call_id` names the call.
if stage ~= 'basket' then return {'ORDERED', at} end
local items, expires, lock_until, left, cells, last =
  unpack(call('HMGET', hold, 'i', 'e', 'u', 'x', 'k', 'y'))
-- A call with the id of the last call is a repeated call: the extension was already made.
if last == call_id then return answer(id) end
if tonumber(left) == 0 then return {'NOEXTENSIONS', at} end
if tonumber(expires_ms) > tonumber(expires) then expires = expires_ms end
if tonumber(lock_until_ms) > tonumber(lock_until) then lock_until = lock_until_ms end
call('HSET', hold, 'e', expires, 'u', lock_until, 'x', tonumber(left) - 1, 'y', call_id)
schedule(id, lock_until, expires, 'basket')
renew(cells_of(items), id, lock_until)
tell(id, visitor, 'basket', {}, lock_until, expires, cells)
return answer(id)
