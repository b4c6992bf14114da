-- Reads the feed behind a point: `counter`, and `sub` below it.
local from = '(' .. counter .. '-' .. sub
return {'OK', at, call('XRANGE', P .. 'feed', from, '+', 'COUNT', entries_max)}
