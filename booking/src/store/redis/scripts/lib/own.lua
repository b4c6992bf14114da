-- Checks that the hold `id` is the visitor's own and was made for one of the purposes.
local own = fields_of(hold_key(id), VISITOR, STAGE, PURPOSE)
if not own[VISITOR] then return answer('GONE') end
if own[VISITOR] ~= visitor then return answer('FOREIGN') end
if not serves(purposes, own[PURPOSE]) then
  return answer('PURPOSE', { purpose = own[PURPOSE] or 'basket' })
end
