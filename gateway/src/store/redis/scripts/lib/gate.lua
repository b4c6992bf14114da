-- The gate keeps entries at the pace. It is a token bucket, which `entry_gate.rs` describes. All
-- sums are in millionths of a visitor.
local function gate_depth_u(rate)
  local one_tick = math.max(rate, VISITOR_U)
  return one_tick + VISITOR_U - 1 - (rate * GATE_WINDOW_S + one_tick) % VISITOR_U
end

-- Returns the gate as it is at a time, or nil before the first tick.
local function gate_at(now)
  local gate = fields_of(LIFE, 'gate_rate_u', 'gate_credit_u', 'gate_at_ms')
  if not gate.gate_rate_u then return nil end
  local rate, counted = num(gate.gate_rate_u), num(gate.gate_at_ms)
  local filled = math.floor(rate * math.max(0, now - counted) / 1000)
  return strict({ rate_u = rate, counted_ms = math.max(now, counted),
    credit_u = math.min(num(gate.gate_credit_u) + filled, gate_depth_u(rate)) })
end

local function store_gate(gate)
  call('HSET', LIFE, 'gate_rate_u', string.format('%.0f', gate.rate_u), 'gate_credit_u',
    string.format('%.0f', gate.credit_u), 'gate_at_ms', string.format('%.0f', gate.counted_ms))
end
