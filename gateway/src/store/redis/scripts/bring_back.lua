-- Restores the shown places that were lost with the last life.
for lost in each_places() do shown(lost) end
return 1
