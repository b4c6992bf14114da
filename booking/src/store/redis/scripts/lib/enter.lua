-- Refuses the call unless the show is open in the caller's life, this is the server where the life
-- began, and the clocks agree.
local meta = fields_of(META, 'life', 'state', 'server', 'shift', 'plan', 'seats', 'at', 'cursor')
if not meta.life then return redis.error_reply('MISSING the show is not open') end
-- A caller that names no life means the current life.
if life == '' then
  life = meta.life
  P = keys_of(life)
end
if meta.life ~= life or meta.state ~= 'live' then
  return redis.error_reply('LIFE the show is in another life')
end
if meta.server ~= identity() then
  return redis.error_reply('SERVER the data are of another server')
end
SEATS = tonumber(meta.seats)
local by_redis, by_caller = server_ms() + tonumber(meta.shift), tonumber(caller_ms)
if math.abs(by_redis - by_caller) > tonumber(clock_off_ms_max) then
  return redis.error_reply('CLOCK the clocks are apart')
end
-- A deadline has passed only when it has passed by both clocks.
local now = math.min(by_redis, by_caller)
-- The newest point of the feed.
local at = meta.at

-- Returns an answer: its code, the newest point of the feed, and more values by name. The point is
-- in every answer, so that a caller can wait for its own change.
local function answer(code, more)
  local values = more or {}
  values.code, values.at = code, at
  return named(values)
end
