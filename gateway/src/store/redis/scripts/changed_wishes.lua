-- Answers with the wishes that changed after a version, oldest change first. A number without
-- wishes has no value.
local after = call('ZRANGEBYSCORE', K('wish_changes'), '(' .. since, '+inf', 'WITHSCORES', 'LIMIT', 0, most)
local changed = {}
for number, version in each_pair(after) do
  local wishes = call('HGET', K('wishes'), number)
  changed[#changed + 1] = named({ version = version, number = number, wishes = wishes })
end
return changed
