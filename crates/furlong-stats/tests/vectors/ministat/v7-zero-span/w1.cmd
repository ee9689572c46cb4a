ministat -w 1 five
