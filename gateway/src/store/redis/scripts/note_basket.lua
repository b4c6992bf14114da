-- Notes a basket of a number, whose visit counts from now on. A repeated call does not make a
-- basket anew. The whole list is forgotten `known_ms` milliseconds after the newest basket.
call('HDEL', K('excused'), number)
local key = K('baskets:' .. number)
call('HSETNX', key, hold, at_ms)
call('PEXPIRE', key, known_ms)
return 1
