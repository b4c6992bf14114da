-- Counts a visitor's seats, schedules a hold's deadlines, and answers with a hold.

-- Adds to a visitor's count. Deletes a count of 0 to save memory.
local function count(which, visitor, by)
  if by ~= 0 and call('HINCRBY', P .. which, visitor, by) <= 0 then call('HDEL', P .. which, visitor) end
end

local function have(visitor)
  return (tonumber(call('HGET', P .. 'bought', visitor)) or 0) + (tonumber(call('HGET', P .. 'has', visitor)) or 0)
end

-- Adds a hold to the list of its visitor's holds.
local function list(visitor, id)
  call('HSET', P .. 'own', visitor, (call('HGET', P .. 'own', visitor) or '') .. id)
end

-- Removes a hold from the list of its visitor's holds.
local function unlist(visitor, id)
  local ids, rest = call('HGET', P .. 'own', visitor) or '', {}
  for n = 1, #ids, 32 do
    local one = string.sub(ids, n, n + 31)
    if one ~= id then rest[#rest + 1] = one end
  end
  if #rest > 0 then
    call('HSET', P .. 'own', visitor, table.concat(rest))
  else
    call('HDEL', P .. 'own', visitor)
  end
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

-- Returns whether a hold's purpose is in a list of purposes. A hold without a purpose is a basket.
local function serves(purposes, purpose)
  return string.find(',' .. purposes .. ',', ',' .. (purpose or 'basket') .. ',', 1, true) ~= nil
end

-- Returns the hold as it is, with names. A hold of an older version has no purpose and no terms.
local function named_hold(id)
  local hold = fields_of(hold_key(id), VISITOR, ROOM, ITEMS, PLAN, SIDE_BY_SIDE, EXPIRES_MS,
    LOCK_UNTIL_MS, EXTENSIONS, STAGE, PURPOSE, TERMS)
  return named({ visitor = hold[VISITOR], room = hold[ROOM], items = hold[ITEMS],
    plan = hold[PLAN], side_by_side = hold[SIDE_BY_SIDE], expires_ms = hold[EXPIRES_MS],
    lock_until_ms = hold[LOCK_UNTIL_MS], extensions = hold[EXTENSIONS], stage = hold[STAGE],
    purpose = hold[PURPOSE], terms = hold[TERMS] })
end

-- Answers with the hold as it is.
local function answer_hold(id) return answer('OK', { hold = named_hold(id) }) end
