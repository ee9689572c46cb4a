ministat -A two
