-- Frees cells that were kept for the waitlist. `packed_cells` has 4 bytes for each cell.
local cells, changed = {}, {}
for n = 1, #packed_cells, 4 do
  cells[#cells + 1] = string.format('%d', struct.unpack('<I4', packed_cells, n))
end
let_go(cells, changed)
if #changed > 0 then
  local stood = call('ZSCORE', P .. 'deadlines', WAITLIST)
  local state = stood and 'waitlist' or 'gone'
  tell(WAITLIST, string.rep('\0', 32), state, changed, stood or '0', stood or '0', '0')
end
return answer('OK')
