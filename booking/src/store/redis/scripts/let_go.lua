-- Gives kept cells to the crowd. ARGV[4]: the cells, 4 bytes each.
local cells, changed = {}, {}
for n = 1, #ARGV[4], 4 do cells[#cells + 1] = string.format('%d', struct.unpack('<I4', ARGV[4], n)) end
let_go(cells, changed)
if #changed > 0 then
  local stood = call('ZSCORE', P .. 'deadlines', WAITLIST)
  local state = stood and 'waitlist' or 'gone'
  tell(WAITLIST, string.rep('\0', 32), state, changed, stood or '0', stood or '0', '0')
end
return {'OK', at}
