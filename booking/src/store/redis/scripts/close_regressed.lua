-- Closes a show for which Redis went back to older data. Calls in this life are then refused, and
-- the next life is begun from the ledger. `life`, `counter` and `sub` (the sub-counter) are the
-- newest point of the feed that the caller has seen. If the show has reached this point, it stays
-- open.
local meta = call('HMGET', META, 'life', 'state', 'at')
if meta[1] and meta[2] == 'live' then
  local counter_now, sub_now = string.match(meta[3], '(%d+)-(%d+)')
  local now = {tonumber(meta[1]), tonumber(counter_now), tonumber(sub_now)}
  for n, seen in ipairs({tonumber(life), tonumber(counter), tonumber(sub)}) do
    if now[n] > seen then break end
    if now[n] < seen then
      call('HSET', META, 'state', 'regressed')
      break
    end
  end
end
return {'OK', 0}
