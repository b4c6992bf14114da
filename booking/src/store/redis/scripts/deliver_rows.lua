-- Carries out rows of the seat outbox in order, each once, up to a gap. Answers with the number of
-- the newest row that was ever carried out.
local cursor = tonumber(meta[8])

local function sell(id, visitor, items, own, changed)
  local cells = cells_of(items)
  for _, cell in ipairs(cells) do call('DEL', P .. 'lock:' .. cell) end
  mark(cells, 2, changed)
  -- The hold may have seats that the order did not buy. They are given back.
  if own then
    local spare = {}
    for _, cell in ipairs(unlock(cells_of(own[2]), id)) do
      if call('GETBIT', P .. 'sold', cell) == 0 then spare[#spare + 1] = cell end
    end
    give_back(spare, changed)
  end
  count('bought', visitor, #items / 16)
end

local function free(id, visitor, items, own, changed)
  local cells = cells_of(items)
  -- If an exchange keeps all cells of these seats, the row has no cells. It only corrects the
  -- visitor's count, so that the seats are counted once.
  local freed, was_sold = {}, #cells == 0
  for _, cell in ipairs(cells) do
    local owner = call('GET', P .. 'lock:' .. cell)
    if owner == id then
      call('DEL', P .. 'lock:' .. cell)
      freed[#freed + 1] = cell
    elseif not owner then
      local sold = call('GETBIT', P .. 'sold', cell) == 1
      was_sold = was_sold or sold
      if sold or call('GETBIT', P .. 'held', cell) == 1 then freed[#freed + 1] = cell end
    end
  end
  -- Only sold cells were bought. If the hold lapsed before its order expired, no cell was sold, and
  -- the count of bought seats stays.
  if not own and was_sold then count('bought', visitor, -#items / 16) end
  give_back(freed, changed)
end

for row in each_rows() do
  local number = tonumber(row.seq)
  if number > cursor + 1 then break end
  if number == cursor + 1 then
    cursor = number
    call('HSET', META, 'cursor', cursor)
    local changed, own = {}, forget(row.id)
    local carry_out = row.kind == 'sell' and sell or free
    carry_out(row.id, row.visitor, row.items, own, changed)
    if own or #changed > 0 then tell(row.id, row.visitor, 'gone', changed, '0', '0', '0') end
  end
end
return {'OK', at, cursor}
