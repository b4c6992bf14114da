-- The leaves of a room. One key has the leaves of CHUNK numbers, and one leaf has LEAF bytes: 32
-- bytes for the holder, then 8 bytes for the time at which the number was given.
local CHUNK, LEAF = 16384, 40

local function record(number)
  local at = (number % CHUNK) * LEAF
  return call('GETRANGE', K('leaves:' .. math.floor(number / CHUNK)), at, at + LEAF - 1)
end

local function write_record(number, holder, written)
  local at = (number % CHUNK) * LEAF
  call('SETRANGE', K('leaves:' .. math.floor(number / CHUNK)), at, holder .. written)
end
