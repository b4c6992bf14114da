-- ARGV: incarnation, since, until, owed, credit, pace, node, the row (released, remainder, ticked at, memory), what the pace
-- remembers, and where somebody was called: from, to, at, people, and a bit for each who was away, from the byte of `from` on. Again changes
-- nothing.
local since, upto = tonumber(ARGV[2]), tonumber(ARGV[3])
if ARGV[13] then
  local from, to = tonumber(ARGV[13]), ARGV[14]
  if not cohort_of(from) then
    call('ZADD', K('calls'), to, ARGV[13] .. ':' .. to .. ':' .. ARGV[15] .. ':' .. ARGV[16])
    local byte = math.floor(from / 8)
    local before = string.byte(call('GETRANGE', K('called_away'), byte, byte)) or 0
    local away = ARGV[17]
    call('SETRANGE', K('called_away'), byte, string.char(bit.bor(before, string.byte(away))) .. string.sub(away, 2))
  end
end
local life = call('HMGET', LIFE, 'ticked_at', 'ticked_by', 'released', 'late_credit_u')
call('HSET', LIFE, 'released', math.max(num(life[3]), tonumber(ARGV[8])))
if num(life[1]) == upto and life[2] == ARGV[7] then return 1 end
if num(life[1]) ~= since then return 0 end
local most = math.max(tonumber(ARGV[6]), VISITOR)
call('HSET', LIFE, 'ticked_at', upto, 'ticked_by', ARGV[7], 'owed_u', ARGV[4],
  'late_credit_u', math.min(num(life[4]) + tonumber(ARGV[5]), most),
  'row_released', ARGV[8], 'row_remainder_u', ARGV[9], 'row_ticked_at', ARGV[10], 'row_memory', ARGV[11], 'memory', ARGV[12])
return 1
