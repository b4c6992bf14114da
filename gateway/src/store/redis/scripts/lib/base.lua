-- What all scripts of a room share. LIFE is the key of the room's life. All keys of a room have the
-- same prefix, so that they lie on one slot. `K` builds their names from LIFE. The arguments of
-- each script are locals with the names in scripts.rs.
local function K(name) return string.sub(LIFE, 1, -5) .. name end
local function num(value) return tonumber(value) or 0 end

-- Returns the id of this server (`run_id`) and the id of its history of data (`master_replid`). A
-- restart changes the first id, and a promotion the second.
local function server()
  local run = string.match(call('INFO', 'server'), 'run_id:(%w+)')
  return run .. string.match(call('INFO', 'replication'), 'master_replid:(%w+)')
end
