-- Returns the share of called visitors who come.
local function show_up()
  local past = fields_of(LIFE, 'past_people', 'past_came')
  local part = (SHOW_UP_WEIGHT + num(past.past_came)) / (SHOW_UP_WEIGHT + num(past.past_people))
  return math.min(1, math.max(SHOW_UP_MIN, part))
end

-- Returns how many called visitors have not come yet and are still expected.
local function expected()
  local part, sum, tallies = show_up(), 0, {}
  for field, count in each_pair(call('HGETALL', K('came'))) do tallies[field] = tonumber(count) end
  for _, text in ipairs(call('ZRANGE', K('calls'), 0, -1)) do
    local cohort = read_cohort(text)
    local coming = math.ceil(cohort.people * part) - (tallies[cohort.came_field] or 0)
    local open = cohort.people - (tallies[cohort.answered_field] or 0)
    sum = sum + math.max(0, math.min(coming, open))
  end
  return sum
end
