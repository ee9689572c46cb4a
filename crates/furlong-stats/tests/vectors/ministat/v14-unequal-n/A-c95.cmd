ministat -A -c 95 old new
