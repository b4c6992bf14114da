-- A part of a view, from an offset in bytes on.
call('SETRANGE', P .. view, offset, bytes)
return {'OK', 0}
