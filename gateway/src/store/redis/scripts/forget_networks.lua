-- Forgets the networks of places: those of epochs before `since`, or all. With `since` the room has
-- no end, so the lasting epoch, which is for rooms with an end, is forgotten, too.
forget_epochs(function(epoch)
  return since == '' or epoch < tonumber(since) or epoch == tonumber(lasting)
end)
return 1
