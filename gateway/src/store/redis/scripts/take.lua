-- ARGV: incarnation, node, for how long it copies alone (ms), how many, whether it copies whoever else does. Copying
-- twice is harmless, and only costs the ledger something.
local copier = call('GET', K('copier'))
if copier and copier ~= ARGV[2] and ARGV[5] == '0' then return {} end
if ARGV[5] == '0' then call('SET', K('copier'), ARGV[2], 'PX', ARGV[3]) end
return call('XRANGE', K('feed'), '-', '+', 'COUNT', ARGV[4])
