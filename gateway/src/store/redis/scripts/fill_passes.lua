-- Fills in passes. `left_by` is the holder, if the holder gave up the place after claiming the
-- pass, and otherwise ''. The places must be filled in first, because this script reads the bits of
-- `done`.
for pass in each_passes() do
  call('HSET', K('passes'), pass.number, pass.expires_s)
  if pass.called_behind ~= '' then
    call('HSET', K('called_behind'), pass.number, pass.called_behind)
  end
  if pass.left_by ~= '' then
    note_left(tonumber(pass.number), pass.left_by)
  else
    count_inside(pass.number, pass.expires_s, math.floor(tonumber(now_ms) / 1000))
  end
end
return 1
