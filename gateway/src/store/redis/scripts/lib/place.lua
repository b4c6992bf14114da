-- Returns a place in the form that `place` in read.rs reads.
local function place(kind, number)
  local leaf = record(number)
  return { kind, number, string.sub(leaf, 1, 32), string.sub(leaf, 33, 40),
    call('HGET', K('passes'), number) or '', call('GETBIT', K('done'), number),
    call('HGET', K('code_of'), number) or '' }
end
