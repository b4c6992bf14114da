-- Of every script that needs the room to live: no number, pass or figure comes from a store that was lost or went back.
local no = refused()
if no then return no end
