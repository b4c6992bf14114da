-- Begins a new life of a show. A repeated call gets the first answer. From then on, calls in the
-- old life are refused. `anew` is 1 if a life may begin although none is live. `known` lists the
-- holds that the ledger knows. An open show with any other hold stays as it is, and the call is
-- refused.
local meta = call('HMGET', META, 'life', 'state', 'server', 'shift', 'seats', 'old')
local server, old = identity(), meta[1]
if old == life and meta[2] == 'building' and meta[3] == server then return {'OK', 0, meta[6]} end
if old and tonumber(old) >= tonumber(life) then
  return redis.error_reply('LIFE a newer life has begun')
end
local from, is_open = old and keys_of(old), false
if old then
  is_open = meta[2] == 'live' and meta[3] == server
    and math.abs(server_ms() + tonumber(meta[4]) - tonumber(caller_ms)) <= tonumber(clock_off_ms_max)
  if is_open then
    local known, beyond = {}, {}
    for id in each_known() do known[id] = true end
    SEATS = tonumber(meta[5])
    for _, id in ipairs(call('ZRANGE', from .. 'deadlines', 0, -1)) do
      local items = not known[id] and call('HGET', from .. 'hold:' .. id, 'i')
      for _, cell in ipairs(items and cells_of(items) or {}) do beyond[#beyond + 1] = cell end
    end
    if #beyond > 0 then return {'TAKEN', 0, packed(beyond)} end
  end
end
if anew == '0' and not is_open then return redis.error_reply('MISSING the show is not open') end
if old then
  local names = {'held', 'sold', 'blocked', 'has', 'bought', 'short', 'kept', 'feed', 'waitlist'}
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
return {'OK', 0, old or ''}
