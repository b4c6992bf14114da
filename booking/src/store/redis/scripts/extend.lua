-- Moves the deadlines of a basket, never back. ARGV from 6: expires, lock until.
if stage ~= 'basket' then return {'ORDERED', at()} end
local items, expires, lock_until, left, cells = unpack(call('HMGET', hold, 'i', 'e', 'u', 'x', 'k'))
if tonumber(left) == 0 then return {'NOEXTENSIONS', at()} end
if tonumber(ARGV[6]) > tonumber(expires) then expires = ARGV[6] end
if tonumber(ARGV[7]) > tonumber(lock_until) then lock_until = ARGV[7] end
call('HSET', hold, 'e', expires, 'u', lock_until, 'x', tonumber(left) - 1)
schedule(id, lock_until, expires, 'basket')
renew(cells_of(items), id, lock_until)
tell(id, visitor, 'basket', {}, lock_until, expires, cells)
return answer(id)
