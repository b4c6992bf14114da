-- Ends visits before their passes run out, unless a number has another pass by now. A second run
-- changes nothing.
for ended in each_visits() do
  if call('HGET', K('passes'), ended.number) == ended.pass_expires_s then
    call('HSET', K('passes'), ended.number, ended.ended_s)
    end_visit(ended.number)
    free_entry(ended.number, ended.stopped_s)
  end
end
return 1
