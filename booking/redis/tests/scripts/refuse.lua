-- Refuses every call.
return redis.error_reply('GONE it lapsed')
