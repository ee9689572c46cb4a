ministat -d , -w 10 -w 30 -s commas
