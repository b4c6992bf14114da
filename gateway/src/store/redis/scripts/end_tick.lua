-- Ends a tick: notes its calls and stores its accounts. If another tick has ended first, drops the
-- accounts and returns 0. A second run of the same tick changes nothing. `away` has one bit for
-- each rank, set if its visitor was away. Its first byte has the bit of `from`.
local since_ms, upto = tonumber(counted_since), tonumber(counted_until)
for called in each_called() do
  local first, away = tonumber(called.from), called.away
  if not cohort_of(first) then
    call('ZADD', K('calls'), called.to, cohort_text(called))
    local byte = math.floor(first / 8)
    local before = string.byte(call('GETRANGE', K('called_away'), byte, byte)) or 0
    local both = string.char(bit.bor(before, string.byte(away)))
    call('SETRANGE', K('called_away'), byte, both .. string.sub(away, 2))
  end
end
local life = fields_of(LIFE, 'ticked_at', 'ticked_by', 'released', 'late_credit_u')
call('HSET', LIFE, 'released', math.max(num(life.released), tonumber(row_released)))
if num(life.ticked_at) == upto and life.ticked_by == node then return 1 end
if num(life.ticked_at) ~= since_ms then return 0 end
local most = math.max(num(rate_u), VISITOR_U)
if rate_u ~= '' then
  local now = tonumber(now_ms)
  local gate = gate_at(now) or { credit_u = math.huge, counted_ms = now }
  gate.rate_u = tonumber(rate_u)
  gate.credit_u = math.min(gate.credit_u, gate_depth_u(gate.rate_u))
  store_gate(gate)
end
call('HSET', LIFE, 'ticked_at', upto, 'ticked_by', node, 'owed_u', owed_u,
  'late_credit_u', math.min(num(life.late_credit_u) + tonumber(credit_u), most),
  'row_released', row_released, 'row_remainder_u', row_remainder_u,
  'row_ticked_at', row_ticked_at_ms, 'row_memory', row_memory, 'memory', memory)
return 1
