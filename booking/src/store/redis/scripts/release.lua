-- Frees a basket, and remembers that for as long as the call may be made again. ARGV from 4: id, visitor, for how many ms.
local id, visitor = ARGV[4], ARGV[5]
local released = P .. 'released:' .. id
local owner, stage = unpack(call('HMGET', P .. 'hold:' .. id, 'v', 's'))
-- The first try landed and its answer was lost.
if not owner and call('GET', released) == visitor then return {'OK', at} end
if not owner then return {'GONE', at} end
if owner ~= visitor then return {'FOREIGN', at} end
if stage ~= 'basket' then return {'ORDERED', at} end
drop(id, 'gone')
call('SET', released, visitor, 'PX', ARGV[6])
return {'OK', at}
