-- Frees overdue holds. Also frees the cells kept for the waitlist if the time for keeping them is
-- over. Warns the owners of baskets that end soon. One call handles at most `holds_max` entries,
-- and `more` is 1 if more were due. Any number of processes may sweep.
local most, lapsed = tonumber(holds_max), {}
local due = call('ZRANGEBYSCORE', P .. 'deadlines', '-inf', now, 'LIMIT', 0, most + 1)
local more = #due > most and 1 or 0
for n, id in ipairs(due) do
  if n > most then break end
  if id == WAITLIST then
    disband()
  elseif drop(id, 'lapsed') then
    lapsed[#lapsed + 1] = id
  end
end
for _, id in ipairs(call('ZRANGEBYSCORE', P .. 'short', '-inf', now, 'LIMIT', 0, most - #lapsed)) do
  call('ZREM', P .. 'short', id)
  local hold = fields_of(hold_key(id), VISITOR, LOCK_UNTIL_MS, EXPIRES_MS, CELLS)
  if hold[VISITOR] then
    tell(id, hold[VISITOR], 'short', {}, hold[LOCK_UNTIL_MS], hold[EXPIRES_MS], hold[CELLS])
  end
end
return answer('OK', { more = more, lapsed = lapsed })
