-- Returns the first entries of the feed to the node that copies. Other nodes get none. With `must`,
-- every node gets the entries. Copying twice is harmless. It only costs the ledger some work.
local copier = call('GET', K('copier'))
if copier and copier ~= node and must == '0' then return {} end
if must == '0' then call('SET', K('copier'), node, 'PX', alone_ms) end
return call('XRANGE', K('feed'), '-', '+', 'COUNT', entries_max)
