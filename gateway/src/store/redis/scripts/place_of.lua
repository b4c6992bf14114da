-- ARGV: incarnation, holder.
local known = call('HGET', K('holders'), ARGV[2])
return known and place('here', tonumber(known)) or { 'unknown' }
