-- Forgets the networks of places. With `since`, forgets only those of earlier epochs and of the
-- lasting epoch. A call with `since` means that the room has no end, and only rooms with an end
-- need the lasting epoch.
forget_epochs(function(epoch)
  return since == '' or epoch < tonumber(since) or epoch == tonumber(lasting)
end)
return 1
