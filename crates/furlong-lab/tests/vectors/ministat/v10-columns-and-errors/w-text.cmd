ministat -w x commas
