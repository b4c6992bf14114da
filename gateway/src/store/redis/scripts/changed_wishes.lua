-- Returns the wishes that changed after a version, oldest change first. Each entry has the version,
-- the number and the wishes.
local after = call('ZRANGEBYSCORE', K('wish_changes'), '(' .. since, '+inf', 'WITHSCORES', 'LIMIT', 0, most)
local changed = {}
for at = 1, #after, 2 do
  local number, version = after[at], after[at + 1]
  changed[#changed + 1] = { version, number, call('HGET', K('wishes'), number) or '' }
end
return changed
