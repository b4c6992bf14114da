-- Reads a field that it did not ask for.
return fields_of(COUNTED, 'n').m
