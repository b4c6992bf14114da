-- Decides whether a visitor may claim a pass now. If so, reserves one of the `max_inside` entries.
-- `released` is the release counter as the caller knows it. `lapses_ms` is the time at which the
-- reservation lapses. After `idle_ms` without an entry, a latecomer is let in although the room
-- left is kept for visitors who are expected.
local ranked, most, now = tonumber(rank), tonumber(max_inside), tonumber(now_ms)
local now_s = math.floor(now / 1000)
local pass = call('HGET', K('passes'), number)
if pass and tonumber(pass) > now_s then return named({ kind = 'lives' }) end
local life = fields_of(LIFE, 'released', 'late_credit_u', 'let_in_at')
if ranked >= math.max(tonumber(released), num(life.released)) then return named({ kind = 'wait' }) end
-- The visitor may have left since the place was read.
if call('GETBIT', K('absent'), number) == 1 then return named({ kind = 'wait' }) end
local refusal = toll_refusal()
if refusal then return refusal end
lapse(now)
local coming = counts(now_s).inside + call('ZCARD', K('entering'))
-- A new pass of this visitor takes the entry of the old one.
if call('ZSCORE', K('inside'), number) then coming = coming - 1 end
local cohort = cohort_of(ranked)
local let_in = call('ZSCORE', K('entering'), ranked) and true or false
if not let_in then
  if cohort and not pass then
    -- The pace calls more ranks than can be inside, because it expects only some of their visitors
    -- to come. So the limit is checked even for a visitor who was expected.
    let_in = coming < most
  elseif coming < most then
    -- Visitors who were called and never come must not keep others out. A second pass waits.
    local is_idle = not pass and now - num(life.let_in_at) >= tonumber(idle_ms)
    -- A room without a line has no pace, so only `max_inside` limits late claims there.
    local has_pace = has_line == '1'
    let_in = is_idle or
      coming + expected() < most and (not has_pace or num(life.late_credit_u) >= VISITOR_U)
    if let_in and has_pace then
      call('HSET', LIFE, 'late_credit_u', math.max(0, num(life.late_credit_u) - VISITOR_U))
      call('HINCRBY', LIFE, 'owed_u', VISITOR_U)
    end
  end
end
if not let_in then return named({ kind = 'wait' }) end
use_solution()
call('ZADD', K('entering'), lapses_ms, ranked)
call('HINCRBY', K('entering_calls'), ranked, 1)
call('HSET', LIFE, 'let_in_at', now_ms)
if cohort then note_answer(cohort, ranked, true) end
return named({ kind = 'let', first = pass and 0 or 1 })
