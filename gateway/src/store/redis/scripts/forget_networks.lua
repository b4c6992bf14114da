-- Forgets the networks of all places.
return call('UNLINK', K('networks'))
