-- Fills in passes. `left_by` is the holder, if the holder gave up the place after claiming the
-- pass, and otherwise ''. The places must be filled in first, because this script reads the bits of
-- `done`.
for number, expires_s, left_by in each_passes() do
  call('HSET', K('passes'), number, expires_s)
  if call('GETBIT', K('done'), number) == 0 then call('ZADD', K('inside'), expires_s, number) end
  if left_by ~= '' then note_left(tonumber(number), left_by) end
end
return 1
