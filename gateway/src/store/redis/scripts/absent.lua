-- ARGV: incarnation, the version that the caller has. The bits only where they changed since.
local version = num(call('HGET', LIFE, 'absent_version'))
if tostring(version) == ARGV[2] then return { version } end
return { version, call('GET', K('absent')) or '' }
