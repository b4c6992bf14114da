-- Runs first in every script that fills a room in. Fails if another node is the builder, or if
-- Redis lost what was filled in. Notes that the builder is alive. `now_ms` is by the ledger's
-- clock.
local built = fields_of(LIFE, 'building', 'run_id')
if built.building ~= builder or built.run_id ~= server() then
  return redis.error_reply('LIFE is built by another')
end
call('HSET', LIFE, 'built_at', now_ms)
