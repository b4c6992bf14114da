-- Frees a basket.
if stage ~= 'basket' then return {'ORDERED', counter} end
drop(id, 'gone')
return {'OK', counter}
