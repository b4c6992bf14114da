-- Restores those of the shown places that the last life lost.
for number, holder, written, code, at_ms in each_places() do
  shown(tonumber(number), holder, written, code, at_ms)
end
return 1
