-- Answers with the places of each network. The key of the network is the name.
local places = {}
for network in each_networks() do places[network.key] = places_of(network, now_ms) end
return named(places)
