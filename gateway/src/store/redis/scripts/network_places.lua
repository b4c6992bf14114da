-- Counts the places of each network.
local places = {}
for key in each_networks() do places[#places + 1] = num(call('HGET', K('networks'), key)) end
return places
