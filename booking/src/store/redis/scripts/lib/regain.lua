-- Some locks of the hold `id` may have expired by their time to live. Locks these cells again if
-- nobody else took them, and adds them to `changed`. Returns the cells that the hold has lost. If
-- there are lost cells, locks none.
local function regain(cells, id, lock_until, changed)
  local lost, regained = {}, {}
  for _, cell in ipairs(cells) do
    local locked_by = call('GET', P .. 'lock:' .. cell)
    if not locked_by and call('GETBIT', P .. 'sold', cell) == 0 then
      regained[#regained + 1] = cell
    elseif locked_by ~= id then
      lost[#lost + 1] = cell
    end
  end
  if #lost > 0 then return lost end
  for _, cell in ipairs(regained) do call('SET', P .. 'lock:' .. cell, id, 'PX', net_ms(lock_until)) end
  mark(regained, 1, changed)
  return lost
end
