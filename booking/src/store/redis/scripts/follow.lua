-- What happened after a point of the feed: `counter` and the number below it.
local from = '(' .. counter .. '-' .. sub
return {'OK', at, call('XRANGE', P .. 'feed', from, '+', 'COUNT', entries_max)}
