-- Reads and writes a stored hold and its visitor's counts.

-- Adds to a visitor's count. Deletes a count of 0 to save memory.
local function count(which, visitor, by)
  if by ~= 0 and call('HINCRBY', P .. which, visitor, by) <= 0 then call('HDEL', P .. which, visitor) end
end

local function have(visitor)
  return (tonumber(call('HGET', P .. 'bought', visitor)) or 0) + (tonumber(call('HGET', P .. 'has', visitor)) or 0)
end

-- Stores a hold's lock deadline, and for a basket the time of the warning before its end.
local function schedule(id, lock_until, expires, stage)
  call('ZADD', P .. 'deadlines', lock_until, id)
  if stage == 'basket' then
    call('ZADD', P .. 'short', tonumber(expires) - 60000, id)
  else
    call('ZREM', P .. 'short', id)
  end
end

-- Returns whether a hold's purpose is in a list of purposes. Older versions stored holds without a
-- purpose. Those holds are baskets.
local function serves(purposes, made_for)
  return string.find(',' .. purposes .. ',', ',' .. (made_for or 'basket') .. ',', 1, true) ~= nil
end

-- Answers with the hold as it is.
local function answer(id)
  local hold = call('HMGET', P .. 'hold:' .. id, 'v', 'r', 'i', 'p', 'n', 'e', 'u', 'x', 's', 'w', 't')
  return {'OK', at, hold}
end
