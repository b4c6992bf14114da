-- Says that the builder is still working, though it has nothing to write just now.
return 1
