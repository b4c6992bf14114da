-- Begins a new life of a show. A repeated call gets the first answer. From then on, calls in the
-- old life are refused. `anew` is 1 if a life may begin although none is live. `known` lists the
-- holds that the ledger knows. An open show with any other hold stays as it is, and the call is
-- refused. If `ends_older` is 1, holds on an older plan do not count. The answer has no `old` if
-- the show had no life before.
local meta = fields_of(META, 'life', 'state', 'server', 'shift', 'seats', 'plan', 'old')
local server, old = identity(), meta.life
if old == life and meta.state == 'building' and meta.server == server then
  return named({ code = 'OK', old = meta.old ~= '' and meta.old })
end
if old and tonumber(old) >= tonumber(life) then
  return redis.error_reply('LIFE a newer life has begun')
end
local from, is_open = old and keys_of(old), false
if old then
  is_open = meta.state == 'live' and meta.server == server
    and math.abs(server_ms() + tonumber(meta.shift) - tonumber(caller_ms)) <= tonumber(clock_off_ms_max)
  local ends = ends_older == '1' and tonumber(meta.plan) < tonumber(plan)
  if is_open and not ends then
    local known, beyond = {}, {}
    for id in each_known() do known[id] = true end
    SEATS = tonumber(meta.seats)
    for _, id in ipairs(call('ZRANGE', from .. 'deadlines', 0, -1)) do
      local items = not known[id] and call('HGET', from .. 'hold:' .. id, ITEMS)
      for _, cell in ipairs(items and cells_of(items) or {}) do beyond[#beyond + 1] = cell end
    end
    if #beyond > 0 then return named({ code = 'TAKEN', cells = packed(beyond) }) end
  end
end
if anew == '0' and not is_open then return redis.error_reply('MISSING the show is not open') end
if old then
  local names = {'held', 'sold', 'blocked', 'has', 'own', 'bought', 'short', 'kept', 'feed',
    'waitlist'}
  for _, name in ipairs(names) do call('UNLINK', from .. name) end
  -- Holds of a current life have no time to live, because sweeps delete them. Holds of the old life
  -- expire after a day.
  for _, id in ipairs(call('ZRANGE', from .. 'deadlines', 0, -1)) do
    call('PEXPIRE', from .. 'hold:' .. id, 86400000)
  end
  call('PEXPIRE', from .. 'deadlines', 86400000)
end
call('DEL', META)
call('HSET', META, 'life', life, 'state', 'building', 'server', server, 'seats', seats, 'legs', legs,
  'plan', plan, 'edition', edition, 'at', '0-0', 'old', old or '')
return named({ code = 'OK', old = old })
