-- Answers with the words of its list.
local words = {}
for word in each_words() do words[#words + 1] = word end
return words
