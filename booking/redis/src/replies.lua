-- Reads what Redis answers by names. It stands in front of every script. Redis answers many
-- commands with a plain list, and only this text knows what stands where in such a list.
local call = redis.call

-- Makes a table strict: reading a name that the table does not have is a fault. Without this it
-- would be nil, and a name that is spelt wrong would pass for a missing value.
local STRICT = {
  __index = function(_, name) error('a result has no "' .. tostring(name) .. '"', 2) end
}
local function strict(values) return setmetatable(values, STRICT) end

-- Reads fields of a hash. Returns a strict table. A field that the hash does not have is false.
local function fields_of(key, ...)
  local names, values, fields = {...}, call('HMGET', key, ...), {}
  for n = 1, #names do fields[names[n]] = values[n] end
  return strict(fields)
end

-- Walks over the pairs of a list: name and value (HGETALL), or member and score (WITHSCORES).
local function each_pair(list)
  local n = -1
  return function()
    n = n + 2
    return list[n], list[n + 1]
  end
end

-- Returns the item of a list that has one item at most, or nil.
local function only(list) return list[1] end

-- Returns the time by this server's clock, in milliseconds.
local function server_ms()
  local time = call('TIME')
  return time[1] * 1000 + math.floor(time[2] / 1000)
end

-- Answers with names. The caller reads each value by its name (`RedisReply::field`). False is
-- answered as no value. Only lists of like items are answered as they are.
local function named(values)
  -- The table begins with room for eight pairs, because growing it pair by pair is slow.
  local answer = { nil, nil, nil, nil, nil, nil, nil, nil, nil, nil, nil, nil, nil, nil, nil, nil }
  local last = 0
  for name, value in pairs(values) do
    answer[last + 1], answer[last + 2] = name, value
    last = last + 2
  end
  return answer
end
