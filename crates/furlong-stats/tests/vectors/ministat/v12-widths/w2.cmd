ministat -w 2 tall
