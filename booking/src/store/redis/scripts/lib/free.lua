-- Removes a hold's locks and returns the freed cells. Held cells whose locks expired by their time
-- to live are freed, too.
local function unlock(cells, id)
  local freed, locks, held = {}, P .. 'lock:', P .. 'held'
  for _, cell in ipairs(cells) do
    local owner = call('GET', locks .. cell)
    if owner == id then
      call('DEL', locks .. cell)
      freed[#freed + 1] = cell
    elseif not owner and call('GETBIT', held, cell) == 1 then
      freed[#freed + 1] = cell
    end
  end
  return freed
end

-- Prolongs the locks that the hold still has, so that they last until its deadline.
local function renew(cells, id, lock_until)
  local net, locks = net_ms(lock_until), P .. 'lock:'
  for _, cell in ipairs(cells) do
    if call('GET', locks .. cell) == id then call('PEXPIRE', locks .. cell, net) end
  end
end

-- Deletes a hold, but not its locks. Returns its visitor, items and deadline, or nil if there is no
-- such hold.
local function forget(id)
  local hold = fields_of(hold_key(id), VISITOR, ITEMS, EXPIRES_MS)
  call('ZREM', P .. 'deadlines', id)
  call('ZREM', P .. 'short', id)
  if not hold[VISITOR] then return nil end
  call('DEL', hold_key(id))
  count('has', hold[VISITOR], -#hold[ITEMS] / 16)
  unlist(hold[VISITOR], id)
  return hold
end
