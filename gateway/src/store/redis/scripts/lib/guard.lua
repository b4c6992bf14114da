-- Before every script. KEYS[1] is the room's life, ARGV[1] the incarnation that the caller knows from the ledger.
-- All of a room's keys begin alike and lie on one slot, so the others are named from this one.
local LIFE = KEYS[1]
local function K(name) return string.sub(LIFE, 1, -5) .. name end
local function num(value) return tonumber(value) or 0 end
local function call(...) return redis.call(...) end
local CHUNK, LEAF, VISITOR = 16384, 40, 1000000
local NOBODY = string.rep('\0', 32)
local UNWRITTEN = string.rep('\0', LEAF)

-- Which server this is and which history of data it goes on from: a restart changes the first, a promotion the second.
local function server()
  local run = string.match(call('INFO', 'server'), 'run_id:(%w+)')
  return run .. string.match(call('INFO', 'replication'), 'master_replid:(%w+)')
end

-- How many there are of each: what counts() answers in Rust.
local function counts(now_s)
  local ran_out = call('ZREMRANGEBYSCORE', K('inside'), '-inf', now_s)
  if ran_out > 0 then call('HINCRBY', LIFE, 'ended', ran_out) end
  local life = call('HMGET', LIFE, 'next', 'absent', 'ended', 'done', 'finished', 'void')
  local next, absent, void = num(life[1]), num(life[2]), num(life[6])
  return { next, next - void, absent - void, call('ZCARD', K('inside')), num(life[3]), call('HLEN', K('passes')),
    num(life[4]), num(life[5]) }
end

local function record(number)
  local at = (number % CHUNK) * LEAF
  return call('GETRANGE', K('leaves:' .. math.floor(number / CHUNK)), at, at + LEAF - 1)
end

local function write_record(number, holder, at)
  call('SETRANGE', K('leaves:' .. math.floor(number / CHUNK)), (number % CHUNK) * LEAF, holder .. at)
end

local function place(kind, number)
  local leaf = record(number)
  return { kind, number, string.sub(leaf, 1, 32), string.sub(leaf, 33, 40), call('HGET', K('passes'), number) or '',
    call('GETBIT', K('done'), number), call('HGET', K('code_of'), number) or '' }
end

-- Nobody stands at the number any more, or somebody again. `void` is 1 where the number is nobody's at all, and 0 where
-- somebody left it: who left still counts as somebody who joined.
local function mark_absent(number, absent, void)
  if call('SETBIT', K('absent'), number, absent) ~= absent then
    call('HINCRBY', LIFE, 'absent', absent * 2 - 1)
    call('HINCRBY', LIFE, 'void', void * (absent * 2 - 1))
    call('HINCRBY', LIFE, 'absent_version', 1)
  end
end

-- Whoever leaves with a pass can buy with it all the same, so the number is kept under its holder.
local function note_left(number, holder)
  if call('HEXISTS', K('passes'), number) == 1 then
    local before = call('HGET', K('left_with_pass'), holder)
    call('HSET', K('left_with_pass'), holder, before and (before .. ',' .. number) or number)
  end
end

local function give_up(number, void)
  local holder = string.sub(record(number), 1, 32)
  if num(call('HGET', K('holders'), holder) or -1) == number then call('HDEL', K('holders'), holder) end
  if call('GETBIT', K('absent'), number) == 0 then
    note_left(number, holder)
    mark_absent(number, 1, void)
  end
end

-- A rank's cohort, while its window is open: when it was called, with whom.
local function cohort_of(rank)
  local found = call('ZRANGEBYSCORE', K('calls'), '(' .. rank, '+inf', 'LIMIT', 0, 1)[1]
  if not found then return nil end
  local from, to = string.match(found, '^(%d+):(%d+):')
  if rank < tonumber(from) or call('GETBIT', K('called_away'), rank) == 1 then return nil end
  return to
end

local function answered(to, rank, came)
  if call('SETBIT', K('answered'), rank, 1) == 0 then
    call('HINCRBY', K('came'), to .. ':answered', 1)
    if came then call('HINCRBY', K('came'), to .. ':came', 1) end
  end
end

local function show_up()
  local past = call('HMGET', LIFE, 'past_people', 'past_came')
  local part = (SHOW_UP_WEIGHT + num(past[2])) / (SHOW_UP_WEIGHT + num(past[1]))
  return math.min(1, math.max(SHOW_UP_MIN, part))
end

local function expected()
  local part, sum = show_up(), 0
  local tallies, flat = {}, call('HGETALL', K('came'))
  for at = 1, #flat, 2 do tallies[flat[at]] = tonumber(flat[at + 1]) end
  for _, cohort in ipairs(call('ZRANGE', K('calls'), 0, -1)) do
    local to, people = string.match(cohort, '^%d+:(%d+):%-?%d+:(%d+)$')
    local coming = math.ceil(tonumber(people) * part) - (tallies[to .. ':came'] or 0)
    local open = tonumber(people) - (tallies[to .. ':answered'] or 0)
    sum = sum + math.max(0, math.min(coming, open))
  end
  return sum
end

local function lapse(now)
  for _, rank in ipairs(call('ZRANGEBYSCORE', K('entering'), '-inf', now)) do
    call('HDEL', K('entering_calls'), rank)
  end
  call('ZREMRANGEBYSCORE', K('entering'), '-inf', now)
end

local function refused()
  local stored = call('HMGET', LIFE, 'incarnation', 'run_id')
  if not stored[1] then return redis.error_reply('LIFE missing') end
  if stored[1] ~= ARGV[1] then return redis.error_reply('LIFE is ' .. stored[1]) end
  if stored[2] ~= server() then return redis.error_reply('LIFE of another server') end
  return nil
end
