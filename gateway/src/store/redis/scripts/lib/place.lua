-- Answers with the place of a number. `kind` says what the place means to the caller. Without a
-- pass or a code, there is no value.
local function place(kind, number)
  local leaf = leaf_of(number)
  return named({ kind = kind, number = number, holder = leaf.holder, written = leaf.written,
    pass_expires_s = call('HGET', K('passes'), number), called_behind = called_behind(number),
    done = call('GETBIT', K('done'), number),
    code = call('HGET', K('code_of'), number) })
end
