-- Answers with what the ledger must record of a visitor who is about to leave. `written` is the
-- time of the join (8 bytes). `void` is 1 if the leaf becomes void, otherwise 0. After the freeze
-- no leaf becomes void, because the leaves below n are part of the published root. There is no
-- answer if the number has no visitor.
local at = tonumber(number)
local life = fields_of(LIFE, 'next', 'frozen')
if at >= num(life.next) or call('GETBIT', K('absent'), at) == 1 then return false end
local leaf = leaf_of(at)
return named({ holder = leaf.holder, written = leaf.written, code = call('HGET', K('code_of'), at),
  void = life.frozen and 0 or 1 })
