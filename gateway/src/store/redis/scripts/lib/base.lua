-- What all scripts of a room share. LIFE is the key of the room's life. All keys of a room have one
-- prefix and lie on one slot, so their names are built from this one. The arguments precede this
-- text as locals, with their names in scripts.rs.
local function K(name) return string.sub(LIFE, 1, -5) .. name end
local function num(value) return tonumber(value) or 0 end
local function call(...) return redis.call(...) end

-- Returns which server this is and the history of data that it continues. A restart changes the
-- first, a promotion the second.
local function server()
  local run = string.match(call('INFO', 'server'), 'run_id:(%w+)')
  return run .. string.match(call('INFO', 'replication'), 'master_replid:(%w+)')
end
