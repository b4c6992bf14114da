-- The places of networks. The first two bytes of a network's key are its epoch. Each epoch has two
-- hashes of its own, so that all its networks are forgotten with one command. The first counts
-- places for the whole epoch. The second counts the recent places of very wide networks, as
-- `RecentPlaces` does: a value has the places of each slice of time, such as "29000:3 29001:12".
local function epoch_key(epoch) return K('networks:' .. epoch) end
local function recent_key(epoch) return K('recent_networks:' .. epoch) end

local function epoch_of(network) return string.byte(network, 1) * 256 + string.byte(network, 2) end

local function slice_of(at_ms) return math.floor(tonumber(at_ms) / RECENT_SLICE_MS) end

-- Returns the places of a very wide network by slice, without the slices that no longer count.
local function recent_slices(network, at_ms)
  local slices, oldest = {}, slice_of(at_ms) - RECENT_SLICES
  local stored = call('HGET', recent_key(epoch_of(network)), network) or ''
  for slice, places in string.gmatch(stored, '(%d+):(%d+)') do
    if tonumber(slice) >= oldest then slices[tonumber(slice)] = tonumber(places) end
  end
  return slices
end

-- Returns the places of a network up to `at_ms`.
local function places_of(network, at_ms)
  if network.recent ~= '1' then
    return num(call('HGET', epoch_key(epoch_of(network.key)), network.key))
  end
  local sum = 0
  for _, places in pairs(recent_slices(network.key, at_ms)) do sum = sum + places end
  return sum
end

local function count_recent_place(network, at_ms)
  local slices, slice = recent_slices(network, at_ms), slice_of(at_ms)
  slices[slice] = (slices[slice] or 0) + 1
  local texts = {}
  for at, places in pairs(slices) do texts[#texts + 1] = string.format('%d:%d', at, places) end
  call('HSET', recent_key(epoch_of(network)), network, table.concat(texts, ' '))
end

local function count_lasting_place(network)
  local epoch = epoch_of(network)
  if call('HINCRBY', epoch_key(epoch), network, 1) == 1 then
    call('HSET', K('network_epochs'), epoch, '')
  end
end

-- Forgets the networks of each epoch for which `is_old` returns true. A visitor with recent
-- networks always has lasting ones of the same epoch, so `network_epochs` has every epoch.
local function forget_epochs(is_old)
  for epoch in each_pair(call('HGETALL', K('network_epochs'))) do
    if is_old(tonumber(epoch)) then
      call('UNLINK', epoch_key(epoch), recent_key(epoch))
      call('HDEL', K('network_epochs'), epoch)
    end
  end
end
