-- ARGV from 4: number, expiry (s), the holder who left with it or ''. After the places.
for at = 4, #ARGV, 3 do
  call('HSET', K('passes'), ARGV[at], ARGV[at + 1])
  if call('GETBIT', K('done'), ARGV[at]) == 0 then call('ZADD', K('inside'), ARGV[at + 1], ARGV[at]) end
  if ARGV[at + 2] ~= '' then note_left(tonumber(ARGV[at]), ARGV[at + 2]) end
end
return 1
