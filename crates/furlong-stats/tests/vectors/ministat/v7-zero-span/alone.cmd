ministat -w 74 five
