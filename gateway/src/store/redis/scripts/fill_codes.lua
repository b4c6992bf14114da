-- ARGV from 4: code, and the number that used it or ''.
for at = 4, #ARGV, 2 do call('HSET', K('codes'), ARGV[at], ARGV[at + 1]) end
return 1
