-- Moves the deadlines of a basket, never back. ARGV from 7: the call, expires, lock until.
if stage ~= 'basket' then return {'ORDERED', at} end
local items, expires, lock_until, left, cells, last = unpack(call('HMGET', hold, 'i', 'e', 'u', 'x', 'k', 'y'))
-- The same call twice is one whose answer was lost: done already.
if last == ARGV[7] then return answer(id) end
if tonumber(left) == 0 then return {'NOEXTENSIONS', at} end
if tonumber(ARGV[8]) > tonumber(expires) then expires = ARGV[8] end
if tonumber(ARGV[9]) > tonumber(lock_until) then lock_until = ARGV[9] end
call('HSET', hold, 'e', expires, 'u', lock_until, 'x', tonumber(left) - 1, 'y', ARGV[7])
schedule(id, lock_until, expires, 'basket')
renew(cells_of(items), id, lock_until)
tell(id, visitor, 'basket', {}, lock_until, expires, cells)
return answer(id)
