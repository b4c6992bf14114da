-- The ledger refused the claim: a basket again. ARGV from 4: id, lock until.
local id, lock_until = ARGV[4], ARGV[5]
local hold = P .. 'hold:' .. id
local visitor, items, expires, cells = unpack(call('HMGET', hold, 'v', 'i', 'e', 'k'))
if not visitor then return {'GONE', at()} end
call('HSET', hold, 's', 'basket', 'u', lock_until)
schedule(id, lock_until, expires, 'basket')
renew(cells_of(items), id, lock_until)
tell(id, visitor, 'basket', {}, lock_until, expires, cells)
return {'OK', at()}
