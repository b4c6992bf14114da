-- Tells a join to the feed, for the node that copies the line to the ledger. `feed_entry` in
-- read.rs reads these fields. `code` and `networks` are '' if there are none.
local function feed_join(join)
  call('XADD', K('feed'), '*', 'k', 'j', 'n', join.number, 'h', join.holder, 'a', join.at_ms,
    'c', join.code, 'w', join.networks)
end
