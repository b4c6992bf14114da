-- Frees a hold that no order has. Remembers the release for `remembered_ms`, so that a repeated
-- call succeeds too.
local released = P .. 'released:' .. id
local owner, stage, made_for = unpack(call('HMGET', P .. 'hold:' .. id, 'v', 's', 'w'))
-- This is a repeated call: the first call freed the hold.
if not owner and call('GET', released) == visitor then return {'OK', at} end
if not owner then return {'GONE', at} end
if owner ~= visitor then return {'FOREIGN', at} end
if not serves(purposes, made_for) then return {'PURPOSE', at, made_for} end
if stage ~= 'basket' then return {'ORDERED', at} end
drop(id, 'gone')
call('SET', released, visitor, 'PX', remembered_ms)
return {'OK', at}
