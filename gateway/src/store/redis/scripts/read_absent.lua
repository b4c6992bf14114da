-- Returns the numbers without a visitor as bits, if they changed since the version that the caller
-- has.
local version = num(call('HGET', LIFE, 'absent_version'))
if tostring(version) == known_version then return { version } end
return { version, call('GET', K('absent')) or '' }
