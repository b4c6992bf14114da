-- Cells that come free while somebody waits are kept for the waitlist. A kept cell has a lock whose
-- value is WAITLIST instead of a hold's id. Later the cell is offered to a visitor or becomes free.
-- WAITLIST is also an entry of the deadlines. Its deadline is the moment until which cells are
-- kept.
local WAITLIST = string.rep('w', 32)

local function is_waited()
  local until_ms = call('ZSCORE', P .. 'deadlines', WAITLIST)
  return until_ms and tonumber(until_ms) > now and until_ms
end

-- `cells` are cells that no hold has any more. Keeps them for the waitlist if somebody waits, and
-- otherwise frees them. In the view, a kept cell is held. A kept cell that was held before
-- therefore does not change there. A kept cell that was sold becomes held.
local function give_back(cells, changed)
  local until_ms = #cells > 0 and is_waited()
  if not until_ms then return mark(cells, 0, changed) end
  local net, seen = net_ms(until_ms), {}
  for _, cell in ipairs(cells) do
    call('SET', P .. 'lock:' .. cell, WAITLIST, 'PX', net)
    call('SADD', P .. 'waitlist', cell)
    if call('GETBIT', P .. 'sold', cell) == 1 then
      call('SETBIT', P .. 'sold', cell, '0')
      seen[#seen + 1] = cell
    end
  end
  mark(seen, 1, changed)
end
