-- Uses an id up for `lives_ms` milliseconds. Returns 1, or 0 if it was used before.
if call('SET', K('solution:' .. id), '', 'NX', 'PX', lives_ms) then
  return 1
end
return 0
