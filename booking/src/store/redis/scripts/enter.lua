-- Nothing is done to a show that is not open in this life, on this server, by this clock.
local meta = call('HMGET', META, 'life', 'state', 'server', 'shift', 'plan', 'seats', 'counter', 'sub', 'cursor')
if not meta[1] then return redis.error_reply('MISSING the show is not open') end
if LIFE == '' then LIFE = meta[1]; P = keys_of(LIFE) end
if meta[1] ~= LIFE or meta[2] ~= 'live' then return redis.error_reply('LIFE the show is in another life') end
if meta[3] ~= identity() then return redis.error_reply('SERVER the data are of another server') end
SEATS = tonumber(meta[6])
local counter, sub = tonumber(meta[7]), tonumber(meta[8])
local by_redis, by_caller = redis_ms() + tonumber(meta[4]), tonumber(ARGV[2])
if math.abs(by_redis - by_caller) > tonumber(ARGV[3]) then return redis.error_reply('CLOCK the clocks are apart') end
-- Nothing ends before both clocks say so.
local now = math.min(by_redis, by_caller)

-- How long a key may stay if nobody sweeps: a safety net below the deadline, which frees seats on time.
local function net_ms(until_ms) return math.floor(math.max(1, math.min(tonumber(until_ms) - now, 3456000000))) + 10000 end

-- Where the feed stands: what every answer tells, so that who asked can wait for its own change.
local function at() return string.format('%.0f-%.0f', counter, sub) end

-- One numbered change of the show. What changes no cell is numbered below the change before it.
local function tell(id, visitor, state, changed, lock_until, expires, cells)
  if #changed > 0 then counter = counter + 1; sub = 0 else sub = sub + 1 end
  call('XADD', P .. 'feed', 'MAXLEN', '~', 8192, at(),
    'h', id, 'v', visitor, 's', state, 'c', packed(changed), 'u', lock_until, 'e', expires, 'n', cells)
  call('HSET', META, 'counter', counter, 'sub', sub)
  if state == 'gone' or state == 'lapsed' then
    call('HDEL', P .. 'kept', id)
  else
    call('HSET', P .. 'kept', id, table.concat({state, lock_until, expires, cells}, ','))
  end
end

-- Sets the bits of a view and notes the change: 0 free, 1 held, 2 sold.
local function mark(cells, state, changed)
  for _, cell in ipairs(cells) do
    if state == 1 then
      call('SETBIT', P .. 'held', cell, 1)
    else
      call('SETBIT', P .. 'held', cell, 0)
      call('SETBIT', P .. 'sold', cell, state == 2 and 1 or 0)
    end
    changed[#changed + 1] = cell * 4 + state
  end
end

-- Locks all cells for a hold, or none; names all that refused.
local function lock(cells, id, until_ms)
  local mine, refused, net = {}, {}, net_ms(until_ms)
  for _, cell in ipairs(cells) do
    local key = P .. 'lock:' .. cell
    if call('GETBIT', P .. 'sold', cell) == 1 or call('GETBIT', P .. 'blocked', cell) == 1 then
      refused[#refused + 1] = cell
    elseif #refused > 0 then
      if call('EXISTS', key) == 1 then refused[#refused + 1] = cell end
    elseif call('SET', key, id, 'NX', 'PX', net) then
      mine[#mine + 1] = key
    else
      refused[#refused + 1] = cell
    end
  end
  if #refused > 0 and #mine > 0 then call('DEL', unpack(mine)) end
  return refused
end

-- Takes a hold's locks off and says which cells are free by that. A lock that its safety net took is nobody's.
local function unlock(cells, id)
  local freed = {}
  for _, cell in ipairs(cells) do
    local owner = call('GET', P .. 'lock:' .. cell)
    if owner == id then
      call('DEL', P .. 'lock:' .. cell)
      freed[#freed + 1] = cell
    elseif not owner and call('GETBIT', P .. 'held', cell) == 1 then
      freed[#freed + 1] = cell
    end
  end
  return freed
end

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
  call('PEXPIRE', P .. 'hold:' .. id, net_ms(lock_until) + 86400000)
end

-- Keeps the locks that are still the hold's for as long as its deadline says.
local function renew(cells, id, lock_until)
  local net = net_ms(lock_until)
  for _, cell in ipairs(cells) do
    local key = P .. 'lock:' .. cell
    if call('GET', key) == id then call('PEXPIRE', key, net) end
  end
end

-- Forgets a hold, not its locks; gives its visitor, items and deadline.
local function forget(id)
  local key = P .. 'hold:' .. id
  local hold = call('HMGET', key, 'v', 'i', 'e')
  call('ZREM', P .. 'deadlines', id)
  call('ZREM', P .. 'short', id)
  if not hold[1] then return nil end
  call('DEL', key)
  count('has', hold[1], -#hold[2] / 16)
  return hold
end

-- Frees a hold's seats and forgets it.
local function drop(id, why)
  local hold = forget(id)
  if not hold then return false end
  local changed = {}
  mark(unlock(cells_of(hold[2]), id), 0, changed)
  tell(id, hold[1], why, changed, 0, hold[3], 0)
  return true
end

-- The hold as it is, for an answer.
local function answer(id)
  local hold = call('HMGET', P .. 'hold:' .. id, 'v', 'r', 'i', 'p', 'n', 'e', 'u', 'x', 's')
  return {'OK', at(), hold}
end
