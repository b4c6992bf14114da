-- Returns the share of called visitors who come.
local function show_up()
  local past = call('HMGET', LIFE, 'past_people', 'past_came')
  local part = (SHOW_UP_WEIGHT + num(past[2])) / (SHOW_UP_WEIGHT + num(past[1]))
  return math.min(1, math.max(SHOW_UP_MIN, part))
end

-- Returns how many called visitors have not come yet and are still expected.
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
