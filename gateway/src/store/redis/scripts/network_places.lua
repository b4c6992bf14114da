-- Answers with the places of each network. The key of the network is the name.
local places = {}
for key in each_networks() do places[key] = places_of(key) end
return named(places)
