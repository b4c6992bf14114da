-- Refuses the call unless the show is open in the caller's life, this is the server where the life
-- began, and the clocks agree.
local meta = call('HMGET', META, 'life', 'state', 'server', 'shift', 'plan', 'seats', 'at', 'cursor')
if not meta[1] then return redis.error_reply('MISSING the show is not open') end
-- A caller that names no life means the current life.
if life == '' then
  life = meta[1]
  P = keys_of(life)
end
if meta[1] ~= life or meta[2] ~= 'live' then
  return redis.error_reply('LIFE the show is in another life')
end
if meta[3] ~= identity() then return redis.error_reply('SERVER the data are of another server') end
SEATS = tonumber(meta[6])
local by_redis, by_caller = server_ms() + tonumber(meta[4]), tonumber(caller_ms)
if math.abs(by_redis - by_caller) > tonumber(clock_off_ms_max) then
  return redis.error_reply('CLOCK the clocks are apart')
end
-- A deadline has passed only when it has passed by both clocks.
local now = math.min(by_redis, by_caller)
-- The newest point of the feed. Every answer names it, so that a caller can wait for its own
-- change.
local at = meta[7]
