ministat -w 200 tall
