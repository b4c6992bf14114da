-- The leaves of a room. One key has the leaves of CHUNK numbers, and one leaf has LEAF bytes: 32
-- bytes for the holder, then 8 bytes for the time at which the number was given.
local CHUNK, LEAF = 16384, 40

-- Returns the leaf of a number. If the leaf was never written, its bytes are zero or missing.
local function leaf_of(number)
  local at = (number % CHUNK) * LEAF
  local bytes = call('GETRANGE', K('leaves:' .. math.floor(number / CHUNK)), at, at + LEAF - 1)
  return strict({ bytes = bytes, holder = string.sub(bytes, 1, 32), written = string.sub(bytes, 33) })
end

local function write_leaf(number, holder, written)
  local at = (number % CHUNK) * LEAF
  call('SETRANGE', K('leaves:' .. math.floor(number / CHUNK)), at, holder .. written)
end
