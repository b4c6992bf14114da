-- What all scripts of a show share. KEYS[1] is its meta hash; every other key is of one life of the show and is named
-- from it, so a new life begins on clean keys, and all of them lie on one slot.
-- ARGV[1] the life, ARGV[2] the ledger's time in ms, ARGV[3] how far a clock may be off.
-- Before Redis 7 a script must say that it replicates what it does, not what it was asked: it reads the clock.
if redis.replicate_commands then redis.replicate_commands() end
local call, META, LIFE = redis.call, KEYS[1], ARGV[1]

local function keys_of(life) return string.sub(META, 1, -5) .. life .. ':' end
local P = keys_of(LIFE)

-- Which history of data this server goes on with: whoever may be written to begins one of its own when it starts and
-- when it is promoted.
local function identity()
  return string.match(call('INFO', 'replication'), 'master_replid:(%w+)')
end

local function redis_ms()
  local time = call('TIME')
  return time[1] * 1000 + math.floor(time[2] / 1000)
end

-- Items are records of 16 bytes: seat, first leg, leg behind the last, and nothing. Cells are
-- given as digits: they go into keys and commands several times, and Redis writes a number out slowly each time.
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
