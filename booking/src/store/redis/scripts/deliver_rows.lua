-- Carries out rows of the seat outbox in order, each once, up to a gap. Answers with the number of
-- the newest row that was ever carried out. `own` is the hold that the row's order had, or nil.
local cursor = tonumber(meta.cursor)

local function sell(row, own, changed)
  local cells = cells_of(row.items)
  for _, cell in ipairs(cells) do call('DEL', P .. 'lock:' .. cell) end
  mark(cells, 2, changed)
  -- The hold may have seats that the order did not buy. They are given back.
  if own then
    local spare = {}
    for _, cell in ipairs(unlock(cells_of(own[ITEMS]), row.id)) do
      if call('GETBIT', P .. 'sold', cell) == 0 then spare[#spare + 1] = cell end
    end
    give_back(spare, changed)
  end
  count('bought', row.visitor, #row.items / 16)
end

local function free(row, own, changed)
  local cells = cells_of(row.items)
  -- If an exchange keeps all cells of these seats, the row has no cells. It only corrects the
  -- visitor's count, so that the seats are counted once.
  local freed, was_sold = {}, #cells == 0
  for _, cell in ipairs(cells) do
    local owner = call('GET', P .. 'lock:' .. cell)
    if owner == row.id then
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
  if not own and was_sold then count('bought', row.visitor, -#row.items / 16) end
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
    carry_out(row, own, changed)
    if own or #changed > 0 then tell(row.id, row.visitor, 'gone', changed, '0', '0', '0') end
  end
end
return answer('OK', { cursor = cursor })
