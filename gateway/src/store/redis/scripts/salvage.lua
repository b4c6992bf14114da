-- ARGV: 0, from which entry, how many. What the last life left behind, if anything is there: it was given.
return call('XRANGE', K('feed'), ARGV[2], '+', 'COUNT', ARGV[3])
