-- Returns the version of the absent numbers and, unless the caller has that version, a bit for each
-- number without a visitor.
local version = num(call('HGET', LIFE, 'absent_version'))
if tostring(version) == known_version then return { version } end
return { version, call('GET', K('absent')) or '' }
