-- Frees overdue holds. Also frees the cells kept for the waitlist if the time for keeping them is
-- over. Warns the owners of baskets that end soon. One call handles at most `holds_max` entries.
-- Any number of processes may sweep.
local most, lapsed = tonumber(holds_max), 0
local due = call('ZRANGEBYSCORE', P .. 'deadlines', '-inf', now, 'LIMIT', 0, most + 1)
local out = {'OK', 0, #due > most and 1 or 0}
for i = 1, math.min(#due, most) do
  if due[i] == WAITLIST then
    disband()
  elseif drop(due[i], 'lapsed') then
    lapsed = lapsed + 1
    out[#out + 1] = due[i]
  end
end
for _, id in ipairs(call('ZRANGEBYSCORE', P .. 'short', '-inf', now, 'LIMIT', 0, most - lapsed)) do
  call('ZREM', P .. 'short', id)
  local hold = call('HMGET', P .. 'hold:' .. id, 'v', 'u', 'e', 'k')
  if hold[1] then tell(id, hold[1], 'short', {}, hold[2], hold[3], hold[4]) end
end
out[2] = at
return out
