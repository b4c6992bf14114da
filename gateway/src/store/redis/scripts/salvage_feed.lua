-- Returns the entries that the last life left in the feed. Their numbers were given.
return call('XRANGE', K('feed'), from, '+', 'COUNT', entries_max)
