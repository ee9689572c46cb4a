ministat -w 5 tall
