-- Makes a life live once everything is written. `cursor` is the newest row of the seat outbox that
-- the life contains. `ahead_ms` is added to the time by Redis's clock (0 except in tests).
call('HSET', META, 'state', 'live', 'cursor', cursor, 'shift', caller_ms - server_ms() + ahead_ms)
return named({ code = 'OK' })
