-- Frees a basket.
if stage ~= 'basket' then return {'ORDERED', at()} end
drop(id, 'gone')
return {'OK', at()}
