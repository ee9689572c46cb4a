ministat -A -C 2 table
