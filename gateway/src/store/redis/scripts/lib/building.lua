-- Of every script that fills a room in: another builder, or a server that lost what was filled in, ends it. ARGV: 0,
-- builder, now by the ledger (ms).
local built = call('HMGET', LIFE, 'building', 'run_id')
if built[1] ~= ARGV[2] or built[2] ~= server() then return redis.error_reply('LIFE is built by another') end
call('HSET', LIFE, 'built_at', ARGV[3])
