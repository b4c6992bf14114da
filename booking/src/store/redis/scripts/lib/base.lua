-- What all scripts of a show share. META is the show's meta hash. Every other key of the show
-- belongs to one life and has a name that is derived from META. So a new life begins with new keys,
-- and all keys lie on one slot. The arguments are locals that are defined above this text and named
-- as in scripts.rs: `life`, `caller_ms` (the ledger's time), `clock_off_ms_max` (how much the
-- difference between Redis's clock and the ledger's may change after the life became live), and the
-- script's own. Scripts read the clock. Before Redis 7, such a script must ask Redis to replicate
-- the script's effects instead of the call.
if redis.replicate_commands then redis.replicate_commands() end

local function keys_of(of_life) return string.sub(META, 1, -5) .. of_life .. ':' end
local P = keys_of(life)

-- Returns the id of this server's history of data. A primary begins a new history when it starts,
-- and a replica when it is promoted.
local function identity()
  return string.match(call('INFO', 'replication'), 'master_replid:(%w+)')
end

-- Returns the cells of items, which are records of 16 bytes: seat, first leg, the leg after the
-- last, and 8 unused bytes. Cells are returned as strings, because they are used in several keys
-- and commands. Converting a number to text each time would be slow.
local SEATS
local function cells_of(items)
  local cells = {}
  for at = 1, #items, 16 do
    local seat, from, to = struct.unpack('<I4I2I2', items, at)
    for leg = from, to - 1 do cells[#cells + 1] = string.format('%d', leg * SEATS + seat) end
  end
  return cells
end

-- Reads a point of the feed. Returns the counter and the sub-counter.
local function read_point(text)
  local counter, sub = string.match(text, '^(%d+)-(%d+)$')
  return tonumber(counter), tonumber(sub)
end

-- Returns the summary of a hold for snapshots and the feed: the state, the lock deadline, the
-- visitor's deadline and the number of cells. `read_summary` in packing.rs reads it.
local function hold_summary(state, lock_until_ms, expires_ms, cells)
  return state .. ',' .. lock_until_ms .. ',' .. expires_ms .. ',' .. cells
end

local function packed(numbers)
  local out = {}
  for i, number in ipairs(numbers) do out[i] = struct.pack('<I4', number) end
  return table.concat(out)
end
