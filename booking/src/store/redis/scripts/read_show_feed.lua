-- Reads the feed after the point with this `counter` and, below the counter, this `sub`.
local from = '(' .. counter .. '-' .. sub
return {'OK', at, call('XRANGE', P .. 'feed', from, '+', 'COUNT', entries_max)}
