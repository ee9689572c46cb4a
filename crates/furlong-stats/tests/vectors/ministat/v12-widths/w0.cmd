ministat -w 0 tall
