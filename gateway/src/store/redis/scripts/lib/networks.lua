-- The places of networks. The first two bytes of a network's key are its epoch. Each epoch has a
-- hash of its own, so that all its networks are forgotten with one command.
local function epoch_key(epoch) return K('networks:' .. epoch) end

local function epoch_of(network) return string.byte(network, 1) * 256 + string.byte(network, 2) end

local function places_of(network)
  return num(call('HGET', epoch_key(epoch_of(network)), network))
end

local function count_place(network)
  local epoch = epoch_of(network)
  if call('HINCRBY', epoch_key(epoch), network, 1) == 1 then
    call('HSET', K('network_epochs'), epoch, '')
  end
end

-- Forgets the networks of each epoch for which `is_old` returns true.
local function forget_epochs(is_old)
  for epoch in each_pair(call('HGETALL', K('network_epochs'))) do
    if is_old(tonumber(epoch)) then
      call('UNLINK', epoch_key(epoch))
      call('HDEL', K('network_epochs'), epoch)
    end
  end
end
