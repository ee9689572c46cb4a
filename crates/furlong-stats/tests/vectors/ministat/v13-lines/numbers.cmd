ministat -w 40 numbers
