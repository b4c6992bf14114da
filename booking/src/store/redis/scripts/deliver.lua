-- What the ledger decided, in order, once each. ARGV from 4, five for each row: number, kind, hold, visitor, items.
-- Answers with the number of the newest row carried out; behind a gap nothing is.
local cursor = tonumber(meta[8])
for row = 4, #ARGV, 5 do
  local seq, kind, id, visitor, items = tonumber(ARGV[row]), ARGV[row + 1], ARGV[row + 2], ARGV[row + 3], ARGV[row + 4]
  if seq > cursor + 1 then break end
  if seq == cursor + 1 then
    cursor = seq
    call('HSET', META, 'cursor', cursor)
    local changed, cells, own = {}, cells_of(items), forget(id)
    if kind == 'sell' then
      for _, cell in ipairs(cells) do call('DEL', P .. 'lock:' .. cell) end
      mark(cells, 2, changed)
      -- Seats of the hold that the order did not buy.
      if own then
        local spare = {}
        for _, cell in ipairs(unlock(cells_of(own[2]), id)) do
          if call('GETBIT', P .. 'sold', cell) == 0 then spare[#spare + 1] = cell end
        end
        give_back(spare, changed)
      end
      count('bought', visitor, #items / 16)
    else
      -- Seats that an exchange leaves where they are come without cells, to be counted once.
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
      -- A hold that lapsed before its order did was never bought; only sold cells were.
      if not own and was_sold then count('bought', visitor, -#items / 16) end
      give_back(freed, changed)
    end
    if own or #changed > 0 then tell(id, visitor, 'gone', changed, '0', '0', '0') end
  end
end
return {'OK', at, cursor}
