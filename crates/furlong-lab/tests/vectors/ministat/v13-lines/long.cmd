ministat -A long
