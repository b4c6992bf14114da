-- The feed of a show without changes expires after a day. A process that reads it later reads the
-- whole show instead.
local FEED_MS = '86400000'

-- Adds one numbered change of the show to the feed. A change with cells raises the counter and sets
-- the sub-counter to 0. A change without cells raises only the sub-counter. The change is one
-- value. It begins with the id (32 bytes) and the visitor (32 bytes). Then follow, as text, the
-- state, the lock deadline, the visitor's deadline and the number of cells, separated by commas.
-- After a semicolon come the changed cells, 4 bytes each.
local function tell(id, visitor, state, changed, lock_until, expires, cells)
  local counter, sub = read_point(at)
  if #changed > 0 then at = (counter + 1) .. '-0' else at = counter .. '-' .. (sub + 1) end
  local short = hold_summary(state, lock_until, expires, cells)
  call('XADD', P .. 'feed', 'MAXLEN', '~', '8192', at, 'd', id .. visitor .. short .. ';' .. table.concat(changed))
  call('PEXPIRE', P .. 'feed', FEED_MS)
  call('HSET', META, 'at', at)
  if state == 'gone' or state == 'lapsed' then
    call('HDEL', P .. 'kept', id)
  else
    call('HSET', P .. 'kept', id, short)
  end
end

-- Sets the bits of cells in the views and adds the cells to `changed`. The state is 0 (free), 1
-- (held) or 2 (sold).
local function mark(cells, state, changed)
  local held, sold = P .. 'held', P .. 'sold'
  for _, cell in ipairs(cells) do
    if state == 1 then
      call('SETBIT', held, cell, '1')
    else
      call('SETBIT', held, cell, '0')
      call('SETBIT', sold, cell, state == 2 and '1' or '0')
    end
    changed[#changed + 1] = struct.pack('<I4', cell * 4 + state)
  end
end
