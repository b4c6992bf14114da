-- Reads all holds of a visitor. A node of an earlier version does not remove its ended holds from
-- the list, so each hold is read before it is named.
local holds, ids = {}, call('HGET', P .. 'own', visitor) or ''
for n = 1, #ids, 32 do
  local id = string.sub(ids, n, n + 31)
  if call('HGET', hold_key(id), VISITOR) == visitor then
    holds[#holds + 1] = named({ id = id, hold = named_hold(id) })
  end
end
return answer('OK', { holds = holds })
