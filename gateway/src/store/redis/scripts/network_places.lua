-- Counts the places of each network.
local places = {}
for key in each_networks() do places[#places + 1] = places_of(key) end
return places
