-- Answers with all figures that a tick starts from, as of one moment. There is no `ticked_by`
-- before the first tick.
local now = tonumber(now_ms)
lapse(now)
local calls = {}
for _, text in ipairs(call('ZRANGE', K('calls'), 0, -1)) do
  local cohort = read_cohort(text)
  if now - cohort.at_ms > tonumber(claim_ms) then
    local past = fields_of(LIFE, 'past_people', 'past_came')
    local came = num(call('HGET', K('came'), cohort.came_field))
    local past_people = num(past.past_people) * PAST_KEPT + cohort.people
    local past_came = num(past.past_came) * PAST_KEPT + came
    call('HSET', LIFE, 'past_people', string.format('%.17g', past_people),
      'past_came', string.format('%.17g', past_came))
    call('ZREM', K('calls'), cohort.text)
    call('HDEL', K('came'), cohort.came_field, cohort.answered_field)
  else
    calls[#calls + 1] = named({ from = cohort.from, to = cohort.to, at_ms = cohort.at_ms })
  end
end
local counted = counts(math.floor(now / 1000))
local inside_after = {}
for ends_s in each_ends_s() do
  inside_after[ends_s] = call('ZCOUNT', K('inside'), '(' .. ends_s + LEEWAY_S, '+inf')
end
call('HSET', K('vitals'), node, now_ms .. ' ' .. measured)
local vitals = {}
for of_node, noted in each_pair(call('HGETALL', K('vitals'))) do
  local noted_ms, what = string.match(noted, '^(%-?%d+) (.*)$')
  local age_ms = math.abs(now - tonumber(noted_ms))
  if age_ms <= 3000 then
    vitals[#vitals + 1] = what
  elseif age_ms > 30000 then
    call('HDEL', K('vitals'), of_node)
  end
end
local last = fields_of(LIFE, 'ticked_at', 'ticked_by', 'owed_u', 'row_released',
  'row_remainder_u', 'row_ticked_at', 'row_memory', 'memory')
return named({ counts = named(counted), inside_after = named(inside_after), expected = expected(),
  entering = call('ZCARD', K('entering')), asking = asking(now), show_up = string.format('%.17g', show_up()),
  owed_u = num(last.owed_u), calls = calls, ticked_at_ms = num(last.ticked_at),
  ticked_by = last.ticked_by, row = named({ released = num(last.row_released),
    remainder_u = num(last.row_remainder_u), ticked_at_ms = num(last.row_ticked_at),
    memory = last.row_memory or '' }), memory = last.memory or '', vitals = vitals })
