-- Reads the feed after the point with this `counter` and this `sub` (the sub-counter).
local from = '(' .. counter .. '-' .. sub
return answer('OK', { entries = call('XRANGE', P .. 'feed', from, '+', 'COUNT', entries_max) })
