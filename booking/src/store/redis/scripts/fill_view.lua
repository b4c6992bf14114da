-- Writes a part of a view, from an offset in bytes.
call('SETRANGE', P .. view, offset, bytes)
return named({ code = 'OK' })
