-- The leaves of a room: how many numbers one key has, and how many bytes one number. First the
-- holder, 32 bytes, then when the number was given, 8 bytes.
local CHUNK, LEAF = 16384, 40

local function record(number)
  local at = (number % CHUNK) * LEAF
  return call('GETRANGE', K('leaves:' .. math.floor(number / CHUNK)), at, at + LEAF - 1)
end

local function write_record(number, holder, written)
  local at = (number % CHUNK) * LEAF
  call('SETRANGE', K('leaves:' .. math.floor(number / CHUNK)), at, holder .. written)
end
