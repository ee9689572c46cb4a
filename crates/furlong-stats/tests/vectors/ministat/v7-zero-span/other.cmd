ministat -w 40 five six
