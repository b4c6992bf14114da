-- What all scripts of a room share. LIFE is the room's life. All of a room's keys begin alike and
-- lie on one slot, so the others are named from this one. The arguments stand in front of this as
-- locals, named as in scripts.rs.
local function K(name) return string.sub(LIFE, 1, -5) .. name end
local function num(value) return tonumber(value) or 0 end
local function call(...) return redis.call(...) end

-- Which server this is and which history of data it goes on from: a restart changes the first, a
-- promotion the second.
local function server()
  local run = string.match(call('INFO', 'server'), 'run_id:(%w+)')
  return run .. string.match(call('INFO', 'replication'), 'master_replid:(%w+)')
end
