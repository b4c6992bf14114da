-- Counts on.
return redis.call('HINCRBY', COUNTED, 'n', more)
