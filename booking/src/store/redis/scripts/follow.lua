-- What happened after a point of the feed. ARGV from 4: counter, sub, how many at most.
local from = '(' .. ARGV[4] .. '-' .. ARGV[5]
return {'OK', at, call('XRANGE', P .. 'feed', from, '+', 'COUNT', ARGV[6])}
