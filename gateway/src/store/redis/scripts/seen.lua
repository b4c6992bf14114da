-- ARGV: incarnation, slot, its time to live (ms), numbers.
local key = K('seen:' .. ARGV[2])
for at = 4, #ARGV do call('SETBIT', key, ARGV[at], 1) end
call('PEXPIRE', key, ARGV[3])
return 1
