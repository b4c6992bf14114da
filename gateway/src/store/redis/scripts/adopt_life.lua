-- Continues the life and returns 1, if this is the server that the life began on and its history of
-- data only got another name. Otherwise returns 0. The name changes when the server's first replica
-- comes, and an hour after the last one left. A server that was a replica of another one and was
-- promoted keeps the name of the other's history as its second name, so this script returns 0 for
-- it.
local stored, is = call('HMGET', LIFE, 'incarnation', 'run_id'), server()
if stored[1] ~= incarnation or not stored[2] then return 0 end
local info = call('INFO', 'replication')
local same = string.sub(stored[2], 1, 40) == string.sub(is, 1, 40)
local second = string.match(info, 'master_replid2:(%w+)')
if not same or not string.find(info, 'role:master', 1, true) or second ~= string.rep('0', 40) then
  return 0
end
call('HSET', LIFE, 'run_id', is)
return 1
