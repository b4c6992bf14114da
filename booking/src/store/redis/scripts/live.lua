-- Everything is written: the life begins. `cursor` is the newest row of the seat outbox in it,
-- `ahead_ms` how far ahead of Redis the ledger's clock is taken to be beyond what is measured (0
-- but in tests).
call('HSET', META, 'state', 'live', 'cursor', cursor, 'shift', caller_ms - redis_ms() + ahead_ms)
return {'OK', 0}
