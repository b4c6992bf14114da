-- Adds to a count and returns the sum.
return redis.call('HINCRBY', COUNTED, 'n', more)
