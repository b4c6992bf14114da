-- The hold ARGV[4], for its visitor ARGV[5] only.
local id, visitor = ARGV[4], ARGV[5]
local hold = P .. 'hold:' .. id
local owner, stage = unpack(call('HMGET', hold, 'v', 's'))
if not owner then return {'GONE', at} end
if owner ~= visitor then return {'FOREIGN', at} end
