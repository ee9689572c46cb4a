ministat -w 2 -s tall tall
