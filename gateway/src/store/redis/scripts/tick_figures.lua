-- Returns all figures that a tick starts from, as of one moment.
local now = tonumber(now_ms)
lapse(now)
local calls = {}
for _, cohort in ipairs(call('ZRANGE', K('calls'), 0, -1)) do
  local from, to, at, people = string.match(cohort, '^(%d+):(%d+):(%-?%d+):(%d+)$')
  if now - tonumber(at) > tonumber(claim_ms) then
    local past = call('HMGET', LIFE, 'past_people', 'past_came')
    local came = num(call('HGET', K('came'), to .. ':came'))
    local past_people = num(past[1]) * PAST_KEPT + tonumber(people)
    local past_came = num(past[2]) * PAST_KEPT + came
    call('HSET', LIFE, 'past_people', string.format('%.17g', past_people),
      'past_came', string.format('%.17g', past_came))
    call('ZREM', K('calls'), cohort)
    call('HDEL', K('came'), to .. ':came', to .. ':answered')
  else
    table.insert(calls, tonumber(from))
    table.insert(calls, tonumber(to))
    table.insert(calls, tonumber(at))
  end
end
local counted = counts(math.floor(now / 1000))
local beyond = {}
for ends_s in each_ends_s() do
  table.insert(beyond, call('ZCOUNT', K('inside'), '(' .. ends_s, '+inf'))
end
call('HSET', K('vitals'), node, now_ms .. ' ' .. measured)
local vitals, flat = {}, call('HGETALL', K('vitals'))
for at = 1, #flat, 2 do
  local when, what = string.match(flat[at + 1], '^(%-?%d+) (.*)$')
  if math.abs(now - tonumber(when)) <= 3000 then
    table.insert(vitals, what)
  elseif math.abs(now - tonumber(when)) > 30000 then
    call('HDEL', K('vitals'), flat[at])
  end
end
local last = call('HMGET', LIFE, 'ticked_at', 'ticked_by', 'owed_u', 'row_released',
  'row_remainder_u', 'row_ticked_at', 'row_memory', 'memory')
local row = { num(last[4]), num(last[5]), num(last[6]), last[7] or '', last[8] or '' }
return { counted, beyond, expected(), call('ZCARD', K('entering')),
  string.format('%.17g', show_up()), num(last[3]), calls, num(last[1]), last[2] or '', row, vitals }
