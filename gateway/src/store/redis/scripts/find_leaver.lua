-- Returns what the ledger must record of a visitor who is about to leave: the holder, the time of
-- the join (8 bytes), the code or '', and 1 if the leaf becomes void, otherwise 0. After the freeze
-- no leaf becomes void, because the leaves below n are part of the published root. Returns nothing
-- if the number has no visitor.
local at = tonumber(number)
local life = call('HMGET', LIFE, 'next', 'frozen')
if at >= num(life[1]) or call('GETBIT', K('absent'), at) == 1 then return {} end
local leaf = record(at)
return { string.sub(leaf, 1, 32), string.sub(leaf, 33, 40), call('HGET', K('code_of'), at) or '',
  life[2] and 0 or 1 }
