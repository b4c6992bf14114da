-- Reads, frees and offers the cells that are kept for the waitlist.

-- Returns the kept cells. Cells that were sold in the meantime are removed from the list. A lock
-- that expired by its time to live is set again.
local function kept_cells(until_ms)
  local cells, gone, net = {}, {}, net_ms(until_ms)
  for _, cell in ipairs(call('SMEMBERS', P .. 'waitlist')) do
    local owner = call('GET', P .. 'lock:' .. cell)
    if not owner and call('GETBIT', P .. 'held', cell) == 1 then
      call('SET', P .. 'lock:' .. cell, WAITLIST, 'PX', net)
      owner = WAITLIST
    end
    if owner == WAITLIST then cells[#cells + 1] = cell else gone[#gone + 1] = cell end
  end
  for _, cell in ipairs(gone) do call('SREM', P .. 'waitlist', cell) end
  return cells
end

-- Frees the cells in `cells` that are kept. Other cells do not change.
local function let_go(cells, changed)
  local freed = {}
  for _, cell in ipairs(cells) do
    if call('SREM', P .. 'waitlist', cell) == 1 and call('GET', P .. 'lock:' .. cell) == WAITLIST then
      call('DEL', P .. 'lock:' .. cell)
      freed[#freed + 1] = cell
    end
  end
  mark(freed, 0, changed)
end

-- Frees all kept cells, because nobody waits any more or `keep_freed_cells` was not repeated in
-- time.
local function disband()
  local changed = {}
  let_go(kept_cells(now), changed)
  call('DEL', P .. 'waitlist')
  call('ZREM', P .. 'deadlines', WAITLIST)
  tell(WAITLIST, string.rep('\0', 32), 'gone', changed, '0', '0', '0')
end

-- Locks all cells for a hold, or none. Each cell must be kept or free. Returns the cells that the
-- hold cannot have.
local function lock_kept(cells, id, until_ms)
  local refused, net = {}, net_ms(until_ms)
  for _, cell in ipairs(cells) do
    local owner = call('GET', P .. 'lock:' .. cell)
    if owner and owner ~= WAITLIST or call('GETBIT', P .. 'sold', cell) == 1
      or call('GETBIT', P .. 'blocked', cell) == 1 then
      refused[#refused + 1] = cell
    end
  end
  if #refused > 0 then return refused end
  for _, cell in ipairs(cells) do
    call('SET', P .. 'lock:' .. cell, id, 'PX', net)
    call('SREM', P .. 'waitlist', cell)
  end
  return refused
end
