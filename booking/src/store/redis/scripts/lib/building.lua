-- Refuses the call unless `life` is the show's current life and this is the server where the life
-- began. If the life is live already, the call succeeds and does nothing.
local meta = fields_of(META, 'life', 'state', 'server', 'seats')
if not meta.life then return redis.error_reply('MISSING the show is not open') end
if meta.life ~= life then return redis.error_reply('LIFE the show is in another life') end
if meta.server ~= identity() then
  return redis.error_reply('SERVER the data are of another server')
end
if meta.state == 'live' then return named({ code = 'OK' }) end
SEATS = tonumber(meta.seats)
