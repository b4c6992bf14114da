-- Makes a hold a basket again until `lock_until_ms`, because the ledger did not accept the claim.
-- `secured_until_ms` is the deadline that the undone attempt had set. If a later call has moved the
-- deadline, the lock stays.
local hold = P .. 'hold:' .. id
local visitor, items, expires, cells, stage, until_now = unpack(call('HMGET', hold, 'v', 'i', 'e', 'k', 's', 'u'))
if not visitor then return {'GONE', at} end
if stage ~= 'ordered' or tonumber(until_now) ~= tonumber(secured_until_ms) then return {'OK', at} end
call('HSET', hold, 's', 'basket', 'u', lock_until_ms)
schedule(id, lock_until_ms, expires, 'basket')
renew(cells_of(items), id, lock_until_ms)
tell(id, visitor, 'basket', {}, lock_until_ms, expires, cells)
return {'OK', at}
