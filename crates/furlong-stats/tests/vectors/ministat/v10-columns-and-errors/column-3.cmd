ministat -A -C 3 table
