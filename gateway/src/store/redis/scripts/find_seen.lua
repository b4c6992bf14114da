-- Returns those of the numbers that were seen in one of the slots from `first_slot` to `last_slot`.
local seen = {}
for number in each_numbers() do
  for slot = first_slot, last_slot do
    if call('GETBIT', K('seen:' .. slot), number) == 1 then
      table.insert(seen, tonumber(number))
      break
    end
  end
end
return seen
