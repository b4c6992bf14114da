-- What the last life left behind, if anything is there: it was given.
return call('XRANGE', K('feed'), from, '+', 'COUNT', entries_max)
