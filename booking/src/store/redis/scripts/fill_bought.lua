-- What visitors have bought. ARGV from 4: visitor and count in turn.
for at = 4, #ARGV, 2 do call('HSET', P .. 'bought', ARGV[at], ARGV[at + 1]) end
return {'OK', 0}
