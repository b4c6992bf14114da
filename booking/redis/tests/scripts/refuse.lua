-- Says no.
return redis.error_reply('GONE it lapsed')
