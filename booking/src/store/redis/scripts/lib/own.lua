-- The hold ARGV[4], for its visitor ARGV[5] only, if it was made for one of the purposes in ARGV[6].
local id, visitor = ARGV[4], ARGV[5]
local hold = P .. 'hold:' .. id
local owner, stage, made_for = unpack(call('HMGET', hold, 'v', 's', 'w'))
if not owner then return {'GONE', at} end
if owner ~= visitor then return {'FOREIGN', at} end
if not serves(ARGV[6], made_for) then return {'PURPOSE', at, made_for} end
