-- Closes a show for which Redis went back to older data. Calls in this life are then refused, and
-- the next life is begun from the ledger. `life`, `counter` and `sub` (the sub-counter) are the
-- newest point of the feed that the caller has seen. If the show has reached this point, it stays
-- open.
local meta = fields_of(META, 'life', 'state', 'at')
if meta.life and meta.state == 'live' then
  local counter_now, sub_now = read_point(meta.at)
  local life_now, life_seen, counter_seen = tonumber(meta.life), tonumber(life), tonumber(counter)
  local is_older = life_now < life_seen or life_now == life_seen
    and (counter_now < counter_seen or counter_now == counter_seen and sub_now < tonumber(sub))
  if is_older then call('HSET', META, 'state', 'regressed') end
end
return named({ code = 'OK' })
