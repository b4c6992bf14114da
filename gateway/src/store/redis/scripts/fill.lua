-- ARGV from 4: number, holder, at (8 bytes), flags (1 living, 2 done), code or '', for each place.
for at = 4, #ARGV, 5 do
  local number, flags = tonumber(ARGV[at]), tonumber(ARGV[at + 3])
  write_record(number, ARGV[at + 1], ARGV[at + 2])
  if flags % 2 == 1 then call('HSET', K('holders'), ARGV[at + 1], number) end
  if flags >= 2 then call('SETBIT', K('done'), number, 1) end
  if ARGV[at + 4] ~= '' then call('HSET', K('code_of'), number, ARGV[at + 4]) end
end
return 1
