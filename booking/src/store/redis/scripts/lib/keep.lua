-- A hold as it is kept, and its visitor's count.

-- Adds to a visitor's count; what is nothing takes no memory.
local function count(which, visitor, by)
  if by ~= 0 and call('HINCRBY', P .. which, visitor, by) <= 0 then call('HDEL', P .. which, visitor) end
end

local function have(visitor)
  return (tonumber(call('HGET', P .. 'bought', visitor)) or 0) + (tonumber(call('HGET', P .. 'has', visitor)) or 0)
end

-- Keeps a hold's lock deadline, and the call before its end where it is a basket.
local function schedule(id, lock_until, expires, stage)
  call('ZADD', P .. 'deadlines', lock_until, id)
  if stage == 'basket' then
    call('ZADD', P .. 'short', tonumber(expires) - 60000, id)
  else
    call('ZREM', P .. 'short', id)
  end
end

-- Whether a hold that was made for one thing serves one of those in a list. Holds had no purpose
-- once: those are baskets.
local function serves(purposes, made_for)
  return string.find(',' .. purposes .. ',', ',' .. (made_for or 'basket') .. ',', 1, true) ~= nil
end

-- The hold as it is, for an answer.
local function answer(id)
  local hold = call('HMGET', P .. 'hold:' .. id, 'v', 'r', 'i', 'p', 'n', 'e', 'u', 'x', 's', 'w', 't')
  return {'OK', at, hold}
end
