-- Runs first in every script that fills a room in. Fails if another node is the builder, or if
-- Redis lost what was filled in. Notes that the builder is alive. `now_ms` is by the ledger's
-- clock.
local built = call('HMGET', LIFE, 'building', 'run_id')
if built[1] ~= builder or built[2] ~= server() then
  return redis.error_reply('LIFE is built by another')
end
call('HSET', LIFE, 'built_at', now_ms)
