-- Returns a lock's time to live, in milliseconds. The lock expires 10 s after the deadline, but at
-- the latest about 40 days from now. This is a safety net: normally a sweep frees the cells on
-- time.
local function net_ms(until_ms)
  return string.format('%d', math.max(1, math.min(tonumber(until_ms) - now, 3456000000)) + 10000)
end

-- Locks all cells for a hold, or none. Returns the cells that the hold cannot have.
local function lock(cells, id, until_ms)
  local mine, refused, net = {}, {}, net_ms(until_ms)
  local locks, sold, blocked = P .. 'lock:', P .. 'sold', P .. 'blocked'
  for _, cell in ipairs(cells) do
    local key = locks .. cell
    if call('GETBIT', sold, cell) == 1 or call('GETBIT', blocked, cell) == 1 then
      refused[#refused + 1] = cell
    elseif #refused > 0 then
      if call('EXISTS', key) == 1 then refused[#refused + 1] = cell end
    elseif call('SET', key, id, 'NX', 'PX', net) then
      mine[#mine + 1] = key
    else
      refused[#refused + 1] = cell
    end
  end
  if #refused > 0 then
    for _, key in ipairs(mine) do call('DEL', key) end
  end
  return refused
end
