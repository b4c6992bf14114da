-- The budget of wrong codes and those of the last minute, counted as `WrongCodes` does. The hash
-- has the time at which the budget is whole again, and the wrong codes of each slice of time.
local WRONG = K('wrong_codes')

-- Returns for how long (ms) no code is looked at. `kept_tries` is how many must be left then.
local function codes_wait_ms(kept_tries, at_ms)
  local missing_ms = num(call('HGET', WRONG, 'whole_at')) - tonumber(at_ms)
  return math.max(0, missing_ms - (WRONG_AT_ONCE - 1 - tonumber(kept_tries)) * WRONG_EVERY_MS)
end

local function oldest_wrong_slice(at_ms)
  return math.floor(tonumber(at_ms) / WRONG_SLICE_MS) - (WRONG_SLICES - 1)
end

-- Returns how many wrong codes were looked at in the last minute.
local function recent_wrong_codes(at_ms)
  local oldest, sum = oldest_wrong_slice(at_ms), 0
  for slice, codes in each_pair(call('HGETALL', WRONG)) do
    if slice ~= 'whole_at' and tonumber(slice) >= oldest then sum = sum + tonumber(codes) end
  end
  return sum
end

-- Counts a wrong code that was looked at.
local function note_wrong_code(at_ms)
  local oldest = oldest_wrong_slice(at_ms)
  for slice in each_pair(call('HGETALL', WRONG)) do
    if slice ~= 'whole_at' and tonumber(slice) < oldest then call('HDEL', WRONG, slice) end
  end
  local whole_at = math.max(num(call('HGET', WRONG, 'whole_at')), tonumber(at_ms)) + WRONG_EVERY_MS
  call('HSET', WRONG, 'whole_at', string.format('%d', whole_at))
  call('HINCRBY', WRONG, string.format('%d', oldest + WRONG_SLICES - 1), 1)
  call('PEXPIRE', WRONG, WRONG_KNOWN_MS)
end
