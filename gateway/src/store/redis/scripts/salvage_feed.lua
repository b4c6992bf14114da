-- Returns the entries that the last life left in the feed, if there are any. Their numbers were
-- given.
return call('XRANGE', K('feed'), from, '+', 'COUNT', entries_max)
