-- Continues a life that began on this server if only the server's `master_replid` (the id of its
-- history of data) has changed since. Returns 1 if the life goes on, otherwise 0. The id changes
-- when the server gets its first replica, and an hour after the last replica left. A promoted
-- replica keeps the id of its former primary as `master_replid2`, so this script returns 0 for it.
local stored, is = fields_of(LIFE, 'incarnation', 'run_id'), server()
if stored.incarnation ~= incarnation or not stored.run_id then return 0 end
local info = call('INFO', 'replication')
local same = string.sub(stored.run_id, 1, 40) == string.sub(is, 1, 40)
local second = string.match(info, 'master_replid2:(%w+)')
if not same or not string.find(info, 'role:master', 1, true) or second ~= string.rep('0', 40) then
  return 0
end
call('HSET', LIFE, 'run_id', is)
return 1
