-- What all scripts of a show share. META is its meta hash. Every other key is of one life of the
-- show and is named from it, so a new life begins on clean keys, and all of them lie on one slot.
-- The arguments stand in front of this as locals, named as in scripts.rs: `life`, `caller_ms` (the
-- ledger's time), `clock_off_ms_max` (how far a clock may be off), and the script's own.
-- Before Redis 7 a script must say that it replicates what it does, not what it was asked: it
-- reads the clock.
if redis.replicate_commands then redis.replicate_commands() end
local call = redis.call

local function keys_of(of_life) return string.sub(META, 1, -5) .. of_life .. ':' end
local P = keys_of(life)

-- Gives the history of data that this server goes on with. Whoever may be written to begins one of
-- its own when it starts and when it is promoted.
local function identity()
  return string.match(call('INFO', 'replication'), 'master_replid:(%w+)')
end

local function redis_ms()
  local time = call('TIME')
  return time[1] * 1000 + math.floor(time[2] / 1000)
end

-- Gives the cells of items, which are records of 16 bytes: seat, first leg, leg behind the last,
-- and nothing. Cells are given as digits: they go into keys and commands several times, and Redis
-- writes a number out slowly each time.
local SEATS
local function cells_of(items)
  local cells = {}
  for at = 1, #items, 16 do
    local seat, from, to = struct.unpack('<I4I2I2', items, at)
    for leg = from, to - 1 do cells[#cells + 1] = string.format('%d', leg * SEATS + seat) end
  end
  return cells
end

local function packed(numbers)
  local out = {}
  for i, number in ipairs(numbers) do out[i] = struct.pack('<I4', number) end
  return table.concat(out)
end
