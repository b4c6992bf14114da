-- Of every script that fills a room in: another builder, or a server that lost what was filled in,
-- ends it. `now_ms` is by the ledger.
local built = call('HMGET', LIFE, 'building', 'run_id')
if built[1] ~= builder or built[2] ~= server() then
  return redis.error_reply('LIFE is built by another')
end
call('HSET', LIFE, 'built_at', now_ms)
