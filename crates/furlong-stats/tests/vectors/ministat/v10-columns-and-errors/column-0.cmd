ministat -A -C 0 table
