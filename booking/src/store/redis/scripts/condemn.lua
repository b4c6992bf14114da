-- Closes a show whose data were set back: nobody works in this life any more, and the next one is begun from the ledger.
-- ARGV[1] is the newest life that was seen; from 4: counter and the number below it, as seen there.
local meta = call('HMGET', META, 'life', 'state', 'at')
if meta[1] and meta[2] == 'live' then
  local counter, sub = string.match(meta[3], '(%d+)-(%d+)')
  local now = {tonumber(meta[1]), tonumber(counter), tonumber(sub)}
  for n, seen in ipairs({tonumber(LIFE), tonumber(ARGV[4]), tonumber(ARGV[5])}) do
    if now[n] > seen then break end
    if now[n] < seen then
      call('HSET', META, 'state', 'regressed')
      break
    end
  end
end
return {'OK', 0}
