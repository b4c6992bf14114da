-- Reads a value that the items do not have.
for pair in each_pairs() do return pair.middle end
