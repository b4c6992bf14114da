-- Everything is written: the life begins. ARGV from 4: the newest row of the seat outbox in it, how far ahead of Redis
-- the ledger's clock is taken to be beyond what is measured (0 but in tests).
call('HSET', META, 'state', 'live', 'cursor', ARGV[4], 'shift', ARGV[2] - redis_ms() + ARGV[5])
return {'OK', 0}
