-- The ledger did not take the claim: a basket again. ARGV from 4: id, lock until, and the deadline that the lock has by
-- the try that is undone. A later try has moved it, and keeps its lock.
local id, lock_until, secured_until = ARGV[4], ARGV[5], ARGV[6]
local hold = P .. 'hold:' .. id
local visitor, items, expires, cells, stage, until_now = unpack(call('HMGET', hold, 'v', 'i', 'e', 'k', 's', 'u'))
if not visitor then return {'GONE', at} end
if stage ~= 'ordered' or tonumber(until_now) ~= tonumber(secured_until) then return {'OK', at} end
call('HSET', hold, 's', 'basket', 'u', lock_until)
schedule(id, lock_until, expires, 'basket')
renew(cells_of(items), id, lock_until)
tell(id, visitor, 'basket', {}, lock_until, expires, cells)
return {'OK', at}
