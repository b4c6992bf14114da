-- Checks that the hold `id` is the visitor's own and was made for one of the purposes.
local hold = P .. 'hold:' .. id
local owner, stage, made_for = unpack(call('HMGET', hold, 'v', 's', 'w'))
if not owner then return {'GONE', at} end
if owner ~= visitor then return {'FOREIGN', at} end
if not serves(purposes, made_for) then return {'PURPOSE', at, made_for} end
