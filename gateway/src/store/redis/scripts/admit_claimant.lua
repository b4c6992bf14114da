-- Decides whether a visitor may claim a pass now. If so, reserves one of the `max_inside` entries.
-- `released` is the release counter as the caller knows it. `lapses_ms` is the time at which the
-- reservation lapses. After `idle_ms` without an entry, a latecomer is let in although the room
-- left is kept for visitors who are expected. `ReleaseCohorts::admit` decides in the same way.
local ranked, most, now = tonumber(rank), tonumber(max_inside), tonumber(now_ms)
local now_s = math.floor(now / 1000)
local pass = call('HGET', K('passes'), number)
if pass and tonumber(pass) > now_s then return named({ kind = 'lives' }) end
local life = fields_of(LIFE, 'released', 'late_credit_u', 'let_in_at')
local waits = named({ kind = 'wait', entry_in_ms = false })
local behind = called_behind(number)
local turn = behind and math.max(ranked, behind - 1) or ranked
if turn >= math.max(tonumber(released), num(life.released)) then return waits end
-- The visitor may have left since the place was read.
if call('GETBIT', K('absent'), number) == 1 then return waits end
local refusal = toll_refusal()
if refusal then return refusal end
lapse(now)
local coming = counts(now_s).inside + call('ZCARD', K('entering'))
-- A new pass of this visitor takes the entry of the old one.
if call('ZSCORE', K('inside'), number) then coming = coming - 1 end
local cohort = cohort_of(ranked)
local timing = pass and AGAIN or cohort and IN_WINDOW or LATE
-- What `entry_order` returns. No room has 2^40 ranks. A visit that did not count has a `behind` of
-- zero.
local order = pass and behind ~= 0 and 2 ^ 40 + tonumber(pass) or turn

-- Returns whether the visitor may enter, and if not, in how many milliseconds the pace allows it,
-- if that is known.
local function decide_entry()
  -- The pace calls more ranks than can be inside, because it expects only some of their visitors to
  -- come. So the limit is checked even for a visitor who was expected. Visitors who were called and
  -- never come must not keep others out. A second pass waits.
  local is_idle = now - num(life.let_in_at) >= tonumber(idle_ms)
  local is_free = timing == IN_WINDOW or timing == LATE and is_idle
  local space = most - coming
  if not is_free then space = space - expected() end
  -- A room without a line has no pace, so only `max_inside` limits claims there.
  if has_line ~= '1' then return space > 0 end
  local before = before_at_door(order, timing, now)
  local gate = gate_at(now)
  -- Before the first tick it is not known how fast visitors may enter.
  if space <= before or not gate then return false end
  local missing = math.max(0, (before + 1) * VISITOR_U - gate.credit_u)
  local entry_in_ms = math.ceil(missing * 1000 / math.max(1, gate.rate_u))
  local has_share = is_free or num(life.late_credit_u) >= VISITOR_U
  if not has_share then entry_in_ms = math.max(entry_in_ms, TICK_MS) end
  if entry_in_ms > 0 then return false, entry_in_ms end
  gate.credit_u = math.max(0, gate.credit_u - VISITOR_U)
  store_gate(gate)
  if timing ~= IN_WINDOW then
    call('HSET', LIFE, 'late_credit_u', math.max(0, num(life.late_credit_u) - VISITOR_U))
    call('HINCRBY', LIFE, 'owed_u', VISITOR_U)
  end
  return true
end

if not call('ZSCORE', K('entering'), ranked) then
  local may_enter, entry_in_ms = decide_entry()
  if not may_enter then
    if has_line == '1' then wait_at_door(ranked, order, timing, entry_in_ms, now) end
    return named({ kind = 'wait', entry_in_ms = entry_in_ms or false })
  end
  leave_door(ranked)
end
use_solution()
call('ZADD', K('entering'), lapses_ms, ranked)
call('HINCRBY', K('entering_calls'), ranked, 1)
call('HSET', LIFE, 'let_in_at', now_ms)
if cohort then note_answer(cohort, ranked, true) end
return named({ kind = 'let', first = pass and 0 or 1 })
