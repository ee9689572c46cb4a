ministat -w 3 tall
