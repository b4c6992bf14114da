-- Refuses the call unless `life` is the show's current life and this is the server where the life
-- began. If the life is live already, the call succeeds and does nothing.
local meta = call('HMGET', META, 'life', 'state', 'server', 'seats')
if not meta[1] then return redis.error_reply('MISSING the show is not open') end
if meta[1] ~= life then return redis.error_reply('LIFE the show is in another life') end
if meta[3] ~= identity() then return redis.error_reply('SERVER the data are of another server') end
if meta[2] == 'live' then return {'OK', 0} end
SEATS = tonumber(meta[4])
