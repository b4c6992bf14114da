-- Makes a life live once everything is written. `cursor` is the newest row of the seat outbox in
-- it. `ahead_ms` is how far ahead of Redis the ledger's clock is taken to be beyond the measured
-- difference (0 except in tests).
call('HSET', META, 'state', 'live', 'cursor', cursor, 'shift', caller_ms - redis_ms() + ahead_ms)
return {'OK', 0}
