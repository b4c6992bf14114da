-- Forgets the networks of places: those of epochs before `since`, or all. With `since` the room has
-- no end, so networks that count as long as their room lasts count no more.
forget_epochs(function(epoch)
  return since == '' or epoch < tonumber(since) or epoch == tonumber(lasting)
end)
return 1
