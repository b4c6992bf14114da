-- Returns the refusal if a network has as many places as its bound or more, or if the solution was
-- used before. Otherwise returns nil. Changes nothing.
local function toll_refusal()
  local places, over = {}, false
  for network in each_networks() do
    local count = places_of(network, now_ms)
    places[network.key] = count
    over = over or count >= tonumber(network.bound)
  end
  if over then return named({ kind = 'too_cheap', places = named(places) }) end
  if solution ~= '' and call('EXISTS', K('solution:' .. solution)) == 1 then
    return named({ kind = 'solution_used' })
  end
  return nil
end

-- Notes that the solution was used. The note is dropped when the solution expires.
local function use_solution()
  local lives_ms = tonumber(solution_ends_ms) - tonumber(now_ms)
  if solution ~= '' and lives_ms > 0 then
    call('SET', K('solution:' .. solution), '', 'PX', lives_ms)
  end
end
