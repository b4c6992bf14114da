-- Frees a hold that no order has, and remembers that for as long as the call may be made again. ARGV from 4: id, visitor,
-- what it may have been made for, for how many ms.
local id, visitor = ARGV[4], ARGV[5]
local released = P .. 'released:' .. id
local owner, stage, made_for = unpack(call('HMGET', P .. 'hold:' .. id, 'v', 's', 'w'))
-- The first try landed and its answer was lost.
if not owner and call('GET', released) == visitor then return {'OK', at} end
if not owner then return {'GONE', at} end
if owner ~= visitor then return {'FOREIGN', at} end
if not serves(ARGV[6], made_for) then return {'PURPOSE', at, made_for} end
if stage ~= 'basket' then return {'ORDERED', at} end
drop(id, 'gone')
call('SET', released, visitor, 'PX', ARGV[7])
return {'OK', at}
