-- Returns the version of the absent numbers. Unless the caller knows that version, also returns the
-- numbers as bits. The bit of each number without a visitor is set.
local version = num(call('HGET', LIFE, 'absent_version'))
if tostring(version) == known_version then return { version } end
return { version, call('GET', K('absent')) or '' }
