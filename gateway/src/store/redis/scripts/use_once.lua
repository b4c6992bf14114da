-- Uses an id up for as long as it lives. Returns 1, or 0 if it was used before.
if call('SET', K('solution:' .. id), '', 'NX', 'PX', lives_ms) then
  return 1
end
return 0
