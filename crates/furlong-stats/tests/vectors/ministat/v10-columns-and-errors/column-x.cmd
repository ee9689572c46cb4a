ministat -C 1x table
