-- Restores the shown places that were lost with the last life.
for lost in each_places() do
  shown(tonumber(lost.number), lost.holder, lost.written, lost.code, lost.at_ms)
end
return 1
