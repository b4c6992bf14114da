-- The first entries of the feed, for the node that copies; where it must copy, whoever else does.
-- Copying twice is harmless, and only costs the ledger something.
local copier = call('GET', K('copier'))
if copier and copier ~= node and must == '0' then return {} end
if must == '0' then call('SET', K('copier'), node, 'PX', alone_ms) end
return call('XRANGE', K('feed'), '-', '+', 'COUNT', entries_max)
