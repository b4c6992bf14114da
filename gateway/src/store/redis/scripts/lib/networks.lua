-- The places of networks. The first two bytes of a network's key are its epoch. Each epoch has a
-- hash of its own, so that all its networks are forgotten with one command.
local function epoch_key(epoch) return K('networks:' .. epoch) end

local function places_key(network)
  local high, low = string.byte(network, 1, 2)
  return epoch_key(high * 256 + low)
end

local function places_of(network) return num(call('HGET', places_key(network), network)) end

local function count_place(network)
  if call('HINCRBY', places_key(network), network, 1) == 1 then
    local high, low = string.byte(network, 1, 2)
    call('HSET', K('network_epochs'), high * 256 + low, '')
  end
end

-- Forgets the networks of each epoch for which `is_old` returns true.
local function forget_epochs(is_old)
  local flat = call('HGETALL', K('network_epochs'))
  for at = 1, #flat, 2 do
    if is_old(tonumber(flat[at])) then
      call('UNLINK', epoch_key(flat[at]))
      call('HDEL', K('network_epochs'), flat[at])
    end
  end
end
