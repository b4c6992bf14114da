-- Begins a new life of a show. From here on the old one refuses everything. ARGV from 4: seats, legs, plan,
-- edition, then the holds that the ledger knows: an open show with any other hold is left as it is.
local meta = call('HMGET', META, 'life', 'state', 'server', 'shift', 'seats')
local server, old = identity(), meta[1]
if old == LIFE and meta[2] == 'building' and meta[3] == server then return {'OK', 0, ''} end
if old and tonumber(old) >= tonumber(LIFE) then return redis.error_reply('LIFE a newer life has begun') end
if old then
  local from = keys_of(old)
  local is_open = meta[2] == 'live' and meta[3] == server
    and math.abs(redis_ms() + tonumber(meta[4]) - tonumber(ARGV[2])) <= tonumber(ARGV[3])
  if is_open then
    local known, beyond = {}, {}
    for at = 8, #ARGV do known[ARGV[at]] = true end
    SEATS = tonumber(meta[5])
    for _, id in ipairs(call('ZRANGE', from .. 'deadlines', 0, -1)) do
      local items = not known[id] and call('HGET', from .. 'hold:' .. id, 'i')
      for _, cell in ipairs(items and cells_of(items) or {}) do beyond[#beyond + 1] = cell end
    end
    if #beyond > 0 then return {'TAKEN', 0, packed(beyond)} end
  end
  for _, name in ipairs({'held', 'sold', 'blocked', 'has', 'bought', 'short', 'kept', 'feed'}) do call('UNLINK', from .. name) end
  -- Holds live until they are swept, however long nobody does; those of a life that is over go with it.
  for _, id in ipairs(call('ZRANGE', from .. 'deadlines', 0, -1)) do call('PEXPIRE', from .. 'hold:' .. id, 86400000) end
  call('PEXPIRE', from .. 'deadlines', 86400000)
end
call('DEL', META)
call('HSET', META, 'life', LIFE, 'state', 'building', 'server', server, 'seats', ARGV[4], 'legs', ARGV[5],
  'plan', ARGV[6], 'edition', ARGV[7], 'at', '0-0')
return {'OK', 0, old or ''}
