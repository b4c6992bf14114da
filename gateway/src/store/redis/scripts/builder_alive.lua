-- Reports that the builder is alive. lib/building.lua does this before every script of a builder.
return 1
