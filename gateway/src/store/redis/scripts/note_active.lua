-- Notes when visitors inside did something.
for active in each_active() do call('ZADD', K('active'), 'XX', 'GT', active.at_s, active.number) end
return 1
